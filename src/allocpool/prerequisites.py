"""The programs that building needs: their versions, and how to get what is missing.

``python -m allocpool.prerequisites`` runs before anything is installed, so this module and its imports need only the
standard library.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from allocpool.compile._run import find_compiler, output_of
from allocpool.errors import UserError
from allocpool.runtimes.discovery import find_javac

_CPP17 = "#include <optional>\n#include <string_view>\nstd::optional<std::string_view> probe;\n"


@dataclass(frozen=True)
class Part:
    """Something that this machine has or lacks; ``problem``: what is wrong with it and how to mend it."""

    name: str
    found: str | None = None
    problem: str | None = None


def part_of(name: str, find: Callable[[], str]) -> Part:
    try:
        return Part(name, find())
    except UserError as error:
        return Part(name, None, str(error))


def _compiler() -> str:
    path, version = find_compiler()
    status, printed = output_of([path, "-std=c++17", "-fsyntax-only", "-x", "c++", "-"], _CPP17)
    if status:
        raise UserError(f"{path} does not compile C++17: {(printed.splitlines() or ['no reason given'])[0]}")
    return f"{version} ({path})"


def _javac() -> str:
    javac = find_javac()
    return f"{javac.version} ({javac.home / 'bin' / 'javac'})"


def _versioned(name: str, program: str, oldest: tuple[int, int]) -> str:
    """Look for a program that prints ``<name> <version>`` for ``--version``."""
    needed, remedy = f"{oldest[0]}.{oldest[1]}", f"install {name.lower()} (Debian, conda-forge, Homebrew)"
    path = shutil.which(program)
    if path is None:
        raise UserError(f"{program} is missing ({needed} or newer): {remedy}")
    status, printed = output_of([path, "--version"])
    version = re.search(r"\d+\.\d+(\.\d+)?", printed)
    if status != 0 or version is None:
        raise UserError(f"{path} does not work: {(printed.splitlines() or ['no output'])[0]}")
    if tuple(int(part) for part in version.group().split(".")[:2]) < oldest:
        raise UserError(f"{path} is {version.group()}, {needed} or newer is needed: {remedy}")
    return f"{version.group()} ({path})"


def tools() -> tuple[Part, ...]:
    """Return every program that building needs, whether it is there or not."""
    maven, cmake = partial(_versioned, "Maven", "mvn", (3, 6)), partial(_versioned, "CMake", "cmake", (3, 20))
    return (
        part_of("javac", _javac),
        part_of("Maven", maven),
        part_of("C++ compiler", _compiler),
        part_of("CMake", cmake),
    )


def main() -> int:
    """Print a line for every program that is missing; return 1 if there is one."""
    problems = [tool.problem for tool in tools() if tool.problem]
    for problem in problems:
        print(f"missing: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
