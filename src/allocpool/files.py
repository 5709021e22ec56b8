"""Files that processes share: locks, and atomic writes.

A name may come from a user or be planted by another one: only regular files are opened or replaced.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from allocpool.errors import UserError


def require_regular(path: Path, found: os.stat_result) -> None:
    """Raise `UserError` where what was found at ``path`` is no regular file."""
    if not stat.S_ISREG(found.st_mode):
        raise UserError(f"{path} is not a regular file: give the name of a regular file, or a new one")


def read_regular(path: Path, most_bytes: int) -> bytes:
    """Return the content of a regular file of at most ``most_bytes``; follows links, never waits for a pipe.

    Raises:
        UserError: it is another kind of file, or larger.
        OSError: it can't be read.
    """
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        require_regular(path, os.fstat(file.fileno()))
        content = file.read(most_bytes + 1)
    if len(content) > most_bytes:
        raise UserError(f"{path} is larger than {most_bytes:,} bytes: give a smaller file")
    return content


def open_lock(path: Path, mode: int = 0o666) -> int:
    """Return a descriptor of the regular file ``path``, created with ``mode`` whatever the umask where missing.

    Links are not followed: others who may write to the folder could have them lead to another file.
    Linux refuses ``O_CREAT`` on another user's file in a sticky folder (proc(5), protected_regular), so it is tried
    only where there is no file.

    Raises:
        UserError: there is another kind of file, or one that has a second name.
        OSError: it can't be opened.
    """
    how = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    while True:
        try:
            descriptor = os.open(path, how)
        except FileNotFoundError:
            with suppress(FileExistsError):  # made since
                descriptor = os.open(path, how | os.O_CREAT | os.O_EXCL, mode)
                os.fchmod(descriptor, mode)
                return descriptor
        except OSError:
            replaceable(path)
            raise
        else:
            found = os.fstat(descriptor)
            if stat.S_ISREG(found.st_mode) and found.st_nlink == 1:
                return descriptor
            os.close(descriptor)
            require_regular(path, found)
            if found.st_nlink > 1:
                raise UserError(f"{path} is a second name of another file: remove it")


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Wait for an exclusive lock between processes on ``path``, created if missing, and hold it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with os.fdopen(open_lock(path, 0o644), "r+") as file:
        # Closing the file releases the lock, also when the process dies.
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def write_atomically(path: Path, text: str) -> None:
    """Write ``text`` (UTF-8) so that readers find the old file or the complete new one; errors as of `replacing`."""
    with replacing(path) as scratch:
        scratch.write_text(text, encoding="utf-8")


def replaceable(path: Path) -> os.stat_result | None:
    """Return the status of the regular file ``path``; None where there is nothing.

    Raises:
        UserError: it is another kind of file, which a rename would destroy.
    """
    try:
        found = path.lstat()
    except FileNotFoundError:
        return None
    require_regular(path, found)
    return found


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a new file to write to, which replaces ``path``, with its mode, once it is complete and on disk.

    Raises:
        UserError: ``path`` is no regular file.
        OSError: it can't be written; its file name is ``path``.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    old = replaceable(path)
    scratch = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        try:
            if old is not None:
                if (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
                    with suppress(PermissionError):
                        os.fchown(descriptor, old.st_uid, old.st_gid)
                os.fchmod(descriptor, stat.S_IMODE(old.st_mode))
        finally:
            os.close(descriptor)
        yield scratch
        _to_disk(scratch)
        replaceable(path)
        scratch.replace(path)
        _to_disk(path.parent)  # the name is the folder's
    except BaseException as error:
        scratch.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename in (None, str(scratch)):
            error.filename, error.filename2 = str(path), None  # a full disk names no file
        raise


def _to_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class Remembered:
    """Answers kept between processes, text by text, in one JSON file; a file that can't be read or written is empty."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def get(self, key: str) -> str | None:
        return self._read().get(key)

    def remember(self, key: str, answer: str) -> None:
        """Add an answer; other processes may add theirs at the same time."""
        with suppress(OSError, UserError), locked(self._path.with_name(f".{self._path.name}.lock")):
            write_atomically(self._path, json.dumps({**self._read(), key: answer}, indent=1))

    def _read(self) -> dict[str, str]:
        try:
            answers = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return answers if isinstance(answers, dict) else {}
