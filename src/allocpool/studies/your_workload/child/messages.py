"""A trial of the reader's own workload: fill flight and stores, warm up, measure, then read what is left.

Both languages get the same lines of settings. Flight and stores are filled as fast as it goes, also where messages have
times: a store that is filled at the program's own pace would take as long as its messages are kept.
"""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import Any, Protocol

from allocpool.packets.child.workload import out_of_memory
from allocpool.studies.your_workload import sizes as distribution
from allocpool.studies.your_workload.measurement import MessagesOutcome, MessagesWindows
from allocpool.studies.your_workload.replay import mean_interval_ns
from allocpool.trial.child import jvm, native
from allocpool.trial.child.accounting import CpuWindow, monotonic_ns, peak_rss_mb, rss_mb
from allocpool.trial.child.counters import Counters, CppCounters, JavaCounters
from allocpool.trial.measurement import Iteration, OutOfMemory

_PARTS = 8
"""Of a measured window."""
_LEAST_PART = 5_000
_OBJECT_BYTES = 16
"""Header of an array of Java."""
_AS_STATED = (
    "seed", "threads", "layout", "strategy", "filled_share", "read_share", "arrivals", "burst_length", "in_flight",
    "kept_share", "kept_count", "replacement", "temporaries", "live_mb", "changed_mb_per_s", "garbage_mb_per_s",
)  # fmt: skip
ON_SHARE = 0.1
"""Of the time, when an on-off source is on: a burst comes ten times as fast as messages do on average."""


class Loops(Counters, Protocol):
    """The workload on its threads, whichever language does the work."""

    def run(self, messages: int) -> Iteration:
        """Handle the next messages, as fast as they go."""

    def run_for(self, seconds: float) -> tuple[int, int]:
        """Take the messages that come due in so many seconds; return start and end, ns."""

    def rest(self, runs: bool) -> None:
        """Begin or end the rest of the program."""

    def delays(self) -> list[tuple[int, int]]:
        """Return (nanoseconds, messages) of the last window with due times."""


class JavaLoops(JavaCounters):
    """The Java workload, in this process through JPype."""

    def __init__(self, spec: dict[str, Any], launch: dict[str, Any]) -> None:
        jvm.start(launch)
        trace = _mapped(spec)
        super().__init__(
            jvm.java_class("allocpool.messages.MessagesTrial")(
                settings_of(spec, self._references(spec["temporary_bytes"])),
                None if trace is None else jvm.direct_buffer(memoryview(trace)),
            )
        )

    @staticmethod
    def _references(object_bytes: int) -> int:
        """The length of an array of references that takes so many bytes on this heap."""
        reference_bytes = 4 if _vm_option("UseCompressedOops") == "true" else 8
        return max(1, (object_bytes - _OBJECT_BYTES) // reference_bytes)

    def run(self, messages: int) -> Iteration:
        start_ns, end_ns = self._trial.run(messages)[:]
        return int(start_ns), int(end_ns), messages

    def run_for(self, seconds: float) -> tuple[int, int]:
        start_ns, end_ns = self._trial.runFor(round(seconds * 1e9))[:]
        return int(start_ns), int(end_ns)

    def rest(self, runs: bool) -> None:
        (self._trial.startRest if runs else self._trial.stopRest)()

    def delays(self) -> list[tuple[int, int]]:
        flat = [int(number) for number in self._trial.delays()]
        return list(zip(flat[::2], flat[1::2], strict=True))


class CppLoops(CppCounters):
    """The C++ workload, in this process through cffi."""

    def __init__(self, spec: dict[str, Any], launch: dict[str, Any]) -> None:
        ffi, library = native.load(launch)
        self._trace = _mapped(spec)
        error = ffi.new("char[]", native.MESSAGE_BYTES)
        memory = ffi.NULL if self._trace is None else ffi.from_buffer(self._trace)
        handle = library.ap_messages_create(
            settings_of(spec, spec["temporary_bytes"]).encode(), memory, 0 if self._trace is None else len(self._trace),
            error, native.MESSAGE_BYTES,
        )  # fmt: skip
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
        numbers = [int(number) for number in flat[0 : 2 * capacity]]
        return list(zip(numbers[::2], numbers[1::2], strict=True))


def run(spec: dict[str, Any], launch: dict[str, Any], _folder: Path) -> MessagesOutcome | OutOfMemory:
    """Measure; exhausted memory is an outcome, too."""
    try:
        return _measure(spec, launch)
    except Exception as error:
        if outcome := out_of_memory(error, spec["language"]):
            return outcome
        raise


def settings_of(spec: dict[str, Any], temporary_length: int) -> str:
    """Return the workload's settings, one ``name=value`` a line, as both languages read them.

    Args:
        temporary_length: of each temporary object, references of an array in Java, bytes in C++.
    """
    sizes = [(int(size), float(weight)) for size, weight in spec["sizes"]]
    thresholds, others = distribution.alias_table(sizes)
    capacities = distribution.classes_of(spec["classes"], sizes)
    interval_ns = 1e9 / spec["rate_per_s"] if spec["rate_per_s"] else 0.0
    captured = spec["arrivals"] == "captured"
    settings: dict[str, Any] = {name: spec[name] for name in _AS_STATED} | {
        "zeroing": int(spec["zeroing"]),
        "capacities": _listed(capacities),
        "prepared": _listed(_prepared(spec, distribution.class_weights(capacities, sizes))),
        "sizes": _listed(size for size, _ in sizes),
        "thresholds": _listed(thresholds),
        "others": _listed(others),
        "interval_ns": interval_ns,
        "on_share": ON_SHARE,
        "time_scale": interval_ns / mean_interval_ns(Path(spec["trace"])) if captured and interval_ns else 1.0,
        "delay_ns": round(spec["delay_ms"] * 1e6),
        "temporary_length": temporary_length,
    }
    return "\n".join(f"{name}={value}" for name, value in settings.items())


def _prepared(spec: dict[str, Any], weights: tuple[float, ...]) -> list[int]:
    out = spec["in_flight"] + spec["kept_count"] + spec["threads"]
    if spec["strategy"] == "pool":
        return distribution.prepared(out, weights)
    if spec["strategy"] == "mix":
        return [round(distribution.MIX_SHARE * out * weight) for weight in weights]
    return [0] * len(weights)


def _listed(numbers: Any) -> str:
    return ",".join(map(str, numbers))


def _mapped(spec: dict[str, Any]) -> mmap.mmap | None:
    """The trace's messages, private to this process."""
    if spec["trace"] is None:
        return None
    with Path(spec["trace"]).open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)


