"""A stream trial: a pipeline in this process, on its own member, and what each window's results took.

While windows are measured, this thread sleeps: everything is written down inside the JVM and read at the end.
"""

from __future__ import annotations

import math
import os
import time
from pathlib import Path
from typing import Any

import psutil

from allocpool.studies.stream.measurement import VM_OPTIONS, StreamOutcome, StreamSwitchOutcome, Switch
from allocpool.trial.child import jvm
from allocpool.trial.child.accounting import CpuWindow, monotonic_ns, peak_rss_mb
from allocpool.trial.measurement import Failure

_LOOPBACK = ("127.0.0.1", "::1", "::ffff:127.0.0.1")


def run(spec: dict[str, Any], launch: dict[str, Any], _folder: Path) -> StreamOutcome | StreamSwitchOutcome | Failure:
    """Measure one rate, or switches; return as outcomes a member that does not start and an exhausted heap."""
    jvm.start(launch)
    if spec["mode"] == "stream_switch":
        return _switches(spec)
    trial_class = jvm.java_class("allocpool.stream.StreamTrial")
    warmup_ms, hiccup_from_ms, end_ms = _times_ms(spec)
    sources = 1 if spec["sources"] == "single" else spec["cooperative_threads"]
    try:
        trial = trial_class(
            spec["events_per_second"], spec["keys"], spec["window_ms"], spec["slide_ms"], spec["aggregate"],
            spec["cooperative_threads"], spec["processors"], sources, hiccup_from_ms, spec["hiccup_ms"], spec["port"],
            warmup_ms, end_ms, round(spec["patience_seconds"] * 1000),
        )  # fmt: skip
    except Exception as error:
        return _outcome(error, "the engine did not start: ")
    try:
        exposed = _listens_beyond_loopback()
        if exposed:
            return {"status": "failed", "reason": f"the member listens beyond loopback, at {', '.join(exposed)}"}
        return _measure(trial, trial_class, warmup_ms, end_ms)
    except Exception as error:
        return _outcome(error, "the pipeline failed: ")
    finally:
        trial.close()


def _times_ms(spec: dict[str, Any]) -> tuple[int, int, int]:
    """End of the warm-up, begin of the hiccup and end of the trial, as `StreamSpec` has them."""
    slide_ms = int(spec["slide_ms"])
    warmup_ms = math.ceil(float(spec["warmup_seconds"]) * 1000 / slide_ms) * slide_ms
    windows = int(float(spec["seconds"]) * 1000 + 1e-6) // slide_ms
    return warmup_ms, warmup_ms + windows // 2 * slide_ms, warmup_ms + windows * slide_ms


def _outcome(error: Exception, what: str) -> Failure:
    said = " ".join(str(error).split())
    exhausted = jvm.is_out_of_memory(error) or "OutOfMemoryError" in said
    return {"status": "out_of_memory" if exhausted else "failed", "reason": f"{what}{said[:300]}"}


def _listens_beyond_loopback() -> list[str]:
    listening = [c for c in psutil.Process().net_connections("inet") if c.status == psutil.CONN_LISTEN]
    return [f"{c.laddr.ip}:{c.laddr.port}" for c in listening if c.laddr.ip not in _LOOPBACK]


def _measure(trial: Any, trial_class: Any, *window_ms: int) -> StreamOutcome:
    origin_ns = int(trial.start())
    start_ns, end_ns = (origin_ns + ms * 1_000_000 for ms in window_ms)
    _sleep_until(start_ns)
    allocated_bytes = int(trial_class.allocatedBytes())
    window = CpuWindow()
    _sleep_until(end_ns)
    cpu = window.close()
    allocated_bytes = int(trial_class.allocatedBytes()) - allocated_bytes
    trial.join()
    gave_up = bool(trial.hasGivenUp())
    fault = str(trial.fault())
    return {
        "status": "failed" if fault else "ok",
        "reason": f"wrong results: {fault}" if fault else None,
        "gave_up": gave_up,
        "source_lag_ns": None if gave_up else int(trial.sourceLagNs()),
        "latencies_ns": [int(ns) for ns in trial.latenciesNs()],
        "firsts_ns": [int(ns) for ns in trial.firstsNs()],
        "histogram": str(trial.encodedLatencies()),
        "events": int(trial.events()),
        "results": int(trial.results()),
        "measured_results": int(trial.measuredResults()),
        "allocated_bytes": allocated_bytes,
        "start_ns": start_ns,
        "end_ns": end_ns,
        "cpu": cpu,
        "vm_options": {name: int(str(trial_class.vmOption(name))) for name in VM_OPTIONS},
        "peak_rss_mb": peak_rss_mb(),
    }


def _sleep_until(instant_ns: int) -> None:
    time.sleep(max(0, instant_ns - monotonic_ns()) / 1e9)


def _switches(spec: dict[str, Any]) -> StreamSwitchOutcome:
    """Measure each way in turn, on one processor.

    Threads inherit the processors of the thread that starts them: this one is bound to one of its own after the JVM has
    started, so that collector and compiler stay where they are.
    """
    processor = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {processor})
    switches = jvm.java_class("allocpool.stream.Switches")
    measured = [_switch("empty", switches.emptyNs())]
    measured += [_switch(way, switches.measure(way, spec["parties"], spec["turns"])) for way in spec["ways"]]
    return {
        "status": "ok",
        "reason": None,
        "switches": measured,
        "processor": processor,
        "peak_rss_mb": peak_rss_mb(),
    }


def _switch(way: str, percentiles_ns: Any) -> Switch:
    p10_ns, p50_ns, p90_ns = (int(ns) for ns in percentiles_ns)
    return {"way": way, "p10_ns": p10_ns, "p50_ns": p50_ns, "p90_ns": p90_ns}
