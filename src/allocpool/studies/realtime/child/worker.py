"""``python -m allocpool.studies.realtime.child.worker``: a process of a search that measures what it is asked for.

Its folder is the working directory, with ``spec.json``. One line of JSON answers each line: first unasked, when the
processor is set up; then for each window asked for; last, when its input ends, what the processor reports of itself.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TextIO

from allocpool.packets.child import workload as packets
from allocpool.studies.realtime.child import pace
from allocpool.studies.realtime.child.windows import Windows
from allocpool.studies.realtime.measurement import WorkerWindow
from allocpool.trial.child.process import die_with_parent


class Answer(WorkerWindow):
    """What a worker answers to a question for a window."""

    paces_ns: list[float]
    """Of the work that shows the machine's pace, just before and after; empty where that was not asked for."""
    fault: str


Make = Callable[[dict[str, Any], dict[str, Any], Path, float, float], Windows]
"""Sets up what is measured; the arguments are those of `Windows`."""


def serve(
    spec: dict[str, Any], launch: dict[str, Any], questions: TextIO, answers: TextIO, make: Make = Windows
) -> None:
    """Set up, then answer until the questions end."""

    def say(answer: Mapping[str, Any]) -> None:
        answers.write(json.dumps(answer) + "\n")
        answers.flush()

    try:
        longest_s = spec["cap_seconds"] + spec["warmup_seconds"]
        smallest_ns = min(spec["low_ns"], spec["compared_ns"])
        windows = make(spec, launch, Path.cwd(), smallest_ns, longest_s)
        windows.prologue()
        say({})
        for line in questions:
            say(_answer(windows, launch, **json.loads(line)))
        processed, fault = windows.close()
        say({**processed, "fault": fault})
    except Exception as error:
        outcome = packets.out_of_memory(error, spec["language"])
        if outcome is None:
            raise
        say(outcome)


def _answer(
    windows: Windows, launch: dict[str, Any], patience: dict[str, float] | None = None, **question: Any
) -> Answer:
    """A window; with ``patience``, the arguments of ``await_full_pace``, between two looks at the machine's pace."""
    before_ns, waited_s = pace.await_full_pace(launch, **patience) if patience else (0.0, 0.0)
    window, fault = windows.measure(**question)
    return {
        "interval_ns": window["interval_ns"],
        "figures": window["figures"],
        "placement": window["placement"],
        "majors": window["majors"],
        "cap_reached": window["cap_reached"],
        "waited_s": waited_s,
        "paces_ns": [before_ns, pace.pace_ns(launch)] if patience else [],
        "fault": fault,
    }


def main(make: Make = Windows) -> None:
    """Entry of the process."""
    die_with_parent()
    gc.disable()  # JPype asks the JVM to collect whenever Python does
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a JVM prints must not look like an answer
    asked = json.loads(Path("spec.json").read_text(encoding="utf-8"))
    serve(asked["spec"], asked["launch"], sys.stdin, answers, make)
    os._exit(0)


if __name__ == "__main__":
    main()
