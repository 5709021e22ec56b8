"""Only one line in ten to a hundred of a garbage collection log says that something stopped: find those fast.

A file is read in blocks of whole lines. One regular expression (RE2, through Arrow) runs over a block and keeps the
lines that could matter; everything slower looks at those alone. The expression is generous: what a line means is
decided later, so a false hit costs a microsecond and a missed one would cost a pause.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from allocpool.errors import UserError
from allocpool.gclog.refusals import refuse
from allocpool.gclog.wrapping import Stripped, chunks, without_json

LONGEST_LINE_BYTES = 64 << 20

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


def blocks(path: Path, stripped: Stripped) -> Iterator[bytes]:
    """The text of a log in blocks of whole lines; only the last may lack its final newline.

    Raises :class:`UserError` for a file that can't be opened, a damaged compressed one, and a line that no log would
    have.
    """
    rest = b""
    try:
        for chunk in chunks(path, stripped):
            end = chunk.rfind(b"\n") + 1
            if end:
                yield without_json(rest + chunk[:end], stripped)
                rest = chunk[end:]
            else:
                rest += chunk
                if len(rest) > LONGEST_LINE_BYTES:
                    refuse(path, rest)
    except OSError as error:
        raise UserError(f"can't read {path}: {error.strerror or error}") from error
    if rest:
        yield without_json(rest, stripped)


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
