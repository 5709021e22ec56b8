"""The lines of a log that could matter, whatever the log is wrapped in: compression, UTF-16, JSON of containers.

Only one line in ten to a hundred says that something stopped. A file is read in blocks of whole lines, and one regular
expression (RE2, through Arrow) runs over a block and keeps the lines that could matter; everything slower looks at
those alone. The expression is generous: a false hit costs a microsecond and a missed one would cost a pause. What turns
out to be no log is refused in one line that helps.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import json
import lzma
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from allocpool.errors import UserError

BLOCK_BYTES = 2 << 20  # small enough to stay in the cache while it is looked at three times
_PIECE_BYTES = 1 << 16

_COMPRESSED: dict[bytes, Callable[[Path], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\0": lzma.open,
    b"\x28\xb5\x2f\xfd": lambda path: pa.CompressedInputStream(pa.OSFile(str(path)), "zstd"),
}
_UTF_16 = {
    "utf-16-le": re.compile(rb"\xff\xfe(?!\0\0)|(?:[\t -~]\0){16}"),
    "utf-16-be": re.compile(rb"\xfe\xff|(?:\0[\t -~]){16}"),
}
_JSON_LINE = re.compile(rb"^\{.*\}(?=\r?$)", re.MULTILINE)
_JSON_FIELDS = ("log", "message")  # of Docker, and of most collectors of logs
_LONGEST_LINE_BYTES = 64 << 20
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
_HEAD_BYTES = 1 << 20
_JDK_8 = re.compile(
    rb"\[(?:Full )?GC[ (]|\(1\.[5-8]\.0_|^CommandLine flags: |\bStopping threads took: [\d.]+ seconds$", re.M
)
_OPENJ9 = re.compile(rb'<verbosegc\b|<(?:exclusive|cycle|gc|af)-start id="')
_NATIVE_IMAGE = re.compile(
    rb"Pause (?:Incremental|Full) GC \(|\[Incremental GC \(|^\[\[?\d+ GC: (?:before|after) |"
    rb"\[Full GC \((?:CollectOnAllocation|JavaLangSystemGC)",
    re.M,
)
_ASK_FOR = "run java with -Xlog:gc*:file=gc.log"


@dataclass
class Stripped:
    """What was taken off: whether the text was UTF-16, and from how many lines JSON.

    ``cut_short``: a compressed file ends before its time; of zstd the last 64 KiB of it are lost, too.
    """

    utf_16: bool = False
    cut_short: bool = False
    json_lines: int = 0


def _chunks(path: Path, stripped: Stripped) -> Iterator[bytes]:
    """The content of a file unpacked, UTF-16 as UTF-8; UserError where it is compressed and damaged."""
    decoder = None
    for number, chunk in enumerate(_unpacked(path, stripped)):
        if number == 0:
            name = next((name for name, signs in _UTF_16.items() if signs.match(chunk)), None)
            decoder = codecs.getincrementaldecoder(name)("replace") if name else None
            stripped.utf_16 |= name is not None
        if decoder is None:
            yield chunk
        elif text := decoder.decode(chunk):
            yield text.removeprefix("\ufeff").encode("utf-8", "replace")


def _unpacked(path: Path, stripped: Stripped) -> Iterator[bytes]:
    with path.open("rb") as plain:
        start = plain.read(6)
        opened = next((opened for magic, opened in _COMPRESSED.items() if start.startswith(magic)), None)
        if opened is None:
            plain.seek(0)
            while chunk := plain.read(BLOCK_BYTES):
                yield chunk
            return
    unpacked_bytes, cut_short = 0, False
    with opened(path) as packed:
        while not cut_short:
            chunk = b""
            try:
                while len(chunk) < BLOCK_BYTES and (piece := packed.read1(_PIECE_BYTES)):
                    chunk += piece
            except EOFError:
                cut_short = True
            except (OSError, zlib.error, lzma.LZMAError) as error:
                if "runcated" not in str(error):  # what Arrow calls a file that was cut short
                    raise UserError(f"can't unpack {path}: {error}") from error
                cut_short = True
            if not chunk:
                break
            unpacked_bytes += len(chunk)
            yield chunk
    if cut_short and not unpacked_bytes:
        raise UserError(f"can't unpack {path}: it was cut short, and nothing can be read from what is left")
    stripped.cut_short |= cut_short


def _without_json(block: bytes, stripped: Stripped) -> bytes:
    """Whole lines, those that are JSON objects with a text ``log`` or ``message`` replaced by that text."""

    def text_of(line: re.Match[bytes]) -> bytes:
        try:
            found = json.loads(line[0])
        except (ValueError, RecursionError):
            return line[0]
        text = next((found[name] for name in _JSON_FIELDS if isinstance(found.get(name), str)), None)
        if text is None:
            return line[0]
        stripped.json_lines += 1
        return text.rstrip("\r\n").encode("utf-8", "replace")  # type: ignore[no-any-return]

    return _JSON_LINE.sub(text_of, block) if block.startswith(b"{") or b"\n{" in block else block


def blocks(path: Path, stripped: Stripped) -> Iterator[bytes]:
    """The text of a log in blocks of whole lines; only the last may lack its final newline.

    UserError for a file that can't be opened, a damaged compressed one, and a line that no log would have.
    """
    rest = b""
    try:
        for chunk in _chunks(path, stripped):
            end = chunk.rfind(b"\n") + 1
            if end:
                yield _without_json(rest + chunk[:end], stripped)
                rest = chunk[end:]
            else:
                rest += chunk
                if len(rest) > _LONGEST_LINE_BYTES:
                    refuse(path, rest)
    except OSError as error:
        raise UserError(f"can't read {path}: {error.strerror or error}") from error
    if rest:
        yield _without_json(rest, stripped)


def interesting_lines(block: bytes) -> tuple[list[int], list[bytes], int]:
    """The lines of a block that could matter: their indices, their bytes without line end; the count of all."""
    ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n")) + 1
    if not block.endswith(b"\n"):
        ends = np.append(ends, len(block))
    offsets = np.concatenate(([0], ends)).astype(np.int32)
    lines = pa.Array.from_buffers(pa.binary(), len(ends), [None, pa.py_buffer(offsets), pa.py_buffer(block)])
    # Each line still carries its newline, which a `$` without the multi-line flag would not accept.
    hits = pc.match_substring_regex(lines, pattern=f"(?m:{_INTERESTING})")
    indices = np.flatnonzero(hits.to_numpy(zero_copy_only=False))
    return indices.tolist(), [line.rstrip(b"\r\n") for line in lines.filter(hits).to_pylist()], len(ends)


def looks_like_jdk_8(first: bytes) -> bool:
    """Whether a file begins as the logs of -XX:+PrintGCDetails do."""
    return _JDK_8.search(first[:_HEAD_BYTES]) is not None


def refuse_native_image(path: Path) -> NoReturn:
    """Raises the :class:`UserError` for what GraalVM's own collector writes."""
    raise UserError(f"{path} is a log of a native image (GraalVM); read are unified logs of HotSpot, JDK 11 to 27")


