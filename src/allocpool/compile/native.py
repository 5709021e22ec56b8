"""The native library: configured and built by CMake out of tree, kept under a name that its sources decide.

A library that was rebuilt is not loaded again in a live process, and a running trial must not see its file
change: so every build gets its own folder, and an old one is never written to.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shlex
import shutil
import sys
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from allocpool import home
from allocpool.compile._run import RECORD, StepFailed, find_compiler, keep, output_of, step
from allocpool.compile.sources import code_hash
from allocpool.errors import UserError
from allocpool.files import locked
from allocpool.machine.allocators import find_boost

_SUFFIX = ".dylib" if sys.platform == "darwin" else ".so"
_OBJECTS = "liballocpool_objects.a"


class _Project(NamedTuple):
    """One CMake project: where it is, what of it is kept."""

    name: str
    """Of its folder of builds."""
    sources: str
    """Name of its source set."""
    folder: str
    """Below the folder of native sources."""
    library: str
    header: str
    programs: tuple[str, ...] = ()
    archives: tuple[str, ...] = ()
    on: tuple[str, ...] = ()
    """Options of CMake: ``HOST_CPU``, compiled for this machine's CPU, as by a JVM, not for every CPU of the family;
    ``SLP``, neighbouring fields joined into vectors."""


_PACKETS = _Project(
    "native", "native", "", f"liballocpool_native{_SUFFIX}", "include/allocpool.h", ("packets_driver",), (_OBJECTS,)
)
_PROJECTS = {
    "packets": _PACKETS,
    "packets-host": _PACKETS._replace(on=("HOST_CPU",)),
    "packets-slp": _PACKETS._replace(on=("SLP",)),
    "packets-host-slp": _PACKETS._replace(on=("HOST_CPU", "SLP")),
    "echo": _Project(
        "echo", "echo-native", "echo", f"liballocpool_echo{_SUFFIX}", "echo/include/allocpool_echo.h",
        ("allocpool_load",),
    ),
    "sharing": _Project(
        "sharing", "sharing-native", "sharing", f"liballocpool_sharing{_SUFFIX}",
        "sharing/include/allocpool_sharing.h",
    ),
}  # fmt: skip
"""``echo`` is the echo server with the load generator, ``sharing`` the workload on many threads before a simulated
cache."""


@dataclass(frozen=True)
class NativeBuild:
    """A compiled native library, with its C header as it was then, and what it was made with.

    ``flags`` are those of its first source file. ``programs``: executables that belong to it, by name;
    ``packets_driver`` receives a number of packets and ends, for tools that count over a process.
    """

    library: Path
    header: Path
    code_hash: str
    compiler: str
    compiler_version: str
    flags: str
    programs: dict[str, Path] = field(default_factory=dict)


def source_set_of(project: str) -> str:
    """Return the name that `code_hash` has for the sources of a project."""
    return _PROJECTS[project].sources


def native_library(project: str = "packets") -> NativeBuild:
    """Return a project's library of the sources as they are now; builds it if it is not there yet.

    Raises:
        UserError: no compiler or no CMake, or the build failed; names the log.
    """
    planned = _planned(_PROJECTS[project])
    folder = planned.library.parent
    if not (folder / RECORD).is_file():
        with locked(folder.with_name(".lock")):
            if not (folder / RECORD).is_file():
                _build(_PROJECTS[project], planned, folder)
    return _recorded(planned)


def native_library_if_built() -> NativeBuild | None:
    """Return the packets library as `native_library` does, but build nothing: None where that would, or could not."""
    try:
        return _recorded(_planned(_PACKETS))
    except (UserError, FileNotFoundError):
        return None


def settings_of_tests() -> list[str]:
    """Return what CMake is given so that the tests in C++ are linked with the very objects that trials run, made if
    need be; errors as of `native_library`."""
    return [f"-DALLOCPOOL_OBJECTS={native_library().library.with_name(_OBJECTS)}", _boost_setting()]


def _boost_setting() -> str:
    boost = find_boost()
    return f"-DALLOCPOOL_BOOST={boost.include if boost else 'ALLOCPOOL_BOOST-NOTFOUND'}"


def _planned(project: _Project) -> NativeBuild:
    """The build of the sources as they are now, but for its flags; its folder is named after what it is made with."""
    compiler, version = find_compiler()
    sources = code_hash(project.sources)
    boost = find_boost() if project.sources == "native" else None
    environment = [boost.version if boost else "", os.environ.get("CXXFLAGS", ""), platform.machine(), *project.on]
    if "HOST_CPU" in project.on:  # the folder of builds may be another machine's, too
        environment.append(output_of([compiler, "-march=native", "-dM", "-E", "-x", "c++", "-"])[1])
    made_with = json.dumps([sources, compiler, version, *environment])
    folder = home.build_dir() / project.name / hashlib.sha256(made_with.encode()).hexdigest()[:16]
    return NativeBuild(
        library=folder / project.library, header=folder / Path(project.header).name, code_hash=sources,
        compiler=compiler, compiler_version=version, flags="",
        programs={name: folder / name for name in project.programs},
    )  # fmt: skip


def _recorded(planned: NativeBuild) -> NativeBuild:
    record = json.loads(planned.library.with_name(RECORD).read_text(encoding="utf-8"))
    return replace(planned, flags=record["flags"])


def _build(project: _Project, planned: NativeBuild, folder: Path) -> None:
    for place in (home.native_dir(), folder):
        if '"' in str(place):
            raise UserError(f"CMake can't build in a folder with a double quote in its name: rename {place}")
    log = folder.with_name("build.log")
    log.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".building-") as temporary:
        tree = Path(temporary) / "tree"
        configure: list[str | Path] = ["cmake", "-S", home.native_dir() / project.folder, "-B", tree]
        configure += ["-DCMAKE_BUILD_TYPE=Release"]
        configure += [f"-DCMAKE_CXX_COMPILER={planned.compiler}", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"]
        if project.sources == "native":
            configure += [_boost_setting(), *(f"-DALLOCPOOL_{option}=ON" for option in project.on)]
        configure += ["-G", "Ninja"] if shutil.which("ninja") else []
        files = (project.library, *project.programs, *project.archives)
        targets = [name.removeprefix("lib").removesuffix(_SUFFIX).removesuffix(".a") for name in files]
        try:
            step(configure, log)
            step(["cmake", "--build", tree, "--target", *targets, "--parallel", str(os.cpu_count() or 1)], log)
        except StepFailed as failure:
            raise UserError(f"the native library could not be built: {failure} (log: {log})") from failure
        built = {path.name: path for path in tree.rglob("*") if path.name in files and path.is_file()}
        if missing := [name for name in files if name not in built]:
            raise UserError(f"the native library could not be built: CMake made no {missing[0]} (log: {log})")
        found = replace(planned, flags=_flags(tree))
        keep(found, [*built.values(), home.native_dir() / project.header], folder, Path(temporary) / "result")


def _flags(tree: Path) -> str:
    """Return the compiler's options for the first source file, without files, folders and definitions."""
    commands = json.loads((tree / "compile_commands.json").read_text(encoding="utf-8"))
    words = shlex.split(commands[0]["command"])[1:]
    kept: list[str] = []
    skip = False
    for word in words:
        if skip or word in ("-o", "-c", "-isystem", "-MF", "-MT"):
            skip = not skip
        elif word == "-DNDEBUG" or not word.startswith(("-I", "-D")):
            kept.append(word)
    return " ".join(kept)
