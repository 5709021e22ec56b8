"""What a file is that turned out not to be a unified garbage collection log, in one line that helps."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NoReturn

from allocpool.errors import UserError

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
