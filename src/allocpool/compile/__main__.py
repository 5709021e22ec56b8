"""``python -m allocpool.compile``: builds the native libraries and every Java module of trials that can be built here.

It needs no package, so that it goes on while these are installed.
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

from allocpool.compile import check_module, java_classpaths, java_modules, native_library
from allocpool.errors import UserError
from allocpool.runtimes.discovery import find_javac

_LITMUS = "-jcstress"
"""Ends the names of modules that are only tests."""


def main() -> int:
    """Build everything, side by side, print what was left out and why, and return the exit status."""
    try:
        javac = find_javac()
        buildable = []
        for module in java_modules():
            if module.endswith(_LITMUS):
                continue
            try:
                check_module(module, javac)
                buildable.append(module)
            except UserError as error:
                print(f"left out: {error}")
        # Each waits for compilers most of the time, in processes of their own.
        with ThreadPoolExecutor() as pool:
            java = pool.submit(java_classpaths, buildable)
            for native in pool.map(native_library, ("packets", "echo")):
                print(f"{native.library.name}: {native.library} ({native.compiler_version}; {native.flags})")
            for module, build in java.result().items():
                print(f"{module}: {build.classpath[0]} (release {build.release}, javac {build.javac_version})")
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except OSError as error:  # a folder that takes no files
        print(f"error: {error.filename or 'a file'} can't be written: {error.strerror}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
