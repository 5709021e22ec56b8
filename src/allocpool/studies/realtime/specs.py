"""The mode of real time: a processor on the ring.

A source ticks every ``interval_ns``; each tick is one packet to be received. The input queue between source and
consumer holds exactly ``input_queue_ms`` worth of ticks, and a tick that finds it full is lost.

Every time of the experiment follows ``scale`` unless it is given: a live set of a tenth is collected in a tenth of the
time and fills its heap ten times as often, so the queue must last a tenth as well, or another experiment is made. An
interval between packets is none of these times: what a packet costs does not shrink with the pool.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from allocpool.packets.measurement import LAPS, lap_packets
from allocpool.packets.specs import PacketsSpec, packets_to_fill
from allocpool.trial.spec import Needs

LONGEST_INTERVAL_NS = 1e9
LARGEST_QUEUE = (2**31 - 1 - 512) // 8
"""Ticks that a ring can hold: Java addresses 2 GiB of it, 512 bytes are its header (``allocpool.h``)."""
INPUT_QUEUE_MS = 100.0
"""The article's, at scale 1."""
FULL_SECONDS, CAP_SECONDS = 10.0, 30.0
"""A trial of full length, at least and at most, at scale 1. The article reports no length; so long a trial holds
several major collections of most of its collectors."""
PROLOGUE_SECONDS, WARMUP_SECONDS = 3.0, 3.0
LOWEST_INTERVAL_NS, HIGHEST_INTERVAL_NS = 5.0, 10_000.0
"""What is tried; the highest is the article's."""
FULL_LENGTH_MAJORS = 3
"""Major collections that a trial of full length holds, where there are any."""
COMPARISON_INTERVAL_NS = 1000.0
"""Where no interval passes, what is lost at this one is reported, as published."""
PDR_LOSS_RATIO = 200e-6
"""At the partial-drop rate (PDR) at most so many ticks are lost of those generated, at the non-drop rate (NDR) none
(RFC 2544, section 26.1; draft-ietf-bmwg-mlrsearch-05)."""


def scaled_time(at_scale_1: float) -> Callable[[dict[str, Any]], float]:
    """The default of a time that ``scale`` multiplies."""
    return lambda settings: at_scale_1 * float(settings["scale"])


def queue_ticks(queue_ms: float, interval_ns: float, name: str = "input_queue_ms") -> int:
    """Ticks that a queue holds, the input queue or the one whose ``name`` is given.

    Raises:
        ValueError: none, or more than a ring can hold; one line.
    """
    ticks = round(queue_ms * 1e6 / interval_ns)
    if not 1 <= ticks <= LARGEST_QUEUE:
        raise ValueError(
            f"{name} {queue_ms:g} at an interval of {interval_ns:g} ns is a queue of {ticks} ticks: "
            f"it must hold 1 to {LARGEST_QUEUE}"
        )
    return ticks


def check_queue_length(queue_ms: float, seconds: float, name: str, queue: str = "input_queue_ms") -> None:
    """ValueError, on one line, where a queue lasts longer than the trial, whose ``name`` is the length given.

    Such a queue loses nothing whatever the consumer does, so the trial would decide nothing.
    """
    if queue_ms > 1e3 * seconds * (1 + 1e-9):
        raise ValueError(
            f"{queue} {queue_ms:g} is longer than its trial of {seconds:g} s: give at most "
            f"{1e3 * seconds:g}, or {name} of at least {queue_ms / 1e3:g}"
        )


