"""The allocator and the pages of this process's memory."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

from allocpool.machine.allocators import ALLOCATORS, PRELOAD


def allocator_version(name: str) -> str:
    """Return the version of the allocator that this process was started with; RuntimeError where /proc/self/maps shows
    another one, or its settings are not those asked for."""
    lines = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    loaded = {Path(fields[5]) for line in lines if len(fields := line.split(maxsplit=5)) == 6}
    preloaded = os.environ.get(PRELOAD)
    own = {Path(preloaded).resolve()} if preloaded and ALLOCATORS[name].stems else set()
    if ALLOCATORS[name].stems and not own & loaded:
        raise RuntimeError(f"the allocator {name} was not loaded: {preloaded or 'nothing'} was to be preloaded")
    for variable, value in ALLOCATORS[name].settings:
        if os.environ.get(variable) != value:
            raise RuntimeError(f"the allocator {name} was not set: {variable} is not {value}")
    for other in ALLOCATORS.values():
        if any(path.name.startswith(stem) for stem in other.stems for path in loaded - own):
            raise RuntimeError(f"the allocator {other.name} is loaded with {name}")
    return next((version for word, version in _VERSIONS.items() if name.startswith(word)), _glibc)()


def _glibc() -> str:
    version = ctypes.CDLL(None).gnu_get_libc_version
    version.restype = ctypes.c_char_p
    return str(version().decode())


def _jemalloc() -> str:
    text, size = ctypes.c_char_p(), ctypes.c_size_t(ctypes.sizeof(ctypes.c_char_p))
    ctypes.CDLL(None).mallctl(b"version", ctypes.byref(text), ctypes.byref(size), None, ctypes.c_size_t(0))
    return (text.value or b"unknown").decode()


def _mimalloc() -> str:
    number = int(ctypes.CDLL(None).mi_version())
    digits = 100 if number >= 10_000 else 10  # of minor version and patch, from version 3 on two each
    return f"{number // digits**2}.{number // digits % digits}.{number % digits}"


def _tcmalloc() -> str:
    version = ctypes.CDLL(None).tc_version
    version.restype = ctypes.c_char_p
    return str(version(None, None, None).decode())


_VERSIONS = {"jemalloc": _jemalloc, "mimalloc": _mimalloc, "tcmalloc": _tcmalloc}


def huge_pages_mb() -> float | None:
    """Return this process's memory on huge pages, transparent and reserved, MiB; None where that is unknown."""
    try:
        lines = Path("/proc/self/smaps_rollup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    sizes_kb = {name: value.split()[0] for name, _, value in (line.partition(":") for line in lines[1:])}
    return sum(int(sizes_kb.get(name, 0)) for name in ("AnonHugePages", "Private_Hugetlb")) / 1024
