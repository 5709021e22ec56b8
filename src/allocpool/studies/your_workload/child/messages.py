"""A trial of the reader's own workload: fill flight and stores, warm up, measure, then read what is left.

Both languages get the same lines of settings. Flight and stores are filled as fast as it goes, also where messages have
times: a store that is filled at the program's own pace would take as long as its messages are kept.
"""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import Any

from allocpool.packets.child.workload import out_of_memory
from allocpool.studies.your_workload import sizes as distribution
from allocpool.studies.your_workload.measurement import MessagesOutcome
from allocpool.studies.your_workload.replay import RECORD
from allocpool.trial.child import jvm, native
from allocpool.trial.child.accounting import CpuWindow, monotonic_ns, peak_rss_mb, rss_mb
from allocpool.trial.child.counters import CppCounters, JavaCounters
from allocpool.trial.measurement import Iteration, OutOfMemory

_PARTS = 8
"""Of a measured window."""
_OBJECT_BYTES = 16
"""Header of an array of Java."""
_AS_STATED = (
    "seed", "threads", "layout", "strategy", "filled_share", "read_share", "arrivals", "burst_length", "in_flight",
    "kept_share", "kept_count", "replacement", "temporaries", "live_mb", "changed_mb_per_s", "garbage_mb_per_s",
)  # fmt: skip
ON_SHARE = 0.1
"""Of the time, when an on-off source is on: a burst comes ten times as fast as messages do on average."""


