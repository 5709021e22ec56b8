"""Load the native library through cffi; its C header is the only description of its functions."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from cffi import FFI

_BEGIN, _END = "/* cffi:begin */", "/* cffi:end */"
MESSAGE_BYTES = 512


def load(launch: dict[str, Any]) -> tuple[FFI, Any]:
    """Return the cffi interface and the library that ``launch["native"]`` names; the same pair at every call, as
    types of two interfaces don't mix."""
    return _load(launch["native"]["header"], launch["native"]["library"])


def checked(library: Any, number: int, line: str = "", out_of_memory: str = "the allocator has no memory left") -> int:
    """Return the number that a function of the library returned, a count or an ``ap_status``.

    MemoryError where memory ran out, ValueError where the library refused the call, or it failed: with the library's
    ``line`` about it, if any.
    """
    if number == library.AP_OUT_OF_MEMORY:
        raise MemoryError(line or out_of_memory)
    if number < 0:
        raise ValueError(line or "the native library refused the run")
    return number


def refusal(line: str) -> MemoryError | ValueError:
    """Return the error for the library's line where it made nothing (``ended`` in ``c_api.hpp``)."""
    return MemoryError(line) if line.startswith("out of memory") else ValueError(line)


@lru_cache(maxsize=1)
def _load(header: str, library: str) -> tuple[FFI, Any]:
    text = Path(header).read_text(encoding="utf-8")
    ffi = FFI()
    ffi.cdef(text.split(_BEGIN, 1)[1].split(_END, 1)[0])
    return ffi, ffi.dlopen(library)
