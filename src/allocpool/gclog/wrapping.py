"""What logs are wrapped in by the time they arrive: compression, UTF-16, JSON of containers and collectors of logs."""

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
from typing import Any

import pyarrow as pa

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


@dataclass
class Stripped:
    """What was taken off: whether the text was UTF-16, and from how many lines JSON.

    ``cut_short``: a compressed file ends before its time; of zstd the last 64 KiB of it are lost, too.
    """

    utf_16: bool = False
    cut_short: bool = False
    json_lines: int = 0


def chunks(path: Path, stripped: Stripped) -> Iterator[bytes]:
    """The content of a file unpacked, UTF-16 as UTF-8; a compressed file that was cut short as far as it goes.

    Raises:
        UserError: it is compressed and damaged.
        OSError: it can't be read.
    """
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


def without_json(block: bytes, stripped: Stripped) -> bytes:
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
