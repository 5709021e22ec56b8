"""How figures tell strategies apart, and cells of one row from each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.lines import Line2D

from allocpool.evidence.style import GREY
from allocpool.packets.strategies import STRATEGIES

STRATEGY_STYLE = {name: (strategy.colour, strategy.marker) for name, strategy in STRATEGIES.items()}
"""Colour and marker."""


def strategy_handles(present: set[str]) -> list[Line2D]:
    """Legend entries of strategies, in their order."""
    return [
        Line2D([], [], linestyle="", marker=STRATEGY_STYLE[name][1], color=STRATEGY_STYLE[name][0], label=name)
        for name in STRATEGIES
        if name in present
    ]


def strategy_shapes(present: set[str]) -> list[Line2D]:
    """Legend entries that tell strategies by marker alone, for figures whose colours mean collectors."""
    return [
        Line2D([], [], linestyle="", marker=STRATEGY_STYLE[name][1], color=GREY, label=name)
        for name in STRATEGIES
        if name in present
    ]


def offsets(strategies: Sequence[str], reach: float) -> dict[str, float]:
    """Where each strategy lies in the row of its solution: from ``-reach`` to ``reach`` rows off its middle."""
    return dict(
        zip(strategies, np.linspace(-reach, reach, len(strategies)) if len(strategies) > 1 else [0.0], strict=True)
    )
