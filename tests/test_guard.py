"""What a process starts ends with it, however it ends; what stands still is seen."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import IO

import psutil
import pytest

from allocpool import home
from allocpool.machine import guard
from allocpool.machine.guard import guarded

_PARENT = """
import signal, subprocess, sys
from allocpool.machine.guard import guarded, start_guard
start_guard()
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # tests may run under nohup
child = subprocess.Popen(["sh", "-c", "sleep 600 & echo $!; wait"], stdout=subprocess.PIPE, start_new_session=True)
with guarded(child):
    print(child.stdout.readline().decode().strip(), child.pid, flush=True)
    sys.stdin.read()
"""
_BUILD = """
import pathlib, signal, sys, time
from allocpool.compile._run import step
from allocpool.machine import guard
signal.signal(signal.SIGHUP, signal.SIG_DFL)
log = pathlib.Path(sys.argv[1])
send = guard._send

def send_and_print(line):
    send(line)
    while not (said := [line for line in log.read_text().splitlines() if line[:1].isdigit()]):
        time.sleep(0.01)
    print(said[0], flush=True)

guard._send = send_and_print
step(["sh", "-c", "sleep 600 & echo $! $$; wait"], log)
"""


def lives(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def all_end(processes: list[int]) -> bool:
    """Whether none of them lives for long."""
    for _ in range(12_000):
        if not any(lives(one) for one in processes):
            return True
        time.sleep(0.01)
    return False


@pytest.mark.parametrize("program", [_PARENT, _BUILD], ids=["trial", "build"])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGHUP, signal.SIGTERM])
def test_a_grandchild_ends_with_the_process_that_started_its_parent(
    tmp_path: Path, how: signal.Signals, program: str
) -> None:
    command = [sys.executable, "-c", program, str(tmp_path / "build.log")]
    parent = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    started = [int(number) for number in parent.stdout.readline().split()]
    assert len(started) == 2 and all(lives(one) for one in started)
    parent.send_signal(how)
    parent.wait()
    assert all_end(started)


def test_what_is_left_of_a_group_ends_with_its_work() -> None:
    child = subprocess.Popen(["sh", "-c", "sleep 600 & echo $!"], stdout=subprocess.PIPE, start_new_session=True)
    with guarded(child):
        assert child.stdout is not None
        left = int(child.stdout.readline())
        assert lives(left)
    assert all_end([left])


PYTHON = f"#!/bin/sh\n'''exec' \"{sys.executable}\" \"$0\" \"$@\"\n' '''\n"
"""The first lines of a script in Python whose path may have a space."""


@pytest.mark.parametrize("goal", ["findings", "bench-some"])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_what_make_has_started_ends_with_make(tmp_path: Path, how: signal.Signals, goal: str) -> None:
    program = tmp_path / "allocpool"
    program.write_text(
        f"{PYTHON}import os, time\nfrom allocpool.machine.guard import end_with_make\n"
        "end_with_make()\nprint(os.getpid(), flush=True)\ntime.sleep(600)\n", encoding="utf-8"
    )  # fmt: skip
    program.chmod(0o755)
    make, output = start_make(tmp_path, goal)
    started = int(output.readline())
    make.send_signal(how)
    make.wait()
    assert all_end([started])


@pytest.mark.parametrize(("goal", "named"), [("lab", "jupyter"), ("shipped", "allocpool"), ("readme", "python")])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_what_is_no_command_of_ours_ends_with_make_too(
    tmp_path: Path, how: signal.Signals, goal: str, named: str
) -> None:
    program = tmp_path / named
    program.write_text("#!/bin/sh\nsleep 600 &\necho $! $$\nwait\n", encoding="utf-8")
    program.chmod(0o755)
    make, output = start_make(tmp_path, goal)
    started = [int(number) for number in output.readline().split()]
    while not watched(make.pid):
        time.sleep(0.01)
    time.sleep(2 * guard._WATCH_S)  # until it has seen what is there
    make.send_signal(how)
    make.wait()
    assert all_end(started)


def test_what_ends_with_make_by_itself_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    start = "sh -c 'sleep 600 & echo {} $!; wait' &"
    script = f"{start.format('left')} {guard.MAKE}=1 {start.format('itself')} wait"
    make = subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, start_new_session=True)
    monkeypatch.setattr(guard, "time", SimpleNamespace(sleep=lambda _: make.kill()))
    monkeypatch.setattr(signal, "signal", lambda *_: None)  # Ctrl-C stays that of the tests
    with guarded(make):
        assert make.stdout is not None
        started = dict(make.stdout.readline().split() for _ in range(2))
        guard.end_what_make_started(make.pid)
        assert all_end([int(started[b"left"])]) and lives(int(started[b"itself"]))


def watched(make: int) -> bool:
    """Whether a watcher of `make` goes on; from then on it no longer ignores SIGINT."""
    for watcher in psutil.process_iter(["cmdline"]):
        if (watcher.info["cmdline"] or [])[-2:] == ["allocpool.machine.guard", str(make)]:
            told = Path(f"/proc/{watcher.pid}/status").read_text(encoding="utf-8")
            return not int(told.partition("SigIgn:")[2].split()[0], 16) & 1 << (signal.SIGINT - 1)
    return False


def test_an_interrupt_that_all_of_a_terminal_get_is_told_once(tmp_path: Path) -> None:
    program = tmp_path / "allocpool"
    program.write_text(
        f"{PYTHON}import os, signal, time\nfrom allocpool.machine import guard\n"
        "signal.signal(signal.SIGTERM, signal.default_int_handler)\nguard._WATCH_S = 0.01\nguard.end_with_make()\n"
        "try:\n    print(os.getpid(), flush=True)\n    time.sleep(600)\nexcept KeyboardInterrupt:\n"
        "    time.sleep(0.5)\n    print('ended in order', flush=True)\n", encoding="utf-8"
    )  # fmt: skip
    program.chmod(0o755)
    make, output = start_make(tmp_path, "findings")
    started = int(output.readline())
    os.killpg(make.pid, signal.SIGINT)
    assert output.read() == "ended in order\n"
    make.wait()
    assert all_end([started])


def test_make_that_a_script_runs_in_the_background_runs_to_its_end(tmp_path: Path) -> None:
    program = tmp_path / "allocpool"
    program.write_text(f"#!/bin/sh\necho $$\nuntil [ -e {tmp_path}/go ]; do sleep 0.1; done\n", encoding="utf-8")
    program.chmod(0o755)
    make, output = start_make(tmp_path, "shipped", "--ignore-signal=INT,QUIT,HUP")
    started = int(output.readline())
    while not watched(make.pid) and make.poll() is None:
        time.sleep(0.01)
    time.sleep(4 * guard._WATCH_S)
    assert lives(started)
    (tmp_path / "go").touch()
    assert make.wait() == 0


def start_make(
    folder: Path, goal: str, signals: str = "--default-signal=INT,HUP"
) -> tuple[subprocess.Popen[str], IO[str]]:
    """`make` in a process group of its own, by default with signals as in a terminal; ``folder`` has what it starts."""
    done = [f"--old-file={each}" for each in ("setup", ".venv/.installed") if each != goal]
    command = ["make", "--silent", *done, goal, f"BIN={folder}"]
    # Tests may run in the background, under nohup, or by make.
    program = ["env", signals, "--unset=MAKELEVEL", *command]
    make = subprocess.Popen(program, cwd=home.home(), stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert make.stdout is not None
    return make, make.stdout
