"""``python -m allocpool.compile``: builds the native library and every Java module that the JDK here can."""

from __future__ import annotations

import sys

from allocpool.compile import check_module, echo_library, java_classpaths, java_modules, native_library
from allocpool.errors import UserError
from allocpool.runtimes import find_javac


def main() -> int:
    """Builds everything; says what was left out and why. Returns the exit status."""
    try:
        for name, native in (("native", native_library()), ("echo", echo_library())):
            print(f"{name}: {native.library} ({native.compiler_version}; {native.flags})")
        javac = find_javac()
        buildable = []
        for module in java_modules():
            try:
                check_module(module, javac)
                buildable.append(module)
            except UserError as error:
                print(f"left out: {error}")
        for module, build in java_classpaths(buildable).items():
            print(f"{module}: {build.classpath[0]} (release {build.release}, javac {build.javac_version})")
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
