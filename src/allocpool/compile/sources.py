"""What a trial's code is: named sets of source files, and one hash over them.

The hash covers paths and contents, not times, so that a checkout elsewhere agrees and a changed workload
never reuses stale numbers.
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

from allocpool import home
from allocpool.errors import unknown_choice

_NATIVE = {
    "native": ("cmake", "include", "src"),
    "echo-native": ("echo", "cmake", "src"),
    "sharing-native": ("sharing", "cmake", "include", "src"),
}
"""The folders of native sources that a library is made of, by source set; tests and benchmarks leave numbers alone."""
_JAVA = "-java"
_PYTHON = "allocpool."
_POM = "{http://maven.apache.org/POM/4.0.0}"


def java_modules() -> tuple[str, ...]:
    """The Maven modules of the workloads, sorted: every folder with a ``pom.xml``."""
    return tuple(sorted(pom.parent.name for pom in home.workloads_dir().glob("*/pom.xml")))


def source_sets() -> tuple[str, ...]:
    """Return the names that `code_hash` takes, besides those of Python modules: of `_NATIVE`, and ``<module>-java``."""
    return (*_NATIVE, *(module + _JAVA for module in java_modules()))


def code_hash(*parts: str) -> str:
    """Return one hash of the sources of ``parts``, 16 hexadecimal digits; UserError where there is no such set.

    ``parts``: names out of `source_sets`, or dotted names of modules that children run; in any order.
    """
    digest = hashlib.sha256()
    root = home.home()
    for part in sorted(set(parts)):
        digest.update(f"[{part}]\n".encode())
        for file in sorted(_files(part)):
            content = hashlib.sha256(_content(file)).hexdigest()
            digest.update(f"{file.relative_to(root).as_posix()} {content}\n".encode())
    return digest.hexdigest()[:16]


def _content(file: Path) -> bytes:
    """What counts of a file: of the parent POM not which modules there are, or a new study would void all others."""
    content = file.read_bytes()
    if file.name == "pom.xml" and file == home.workloads_dir() / "pom.xml":
        return re.sub(rb"<modules>.*?</modules>", b"", content, flags=re.DOTALL)
    return content


def _files(part: str) -> Iterable[Path]:
    if part.startswith(_PYTHON):
        return child_sources(part)
    if part not in source_sets():
        raise unknown_choice("source set", part, source_sets())
    if part not in _NATIVE:
        return java_sources(part.removesuffix(_JAVA))
    folder = home.native_dir()
    own = folder.glob("CMakeLists.txt") if part == "native" else ()
    return [*own, *(file for name in _NATIVE[part] for file in _below(folder / name))]


def java_sources(module: str) -> list[Path]:
    """What the jar of ``module`` is made of, with the sibling modules it depends on; no tests."""
    workloads = home.workloads_dir()
    files = [workloads / "pom.xml"]
    for name in sorted(with_siblings(module)):
        files += [workloads / name / "pom.xml", *_below(workloads / name / "src" / "main")]
    return [file for file in files if file.is_file()]


def with_siblings(module: str) -> set[str]:
    """``module`` and the modules of this project that it depends on, directly or not."""
    modules = set(java_modules())
    reached: set[str] = set()
    todo = [module]
    while todo:
        name = todo.pop()
        if name in reached:
            continue
        reached.add(name)
        pom = ElementTree.parse(home.workloads_dir() / name / "pom.xml")
        artifacts = (d.findtext(f"{_POM}artifactId", "") for d in pom.iter(f"{_POM}dependency"))
        todo += [artifact for artifact in artifacts if artifact in modules]
    return reached


def module_release(module: str) -> int:
    """The Java release that ``module`` is compiled for: its ``maven.compiler.release``, else its parent's."""
    poms = (home.workloads_dir() / module / "pom.xml", home.workloads_dir() / "pom.xml")
    found = (ElementTree.parse(pom).findtext(f"{_POM}properties/{_POM}maven.compiler.release") for pom in poms)
    return int(next(filter(None, found)))


def child_sources(module: str) -> list[Path]:
    """The Python that runs inside a trial that ``module`` measures: the child's entry, the module, what they import."""
    package = Path(__file__).resolve().parents[1]
    files: set[Path] = set()
    todo = [*_module_files(package, "allocpool.trial.child.__main__"), *_module_files(package, module)]
    while todo:
        file = todo.pop()
        if file not in files:
            files.add(file)
            todo += [f for name in _imports(file.read_text(encoding="utf-8")) for f in _module_files(package, name)]
    return sorted(files)


def _module_files(package: Path, name: str) -> Iterator[Path]:
    """The files that importing a dotted name of the package runs; a name inside a module has its module's."""
    # As texts: a campaign asks this of every import of all that its trials run.
    path = str(package)
    candidates = [f"{path}/__init__.py"]
    for part in name.split(".")[1:]:
        path = f"{path}/{part}"
        candidates += [f"{path}.py", f"{path}/__init__.py"]
    return (Path(candidate) for candidate in candidates if os.path.isfile(candidate))


@cache
def _imports(source: str) -> tuple[str, ...]:
    """The names out of this package that a module of this text imports."""
    names: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return tuple(name for name in names if name.split(".")[0] == "allocpool")


def _below(folder: Path) -> list[Path]:
    return [
        Path(place, name)
        for place, _, names in os.walk(folder)
        for name in names
        if not name.startswith(".") and os.path.isfile(os.path.join(place, name))
    ]
