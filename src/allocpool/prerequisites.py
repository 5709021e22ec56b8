"""The programs that building needs: where they are, their versions, and how to get what is missing.

``python -m allocpool.prerequisites`` runs before anything is installed, so this module and what it imports need only
the standard library.
"""

from __future__ import annotations

import re
import shutil
import sys
from dataclasses import dataclass

from allocpool.errors import UserError
from allocpool.machine.compiler import find_compiler, output_of
from allocpool.runtimes.javac import OLDEST_JAVAC, find_javac

_CPP17 = "#include <optional>\n#include <string_view>\nstd::optional<std::string_view> probe;\n"
_OLDEST_CMAKE = (3, 20)
_OLDEST_MAVEN = (3, 6)


@dataclass(frozen=True)
class Tool:
    """One program: what it is for, and either where it is or why not and how to get it."""

    name: str
    purpose: str
    path: str | None
    version: str | None
    problem: str | None


def _compiler() -> Tool:
    purpose = "builds the native library (C++17)"
    try:
        path, version = find_compiler()
    except UserError as error:
        return Tool("C++ compiler", purpose, None, None, str(error))
    status, said = output_of([path, "-std=c++17", "-fsyntax-only", "-x", "c++", "-"], _CPP17)
    if status != 0:
        said = said.splitlines()[0] if said else "no reason given"
        return Tool("C++ compiler", purpose, path, version, f"{path} does not compile C++17: {said}")
    return Tool("C++ compiler", purpose, path, version, None)


def _javac() -> Tool:
    purpose = f"compiles the Java workloads (JDK {OLDEST_JAVAC} or newer)"
    try:
        javac = find_javac()
    except UserError as error:
        return Tool("javac", purpose, None, None, str(error))
    return Tool("javac", purpose, str(javac.home / "bin" / "javac"), javac.version, None)


def _versioned(name: str, program: str, purpose: str, oldest: tuple[int, int], remedy: str) -> Tool:
    """A program that prints ``<name> <version>`` for ``--version``."""
    needed = f"{oldest[0]}.{oldest[1]}"
    path = shutil.which(program)
    if path is None:
        return Tool(name, purpose, None, None, f"{program} is missing ({needed} or newer): {remedy}")
    status, said = output_of([path, "--version"])
    printed_version = re.search(r"\d+\.\d+(\.\d+)?", said)
    if status != 0 or printed_version is None:
        return Tool(name, purpose, path, None, f"{path} does not work: {(said.splitlines() or ['no output'])[0]}")
    version = printed_version.group()
    if tuple(int(part) for part in version.split(".")[:2]) < oldest:
        return Tool(name, purpose, path, version, f"{path} is {version}, {needed} or newer is needed: {remedy}")
    return Tool(name, purpose, path, version, None)


def tools() -> tuple[Tool, ...]:
    """Every program that building needs, whether it is there or not."""
    return (
        _javac(),
        _versioned(
            "Maven",
            "mvn",
            "builds the Java workloads",
            _OLDEST_MAVEN,
            "install maven (Debian, conda-forge, Homebrew)",
        ),
        _compiler(),
        _versioned(
            "CMake",
            "cmake",
            "builds the native library",
            _OLDEST_CMAKE,
            "install cmake (Debian, conda-forge, Homebrew)",
        ),
    )


def main() -> int:
    """Prints a line for every program that is missing; returns 1 if there is one."""
    problems = [tool.problem for tool in tools() if tool.problem]
    for problem in problems:
        print(f"missing: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
