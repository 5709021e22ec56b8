"""Several trials one after the other in one JVM; ``python shared_jvm.py FOLDER`` is the process that runs them.

It does what `allocpool.trial.child` does once for each, without its start: so the contract can look at many rows of one
runtime and collector in seconds. How a trial starts is tested by trials that start.
"""

from __future__ import annotations

import gc
import importlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from allocpool.machine.host import read_host
from allocpool.packets.specs import PacketsSpec
from allocpool.studies.threads.specs import ThreadsSpec
from allocpool.studies.your_workload.specs import MessagesSpec
from allocpool.trial.child import jvm
from allocpool.trial.launch import Launcher
from allocpool.trial.record import TrialRecord, trial_id
from allocpool.trial.runner import child_environment

TIMEOUT_S = 300
_PRE_TOUCH = "-XX:+AlwaysPreTouch"
QUICKLY = ("-XX:TieredStopAtLevel=1",)
"""Nothing is timed: most of what such a JVM does else is to compile what runs but a moment, and to touch memory."""
DIRECT_MB = 4096
"""Plenty: what an earlier trial had is given back only when a collection finds it."""


def records_of(
    specs: Sequence[PacketsSpec] | Sequence[ThreadsSpec] | Sequence[MessagesSpec], heap_mb: int
) -> list[TrialRecord]:
    """The records of these trials, all of one runtime and collector, on a heap of this size."""
    assert len({(spec.runtime, spec.collector) for spec in specs}) == 1
    launcher = Launcher()
    launches = [
        launcher.launch_of(spec.model_copy(update={"heap_mb": heap_mb, "direct_mb": DIRECT_MB})) for spec in specs
    ]
    jvms = [launch.jvm for launch in launches if launch.jvm]
    longest = max(jvms, key=lambda one: len(one.flags))
    shared = longest.model_copy(
        update={
            "classpath": tuple(dict.fromkeys(jar for one in jvms for jar in one.classpath)),
            "flags": tuple(flag for flag in longest.flags if flag != _PRE_TOUCH) + QUICKLY,
        }
    )
    native = next((launch.native for launch in launches if launch.native), None)
    with tempfile.TemporaryDirectory(prefix="allocpool-shared-") as name:
        folder = Path(name)
        asked = [
            {
                "spec": spec.model_dump(mode="json"),
                "launch": launch.model_copy(update={"jvm": shared, "native": native}).model_dump(mode="json"),
            }
            for spec, launch in zip(specs, launches, strict=True)
        ]
        (folder / "trials.json").write_text(json.dumps(asked), encoding="utf-8")
        done = subprocess.run(
            [sys.executable, __file__, name],
            check=False,
            cwd=folder,
            env=child_environment(launches[0]),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        measurements = json.loads((folder / "measurements.json").read_text(encoding="utf-8"))
    host = read_host()
    return [
        TrialRecord(
            trial_id=trial_id(spec, launch.code_hash, host.fingerprint()),
            spec=spec.model_dump(mode="json"),
            status=measurement.pop("status"),
            reason=measurement.pop("reason"),
            measurement=measurement,
            launch=launch,
            command=(),
            exit_code=0,
            host=host,
            started_utc="",
            wall_s=0.0,
            cpu_s=0.0,
            load_before=0.0,
        )
        for spec, launch, measurement in zip(specs, launches, measurements, strict=True)
    ]


def main(folder: Path) -> None:
    """Writes ``measurements.json``: one measurement for each trial, in their order."""
    gc.disable()  # JPype asks the JVM to collect whenever Python does
    asked = json.loads((folder / "trials.json").read_text(encoding="utf-8"))
    jvm.start(asked[0]["launch"])
    vars(jvm)["start"] = lambda _launch: None  # a JVM starts once per process
    measurements: list[Any] = [
        importlib.import_module(trial["launch"]["child"]).run(trial["spec"], trial["launch"], folder) for trial in asked
    ]
    (folder / "measurements.json").write_text(json.dumps(measurements), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