class LiveSpec(PacketsSpec):
    """What every trial with a processor on the ring states.

    Before the ring, the processor fills queue and store by the batch path and goes on for ``prologue_seconds``, so that
    the code is compiled and the collector has settled. Then come warm-up ticks. Both are left out of all counts.
    """

    fill_packets: int = Field(
        ge=0,
        default_factory=lambda spec: packets_to_fill(spec["queue_size"], spec["stored_count"]),
        description="packets received by the batch path before the source starts",
    )
    input_queue_ms: float = Field(
        default_factory=scaled_time(INPUT_QUEUE_MS), gt=0, description="ticks between source and consumer"
    )
    prologue_seconds: float = Field(
        default_factory=scaled_time(PROLOGUE_SECONDS), ge=0, le=600, description="of the batch path, after filling"
    )
    warmup_seconds: float = Field(
        default_factory=scaled_time(WARMUP_SECONDS), ge=0, le=600, description="ticks left out, at the trial's interval"
    )
    major_collections: int = Field(
        default=0, ge=0, description="the trial lasts until it has seen so many, where the collector has any"
    )
    min_laps: float = Field(default=LAPS, ge=0, description="it lasts at least so many laps, or as long as its cap")

    def needs(self) -> Needs:
        """The source is native whatever the processor is."""
        needs = super().needs()
        return needs if needs.native else replace(needs, native="packets")

    def set_up_seconds(self) -> float:
        """Before the first tick: also the prologue."""
        return super().set_up_seconds() + self.prologue_seconds

    def window_seconds(self, seconds: float, cap_seconds: float, interval_ns: float) -> float:
        """One run of the source: half of the way to the cap where major collections are waited for."""
        lap = lap_packets(self.pool_size, self.queue_size, self.stored_count, self.pool_reuse)
        seconds = min(cap_seconds, max(seconds, self.min_laps * lap * interval_ns / 1e9))
        waits = self.major_collections > 0 and self.language == "java"
        return self.warmup_seconds + ((seconds + cap_seconds) / 2 if waits else seconds) + _STRETCH_S


class RealtimeSpec(LiveSpec):
    """One processor, one interval: what is lost and how late the rest is."""

    CHILD: ClassVar[str] = "allocpool.studies.realtime.child.realtime"

    mode: Literal["realtime"] = "realtime"
    interval_ns: float = Field(gt=0, le=LONGEST_INTERVAL_NS, description="time between ticks, fractions allowed")
    seconds: float = Field(
        default_factory=scaled_time(FULL_SECONDS), gt=0, le=86_400, description="shortest length, after the warm-up"
    )
    cap_seconds: float = Field(
        gt=0,
        le=86_400,
        default_factory=lambda spec: max(spec["seconds"], CAP_SECONDS * spec["scale"]),
        description="longest length, however few major collections or laps there were",
    )
    intermediate_queue_ms: float = Field(
        default=0.0,
        ge=0,
        description="ticks that a queue between input queue and consumer holds, filled by a thread in C++; 0: there is "
        "none",
    )
    stall_at_s: float = Field(default=0.0, ge=0, description="the consumer stops on purpose so long after the warm-up")
    stall_ms: float = Field(default=0.0, ge=0, description="for so long; 0: never")

    def longest_seconds(self) -> float:
        return _GRACE_S + 3 * (self.cap_seconds + self.warmup_seconds + self.prologue_seconds)

    def expected_seconds(self) -> float:
        return self.set_up_seconds() + self.window_seconds(self.seconds, self.cap_seconds, self.interval_ns)

    @model_validator(mode="after")
    def _possible(self) -> Self:
        queue_ticks(self.input_queue_ms, self.interval_ns)
        check_queue_length(self.input_queue_ms, self.seconds, "seconds")
        if self.intermediate_queue_ms:
            queue_ticks(self.intermediate_queue_ms, self.interval_ns, "intermediate_queue_ms")
            check_queue_length(self.intermediate_queue_ms, self.seconds, "seconds", "intermediate_queue_ms")
        if self.cap_seconds < self.seconds:
            raise ValueError(f"cap_seconds {self.cap_seconds:g} is below seconds {self.seconds:g}: give at least that")
        if self.seconds * 1e9 < self.interval_ns:
            raise ValueError(f"seconds {self.seconds:g} is shorter than one interval of {self.interval_ns:g} ns")
        return self


_STRETCH_S = 0.2
"""Calibration of the source's clock, draining of the queue, the counters."""
_GRACE_S = 60.0
