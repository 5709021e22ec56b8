"""One build step: a command whose output goes to a log, and whose failure is one line that names it."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from allocpool.errors import UserError


class StepFailed(Exception):
    """A build command ended with an error; the message is the telling line of its output."""


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
            status = subprocess.run(
                words,
                check=False,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                env=environment,
            ).returncode
        except FileNotFoundError as error:
            raise UserError(f"{words[0]} is not installed: `allocpool doctor` says how to get it") from error
    if status != 0:
        with log.open("rb") as output:
            output.seek(before)
            raise StepFailed(telling_line(output.read().decode("utf-8", "replace"), status))


def telling_line(output: str, status: int) -> str:
    """The first line that says "error", without a summary's markup, else the last line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for line in lines:
        if "error" in line.lower():
            return line.removeprefix("[ERROR]").strip()[:300]
    return lines[-1][:300] if lines else f"exit status {status}"
