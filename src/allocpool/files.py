"""Files that several processes may want at once: a lock between them, and writes seen whole or not at all."""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Holds an exclusive lock on ``path`` (created if missing) between processes; waits for it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        # Closing the file releases the lock, also when the process dies.
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def write_atomically(path: Path, text: str) -> None:
    """Writes ``text`` (UTF-8) so that a reader finds the old file or the whole new one."""
    with replacing(path) as scratch:
        scratch.write_text(text, encoding="utf-8")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A file of nobody else's to write to, that takes the place of ``path`` once it is whole and on disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.fchmod(descriptor, 0o644)
    os.close(descriptor)
    scratch = Path(name)
    try:
        yield scratch
        _to_disk(scratch)
        scratch.replace(path)
        _to_disk(path.parent)  # the name is the folder's
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise


def _to_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class Remembered:
    """Answers that are worth keeping between processes: text by text, in one JSON file.

    A file that can't be read holds nothing, and one that can't be written keeps nothing: both cost the asking again.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def get(self, key: str) -> str | None:
        """The answer, or None when there is none."""
        return self._read().get(key)

    def remember(self, key: str, answer: str) -> None:
        """Keep an answer, beside those that other processes keep meanwhile."""
        with suppress(OSError), locked(self._path.with_name(f".{self._path.name}.lock")):
            write_atomically(self._path, json.dumps({**self._read(), key: answer}, indent=1))

    def _read(self) -> dict[str, str]:
        try:
            answers = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return answers if isinstance(answers, dict) else {}
