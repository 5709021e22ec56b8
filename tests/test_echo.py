"""Echo trials: every way of I/O echoes every message, survives bad clients, and leaves no process behind."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pandas as pd
import psutil
import pytest

from allocpool import home
from allocpool.campaign import single
from allocpool.errors import UserError
from allocpool.studies.buffered_io.child import echo
from allocpool.studies.buffered_io.specs import EchoSpec, Variant
from allocpool.studies.buffered_io.study import EVERY_KEY
from allocpool.studies.buffered_io.tables import PARTS, cost_of, tidy_buffered_io
from allocpool.trial.launch import Launcher
from allocpool.trial.record import TrialRecord

pytestmark = pytest.mark.usefixtures("first_compiler_only")
SHORT = ("mode=echo", "connections=20", "rate=400", "seconds=0.3", "warmup_seconds=0.1", "heap_mb=64")
KEYS = (
    "java/buffered_reader:256/platform/11",
    "java/buffered_reader:8192/platform/25",
    "java/buffered_stream:512/platform/17",
    "java/stream/platform/21",
    "java/observed_reader/virtual/21",
    "java/stream/virtual/25",
    "java/nio_buffer_per_connection/11",
    "java/nio_pooled/25",
    "java/netty_pooled/11",
    "java/netty_unpooled/25",
    "cpp/threads",
    "cpp/epoll",
)


def spec_of(key: str, **settings: Any) -> EchoSpec:
    variant = Variant.parse(key)
    heap = {"heap_mb": 64} if variant.server == "java" else {}
    given = {"connections": 20, "rate": 400, "seconds": 0.3, "warmup_seconds": 0.1}
    return EchoSpec(**{**given, **heap, **variant.settings(), **settings})


@pytest.mark.parametrize("key", KEYS)
def test_every_way_of_io_echoes_every_message(key: str, data: Path) -> None:
    record: TrialRecord = single.run_single(spec_of(key))
    assert (record.status, record.reason) == ("ok", None)
    found = single.summary_of(record)
    assert found["connections"] == 20
    assert found["errors"] == 0
    assert found["messages_per_second"] > 0
    assert found["rss_mb"] >= found["uss_mb"] > 0
    assert found["cpu_percent_median"] >= 0
    assert set(found["parts_bytes"]) == set(PARTS)
    assert (found["collected_heap_used_mb"] is None) == (found["server"] == "cpp")
    assert record.measurement is not None
    counts = record.measurement["counts"]
    assert counts["accepted"] == counts["closed"] == 20
    assert counts["messages"] == record.measurement["load"]["echoed"]
    tables = tidy_buffered_io([record])
    assert list(tables["trials"]["variant"]) == [Variant.parse(key).label]
    assert set(tables["parts"]["part"]) == set(PARTS)


@pytest.mark.parametrize(
    "key",
    [
        "java/buffered_reader/platform/25",
        "java/stream/platform/11",
        "java/buffered_stream/virtual/25",
        "java/nio_pooled/25",
        "java/nio_buffer_per_connection/11",
        "java/netty_pooled/25",
        "cpp/threads",
        "cpp/epoll",
    ],
)
def test_bad_clients_leave_nothing_behind(key: str, tmp_path: Path) -> None:
    spec = spec_of(key)
    launch = Launcher().launch_of(spec)
    asked = {"spec": spec.model_dump(mode="json"), "launch": launch.model_dump(mode="json")}
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("echo_clients.py"))],
        input=json.dumps(asked), capture_output=True, text=True, timeout=900, check=False, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(home.home() / "src")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert not [what for what, fine in found["saw"].items() if not fine]
    before, after = found["before"], found["after"]
    assert after["counts"]["closed"] == after["counts"]["accepted"]
    assert after["counts"]["oversize"] == 6
    assert after["counts"]["refused"] == 0
    assert after["descriptors"] <= before["descriptors"] + 4
    assert after["threads"] <= before["threads"] + 4
    # Of 1,800 connections in between, stacks that are kept would show in the first, which a JVM's compilers move by
    # some MiB, and the smallest buffers in the second.
    assert after["rss_mb"] <= before["rss_mb"] + 48
    assert after["kept_bytes"] <= before["kept_bytes"] + 400_000


def test_a_message_that_was_due_has_a_delay_or_its_trial_has_no_percentile(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    overload = spec_of("cpp/threads", connections=1, rate=100_000, seconds=0.1)
    loaded = single.run_single(overload)
    found = single.summary_of(loaded)
    assert found["status"] == "ok"
    assert (found["due"], found["behind"]) == (pytest.approx(10_000, rel=0.01), 0)
    # Whenever its echo came: choosing by arrival is what makes an overloaded server look well.
    assert loaded.measurement is not None
    assert sum(count for _, count in loaded.measurement["load"]["delays"]) == found["due"]
    record = single.run_single(spec_of("cpp/epoll"))
    assert record.measurement is not None
    load = {**record.measurement["load"], "behind": 1}
    left = record.model_copy(update={"measurement": {**record.measurement, "load": load}})
    row = tidy_buffered_io([left])["trials"].iloc[0]
    assert pd.isna(row["latency_p50_us"]) and pd.isna(row["latency_max_us"])


def trial_process(*settings: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "allocpool.cli", "trial", *settings, "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(home.home() / "src")},
    )  # fmt: skip


@contextmanager
def long_trial(*settings: str) -> Iterator[tuple[subprocess.Popen[str], psutil.Process]]:
    """A trial of two minutes and its load generator, connected. Its end is the test's: what a failed test leaves behind
    would hold the machine's lock."""
    runner = trial_process("mode=echo", *settings, "connections=20", "seconds=120")
    try:
        yield runner, awaited(lambda: load_of(runner))
    finally:
        runner.kill()
        runner.communicate()


