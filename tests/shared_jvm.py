"""Several trials one after the other in one JVM, that of `shared_jvm_child`: so the contract can look at many rows of
one runtime and collector in seconds. How a trial starts is tested by trials that start."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from compilers import quick_flags

from allocpool.machine.host import read_host
from allocpool.packets.specs import PacketsSpec
from allocpool.studies.threads.specs import ThreadsSpec
from allocpool.studies.your_workload.specs import MessagesSpec
from allocpool.trial.launch import Launcher
from allocpool.trial.record import TrialRecord, trial_id
from allocpool.trial.runner import child_environment

TIMEOUT_S = 300
_CHILD = Path(__file__).with_name("shared_jvm_child.py")
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
            "flags": quick_flags(longest.flags),
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
            [sys.executable, _CHILD, name], check=False, cwd=folder, env=child_environment(launches[0]),
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT_S,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        measurements = json.loads((folder / "measurements.json").read_text(encoding="utf-8"))
    host = read_host()
    return [
        TrialRecord(
            trial_id=trial_id(spec, launch.code_hash, host.fingerprint()),
            spec=spec.model_dump(mode="json"), status=measurement.pop("status"), reason=measurement.pop("reason"),
            measurement=measurement, launch=launch, command=(), exit_code=0, host=host, started_utc="", wall_s=0.0,
            cpu_s=0.0, load_before=0.0,
        )
        for spec, launch, measurement in zip(specs, launches, measurements, strict=True)
    ]  # fmt: skip
