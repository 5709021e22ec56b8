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
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from allocpool import home
from allocpool.compile._run import StepFailed, step
from allocpool.compile.sources import ECHO, SHARING, code_hash
from allocpool.errors import UserError
from allocpool.files import locked
from allocpool.machine.allocators import Boost, find_boost
from allocpool.machine.compiler import find_compiler, output_of

_SUFFIX = ".dylib" if sys.platform == "darwin" else ".so"
LIBRARY = f"liballocpool_native{_SUFFIX}"
DRIVER = "packets_driver"
_RECORD = "build.json"


class _Project(NamedTuple):
    """One CMake project: where it is, what of it is kept."""

    name: str
    sources: str
    """Name of its source set."""
    folder: str
    """Below the folder of native sources."""
    library: str
    header: str
    programs: tuple[str, ...] = ()
    archives: tuple[str, ...] = ()


_OBJECTS = "liballocpool_objects.a"
_PACKETS = _Project("native", "native", "", LIBRARY, "include/allocpool.h", (DRIVER,), (_OBJECTS,))
_ECHO = _Project(
    "echo", ECHO, "echo", f"liballocpool_echo{_SUFFIX}", "echo/include/allocpool_echo.h", ("allocpool_load",)
)
_SHARING = _Project(
    "sharing", SHARING, "sharing", f"liballocpool_sharing{_SUFFIX}", "sharing/include/allocpool_sharing.h"
)


@dataclass(frozen=True)
class NativeBuild:
    """A compiled native library and what it was made with.

    Attributes:
        library: the shared library.
        header: the C header that belongs to it, as it was when it was built.
        code_hash: hash of its sources (``code_hash("native")``).
        compiler: path of the C++ compiler.
        compiler_version: the first line it says of itself.
        flags: what it was called with for the library's first source file.
        programs: executables that belong to it, by name. Beside the packets library that is ``DRIVER``, a process that
            receives a number of packets and ends, for tools that count over a whole process.
    """

    library: Path
    header: Path
    code_hash: str
    compiler: str
    compiler_version: str
    flags: str
    programs: dict[str, Path] = field(default_factory=dict)


def native_library(*, host_cpu: bool = False) -> NativeBuild:
    """The native library of the sources as they are now; builds it if it is not there yet.

    Like any program that is handed out it runs on every CPU of the family. ``host_cpu`` compiles for this machine's CPU
    instead, as a JVM does.

    Raises:
        UserError: no compiler or no CMake, or the build failed; names the log.
    """
    return _built(_PACKETS, host_cpu)


def native_library_if_built() -> NativeBuild | None:
    """Like `native_library`, but builds nothing: None where that would, or could not."""
    try:
        folder, *_ = _folder(_PACKETS)
    except UserError:
        return None
    return _record(folder) if (folder / _RECORD).is_file() else None


def settings_of_tests() -> list[str]:
    """What CMake is given so that the tests in C++ are linked with the very objects that trials run, made if need be.

    Raises:
        UserError: no compiler or no CMake, or the build failed; names the log.
    """
    objects = native_library().library.parent / _OBJECTS
    return [f"-DALLOCPOOL_OBJECTS={objects}", _boost_setting(find_boost())]


def _boost_setting(boost: Boost | None) -> str:
    return f"-DALLOCPOOL_BOOST={boost.include if boost else 'ALLOCPOOL_BOOST-NOTFOUND'}"


def echo_library() -> NativeBuild:
    """The C++ echo server with the load generator, of the sources as they are now.

    Raises:
        UserError: no compiler or no CMake, or the build failed; names the log.
    """
    return _built(_ECHO)


def sharing_library() -> NativeBuild:
    """The workload on many threads before a simulated cache, of the sources as they are now.

    Raises:
        UserError: no compiler or no CMake, or the build failed; names the log.
    """
    return _built(_SHARING)


