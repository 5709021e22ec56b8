"""What an echo trial measures. Instants are CLOCK_MONOTONIC, ns."""

from __future__ import annotations

from typing_extensions import TypedDict

from allocpool.trial.measurement import CpuTime, Outcome


class Load(TypedDict):
    """What the load generator reports of the measured window; a message belongs to it by the instant when it was
    due."""

    due: int
    measured: int
    """Of these, echoed, in the window or while draining."""
    behind: int
    """Messages due before its end and never sent."""
    arrived: int
    """Echoes that came in the window, whenever they were due."""
    served: int
    """Echoes from its start to the end of draining."""
    start_ns: int
    end_ns: int
    dropped: int
    errors: int
    delays: list[tuple[int, int]]
    """(index, count) of each bucket of the latencies' HdrHistogram that is not empty."""
    arrived_delays: list[tuple[int, int]]
    """The same of the echoes that came in the window: what choosing by arrival shows."""
    neighbour_walks: int
    neighbour_walk_ns: int
    """Median processor time of a walk over ``neighbour_lines`` cache lines by a rested thread of the load."""
    neighbour_again_ns: int
    """The same of a walk at once afterwards."""
    neighbour_lines: int


class Samples(TypedDict):
    """Of processor time in the measured window, those that have a stack of Java."""

    samples: int
    in_read: int
    """Of these, in ``BufferedReader.read`` or in what it calls."""


class EchoMeasurement(TypedDict):
    """Of mode ``echo``."""

    load: Load
    cpu: CpuTime
    cpu_percent: list[float]
    memory: dict[str, float]
    """MiB by the names of columns of table ``trials``; a heap there is in Java only."""
    parts: dict[str, int]
    """Bytes in use by `tables.PARTS`, those of C++ by two of them; in Java after a full collection."""
    stacks_bytes: int
    threads: int
    counts: dict[str, int]
    samples: Samples | None
    """Of a profiled trial."""


class EchoOutcome(Outcome, EchoMeasurement):
    """What the process of an echo trial returns."""
