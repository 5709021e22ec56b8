"""The C++ compiler of this machine."""

from __future__ import annotations

import os
import shutil
import subprocess

from allocpool.errors import UserError


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
