"""Names that users give or strangers plant: only regular files are replaced, locked or read."""

from __future__ import annotations

import errno
import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from allocpool.errors import UserError
from allocpool.files import locked, read_regular, replacing, write_atomically
from allocpool.studies.your_workload import reader
from allocpool.trial.runner import alone

KEPT = "somebody's"


def _socket(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # a socket's name has 108 bytes at most
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(path.name)
    os.chdir(here)


def _link(path: Path) -> None:
    target = path.with_name("target")
    target.write_text(KEPT, encoding="utf-8")
    path.symlink_to(target)


NO_FILES: dict[str, Callable[[Path], None]] = {
    "folder": Path.mkdir,
    "pipe": os.mkfifo,
    "socket": _socket,
    "link": _link,
    "link to nothing": lambda path: path.symlink_to("nowhere"),
    "link to a device": lambda path: path.symlink_to(os.devnull),
}
ACTS: dict[str, Callable[[Path], object]] = {
    "write": lambda path: write_atomically(path, "new"),
    "save": lambda path: reader.checked_path(str(path)),
    "lock": lambda path: locked(path).__enter__(),
}


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("kind", NO_FILES)
def test_what_is_no_regular_file_is_refused_and_stays(kind: str, act: str, tmp_path: Path) -> None:
    path = tmp_path / "named"
    NO_FILES[kind](path)
    before, around = path.lstat(), set(tmp_path.iterdir())
    with pytest.raises(UserError):
        ACTS[act](path)
    assert (path.lstat().st_ino, path.lstat().st_mode) == (before.st_ino, before.st_mode)
    assert set(tmp_path.iterdir()) == around
    if kind == "link":
        assert path.read_text(encoding="utf-8") == KEPT


def test_a_file_that_became_a_link_while_it_was_written_stays(tmp_path: Path) -> None:
    path = tmp_path / "named"
    with pytest.raises(UserError), replacing(path):
        _link(path)
    assert path.is_symlink() and path.read_text(encoding="utf-8") == KEPT


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600)])
def test_a_new_file_has_the_mode_that_the_user_gives_new_files(mask: int, mode: int, tmp_path: Path) -> None:
    before = os.umask(mask)
    try:
        write_atomically(tmp_path / "new", "")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == mode


def test_a_write_that_fails_names_the_file_and_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    path.write_text(KEPT, encoding="utf-8")
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)) as result, replacing(path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # as a write to a full disk does
    assert result.value.filename == str(path)
    assert list(tmp_path.iterdir()) == [path] and path.read_text(encoding="utf-8") == KEPT


@pytest.mark.parametrize("kind", [*NO_FILES, "second name"])
def test_the_machines_lock_follows_nothing_and_empties_nothing(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, other = tmp_path / "lock", tmp_path / "target"
    if kind == "second name":
        other.write_text(KEPT, encoding="utf-8")
        lock.hardlink_to(other)
    else:
        NO_FILES[kind](lock)
    monkeypatch.setenv("ALLOCPOOL_LOCK", str(lock))
    with pytest.raises(UserError), alone(tmp_path / "raw"):
        pass
    assert not (tmp_path / "nowhere").exists()
    if other.exists():
        assert other.read_text(encoding="utf-8") == KEPT


@pytest.mark.parametrize("kind", [kind for kind in NO_FILES if kind != "link"])
def test_only_regular_files_of_a_bounded_size_are_read(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "named"
    NO_FILES[kind](path)
    with pytest.raises((UserError, OSError)):
        read_regular(path, 10)
    whole = tmp_path / "whole"
    whole.write_bytes(b"0123456789")
    assert read_regular(whole, 10) == b"0123456789"
    with pytest.raises(UserError):
        read_regular(whole, 9)
