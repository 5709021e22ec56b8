"""Load the native library through cffi; its C header is the only description of its functions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cffi import FFI

_BEGIN, _END = "/* cffi:begin */", "/* cffi:end */"
MESSAGE_BYTES = 512


def load(launch: dict[str, Any]) -> tuple[FFI, Any]:
    """The cffi interface and the loaded library that ``launch["native"]`` names."""
    header = Path(launch["native"]["header"]).read_text(encoding="utf-8")
    ffi = FFI()
    ffi.cdef(header.split(_BEGIN, 1)[1].split(_END, 1)[0])
    return ffi, ffi.dlopen(launch["native"]["library"])
