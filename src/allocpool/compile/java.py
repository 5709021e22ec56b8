"""The workloads' jars: packaged by Maven from a copy of the sources, kept under a name that they decide.

Building from a copy leaves the checkout alone, starts clean every time, and cannot meet a Maven that someone
runs in it. Maven is tried offline first: once its repository is filled, a build needs no network.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from allocpool import home
from allocpool.compile._run import RECORD, StepFailed, keep, step
from allocpool.compile.sources import code_hash, java_modules, java_sources, module_release
from allocpool.errors import UserError, unknown_choice
from allocpool.files import locked
from allocpool.runtimes.discovery import OBEYED, Runtime, find_javac

_COPY_DEPENDENCIES = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
_OFFLINE = "in offline mode"
"""What Maven says when only a download is missing."""


@dataclass(frozen=True)
class JavaBuild:
    """The compiled jars of one Maven module (folder under ``workloads/``), its own first, and what they were made with.

    ``code_hash`` is of its sources and its siblings'. It runs on Java ``release``, for which it is compiled, and newer.
    """

    module: str
    classpath: tuple[Path, ...]
    code_hash: str
    release: int
    javac_version: str


def check_module(module: str, javac: Runtime) -> None:
    """Refuse an unknown module, or one that this compiler is too old for; UserError names what is needed."""
    if module not in java_modules():
        raise unknown_choice("Java module", module, java_modules())
    release = module_release(module)
    if release > javac.feature:
        raise UserError(
            f"the Java module {module} needs a JDK {release} or newer to build, "
            f"the newest found is {javac.version} in {javac.home}: install one and set JAVA_HOME to it"
        )


def java_classpath(module: str) -> JavaBuild:
    """Return the jars of ``module`` from the sources as they are now; builds them if they are not there yet.

    Raises:
        UserError: no such module, no JDK new enough, no Maven, or the build failed; names the log.
    """
    return java_classpaths([module])[module]


def java_classpaths(modules: Sequence[str]) -> dict[str, JavaBuild]:
    """Do as `java_classpath` for several modules: what is missing is built by one run of Maven."""
    javac = find_javac()
    for module in modules:
        check_module(module, javac)
    if not all(_is_built(module, javac) for module in modules):
        with locked(home.build_dir() / "java" / ".lock"):
            missing = [module for module in modules if not _is_built(module, javac)]
            if missing:
                _build(missing, javac)
    return {module: _load(_folder(module, javac)) for module in modules}


def _load(folder: Path) -> JavaBuild:
    record = JavaBuild(**json.loads((folder / RECORD).read_text(encoding="utf-8")))
    # The checkout may have moved since.
    return replace(record, classpath=tuple(folder / Path(jar).name for jar in record.classpath))


def _folder(module: str, javac: Runtime) -> Path:
    made_with = json.dumps([module, code_hash(f"{module}-java"), javac.version])
    return home.build_dir() / "java" / hashlib.sha256(made_with.encode()).hexdigest()[:16]


def _is_built(module: str, javac: Runtime) -> bool:
    return (_folder(module, javac) / RECORD).is_file()


def _build(modules: list[str], javac: Runtime) -> None:
    parent = home.build_dir() / "java"
    log = parent / "build.log"
    log.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(dir=parent, prefix=".building-") as temporary:
        tree = Path(temporary) / "workloads"
        _copy_sources(tree)
        command: list[str | Path] = ["mvn", "--batch-mode", "--no-transfer-progress", "-f", tree / "pom.xml"]
        command += ["-pl", ",".join(modules), "-am", "-Dmaven.test.skip=true", "-DincludeScope=runtime"]
        goals = ["package", _COPY_DEPENDENCIES]
        try:
            try:
                step([*command, "--offline", *goals], log, javac.environment())
            except StepFailed as failure:
                if _OFFLINE not in failure.output:
                    raise
                step([*command, *goals], log, javac.environment())
        except StepFailed as failure:
            obeyed = "".join(f"; {name} is set, which Maven obeys: unset it" for name in OBEYED if name in os.environ)
            raise UserError(
                f"the Java module {', '.join(modules)} could not be built: {failure}{obeyed} (log: {log})"
            ) from failure
        for module in modules:
            _keep(module, tree, Path(temporary) / f"result-{module}", javac, log)


def _copy_sources(tree: Path) -> None:
    """Copies what jars are made of; every module, because the parent lists them all."""
    workloads = home.workloads_dir()
    sources = {file for module in java_modules() for file in java_sources(module)}
    # Maven's own settings decide how long it takes, not what it makes.
    for file in sources | {file for file in (workloads / ".mvn").glob("*") if file.is_file()}:
        target = tree / file.relative_to(workloads)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(file, target)


def _keep(module: str, tree: Path, scratch: Path, javac: Runtime, log: Path) -> None:
    folder = _folder(module, javac)
    target = tree / module / "target"
    jar = target / f"{module}.jar"
    if not jar.is_file():
        raise UserError(f"the Java module {module} could not be built: Maven made no {module}.jar (log: {log})")
    jars = [jar, *sorted((target / "dependency").glob("*.jar"))]
    build = JavaBuild(
        module=module,
        classpath=tuple(folder / file.name for file in jars),
        code_hash=code_hash(f"{module}-java"),
        release=module_release(module),
        javac_version=javac.version,
    )
    keep(build, jars, folder, scratch)
