"""No orphans: a process group that was started here ends with this process, however that ends.

A child can ask the kernel to die with its parent, but what it starts in turn (the JVMs of a benchmark harness, a
simulator, compilers) does not. So a guard, a process of its own, holds the other end of a pipe: when this process dies,
even killed, the pipe closes, and the guard kills the groups that were named to it and not taken back.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from types import FrameType

_PROGRAM = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
groups = set()
for line in sys.stdin:
    sign, group = line[0], int(line[1:])
    groups.add(group) if sign == "+" else groups.discard(group)
for group in groups:
    try:
        os.killpg(group, signal.SIGKILL)
    except OSError:
        pass
"""
MAKE = "ALLOCPOOL_MAKE"
"""Environment variable in which `make` gives a command its process id."""
_PR_SET_PDEATHSIG = 1
_ENDS_MAKE = sum(1 << (number - 1) for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM))
"""The first three are ignored where a script has make run in the background, SIGTERM never."""
_WATCH_S = 0.5


def end_with_make() -> None:
    """End this process when the `make` that started it has died or was interrupted alone; on Linux."""
    make = os.environ.pop(MAKE, "")
    if not make.isdecimal() or sys.platform != "linux":
        return
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != int(make):  # it died before
        os.kill(os.getpid(), signal.SIGTERM)
    if caught := _caught_by(make):
        found = threading.Event()

        def end(number: int, frame: FrameType | None) -> None:
            found.set()  # Ctrl-C reaches all of a terminal's processes: this one ends already
            signal.default_int_handler(number, frame)

        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # as where a shell has it run in the background
            signal.signal(signal.SIGINT, end)
        threading.Thread(target=_watch, args=(make, caught, found), daemon=True).start()


def _caught_by(process: str) -> int:
    """Return, as a mask, which of the signals that end GNU make a process catches; 0 where it is gone."""
    try:
        status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    except OSError:
        return 0
    return int(status.partition("SigCgt:")[2].split()[0], 16) & _ENDS_MAKE


def _watch(make: str, caught: int, ended: threading.Event) -> None:
    """End this process once `make` no longer catches a signal that it did: `make` is ending, and waits for it."""
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # they are for the main thread
    while not ended.wait(_WATCH_S):
        if _caught_by(make) != caught:
            if not ended.wait(_WATCH_S):
                os.kill(os.getpid(), signal.SIGTERM)
            return


def end_what_make_started(make: int) -> None:
    """Wait until `make` ends or is interrupted alone; then end (SIGTERM) what it has started, but for processes that
    `end_with_make` themselves. Ctrl-C, which all of a terminal's processes get, ends this alone."""
    caught, started = _caught_by(str(make)), _descendants(make)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell has its background ignore it
    while caught and _caught_by(str(make)) == caught:
        started |= _descendants(make)  # make may have just ended: what it started has other parents then
        time.sleep(_WATCH_S)
    time.sleep(_WATCH_S)
    for process, begun in {**started, **_descendants(make)}.items():
        with suppress(OSError):
            if _parent_and_start(process)[1] == begun:  # its number is not another's by now
                os.kill(process, signal.SIGTERM)


def _descendants(process: int) -> dict[int, str]:
    """Return the processes that one has started, with when each began; those that end with make are left out."""
    children: dict[int, list[tuple[int, str]]] = {}
    for entry in Path("/proc").glob("[1-9]*"):
        with suppress(OSError):
            parent, begun = _parent_and_start(int(entry.name))
            if f"{MAKE}=".encode() not in (entry / "environ").read_bytes():
                children.setdefault(parent, []).append((int(entry.name), begun))
    found, below = {}, [process]
    while below:
        for child, begun in children.get(below.pop(), ()):
            found[child] = begun
            below.append(child)
    return found


def _parent_and_start(process: int) -> tuple[int, str]:
    words = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    return int(words[1]), words[19]


@cache
def start_guard() -> subprocess.Popen[str]:
    """Have the guard before what it is to guard: its start takes longer than a child needs for children of its own. A
    kill between the start of a child and its naming is missed; a trial then dies with its parent."""
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, text=True, start_new_session=True,
    )  # fmt: skip


def _send(line: str) -> None:
    """Name a group (``+7``) or take it back (``-7``). Without a guard a child still dies with its parent."""
    pipe = start_guard().stdin
    with suppress(OSError):
        print(line, file=pipe, flush=True)


@contextmanager
def guarded(child: subprocess.Popen[bytes]) -> Iterator[None]:
    """Until this ends, the process group of ``child`` is killed should this process die; at the end it is killed, too.

    ``child`` leads a group of its own (``start_new_session``), and was started after `start_guard`.
    """
    _send(f"+{child.pid}")
    try:
        yield
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        _send(f"-{child.pid}")


if __name__ == "__main__":
    end_what_make_started(int(sys.argv[1]))
