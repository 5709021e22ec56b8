"""Only one line in ten to a hundred of a garbage collection log says that something stopped: find those fast.

A file is read in blocks of whole lines. One regular expression (RE2, through Arrow) runs over a block and keeps the
lines that could matter; everything slower looks at those alone. The expression is generous: what a line means is
decided later, so a false hit costs a microsecond and a missed one would cost a pause.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from allocpool.errors import UserError
from allocpool.gclog.refusals import refuse

BLOCK_BYTES = 2 << 20  # small enough to stay in the cache while it is looked at three times
LONGEST_LINE_BYTES = 64 << 20
_GZIP_MAGIC = b"\x1f\x8b"

_INTERESTING = "|".join(
    (
        r"Pause ",
        r'Safepoint "',
        r"Entering safepoint region: ",
        r"were stopped: ",
        r" Stall \(",
        r"Out Of Memory \(",
        r"Concurrent .*\dms\r?$",
        r"Concurrent mode failure",
        r"Promotion failed\r?$",
        r"To-space exhausted",
        r"pgrad(e|ing) [Tt]o Full GC",
        r" Collection \(",
        r" Generation .*->",
        r"Heap: .* used",
        r"Using (Serial|Parallel|Concurrent Mark Sweep|G1|The Z Garbage Collector|Shenandoah|Epsilon)\r?$",
        r"\] Version: ",
        r"\] Max Capacity: ",
    )
)


def blocks(path: Path) -> Iterator[bytes]:
    """The content of a plain or gzip file in blocks of whole lines; only the last may lack its final newline.

    A gzip file that was cut short yields what can be unpacked. Raises :class:`UserError` for a file that can't be
    opened, a damaged gzip stream, and a line that no log would have.
    """
    rest = b""
    try:
        for chunk in _chunks(path):
            end = chunk.rfind(b"\n") + 1
            if end:
                yield rest + chunk[:end]
                rest = chunk[end:]
            else:
                rest += chunk
                if len(rest) > LONGEST_LINE_BYTES:
                    refuse(path, rest)
    except OSError as error:
        raise UserError(f"can't read {path}: {error.strerror or error}") from error
    except zlib.error as error:
        raise UserError(f"can't unpack {path}: {error}") from error
    if rest:
        yield rest


def interesting_lines(block: bytes) -> tuple[list[int], list[bytes], int]:
    """The lines of a block that could matter: their indices, their bytes without line end; the count of all."""
    ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))
    if not block.endswith(b"\n"):
        ends = np.append(ends, len(block))
    offsets = np.zeros(len(ends) + 1, np.int32)
    offsets[1:] = ends + 1
    if not block.endswith(b"\n"):
        offsets[-1] = len(block)
    lines = pa.Array.from_buffers(pa.binary(), len(ends), [None, pa.py_buffer(offsets), pa.py_buffer(block)])
    # Each line still carries its newline, which a `$` without the multi-line flag would not accept.
    hits = pc.match_substring_regex(lines, pattern=f"(?m:{_INTERESTING})")
    indices = np.flatnonzero(hits.to_numpy(zero_copy_only=False))
    return indices.tolist(), [line.rstrip(b"\r\n") for line in lines.filter(hits).to_pylist()], len(ends)


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        chunk = file.read(BLOCK_BYTES)
        if not chunk.startswith(_GZIP_MAGIC):
            while chunk:
                yield chunk
                chunk = file.read(BLOCK_BYTES)
            return
        unpack = zlib.decompressobj(wbits=31)
        while chunk:
            unpacked = unpack.decompress(chunk, BLOCK_BYTES)
            if unpacked:
                yield unpacked
            if unpack.eof:  # gzip files may be several members after each other
                chunk = unpack.unused_data or file.read(BLOCK_BYTES)
                unpack = zlib.decompressobj(wbits=31)
            else:
                chunk = unpack.unconsumed_tail or file.read(BLOCK_BYTES)
