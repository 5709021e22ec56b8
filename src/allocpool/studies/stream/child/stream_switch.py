"""What a switch takes, from tasklet to tasklet of the engine and from thread to thread of Java, on one processor.

Threads inherit the processors of the thread that starts them: this one is bound to one of its own after the JVM has
started, so that collector and compiler stay where they are.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from allocpool.studies.stream.measurement import StreamSwitchOutcome, Switch
from allocpool.trial.child import jvm
from allocpool.trial.child.accounting import peak_rss_mb


def run(spec: dict[str, Any], launch: dict[str, Any], _folder: Path) -> StreamSwitchOutcome:
    """Each way in turn."""
    jvm.start(launch)
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
