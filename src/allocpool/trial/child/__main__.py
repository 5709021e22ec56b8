"""``python -m allocpool.trial.child FOLDER``: run the trial that ``FOLDER/spec.json`` describes.

Writes ``measurement.json`` atomically at its end. Exit status 0 with that file is a finished trial; of any other the
parent reads the exit status and the tail of stderr.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from allocpool.machine.personality import start_again_at_fixed_addresses

_PR_SET_PDEATHSIG = 1


def _die_with_parent() -> None:
    """Ask Linux to kill this process when its parent dies, so that a killed campaign leaves no orphan."""
    parent = int(os.environ.get("ALLOCPOOL_PARENT", os.getppid()))
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            sys.exit("the parent died before the trial began")


def run(folder: Path) -> dict[str, Any]:
    """Run the trial in ``folder`` and return its measurement."""
    asked = json.loads((folder / "spec.json").read_text(encoding="utf-8"))
    module = importlib.import_module(asked["launch"]["child"])
    measured: dict[str, Any] = module.run(asked["spec"], asked["launch"], folder)
    if asked["launch"]["jvm"] and measured["status"] == "ok":
        importlib.import_module("allocpool.trial.child.jvm").mark_end()
    return measured


def main() -> None:
    """Entry of the child process."""
    folder = Path(sys.argv[1])
    _die_with_parent()
    start_again_at_fixed_addresses((sys.executable, "-m", "allocpool.trial.child", str(folder)))
    gc.disable()  # JPype asks the JVM to collect whenever Python does
    measurement = run(folder)
    scratch = folder / ".measurement.json"
    with scratch.open("w", encoding="utf-8") as file:
        json.dump(measurement, file)
        file.flush()
        os.fsync(file.fileno())
    scratch.replace(folder / "measurement.json")
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # the measurement is on disk: nothing that a JVM does at exit may change the outcome


if __name__ == "__main__":
    main()
