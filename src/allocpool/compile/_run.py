"""One build step: a command whose output goes to a log, and whose failure is one line that names it."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from allocpool.errors import UserError
from allocpool.machine.guard import guarded, start_guard

_LONGEST_LINE = 300

_PLACE = re.compile(r"\.\w+:[\[\d]")
"""A file and a line in it, as compilers write them: ``a.cpp:3:1`` or ``A.java:[3,1]``."""


class StepFailed(Exception):
    """A build command ended with an error; the message is the telling line of its ``output``."""

    def __init__(self, output: str, status: int) -> None:
        super().__init__(telling_line(output, status))
        self.output = output


def step(command: Sequence[str | Path], log: Path, environment: Mapping[str, str] | None = None) -> None:
    """Runs ``command`` and appends what it prints to ``log``.

    Raises:
        UserError: the program is not there.
        StepFailed: it ended with an error.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    words = [str(word) for word in command]
    with log.open("a", encoding="utf-8") as file:
        file.write(f"$ {' '.join(words)}\n")
        file.flush()
        before = log.stat().st_size
        try:
            start_guard()
            child = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            )
            with guarded(child):
                status = child.wait()
        except FileNotFoundError as error:
            raise UserError(f"{words[0]} is not installed: `allocpool doctor` says how to get it") from error
    if status != 0:
        with log.open("rb") as output:
            output.seek(before)
            raise StepFailed(output.read().decode("utf-8", "replace"), status)


def telling_line(output: str, status: int) -> str:
    """The first error that names a place in a source, else the first error at all, else the last line."""
    lines = [line.strip().removeprefix("[ERROR]").strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower() or _PLACE.search(line)]
    placed = [line for line in errors if _PLACE.search(line) and "warning" not in line.lower()]
    line = (placed or errors or lines[-1:] or [f"exit status {status}"])[0]
    return line[:_LONGEST_LINE]