def _measure(spec: dict[str, Any], launch: dict[str, Any]) -> MessagesOutcome:
    begun_ns = monotonic_ns()
    loops: Loops = (JavaLoops if spec["language"] == "java" else CppLoops)(spec, launch)
    ready_ns = monotonic_ns()
    idle_mb = rss_mb()
    fill = spec["in_flight"] + spec["kept_count"] + spec["threads"]
    if spec["messages"] is not None:
        fill = min(fill, spec["messages"] // 2)
    filled = [loops.run(fill)] if fill else []
    loops.rest(True)
    warmup = _window(loops, spec, spec["warmup_seconds"], filled) if spec["messages"] is None else []
    before, window = loops.counts(), CpuWindow()
    if spec["messages"] is not None:
        measured = [loops.run(part) for part in _parts(spec["messages"] - fill)]
    else:
        measured = _window(loops, spec, spec["seconds"], [*filled, *warmup])
    cpu = window.close()
    peak_mb, at_end = peak_rss_mb(), loops.counts()
    loops.rest(False)
    delays = loops.delays() if spec["rate_per_s"] else []
    loops.drain()
    fault = loops.audit()
    windows: MessagesWindows = {"fill": filled, "warmup": warmup, "measured": measured}
    outcome: MessagesOutcome = {
        "status": "failed" if fault else "ok",
        "reason": f"audit: {fault}" if fault else None,
        "set_up_ns": ready_ns - begun_ns,
        "iterations": windows,
        "cpu": cpu,
        "counts": loops.counts(),
        "due": at_end["generated"] - before["generated"],
        "lost": at_end["lost"] - before["lost"],
        "delays": delays,
        "checksum": f"{loops.checksum() & 0xFFFF_FFFF_FFFF_FFFF:016x}",
        "memory": {
            "idle_rss_mb": idle_mb,
            "peak_rss_mb": peak_mb,
            "pool_mb": at_end["pool_bytes"] / 2**20,
            "wasted_mb": at_end["wasted_bytes"] / 2**20,
        },
        "rest": {
            "changed_mb": (at_end["changed_bytes"] - before["changed_bytes"]) / 2**20,
            "garbage_mb": (at_end["garbage_bytes"] - before["garbage_bytes"]) / 2**20,
        },
        "humongous_from_bytes": _humongous_from_bytes(spec),
    }
    loops.close()
    return outcome


def _humongous_from_bytes(spec: dict[str, Any]) -> int | None:
    """The shortest array that G1 gives separate regions: its object is longer than half a region
    (``G1CollectedHeap::is_humongous``)."""
    if spec["collector"] != "g1":
        return None
    region_bytes = int(_vm_option("G1HeapRegionSize"))
    return region_bytes // 2 - _OBJECT_BYTES + 1


def _vm_option(name: str) -> str:
    beans = jvm.java_class("java.lang.management.ManagementFactory")
    bean = beans.getPlatformMXBean(jvm.java_class("com.sun.management.HotSpotDiagnosticMXBean").class_)
    return str(bean.getVMOption(name).getValue())


def _window(loops: Loops, spec: dict[str, Any], seconds: float, before: list[Iteration]) -> list[Iteration]:
    if not seconds:
        return []
    if spec["rate_per_s"]:
        received = loops.counts()["received"]
        start_ns, end_ns = loops.run_for(seconds)
        return [(start_ns, end_ns, loops.counts()["received"] - received)]
    return _for_seconds(loops, seconds, before)


def _parts(messages: int) -> list[int]:
    """Messages of each part of a window: a few, none of them short."""
    count = max(1, min(_PARTS, messages // _LEAST_PART))
    return [messages * (i + 1) // count - messages * i // count for i in range(count)]


def _for_seconds(loops: Loops, seconds: float, before: list[Iteration]) -> list[Iteration]:
    """Run parts of about an eighth of the time each, by the pace of the part before, until it has passed."""
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
