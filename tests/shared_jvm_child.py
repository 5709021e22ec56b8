"""``python shared_jvm_child.py FOLDER``: the process that runs the trials of `shared_jvm`.

It does what `allocpool.trial.child` does once for each, without its start, and imports as little: what specifications
need is long to import.
"""

from __future__ import annotations

import gc
import importlib
import json
import sys
from pathlib import Path
from typing import Any

from allocpool.trial.child import jvm


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
