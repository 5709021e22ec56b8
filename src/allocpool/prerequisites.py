"""The programs that building needs: their versions, and how to get what is missing.

``python -m allocpool.prerequisites`` runs before anything is installed, so this module and its imports need only the
standard library.
"""

from __future__ import annotations

import re
import shutil
import sys
from dataclasses import dataclass

from allocpool.errors import UserError
from allocpool.machine.compiler import find_compiler, output_of
from allocpool.runtimes.discovery import find_javac

_CPP17 = "#include <optional>\n#include <string_view>\nstd::optional<std::string_view> probe;\n"


@dataclass(frozen=True)
class Part:
    """Something that this machine has or lacks; ``problem``: what is wrong with it and how to mend it."""

    name: str
    found: str | None = None
    problem: str | None = None


def _compiler() -> Part:
    try:
        path, version = find_compiler()
    except UserError as error:
        return Part("C++ compiler", None, str(error))
    status, printed = output_of([path, "-std=c++17", "-fsyntax-only", "-x", "c++", "-"], _CPP17)
    why = printed.splitlines()[0] if printed else "no reason given"
    return Part("C++ compiler", f"{version} ({path})", f"{path} does not compile C++17: {why}" if status else None)


def _javac() -> Part:
    try:
        javac = find_javac()
    except UserError as error:
        return Part("javac", None, str(error))
    return Part("javac", f"{javac.version} ({javac.home / 'bin' / 'javac'})")


def _versioned(name: str, program: str, oldest: tuple[int, int]) -> Part:
    """Look for a program that prints ``<name> <version>`` for ``--version``."""
    needed, remedy = f"{oldest[0]}.{oldest[1]}", f"install {name.lower()} (Debian, conda-forge, Homebrew)"
    path = shutil.which(program)
    if path is None:
        return Part(name, None, f"{program} is missing ({needed} or newer): {remedy}")
    status, printed = output_of([path, "--version"])
    version = re.search(r"\d+\.\d+(\.\d+)?", printed)
    if status != 0 or version is None:
        return Part(name, path, f"{path} does not work: {(printed.splitlines() or ['no output'])[0]}")
    old = tuple(int(part) for part in version.group().split(".")[:2]) < oldest
    problem = f"{path} is {version.group()}, {needed} or newer is needed: {remedy}" if old else None
    return Part(name, f"{version.group()} ({path})", problem)


def tools() -> tuple[Part, ...]:
    """Return every program that building needs, whether it is there or not."""
    return _javac(), _versioned("Maven", "mvn", (3, 6)), _compiler(), _versioned("CMake", "cmake", (3, 20))


def main() -> int:
    """Print a line for every program that is missing; return 1 if there is one."""
    problems = [tool.problem for tool in tools() if tool.problem]
    for problem in problems:
        print(f"missing: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
