"""What builds share: the compiler, a step, whose output goes to a log, and how a result is kept."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from allocpool.errors import UserError
from allocpool.machine.guard import guarded, start_guard

RECORD = "build.json"
_LONGEST_LINE = 300
_PLACE = re.compile(r"\.\w+:[\[\d]")
"""A file and a line in it, as compilers write them: ``a.cpp:3:1`` or ``A.java:[3,1]``."""


class StepFailed(Exception):
    """A build command ended with an error; the message is the telling line of its ``output``."""

    def __init__(self, output: str, status: int) -> None:
        super().__init__(telling_line(output, status))
        self.output = output


def step(command: Sequence[str | Path], log: Path, environment: Mapping[str, str] | None = None) -> None:
    """Run ``command``, its output appended to ``log``; UserError without the program, StepFailed where it fails."""
    log.parent.mkdir(parents=True, exist_ok=True)
    words = [str(word) for word in command]
    with log.open("a", encoding="utf-8") as file:
        file.write(f"$ {' '.join(words)}\n")
        file.flush()
        before = log.stat().st_size
        try:
            start_guard()
            child = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, env=environment,
                start_new_session=True,
            )  # fmt: skip
            with guarded(child):
                status = child.wait()
        except FileNotFoundError as error:
            raise UserError(f"{words[0]} is not installed: `allocpool doctor` says how to get it") from error
    if status != 0:
        with log.open("rb") as output:
            output.seek(before)
            raise StepFailed(output.read().decode("utf-8", "replace"), status)


def keep(build: Any, files: Iterable[Path], folder: Path, scratch: Path) -> None:
    """Move files, with the record ``build`` (a dataclass) of how they were made, to their folder in one step."""
    scratch.mkdir()
    for file in files:
        shutil.copy2(file, scratch / file.name)
    (scratch / RECORD).write_text(json.dumps(asdict(build), indent=2, default=str) + "\n", encoding="utf-8")
    if folder.exists():
        shutil.rmtree(folder)
    scratch.rename(folder)


def telling_line(output: str, status: int) -> str:
    """Return the first error that names a place in a source, else the first error, else the last line."""
    lines = [line.strip().removeprefix("[ERROR]").strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower() or _PLACE.search(line)]
    placed = [line for line in errors if _PLACE.search(line) and "warning" not in line.lower()]
    line = (placed or errors or lines[-1:] or [f"exit status {status}"])[0]
    return line[:_LONGEST_LINE]


def output_of(command: list[str], text_in: str = "") -> tuple[int, str]:
    """Return exit status and output of a command, (-1, reason) if it does not start."""
    try:
        done = subprocess.run(command, check=False, input=text_in, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        return -1, str(error)
    return done.returncode, done.stdout + done.stderr


def find_compiler() -> tuple[str, str]:
    """Return the C++ compiler (``CXX``, else the first of c++, g++, clang++): its path and its version line.

    Raises:
        UserError: there is none, or it does not compile C++17.
    """
    named = os.environ.get("CXX")
    remedy = "install g++ (Debian), cxx-compiler (conda-forge) or the Xcode command line tools (macOS)"
    for candidate in [named] if named else ["c++", "g++", "clang++"]:
        path = shutil.which(candidate)
        if path is None:
            continue
        status, said = output_of([path, "--version"])
        if status == 0 and said:
            return path, said.splitlines()[0]
    raise UserError(f"{f'CXX={named} does not start' if named else 'there is no C++ compiler'}: {remedy}")
