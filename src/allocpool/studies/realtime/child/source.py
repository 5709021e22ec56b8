"""The source, its ring and one run of it against a consumer, as plain data.

All ticks, the warm-up's among them, are in the accounts; ``figures`` takes the warm-up out. The counters are checked
after every run: by the library, from the source's counters, the slots left and the gaps that the consumer saw, and here
once more from the figures that are passed on.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from allocpool.studies.realtime.child import placement
from allocpool.studies.realtime.measurement import (
    Burst,
    Consumption,
    Delays,
    Figures,
    RingCounters,
    Sample,
    Slip,
    SourceAccount,
    SourceRun,
)
from allocpool.trial.child import native
from allocpool.trial.child.accounting import monotonic_ns

MAX_LOGGED = 50_000
"""Bursts, and source stalls, that a run has room to list."""
SAMPLES_PER_S = 10
SLIP_THRESHOLD_NS = 20_000
BURST_GAP_NS = 1_000_000
_Row = TypeVar("_Row")
_START_S = 0.1
"""From the source's start to its first tick, at most: it calibrates its clock for 20 ms."""


@dataclass(frozen=True)
class Plan:
    interval_ns: float
    capacity: int
    seconds: float
    cap_seconds: float
    warmup_seconds: float
    stall_at_s: float = 0.0
    stall_ms: float = 0.0

    @property
    def warmup_ticks(self) -> int:
        return round(self.warmup_seconds * 1e9 / self.interval_ns)

    @property
    def ticks(self) -> int:
        return self.warmup_ticks + max(1, round(self.cap_seconds * 1e9 / self.interval_ns))


class Consumer(Protocol):
    """Takes ticks out of the ring of a source until that has finished and the ring is empty."""

    def consume(self, source: Source, stall_at_ns: int, stall_ns: int) -> tuple[Consumption, Delays]:
        """Account of the consumer (fields of ``ap_consumption``) and the delays after the warm-up."""


@dataclass(frozen=True)
class Flows:
    """How ticks are divided between several rings; and whether the source sleeps while nothing is due."""

    rings: int
    seed: int
    yields: bool = False