def refuse_binary(path: Path, first: bytes) -> None:
    """Raises the :class:`UserError` for a file whose later blocks need not be looked at."""
    head = first[:_HEAD_BYTES]
    if b"\0" in head or any(byte < ord("\t") for byte in head[:4096]):
        raise UserError(f"{path} is a binary file, not a garbage collection log: {_ASK_FOR}")


def refuse(path: Path, first: bytes) -> NoReturn:
    """Raises the :class:`UserError` that fits a file whose first block is ``first`` and in which nothing was found."""
    refuse_binary(path, first)
    head = first[:_HEAD_BYTES]
    if not first:
        raise UserError(f"{path} is empty: {_ASK_FOR}")
    if head.startswith(b"{"):
        raise UserError(
            f"{path} is JSON without a garbage collection log in its fields log or message: take the log out first, as "
            "with jq -r .FIELD"
        )
    if _OPENJ9.search(head):
        raise UserError(f"{path} is a verbose log of OpenJ9 (XML); read are unified logs of HotSpot, JDK 11 to 27")
    if _NATIVE_IMAGE.search(head):
        refuse_native_image(path)
    if looks_like_jdk_8(head):
        raise UserError(f"{path} is a log of JDK 8 or earlier; read are unified logs of JDK 11 to 27 ({_ASK_FOR})")
    raise UserError(f"{path} is not a garbage collection log: it has no line of collections or safepoints ({_ASK_FOR})")
