"""The Java compiler: the newest JDK on this machine, because it builds the most modules.

Embedded runtimes hold none. Code that must run on 11 is compiled with ``--release 11``.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from allocpool.errors import UserError
from allocpool.runtimes.discovery import BrokenRuntime, Runtime, probe, system_homes, user_homes

OLDEST_JAVAC = 17
"""The oldest feature release whose compiler builds the project."""


@dataclass(frozen=True)
class Javac:
    """A JDK with a compiler."""

    feature: int
    home: Path
    version: str

    def environment(self) -> dict[str, str]:
        """Return the environment of this process with this JDK as ``JAVA_HOME``, for Maven."""
        return {**os.environ, "JAVA_HOME": str(self.home)}


def find_javac() -> Javac:
    """Return the newest JDK with a compiler; among equals the first found (user's own, ``JAVA_HOME``, path, system).
    UserError where none is new enough."""
    found: list[Runtime] = []
    for candidate in (*user_homes(), *system_homes()):
        if (candidate / "bin" / "javac").is_file():
            with suppress(BrokenRuntime):
                found.append(probe(candidate, "system"))
    best = max(found, key=lambda runtime: runtime.feature, default=None)
    if best is None or best.feature < OLDEST_JAVAC:
        available = f"the newest found is a JDK {best.feature} in {best.home}" if best else "none was found"
        raise UserError(
            f"a JDK {OLDEST_JAVAC} or newer with javac is needed, {available}: "
            f"install openjdk-{OLDEST_JAVAC}-jdk (Debian) or openjdk (conda-forge, Homebrew), "
            "or set JAVA_HOME to one"
        )
    return Javac(best.feature, best.home, best.version)
