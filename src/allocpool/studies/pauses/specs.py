"""Two kinds of trials besides batch and real-time ones: a live set of a given size, and a stop of a known cause."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal, Self, get_args

from pydantic import BaseModel, Field, model_validator

from allocpool.packets.batch import WindowSpec
from allocpool.packets.specs import BUFFER_BYTES, SMALLEST_MB, scaled_heap_mb
from allocpool.packets.strategies import JAVA_LAYOUTS
from allocpool.runtimes.collectors import collectors_that, never_frees
from allocpool.studies.realtime.specs import LONGEST_INTERVAL_NS, LiveSpec, check_queue_length, queue_ticks

Disturbance = Literal["stop", "full_collection", "native_call"]
"""The consumer stops on purpose; another thread has the heap collected; all threads wait for one that is held up in
native code."""
DISTURBANCES: tuple[Disturbance, ...] = get_args(Disturbance)

_QUEUED_OBJECTS, _PARSED_OBJECTS = 3, 5
_PACKET_BYTES, _PARSED_BYTES = 1152, 208
_NUMBER_BYTES, _LINE_BYTES = 8, 64
"""Of a packet: its places in a pool and among free slots; header and parse result of flat layouts."""
LEAST_BUFFER_BYTES = 136
"""Holds the largest packet, header and payload, in whole words."""
_SMALL = 1_000
"""Queue and store where the pool alone makes the live set."""


def live_set_sizes(
    strategy: str, live: float, heap_factor: float, layout: str = "heap", buffer_bytes: int = BUFFER_BYTES
) -> dict[str, int]:
    """Return queue, store, pool and heap (MiB) of a trial in which so many objects live besides the JVM's own.

    With ``alloc`` they are the packets of queue and store, which come and go; with ``pool`` those of the pool, which
    stay. ``heap_factor`` is the heap over the bytes alive on it. Of a layout off the heap ``live`` are the pool's
    buffers: an object each stays on it in layout ``native``, a number each in flat ones.
    """
    small, pool, packet_bytes = _SMALL, round(live), _PACKET_BYTES
    if layout != "heap":
        packet_bytes = JAVA_LAYOUTS[layout].packet_bytes + _NUMBER_BYTES
    elif strategy == "alloc":
        small, pool = max(1, round(live / (2 * _QUEUED_OBJECTS + _PARSED_OBJECTS))), 0
    else:
        pool = max(2 * small + 1, round((live - _PARSED_OBJECTS * small) / _QUEUED_OBJECTS))
    alive_mb = ((pool or 2 * small) * packet_bytes + small * _PARSED_BYTES) / 2**20
    off_heap = {"buffer_bytes": buffer_bytes, "direct_mb": math.ceil(pool * (buffer_bytes + _LINE_BYTES) / 2**20)}
    return {
        "queue_size": small, "stored_count": small, "pool_size": pool, "slot_count": max(pool, 2 * small + 1),
        "heap_mb": math.ceil(heap_factor * alive_mb) + 2 * SMALLEST_MB, **(off_heap if layout != "heap" else {}),
    }  # fmt: skip


class LiveSetSpec(WindowSpec):
    """A batch trial of any live set, whose objects are counted in every block."""

    CHILD: ClassVar[str] = "allocpool.packets.child.batch"

    mode: Literal["live_set"] = "live_set"
    seconds: float = Field(gt=0, le=3600)
    packets: None = None
    warmup_seconds: float = Field(default=0.3, ge=0, le=600)
    steady: Literal[False] = Field(default=False, description="warms up for its seconds, whatever the cost does")
    iteration_ms: float = Field(default=50.0, gt=0, le=10_000)
    buffer_bytes: int = Field(
        default=BUFFER_BYTES, ge=LEAST_BUFFER_BYTES, le=BUFFER_BYTES, multiple_of=8,
        description="of a packet's buffer, off the heap",
    )  # fmt: skip

    def expected_seconds(self) -> float:
        return self.set_up_seconds() + self.warmup_seconds + self.seconds

    @model_validator(mode="after")
    def _has_a_heap(self) -> Self:
        others = [name for name, row in JAVA_LAYOUTS.items() if row.slots]
        if self.language != "java" or self.layout not in ("heap", *others) or never_frees(self.collector):
            excluded = ", ".join(collectors_that(lambda row: row.never_frees))
            layouts = f"layout heap, {', '.join(others)}"
            raise ValueError(f"a live set is collected: choose {layouts}, and a collector other than {excluded}")
        if self.layout == "heap" and self.buffer_bytes != BUFFER_BYTES:
            raise ValueError(f"buffer_bytes {self.buffer_bytes} is off the heap: choose layout {' or '.join(others)}")
        return self


class _Disturbed(BaseModel):
    """What stops the trial. A class named last among the bases, so that the heap can follow from it."""

    disturbance: Disturbance
    native_call_mb: int = Field(default=256, gt=0, lt=2048, description="what a call into native code copies, MiB")


def _heap_with_arrays_mb(spec: dict[str, Any]) -> int | None:
    """The usual heap with room for the two arrays of the call into native code, which must fit into the old generation,
    two thirds of it."""
    if spec["language"] != "java":
        return None
    arrays_mb = 3 * int(spec["native_call_mb"]) if spec["disturbance"] == "native_call" else 0
    return scaled_heap_mb(spec["layout"], spec["collector"], spec["scale"]) + arrays_mb


class DisturbedSpec(LiveSpec, _Disturbed):
    """A real-time trial that is stopped once, by a known cause: what attribution is tested on."""

    CHILD: ClassVar[str] = "allocpool.studies.pauses.child.disturbed"

    mode: Literal["disturbed"] = "disturbed"
    heap_mb: int | None = Field(gt=0, default_factory=_heap_with_arrays_mb)
    interval_ns: float = Field(gt=0, le=LONGEST_INTERVAL_NS, description="time between ticks")
    seconds: float = Field(gt=0, le=600, description="length after the warm-up")
    input_queue_ms: float = Field(default=5.0, gt=0, description="ticks between source and consumer")
    disturb_at_s: float = Field(default=0.3, gt=0, description="so long after the warm-up")
    disturb_ms: float = Field(default=100.0, gt=0, description="length of a stop; the others last as long as they do")

    def expected_seconds(self) -> float:
        return self.set_up_seconds() + self.window_seconds(self.seconds, self.seconds, self.interval_ns)

    @model_validator(mode="after")
    def _possible(self) -> Self:
        queue_ticks(self.input_queue_ms, self.interval_ns)
        check_queue_length(self.input_queue_ms, self.seconds, "seconds")
        if self.language != "java":
            raise ValueError("a disturbance is one of a JVM: choose language java")
        if self.disturb_at_s >= self.seconds:
            raise ValueError(f"disturb_at_s {self.disturb_at_s:g} is not below seconds {self.seconds:g}")
        return self
