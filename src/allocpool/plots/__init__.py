"""Every figure of the notebooks, in one style: colour-blind safe colours with a second cue, units, spread
and n.

Each function takes tidy data and returns a `matplotlib.figure.Figure` made without pyplot's global state,
so a notebook shows exactly the figures it asked for. The captions that go with them are computed
(`allocpool.story.cells.spread_caption`).
"""

from allocpool.plots.allocation import cost_by_size, fragmentation_curves, heap_curves
from allocpool.plots.connections import (
    connection_parts,
    cpu_against_buffer,
    echo_latency,
    memory_against_connections,
)
from allocpool.plots.costs import published_against_measured, strategy_costs
from allocpool.plots.diagnostics import stability_strip, wall_against_cpu, warm_up_curves
from allocpool.plots.native import events_per_packet, ladder_gains
from allocpool.plots.pauses import (
    cpu_split,
    live_set_scaling,
    lost_by_cause,
    overhead_by_strategy,
    pause_distributions,
    pause_timeline,
    utilisation_curves,
    years,
)
from allocpool.plots.realtime import (
    burst_timeline,
    delay_distributions,
    loss_curves,
    loss_over_time,
    rates,
    sweeps,
)
from allocpool.plots.stream import latency_against_throughput

__all__ = [
    "burst_timeline",
    "connection_parts",
    "cost_by_size",
    "cpu_against_buffer",
    "cpu_split",
    "delay_distributions",
    "echo_latency",
    "events_per_packet",
    "fragmentation_curves",
    "heap_curves",
    "ladder_gains",
    "latency_against_throughput",
    "live_set_scaling",
    "loss_curves",
    "loss_over_time",
    "lost_by_cause",
    "memory_against_connections",
    "overhead_by_strategy",
    "pause_distributions",
    "pause_timeline",
    "published_against_measured",
    "rates",
    "stability_strip",
    "strategy_costs",
    "sweeps",
    "utilisation_curves",
    "wall_against_cpu",
    "warm_up_curves",
    "years",
]
