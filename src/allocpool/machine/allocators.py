"""Which memory allocator C++ ``new`` reaches: the C library's own, or one preloaded when the process starts.

An allocator must be preloaded at exec: loading it later fails for want of static thread-local storage.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from sysconfig import get_path
from typing import NamedTuple

from allocpool.errors import UserError, unknown_choice

PRELOAD = "LD_PRELOAD"
"""The environment variable that names a library to load before all others (ld.so(8))."""


class Allocator(NamedTuple):
    """An allocator: its name in specs, the stems of its library's file name, the packages that hold it, and the
    environment variables that set it."""

    name: str
    stems: tuple[str, ...]
    debian: str
    conda: str
    settings: tuple[tuple[str, str], ...] = ()


_KEEPING = (("MALLOC_TRIM_THRESHOLD_", str(2**40)), ("MALLOC_MMAP_THRESHOLD_", str(2**25)))
"""By default glibc gives the top of its heap back to the kernel as soon as 128 KiB of it are free, and maps a large
block by itself; a program that allocates again soon pays for fresh pages. These thresholds (mallopt(3); the second at
its largest) let it keep them."""
_SMALL_CACHE = (("GLIBC_TUNABLES", "glibc.malloc.tcache_max=512"),)
"""The thread cache of glibc holds blocks of at most 1,032 bytes, and the tunable can only lower that: a buffer of 1,024
bytes that is allocated by itself fits, a packet that contains one does not. With this neither does."""
HUGE_PAGES = (("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1"),)
"""Makes glibc 2.35 and later ask the kernel for transparent huge pages (glibc manual, Memory Allocation Tunables)."""
_BACKGROUND = (("MALLOC_CONF", "background_thread:true"),)
"""A thread of its own gives unused pages back to the kernel, in place of the thread that frees (jemalloc(3))."""
ALLOCATORS = {
    one.name: one
    for one in (
        Allocator("glibc", (), "libc6", ""),
        Allocator("glibc_keeping", (), "libc6", "", _KEEPING),
        Allocator("jemalloc", ("libjemalloc",), "libjemalloc2", "jemalloc"),
        Allocator("jemalloc_background", ("libjemalloc",), "libjemalloc2", "jemalloc", _BACKGROUND),
        Allocator("mimalloc", ("libmimalloc",), "libmimalloc2.0", "mimalloc"),
        Allocator("mimalloc3", ("libmimalloc.so.3",), "libmimalloc3", "cmeel-mimalloc (PyPI) or mimalloc"),
        Allocator("tcmalloc", ("libtcmalloc_minimal", "libtcmalloc"), "libtcmalloc-minimal4", "gperftools"),
        Allocator("glibc_small_cache", (), "libc6", "", _SMALL_CACHE),
        Allocator("glibc_huge_pages", (), "libc6", "", HUGE_PAGES),
    )
}
"""Every allocator by its name; ``glibc`` is what the process has without a preload, ``glibc_keeping`` the same, set
not to give memory back, ``glibc_small_cache`` the same, set to cache no buffer, ``glibc_huge_pages`` the same, on huge
pages; ``jemalloc_background`` is jemalloc with a thread that gives memory back."""
_PREFIXES = tuple(map(Path, (sys.prefix, "/usr/local", "/usr", "/opt/homebrew", f"{get_path('purelib')}/cmeel.prefix")))
"""Where libraries and headers are: this environment first (conda), then the system, then what PyPI has of cmeel's."""


class Boost(NamedTuple):
    """Boost's headers: their folder and their version, as in ``1_74``."""

    include: Path
    version: str


def find_boost() -> Boost | None:
    """Return the headers of boost::pool, this environment's (conda) before the system's; None where there are none."""
    for include in (prefix / "include" for prefix in _PREFIXES):
        header = include / "boost" / "version.hpp"
        if (include / "boost" / "pool" / "pool.hpp").is_file() and header.is_file():
            version = re.search(r'BOOST_LIB_VERSION "(\w+)"', header.read_text(encoding="utf-8"))
            return Boost(include, version.group(1) if version else "unknown")
    return None


def check_boost() -> None:
    """Raise a `UserError` that names the packages where boost::pool is not installed."""
    if find_boost() is None:
        raise UserError(
            "boost_pool: Boost's headers are missing: install libboost-dev (Debian) or libboost-headers (conda-forge)"
        )


def find_allocator(name: str) -> Path | None:
    """Return the library to preload for allocator ``name``; None for the C library's own, which needs no preload.

    Raises:
        UserError: unknown name, or not installed; names the packages.
    """
    if name not in ALLOCATORS:
        raise unknown_choice("allocator", name, ALLOCATORS)
    allocator = ALLOCATORS[name]
    if not allocator.stems:
        return None
    endings = (".dylib",) if sys.platform == "darwin" else ("", ".so", ".so.*")
    of_debian = sorted(Path("/usr/lib").glob("*-linux-gnu"))
    local, *system = (prefix / "lib" for prefix in _PREFIXES)
    for folder in (local, *of_debian, *system, Path("/lib"), Path("/usr/lib64")):
        for pattern in (stem + ending for stem in allocator.stems for ending in endings):
            if libraries := sorted(folder.glob(pattern)):
                return libraries[0]
    raise UserError(
        f"the allocator {name} is not installed: install {allocator.debian} (Debian) or {allocator.conda} (conda-forge)"
    )


def environment_of(name: str | None) -> dict[str, str]:
    """Return the environment variables of a process that allocator ``name`` serves; errors as of `find_allocator`.

    Where none is wanted, too: a library that this process was started with would be inherited.
    """
    if name is None or name not in ALLOCATORS:
        return {PRELOAD: ""}
    return {PRELOAD: str(find_allocator(name) or ""), **dict(ALLOCATORS[name].settings)}
