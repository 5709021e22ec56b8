"""Compiled code for trials: always of the sources as they are now, built once, kept side by side."""

from allocpool.compile.java import JavaBuild as JavaBuild
from allocpool.compile.java import check_module as check_module
from allocpool.compile.java import java_classpath as java_classpath
from allocpool.compile.java import java_classpaths as java_classpaths
from allocpool.compile.native import NativeBuild as NativeBuild
from allocpool.compile.native import native_library as native_library
from allocpool.compile.native import native_library_if_built as native_library_if_built
from allocpool.compile.native import settings_of_tests as settings_of_tests
from allocpool.compile.native import source_set_of as source_set_of
from allocpool.compile.sources import code_hash as code_hash
from allocpool.compile.sources import java_modules as java_modules
from allocpool.compile.sources import module_release as module_release
from allocpool.compile.sources import source_sets as source_sets