class JavaLoops(JavaCounters):
    def __init__(self, spec: dict[str, Any], launch: dict[str, Any]) -> None:
        jvm.start(launch)
        reference_bytes = 4 if _vm_option("UseCompressedOops") == "true" else 8
        trace = _mapped(spec)
        settings = settings_of(spec, trace, max(1, (spec["temporary_bytes"] - _OBJECT_BYTES) // reference_bytes))
        memory = None if trace is None else jvm.direct_buffer(memoryview(trace))
        super().__init__(jvm.java_class("allocpool.messages.MessagesTrial")(settings, memory))

    def run(self, messages: int) -> Iteration:
        """Handle the next messages, as fast as they go."""
        start_ns, end_ns = self._trial.run(messages)[:]
        return int(start_ns), int(end_ns), messages

    def run_for(self, seconds: float) -> tuple[int, int]:
        """Take the messages that come due in so many seconds; return start and end, ns."""
        start_ns, end_ns = self._trial.runFor(round(seconds * 1e9))[:]
        return int(start_ns), int(end_ns)

    def rest(self, runs: bool) -> None:
        """Begin or end the rest of the program."""
        (self._trial.startRest if runs else self._trial.stopRest)()

    def delays(self) -> list[tuple[int, int]]:
        """Return (nanoseconds, messages) of the last window with due times."""
        flat = [int(number) for number in self._trial.delays()]
        return list(zip(flat[::2], flat[1::2], strict=True))


class CppLoops(CppCounters):
    def __init__(self, spec: dict[str, Any], launch: dict[str, Any]) -> None:
        ffi, library = native.load(launch)
        self._trace = _mapped(spec)
        error = ffi.new("char[]", native.MESSAGE_BYTES)
        memory = ffi.NULL if self._trace is None else ffi.from_buffer(self._trace)
        settings, length = settings_of(spec, self._trace, spec["temporary_bytes"]).encode(), len(self._trace or b"")
        handle = library.ap_messages_create(settings, memory, length, error, native.MESSAGE_BYTES)
        if handle == ffi.NULL:
            raise native.refusal(ffi.string(error).decode())
        super().__init__(ffi, library, "messages", handle)

    def run(self, messages: int) -> Iteration:
        part = self._ffi.new("ap_iteration*")
        self._call("run", messages, part)
        return part.start_ns, part.end_ns, messages

    def run_for(self, seconds: float) -> tuple[int, int]:
        part = self._ffi.new("ap_iteration*")
        self._call("run_for", round(seconds * 1e9), part)
        return part.start_ns, part.end_ns

    def rest(self, runs: bool) -> None:
        self._call("rest", int(runs))

    def delays(self) -> list[tuple[int, int]]:
        capacity = int(self._library.ap_messages_delays(self._handle, self._ffi.NULL, 0))
        flat = self._ffi.new("int64_t[]", max(1, 2 * capacity))
        self._library.ap_messages_delays(self._handle, flat, capacity)
        return [(int(flat[2 * place]), int(flat[2 * place + 1])) for place in range(capacity)]


Loops = JavaLoops | CppLoops


def run(spec: dict[str, Any], launch: dict[str, Any], _folder: Path) -> MessagesOutcome | OutOfMemory:
    """Measure; exhausted memory is an outcome, too."""
    try:
        return _measure(spec, launch)
    except Exception as error:
        if outcome := out_of_memory(error, spec["language"]):
            return outcome
        raise


def settings_of(spec: dict[str, Any], trace: mmap.mmap | None, temporary_length: int) -> str:
    """Return the workload's settings, one ``name=value`` a line, as both languages read them; ``temporary_length`` of
    each temporary object: references of an array in Java, bytes in C++."""
    sizes = [(int(size), float(weight)) for size, weight in spec["sizes"]]
    thresholds, others = distribution.alias_table(sizes)
    capacities = distribution.classes_of(spec["classes"], sizes)
    weights, out = distribution.class_weights(capacities, sizes), distribution.out_at_once(spec)
    prepared = [0] * len(weights)
    if spec["strategy"] == "pool":
        prepared = distribution.prepared(out, weights)
    elif spec["strategy"] == "mix":
        prepared = [round(distribution.MIX_SHARE * out * weight) for weight in weights]
    interval_ns = 1e9 / spec["rate_per_s"] if spec["rate_per_s"] else 0.0
    time_scale = 1.0
    if trace and spec["arrivals"] == "captured" and interval_ns:
        last_ns = RECORD.unpack_from(trace, len(trace) - RECORD.size)[0]
        time_scale = interval_ns / max(1.0, last_ns / max(1, len(trace) // RECORD.size - 1))
    lists = {
        "capacities": capacities, "prepared": prepared, "sizes": [size for size, _ in sizes],
        "thresholds": thresholds, "others": others,
    }  # fmt: skip
    settings: dict[str, Any] = {name: spec[name] for name in _AS_STATED} | {
        "zeroing": int(spec["zeroing"]),
        **{name: ",".join(map(str, numbers)) for name, numbers in lists.items()},
        "interval_ns": interval_ns,
        "on_share": ON_SHARE,
        "time_scale": time_scale,
        "delay_ns": round(spec["delay_ms"] * 1e6),
        "temporary_length": temporary_length,
    }
    return "\n".join(f"{name}={value}" for name, value in settings.items())


def _mapped(spec: dict[str, Any]) -> mmap.mmap | None:
    """The trace's messages, private to this process."""
    if spec["trace"] is None:
        return None
    with Path(spec["trace"]).open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)


def _measure(spec: dict[str, Any], launch: dict[str, Any]) -> MessagesOutcome:
    begun_ns = monotonic_ns()
    loops: Loops = JavaLoops(spec, launch) if spec["language"] == "java" else CppLoops(spec, launch)
    ready_ns = monotonic_ns()
    idle_mb = rss_mb()
    fill = distribution.out_at_once(spec)
    if spec["messages"] is not None:
        fill = min(fill, spec["messages"] // 2)
    filled = [loops.run(fill)] if fill else []
    loops.rest(True)
    warmup = _window(loops, spec, spec["warmup_seconds"], filled) if spec["messages"] is None else []
    before, window = loops.counts(), CpuWindow()
    if spec["messages"] is None:
        measured = _window(loops, spec, spec["seconds"], [*filled, *warmup])
    else:  # a few parts, none shorter than 5,000 messages
        total = spec["messages"] - fill
        count = max(1, min(_PARTS, total // 5_000))
        measured = [loops.run(total * (i + 1) // count - total * i // count) for i in range(count)]
    cpu = window.close()
    peak_mb, at_end = peak_rss_mb(), loops.counts()
    done = {name: at_end[name] - before[name] for name in at_end}
    loops.rest(False)
    delays = loops.delays() if spec["rate_per_s"] else []
    loops.drain()
    fault = loops.audit()
    outcome: MessagesOutcome = {
        "status": "failed" if fault else "ok",
        "reason": f"audit: {fault}" if fault else None,
        "set_up_ns": ready_ns - begun_ns,
        "iterations": {"fill": filled, "warmup": warmup, "measured": measured},
        "cpu": cpu,
        "counts": loops.counts(),
        "due": done["generated"],
        "lost": done["lost"],
        "delays": delays,
        "checksum": f"{loops.checksum() & 0xFFFF_FFFF_FFFF_FFFF:016x}",
        "memory": {
            "idle_rss_mb": idle_mb, "peak_rss_mb": peak_mb, "pool_mb": at_end["pool_bytes"] / 2**20,
            "wasted_mb": at_end["wasted_bytes"] / 2**20,
        },
        "rest": {"changed_mb": done["changed_bytes"] / 2**20, "garbage_mb": done["garbage_bytes"] / 2**20},
        # Its object is longer than half a region (``G1CollectedHeap::is_humongous``).
        "humongous_from_bytes": int(_vm_option("G1HeapRegionSize")) // 2 - _OBJECT_BYTES + 1
        if spec["collector"] == "g1" else None,
    }  # fmt: skip
    loops.close()
    return outcome


def _vm_option(name: str) -> str:
    beans = jvm.java_class("java.lang.management.ManagementFactory")
    bean = beans.getPlatformMXBean(jvm.java_class("com.sun.management.HotSpotDiagnosticMXBean").class_)
    return str(bean.getVMOption(name).getValue())


def _window(loops: Loops, spec: dict[str, Any], seconds: float, before: list[Iteration]) -> list[Iteration]:
    """Take what comes due in so many seconds; without a rate eight parts or so, by the pace of the part before."""
    if seconds and spec["rate_per_s"]:
        received = loops.counts()["received"]
        start_ns, end_ns = loops.run_for(seconds)
        return [(start_ns, end_ns, loops.counts()["received"] - received)]
    parts: list[Iteration] = []
    left_ns = round(seconds * 1e9)
    while left_ns > 0:
        start_ns, end_ns, messages = (parts or before)[-1]
        part_ns = min(left_ns, round(seconds * 1e9 / _PARTS))
        # Never ten times more than was ever tried: the first part may have been nothing but interpreted code.
        wanted = min(10 * max(messages, _PARTS), round(messages * part_ns / max(1, end_ns - start_ns)))
        parts.append(loops.run(max(_PARTS, wanted)))
        left_ns -= parts[-1][1] - parts[-1][0]
    return parts
