"""Real time on many threads: one source, whose ticks go by the hash of their flow into a ring for each worker, or into
the one ring of the receiver."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from allocpool.studies.realtime.child.realtime import Windows
from allocpool.studies.realtime.child.source import Flows, Source
from allocpool.studies.realtime.measurement import Consumption, Delays
from allocpool.studies.threads.measurement import Ticked

Consume = Callable[[Source, bool], list[tuple[Consumption, Delays]]]
"""Lets all threads take ticks out of their rings until the source has finished; what the consumer of each ring saw."""


class _OneConsumer:
    """All threads as the one consumer that a run of the source has."""

    def __init__(self, consume: Consume, yields: bool) -> None:
        self._consume, self._yields = consume, yields

    def consume(self, source: Source, stall_at_ns: int, stall_ns: int) -> tuple[Consumption, Delays]:
        """Return the sum over the rings."""
        assert not stall_ns, "threads don't stop on purpose"
        seen = self._consume(source, self._yields)
        delays: Counter[int] = Counter()
        for _, buckets in seen:
            delays.update(dict(buckets))
        return _sum_of([account for account, _ in seen]), sorted(delays.items())


def _sum_of(accounts: Sequence[Consumption]) -> Consumption:
    return {
        "received": sum(one["received"] for one in accounts),
        "warmup_received": sum(one["warmup_received"] for one in accounts),
        "missing": sum(one["missing"] for one in accounts),
        "warmup_missing": sum(one["warmup_missing"] for one in accounts),
        "last_sequence": max(one["last_sequence"] for one in accounts),
        "start_ns": min(one["start_ns"] for one in accounts),
        "measured_start_ns": max(one["measured_start_ns"] for one in accounts),
        "end_ns": max(one["end_ns"] for one in accounts),
        "stalled_ns": 0,
    }


class WorkerWindows(Windows):
    """Workers with their source, ready to be run at one interval after the other."""

    def __init__(
        self, spec: dict[str, Any], launch: dict[str, Any], folder: Path, consume: Consume, smallest_ns: float,
        longest_s: float,
    ) -> None:  # fmt: skip
        """``smallest_ns`` and ``longest_s`` are the bounds of what will be asked for."""
        self._watch(spec, folder)
        self._packets_at_least = 0.0
        self._rings = spec["threads"] if spec["topology"] == "sharded" else 1
        flows = Flows(rings=self._rings, seed=spec["seed"], yields=spec["source_yields"])
        self._source = Source(launch, self._capacity(smallest_ns), longest_s, flows=flows)
        self._consumer = _OneConsumer(consume, spec["source_yields"])

    def _capacity(self, interval_ns: float) -> int:
        """Of each ring: the input queue is divided between them."""
        return max(1, super()._capacity(interval_ns) // self._rings)

    def tick(self, interval_ns: float, seconds: float, warmup_seconds: float) -> tuple[Ticked, str]:
        """Run the source for so many seconds; with one line on what is wrong, empty when nothing is."""
        window, fault = self.measure(interval_ns, seconds, seconds, warmup_seconds, majors=0)
        rings = self._source.ring_counters()
        received = sum(ring["received"] for ring in rings)
        if not fault and received != window["figures"]["received"]:
            fault = f"rings gave {received} ticks, and {window['figures']['received']} were received"
        return {**window, "rings": rings}, fault