def awaited(condition: Callable[[], Any]) -> Any:
    """What the condition gives as soon as it gives something; fails the test when it never does."""
    for _ in range(3000):
        if found := condition():
            return found
        time.sleep(0.02)
    raise AssertionError("never came true")


def load_of(runner: subprocess.Popen[str]) -> psutil.Process | None:
    if runner.poll() is not None:
        raise AssertionError(f"the trial ended: {runner.communicate()}")
    with suppress(psutil.NoSuchProcess):  # one that ended after it was listed
        children = psutil.Process(runner.pid).children(recursive=True)
        found = [child for child in children if child.name() == "allocpool_load"]
        # Connected: before that, its death is one of an empty run.
        return found[0] if found and len(found[0].net_connections()) >= 20 else None
    return None


@pytest.mark.parametrize("key", ["cpp/epoll", pytest.param(KEYS[0], marks=pytest.mark.long)])
def test_a_load_generator_that_dies_fails_the_trial_and_leaves_no_process(key: str, data: Path) -> None:
    variant = [f"{name}={value}" for name, value in Variant.parse(key).settings().items()]
    with long_trial(*variant) as (runner, load):
        family = psutil.Process(runner.pid).children(recursive=True)
        load.kill()
        out, err = runner.communicate(timeout=600)
    assert runner.returncode == 1
    assert json.loads(out)["status"] == "failed"
    assert "the load generator died in the middle of the run (signal 9)" in err
    awaited(lambda: not [process for process in family if process.is_running()])


@pytest.mark.parametrize("how", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.long)])
def test_a_runner_that_dies_takes_server_and_load_with_it(how: signal.Signals, data: Path) -> None:
    with long_trial("server=cpp", "io=threads") as (runner, _load):
        family = psutil.Process(runner.pid).children(recursive=True)
        assert len(family) == 3, "the server, its load, and the guard that ends both"
        runner.send_signal(how)
        runner.communicate(timeout=600)
    awaited(lambda: not [process for process in family if process.is_running()])


def test_a_taken_port_is_refused_in_one_line(data: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        runner = trial_process(*SHORT, "io=stream", f"port={port}")
        _, err = runner.communicate(timeout=600)
    assert runner.returncode == 2
    assert err == f"allocpool: port {port} of 127.0.0.1 is taken: choose another, or 0 for any free one\n"


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        (["io=buffered"], r"unknown io 'buffered': choose one of buffered_reader, .*nio_pooled"),
        ([], r"io is missing: choose one of buffered_reader"),
        (["server=cpp", "io=stream"], r"unknown io of server cpp 'stream': choose one of threads, epoll"),
        (["io=stream", "buffer=512"], r"io stream has no buffer .*choose io buffered_reader, buffered_stream"),
        (["io=nio_pooled", "threads=virtual"], r"io nio_pooled has its own threads.*choose io buffered_reader"),
        (["io=stream", "threads=virtual", "runtime=11"], r"runtime 11 has no virtual threads: choose runtime 21"),
        (["server=cpp", "io=epoll", "runtime=25"], r"runtime belong to server java"),
        (["io=stream", "profiled=true"], r"choose profiled=false, or io buffered_reader, observed_reader"),
        (["io=buffered_reader", "runtime=21", "profiled=true"], r"runtime 25 or newer"),
    ],
)  # fmt: skip
def test_wrong_settings_are_refused_in_one_line(settings: list[str], complaint: str) -> None:
    given = {"mode": "echo", "connections": "5", "seconds": "1"}
    given |= dict(word.split("=") for word in settings)
    with pytest.raises(UserError, match=complaint) as found:
        single.parse_spec([f"{name}={value}" for name, value in given.items()])
    assert "\n" not in str(found.value)


def test_more_connections_than_the_machine_allows_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda _: (1024, 2048))
    monkeypatch.setattr("resource.setrlimit", Mock(side_effect=ValueError))
    reason = EchoSpec(server="cpp", io="epoll", connections=1900, seconds=1).refused_here()
    assert reason is not None
    assert reason.startswith(
        "connections 1900: choose 1 to 1748 (limited by 2048 file descriptors a process; raise with"
    )
    assert EchoSpec(server="cpp", io="epoll", connections=1748, seconds=1).refused_here() is None
    # Where the hard limit may be raised, it is no limit, and the server raises it.
    monkeypatch.setattr("resource.setrlimit", raised := Mock())
    monkeypatch.setattr(echo, "CppServer", Mock())
    assert EchoSpec(server="cpp", io="epoll", connections=1900, seconds=1).refused_here() is None
    echo.start({"server": "cpp", "connections": 1900}, {})
    assert raised.call_args.args[1] == (2200, 2200)


def test_a_profiled_trial_has_samples_and_no_cost(data: Path) -> None:
    record = single.run_single(
        spec_of("java/buffered_reader:8192/platform/25", rate=30_000, seconds=3.0, profiled=True)
    )
    assert (record.status, record.reason) == ("ok", None)
    tables = tidy_buffered_io([record])
    assert (len(tables["trials"]), len(tables["parts"]), cost_of(record)) == (0, 0, None)
    (row,) = tables["profiles"].to_dict("records")
    assert 0 < row["in_read"] < row["samples"]


@pytest.mark.parametrize("key", EVERY_KEY)
def test_every_variant_of_the_study_is_a_spec_and_comes_back_from_it(key: str) -> None:
    variant = Variant.parse(key)
    assert EchoSpec(connections=1, seconds=1, **variant.settings()).variant == variant
