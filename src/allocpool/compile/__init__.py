"""Compiled code for trials: always of the sources as they are now, built once, kept side by side."""

from allocpool.compile.java import JavaBuild, check_module, java_classpath, java_classpaths
from allocpool.compile.native import (
    NativeBuild,
    native_library,
    native_library_if_built,
    settings_of_tests,
    source_set_of,
)
from allocpool.compile.sources import code_hash, java_modules, module_release, source_sets

__all__ = [
    "JavaBuild",
    "NativeBuild",
    "check_module",
    "code_hash",
    "java_classpath",
    "java_classpaths",
    "java_modules",
    "module_release",
    "native_library",
    "native_library_if_built",
    "settings_of_tests",
    "source_set_of",
    "source_sets",
]