def _folder(project: _Project, host_cpu: bool = False) -> tuple[Path, str, str, str, Boost | None]:
    """Where the build of the sources as they are now belongs, their hash, compiler, its version, and Boost."""
    compiler, version = find_compiler()
    sources = code_hash(project.sources)
    boost = find_boost() if project is _PACKETS else None
    environment = [boost.version if boost else "", os.environ.get("CXXFLAGS", ""), platform.machine()]
    environment += [_host_cpu(compiler)] if host_cpu else []
    made_with = json.dumps([sources, compiler, version, *environment])
    folder = home.build_dir() / project.name / hashlib.sha256(made_with.encode()).hexdigest()[:16]
    return folder, sources, compiler, version, boost


def _built(project: _Project, host_cpu: bool = False) -> NativeBuild:
    folder, sources, compiler, version, boost = _folder(project, host_cpu)
    if not (folder / _RECORD).is_file():
        with locked(home.build_dir() / project.name / ".lock"):
            if not (folder / _RECORD).is_file():
                _build(project, folder, sources, compiler, version, boost, host_cpu)
    return _record(folder)


def _record(folder: Path) -> NativeBuild:
    record = NativeBuild(**json.loads((folder / _RECORD).read_text(encoding="utf-8")))
    # The checkout may have moved since.
    return replace(
        record,
        library=folder / Path(record.library).name,
        header=folder / Path(record.header).name,
        programs={name: folder / Path(path).name for name, path in record.programs.items()},
    )


def _host_cpu(compiler: str) -> str:
    """What this machine's CPU means to the compiler: the folder of builds may be another machine's, too."""
    return output_of([compiler, "-march=native", "-dM", "-E", "-x", "c++", "-"])[1]


def _build(
    project: _Project,
    folder: Path,
    sources: str,
    compiler: str,
    version: str,
    boost: Boost | None,
    host_cpu: bool,
) -> None:
    for place in (home.native_dir(), folder):
        if '"' in str(place):
            raise UserError(f"CMake can't build in a folder with a double quote in its name: rename {place}")
    log = folder.parent / "build.log"
    log.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".building-") as temporary:
        tree, result = Path(temporary) / "tree", Path(temporary) / "result"
        configure: list[str | Path] = [
            "cmake",
            "-S",
            home.native_dir() / project.folder,
            "-B",
            tree,
            "-DCMAKE_BUILD_TYPE=Release",
        ]
        configure += [
            f"-DCMAKE_CXX_COMPILER={compiler}",
            "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
        ]
        if project is _PACKETS:
            configure += [_boost_setting(boost), f"-DALLOCPOOL_HOST_CPU={'ON' if host_cpu else 'OFF'}"]
        configure += ["-G", "Ninja"] if shutil.which("ninja") else []
        files = (project.library, *project.programs, *project.archives)
        targets = [name.removeprefix("lib").removesuffix(_SUFFIX).removesuffix(".a") for name in files]
        try:
            step(configure, log)
            step(["cmake", "--build", tree, "--target", *targets, "--parallel", str(os.cpu_count() or 1)], log)
        except StepFailed as failure:
            raise UserError(f"the native library could not be built: {failure} (log: {log})") from failure
        result.mkdir()
        for name in files:
            built = next((path for path in tree.rglob(name) if path.is_file()), None)
            if built is None:
                raise UserError(f"the native library could not be built: CMake made no {name} (log: {log})")
            shutil.copy2(built, result / name)
        header = home.native_dir() / project.header
        shutil.copy2(header, result / header.name)
        record = NativeBuild(
            library=folder / project.library,
            header=folder / header.name,
            code_hash=sources,
            compiler=compiler,
            compiler_version=version,
            flags=_flags(tree),
            programs={name: folder / name for name in project.programs},
        )
        (result / _RECORD).write_text(json.dumps(asdict(record), indent=2, default=str) + "\n", encoding="utf-8")
        if folder.exists():
            shutil.rmtree(folder)
        result.rename(folder)


def _flags(tree: Path) -> str:
    """The compiler's options for the first source file, without files, folders and definitions."""
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