class Source:
    def __init__(
        self, launch: dict[str, Any], max_capacity: int, longest_s: float, intermediate: int = 0,
        flows: Flows | None = None,
    ) -> None:  # fmt: skip
        """``intermediate``: ticks that a queue between input queue and consumer holds; 0: there is none. ``flows``: by
        the hash of what a tick goes to a ring; its consumers are threads of their own, and nothing is tied."""
        self.ffi, self.library = native.load(launch)
        self._cores = placement.own_cores() if flows is None else None
        self._flows = flows or Flows(rings=1, seed=0)
        self._error = self.ffi.new("char[]", native.MESSAGE_BYTES)
        samples = int(longest_s * SAMPLES_PER_S) + 100
        self.handle = self.library.ap_realtime_create_by_flow(
            self._flows.rings, self._flows.seed, max_capacity, MAX_LOGGED, MAX_LOGGED, samples,
            self._error, native.MESSAGE_BYTES,
        )  # fmt: skip
        if self.handle == self.ffi.NULL:
            raise native.refusal(self.complaint())
        if intermediate:
            status = self.library.ap_realtime_set_intermediate(
                self.handle, intermediate, self._error, native.MESSAGE_BYTES
            )
            native.checked(self.library, status, self.complaint())

    def complaint(self) -> str:
        return str(self.ffi.string(self._error).decode())

    def memory(self, ring: int = 0) -> memoryview:
        """That of the ring which the consumer takes ticks out of, or of the one of several."""
        size = self.library.ap_realtime_memory_bytes(self.handle)
        return memoryview(self.ffi.buffer(self.library.ap_realtime_ring_memory(self.handle, ring), size))

    @property
    def rings(self) -> int:
        return self._flows.rings

    def ring_counters(self) -> list[RingCounters]:
        """Of each ring, of the last run, its warm-up taken out."""
        account = self.ffi.new("ap_ring_account*")
        rings: list[RingCounters] = []
        for ring in range(self.rings):
            native.checked(self.library, self.library.ap_realtime_get_ring_account(self.handle, ring, account))
            generated = int(account.generated - account.warmup_generated)
            lost, left = int(account.lost - account.warmup_lost), int(account.left - account.warmup_left)
            received = generated - lost - left
            rings.append({"generated": generated, "received": received, "lost": lost, "left": left})
        return rings

    def run(self, plan: Plan, consumer: Consumer, enough: Callable[[], bool] = lambda: True) -> tuple[SourceRun, str]:
        """Tick, consume, check the counters; return the run and what is wrong with it, empty when nothing is.

        A run with a longer cap ends once ``plan.seconds`` have passed and ``enough()`` holds, asked ten times a second.
        """
        clock = self.ffi.new("char[]", b"auto")
        config = self.ffi.new("ap_source_config*", {
            "interval_ns": plan.interval_ns, "capacity": plan.capacity, "ticks": plan.ticks,
            "warmup_ticks": plan.warmup_ticks, "slip_threshold_ns": self._slip_threshold_ns(plan),
            "burst_gap_ns": BURST_GAP_NS, "processor": -1 if self._cores is None else self._cores[0], "clock": clock,
            "yields": int(self._flows.yields),
        })  # fmt: skip
        status = self.library.ap_realtime_start(self.handle, config, self._error, native.MESSAGE_BYTES)
        native.checked(self.library, status, self.complaint())
        ender = _Ender(self, plan, enough)
        if plan.cap_seconds > plan.seconds:  # its end is decided while it lasts
            ender.start()
        stall_at_ns = round((plan.warmup_seconds + plan.stall_at_s) * 1e9)
        # The ender has begun before this thread is tied to its processor, which it would inherit.
        watched = placement.Watched(self._cores and self._cores[1], self.library.ap_current_processor)
        try:
            with watched:
                consumption, delays = consumer.consume(self, stall_at_ns, round(plan.stall_ms * 1e6))
        except BaseException:
            ender.cancel()
            self.library.ap_realtime_stop(self.handle)
            raise
        ender.cancel()
        native.checked(self.library, self.library.ap_realtime_wait(self.handle))
        return self._run(plan, consumption, delays, watched)

    def _run(
        self, plan: Plan, consumption: Consumption, delays: Delays, watched: placement.Watched
    ) -> tuple[SourceRun, str]:
        log = self.ffi.new("ap_source_account*")
        native.checked(self.library, self.library.ap_realtime_get_account(self.handle, log))
        account = {name: getattr(log, name) for name, _ in self.ffi.typeof("ap_source_account").fields}
        bursts, bursts_left_out = self._log(self.library.ap_realtime_bursts, Burst)
        slips, slips_left_out = self._log(self.library.ap_realtime_slips, Slip)
        samples, samples_left_out = self._log(self.library.ap_realtime_samples, Sample)
        run: SourceRun = {
            "interval_ns": plan.interval_ns, "capacity": plan.capacity, "warmup_ticks": plan.warmup_ticks,
            "account": account, "placement": watched.placement(account), "consumption": consumption, "delays": delays,
            "bursts": bursts, "bursts_left_out": bursts_left_out, "slips": slips, "slips_left_out": slips_left_out,
            "samples": samples, "samples_left_out": samples_left_out,
            "figures": figures(plan, account, consumption, bursts, slips),
        }  # fmt: skip
        return run, self._audit(consumption) or imbalance(run["figures"])

    def _slip_threshold_ns(self, plan: Plan) -> int:
        """A source that sleeps has stalled when that alone could lose ticks."""
        queue_ns = round(plan.capacity * self.rings * plan.interval_ns)
        return max(SLIP_THRESHOLD_NS, queue_ns // 2) if self._flows.yields else SLIP_THRESHOLD_NS

    def _log(self, query: Any, kind: Callable[..., _Row]) -> tuple[list[_Row], int]:
        """Rows of a log, each the fields of its C struct, and how many it had no place for."""
        count, overflow = self.ffi.new("int64_t*"), self.ffi.new("int64_t*")
        records = query(self.handle, count, overflow)
        names = [name for name, _ in self.ffi.typeof(records).item.fields]
        rows = [kind(*(int(getattr(records[i], name)) for name in names)) for i in range(count[0])]
        return rows, int(overflow[0])

    def _audit(self, consumption: Consumption) -> str:
        seen = self.ffi.new("ap_consumption*", consumption)
        message = self.ffi.new("char[]", native.MESSAGE_BYTES)
        status = self.library.ap_realtime_audit(self.handle, seen, message, native.MESSAGE_BYTES)
        native.checked(self.library, status, self.ffi.string(message).decode())
        return str(self.ffi.string(message).decode())


class _Ender(threading.Thread):
    """Ends a run when it has lasted long enough; the consumer has the main thread, without Python's lock."""

    def __init__(self, source: Source, plan: Plan, enough: Callable[[], bool]) -> None:
        super().__init__(name="ender", daemon=True)
        self._source = source
        self._cancelled = threading.Event()
        self._enough = enough
        self._from_ns = monotonic_ns() + round((_START_S + plan.warmup_seconds + plan.seconds) * 1e9)

    def run(self) -> None:
        while not self._cancelled.wait(0.1):
            if monotonic_ns() >= self._from_ns and self._enough():
                self._source.library.ap_realtime_stop(self._source.handle)
                return

    def cancel(self) -> None:
        """Return once this thread does nothing any more."""
        self._cancelled.set()
        if self.is_alive():
            self.join()


def figures(
    plan: Plan, account: SourceAccount, consumption: Consumption, all_bursts: Sequence[Burst], all_slips: Sequence[Slip]
) -> Figures:
    """The measured window of a run, its warm-up taken out: ticks, seconds, bursts, slips."""
    measured_from_ns = account["t0_ns"] + round(plan.warmup_ticks * plan.interval_ns)
    lengths_ns = [slip.length_ns for slip in all_slips if slip.start_ns >= measured_from_ns]
    return {
        "generated": account["generated"] - account["warmup_generated"],
        "received": consumption["received"] - consumption["warmup_received"],
        "lost": account["lost"] - account["warmup_lost"], "left": account["left"] - account["warmup_left"],
        "start_ns": measured_from_ns, "end_ns": account["end_ns"],
        "bursts": sum(burst.start_sequence >= plan.warmup_ticks for burst in all_bursts),
        "slips": len(lengths_ns), "slip_total_ns": sum(lengths_ns), "slip_max_ns": max(lengths_ns, default=0),
    }  # fmt: skip


def imbalance(figures: Figures) -> str:
    """One line when what was generated is not what was received, lost and left, or is nothing; else empty."""
    if figures["generated"] <= 0:
        return "the source came to no tick after the warm-up"
    accounted = figures["received"] + figures["lost"] + figures["left"]
    if figures["generated"] == accounted:
        return ""
    return f"after the warm-up {figures['generated']} were generated, and received + lost + left are {accounted}"
