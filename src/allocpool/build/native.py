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
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from allocpool import home
from allocpool._files import locked
from allocpool.allocators import Boost, find_boost
from allocpool.build._run import StepFailed, step
from allocpool.build.sources import code_hash
from allocpool.errors import UserError
from allocpool.tools import find_compiler

LIBRARY = "liballocpool_native.dylib" if sys.platform == "darwin" else "liballocpool_native.so"
DRIVER = "packets_driver"
_TARGETS = ("allocpool_native", DRIVER)
_RECORD = "build.json"


class NativeBuild(BaseModel):
    """A compiled native library and what it was made with.

    Attributes:
        library: the shared library.
        header: the C header that belongs to it, as it was when it was built.
        code_hash: hash of its sources (``code_hash("native")``).
        compiler: path of the C++ compiler.
        compiler_version: the first line it says of itself.
        flags: what it was called with for the library's first source file.

    Beside the library lies ``DRIVER``, a process that receives a number of packets and ends, for tools that count over
    a whole process.
    """

    model_config = ConfigDict(frozen=True)

    library: Path
    header: Path
    code_hash: str
    compiler: str
    compiler_version: str
    flags: str


def native_library() -> NativeBuild:
    """The native library of the sources as they are now; builds it if it is not there yet.

    Raises:
        UserError: no compiler or no CMake, or the build failed; names the log.
    """
    compiler, version = find_compiler()
    sources = code_hash("native")
    boost = find_boost()
    environment = [boost.version if boost else "", os.environ.get("CXXFLAGS", ""), platform.machine()]
    made_with = json.dumps([sources, compiler, version, *environment])
    folder = home.build_dir() / "native" / hashlib.sha256(made_with.encode()).hexdigest()[:16]
    if not (folder / _RECORD).is_file():
        with locked(home.build_dir() / "native" / ".lock"):
            if not (folder / _RECORD).is_file():
                _build(folder, sources, compiler, version, boost)
    record = NativeBuild.model_validate_json((folder / _RECORD).read_text(encoding="utf-8"))
    # The checkout may have moved since.
    return record.model_copy(update={"library": folder / record.library.name, "header": folder / record.header.name})


def _build(folder: Path, sources: str, compiler: str, version: str, boost: Boost | None) -> None:
    log = home.build_dir() / "native" / "build.log"
    log.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".building-") as temporary:
        tree, result = Path(temporary) / "tree", Path(temporary) / "result"
        configure: list[str | Path] = [
            "cmake",
            "-S",
            home.native_dir(),
            "-B",
            tree,
            "-DCMAKE_BUILD_TYPE=Release",
        ]
        configure += [
            f"-DCMAKE_CXX_COMPILER={compiler}",
            "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
            "-DALLOCPOOL_TESTS=OFF",
            f"-DALLOCPOOL_BOOST={boost.include if boost else 'ALLOCPOOL_BOOST-NOTFOUND'}",
        ]
        configure += ["-G", "Ninja"] if shutil.which("ninja") else []
        try:
            step(configure, log)
            step(["cmake", "--build", tree, "--target", *_TARGETS, "--parallel", str(os.cpu_count() or 1)], log)
        except StepFailed as failure:
            raise UserError(f"the native library could not be built: {failure} (log: {log})") from failure
        built = next(tree.rglob(LIBRARY), None)
        if built is None:
            raise UserError(f"the native library could not be built: CMake made no {LIBRARY} (log: {log})")
        result.mkdir()
        shutil.copy2(built, result / LIBRARY)
        shutil.copy2(tree / DRIVER, result / DRIVER)
        header = home.native_dir() / "include" / "allocpool.h"
        shutil.copy2(header, result / header.name)
        record = NativeBuild(
            library=folder / LIBRARY,
            header=folder / header.name,
            code_hash=sources,
            compiler=compiler,
            compiler_version=version,
            flags=_flags(tree),
        )
        (result / _RECORD).write_text(record.model_dump_json(indent=2) + "\n", encoding="utf-8")
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
