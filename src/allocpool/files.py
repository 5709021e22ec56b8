"""Files that several processes may want at once: a lock between them, and writes seen whole or not at all."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
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
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
