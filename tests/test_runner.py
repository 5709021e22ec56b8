"""What happens to trials and campaigns when something goes wrong."""

from __future__ import annotations

import json
import os
import pty
import resource
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from allocpool import home
from allocpool.campaign import campaign, single
from allocpool.errors import UserError
from allocpool.trial import runner
from allocpool.trial.jvm_logs import log_fault
from allocpool.trial.record import GC_LOG, RESULT, Launch, TrialRecord
from allocpool.trial.runner import alone, child_environment, shuffled_in_blocks

SETTINGS: dict[str, Any] = {
    "blocks": 2,
    "configurations": ["cpp/allocating", "cpp/flat"],
    "seconds": 0.1,
    "warmup_seconds": 0.0,
    "cases": ["A"],
}
JAVA = ("layout=heap", "strategy=alloc", "scale=0.01", "heap_mb=40", "runtime=25", "collector=g1", "seconds=0.5")
ALLOCPOOL = [sys.executable, "-m", "allocpool.cli"]


SMALL = {**SETTINGS, "strategies": ["alloc", "pool"], "blocks": 1}


def open_campaign(settings: dict[str, Any] = SMALL) -> campaign.Campaign:
    """Four C++ trials of a tenth of a second."""
    return campaign.open_study("batch", "smoke", settings)


def start_campaign(chosen: dict[str, Any]) -> subprocess.Popen[str]:
    """The same campaign through the command line, as a terminal starts it: interruptible.

    Tests that run in the background of a shell hand down a SIGINT that is ignored.
    """
    settings = [word for key, value in chosen.items() for word in ("--set", f"{key}={json.dumps(value)}")]
    command = [*ALLOCPOOL, "run", "batch", "--profile", "smoke", *settings]
    inherited = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    finally:
        signal.signal(signal.SIGINT, inherited)


def wait_until(holds: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Wait for a condition that the process brings about."""
    while not holds():
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.05)


def results(data: Path) -> dict[str, float]:
    """Each trial's record with the time of its last change."""
    return {path.parent.name: path.stat().st_mtime_ns for path in (data / "raw").glob(f"*/{RESULT}")}


def run_one(data: Path, *settings: str, meanwhile: Callable[[psutil.Process], None] | None = None) -> TrialRecord:
    """One trial; ``meanwhile`` is called with its child once that has begun."""
    if meanwhile is not None:
        threading.Thread(target=_with_child, args=(meanwhile,), daemon=True).start()
    return single.run_single(single.parse_spec(["mode=batch", *settings]))


def _with_child(act: Callable[[psutil.Process], None]) -> None:
    while True:
        for child in psutil.Process().children():
            with suppress(psutil.Error):  # a short-lived process of a build may be gone by now
                if "allocpool.trial.child" in child.cmdline():
                    time.sleep(0.5)
                    act(child)
                    return
        time.sleep(0.05)


@pytest.mark.parametrize(
    "ending", [signal.SIGKILL, *(pytest.param(one, marks=pytest.mark.long) for one in (signal.SIGINT, signal.SIGTERM))]
)
def test_a_campaign_ended_half_way_continues_with_no_trial_repeated_or_lost(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: signal.Signals
) -> None:
    planned = {task.trial_id for task in open_campaign().tasks}
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    first = start_campaign(SMALL)
    wait_until(lambda: len(results(data)) >= 1, first)
    children = psutil.Process(first.pid).children(recursive=True)
    first.send_signal(ending)
    said = first.communicate()[0]
    assert ("nothing finished is lost, and the same command goes on" in said) == (ending != signal.SIGKILL), said
    assert "Traceback" not in said
    assert not list(scratch.iterdir()), "left in the temporary folder"
    before = results(data)
    assert 0 < len(before) < len(planned)
    assert not psutil.wait_procs(children, timeout=120)[1], "a child outlived its campaign"

    if ending == signal.SIGINT:
        second = start_campaign(SMALL)
        output, _ = second.communicate()
        assert second.returncode == 0, output
    else:  # what the command calls
        assert open_campaign().run().complete
    after = results(data)
    assert set(after) == planned, "lost, or one too many"
    assert {name: after[name] for name in before} == before, "repeated"
    assert open_campaign().status().complete


@pytest.mark.long
def test_a_terminal_that_is_closed_ends_its_campaign_and_costs_nothing_finished(data: Path) -> None:
    chosen = {**SMALL, "seconds": 0.3}
    words = [word for key, value in chosen.items() for word in ("--set", f"{key}={json.dumps(value)}")]
    process, terminal = pty.fork()
    if process == 0:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # tests may run under nohup
        os.execv(sys.executable, [*ALLOCPOOL, "run", "batch", "--profile", "smoke", *words])
    while not results(data):
        if select.select([terminal], [], [], 0.02)[0]:
            os.read(terminal, 1 << 12)  # OSError: it ended before
    family = psutil.Process(process).children(recursive=True)
    os.close(terminal)
    os.waitpid(process, 0)
    assert family and not psutil.wait_procs(family, timeout=120)[1], "a child outlived its campaign"
    before = results(data)
    assert 0 < len(before) < 4
    assert open_campaign(chosen).run().finished == 4
    assert {name: results(data)[name] for name in before} == before


def test_changed_code_or_host_gives_other_trials(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = {task.trial_id for task in open_campaign().tasks}
    monkeypatch.setattr("allocpool.compile.code_hash", lambda *parts: "another code")
    assert names.isdisjoint(task.trial_id for task in open_campaign().tasks)
    monkeypatch.undo()
    monkeypatch.setattr("allocpool.machine.host.Host.fingerprint", lambda self: "another host")
    assert names.isdisjoint(task.trial_id for task in open_campaign().tasks)


def test_a_child_that_is_too_slow_is_a_time_out(data: Path) -> None:
    record = run_one(data, "layout=flat", "language=cpp", "strategy=pool", "scale=0.01", "seconds=60", "timeout_s=1")
    assert record.status == "timeout"
    assert record.reason == "did not end within 1 s"
    assert not [child for child in psutil.Process().children() if "allocpool.trial.child" in child.cmdline()]


def test_an_exhausted_java_heap_is_out_of_memory(data: Path) -> None:
    record = run_one(data, "layout=heap", "strategy=pool", "case=C", "scale=0.1", "heap_mb=40", "packets=1000")
    assert record.status == "out_of_memory"
    assert "OutOfMemoryError" in str(record.reason) or "Java heap space" in str(record.reason)


@pytest.mark.parametrize(
    ("settings", "limit_kb"),
    [
        (("layout=flat", "language=cpp", "strategy=alloc", "case=C", "scale=0.3", "seconds=0.1"), 250_000),
        (("layout=heap", "strategy=alloc", "case=C", "scale=0.3", "seconds=0.1"), 500_000),
    ],
    ids=["new", "the JVM's heap"],
)
def test_memory_that_can_not_be_had_at_all_is_out_of_memory(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: tuple[str, ...], limit_kb: int
) -> None:
    limited = tmp_path / "python"
    limited.write_text(f'#!/bin/sh\nulimit -v {limit_kb}\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
    limited.chmod(0o755)
    single.run_single(
        single.parse_spec(["mode=batch", *settings[:-3], "scale=0.01", "packets=1000"])
    )  # built, and its flags tried
    monkeypatch.setattr(sys, "executable", str(limited))
    assert run_one(data, *settings).status == "out_of_memory"


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGKILL, "killed"), (signal.SIGSEGV, "crashed"), (signal.SIGRTMIN + 2, "crashed")]
)
def test_a_child_ended_by_a_signal_is_recorded(data: Path, number: int, status: str) -> None:
    record = run_one(
        data, "layout=flat", "language=cpp", "strategy=pool", "scale=0.01", "seconds=60", "timeout_s=200",
        meanwhile=lambda child: child.send_signal(number),
    )  # fmt: skip
    assert record.status == status
    named = {one.value for one in signal.Signals}
    assert (signal.Signals(number).name if number in named else f"signal {number}") in str(record.reason)


@pytest.mark.parametrize("descriptors", [True, False])
def test_a_child_is_waited_for_with_and_without_a_descriptor(
    descriptors: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not descriptors:
        monkeypatch.delattr(os, "pidfd_open", raising=False)
    with subprocess.Popen([sys.executable, "-c", "input(); raise SystemExit(7)"], stdin=subprocess.PIPE) as child:
        assert runner._ended(child, 0.01) is None
        assert child.stdin is not None
        child.stdin.write(b"\n")
        child.stdin.close()
        assert runner._ended(child, 60) == 7


def test_a_trial_that_a_signal_stopped_for_a_while_is_invalid(data: Path) -> None:
    def stop(child: psutil.Process) -> None:
        child.suspend()
        time.sleep(1.5)
        child.resume()

    record = run_one(
        data, "layout=flat", "language=cpp", "strategy=pool", "scale=0.01", "seconds=2.5", "timeout_s=200",
        meanwhile=stop,
    )  # fmt: skip
    assert (record.status, record.reason) == ("invalid", "a signal stopped it for a while")


@pytest.fixture(scope="module")
def whole_log(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, dict[str, Any]]:
    """The log of a Java trial, and what it measured."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ALLOCPOOL_DATA", str(tmp_path_factory.mktemp("whole")))
        record = single.run_single(single.parse_spec(["mode=batch", *JAVA]))
    assert record.status == "ok" and record.measurement is not None
    log = (Path(record.directory) / GC_LOG).read_bytes()
    assert record.gc_log_bytes == len(log)
    return log, record.measurement


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda log: log, None),
        (lambda log: b"".join(line for line in log.splitlines(True) if b"GC(4)" not in line), "has a hole: 1 of"),
        (lambda log: log[: len(log) // 2], "ends before the measured window does"),
        (lambda _log: b"", "ends before the measured window does"),
        (lambda _log: None, "is gone"),
    ],
    ids=["whole", "hole", "cut", "empty", "gone"],
)
def test_a_log_that_is_not_whole_is_seen(
    whole_log: tuple[bytes, dict[str, Any]],
    tmp_path: Path,
    damage: Callable[[bytes], bytes | None],
    reason: str | None,
) -> None:
    log, measurement = whole_log
    if (left := damage(log)) is not None:
        (tmp_path / GC_LOG).write_bytes(left)
    fault = log_fault(tmp_path / GC_LOG, measurement)
    assert fault is None if reason is None else reason in str(fault)


def test_a_trial_whose_logs_did_not_fit_is_invalid_and_counts_nothing_of_them(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The JVM goes on where a file may not grow: only its logs are cut."""
    monkeypatch.setenv("GIT_OPTIONAL_LOCKS", "0")  # reading the commit is not to leave half an index
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (12 << 10, before[1]))  # a record takes 8 KiB, a log 30 or more
    try:
        record = run_one(data, *JAVA)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert (record.status, record.reason) == ("invalid", "its log ends before the measured window does")
    assert record.noise is not None and record.noise.compilations is None


def test_a_trial_whose_log_was_deleted_while_it_ran_is_invalid(data: Path) -> None:
    def delete(child: psutil.Process) -> None:
        (Path(child.cwd()) / GC_LOG).unlink()

    record = run_one(data, *JAVA[:-1], "seconds=1.5", meanwhile=delete)
    assert (record.status, record.reason) == ("invalid", "its log is gone")


def test_a_failed_trial_keeps_its_log_and_the_campaign_goes_on(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_PRELOAD", "")
    opened = campaign.open_study("batch", "smoke", {**SMALL, "timeout_s": 0.05})
    status = opened.run()
    assert status.failed == status.planned == 4
    trials = opened.tables()["trials"]
    assert set(trials["status"]) == {"timeout"}
    assert trials["reason"].str.contains("did not end").all()
    assert trials["ns_per_packet"].isna().all()


def test_two_campaigns_do_not_measure_at_once_wherever_their_data_goes(data: Path) -> None:
    with (
        alone(data / "elsewhere"),
        pytest.raises(UserError, match=rf"another campaign is measuring .*process {os.getpid()}, into .*elsewhere"),
    ):
        open_campaign().run()


def test_a_child_gets_a_short_list_of_the_environment_and_what_its_launch_sets(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = {"PATH": "/bin", "LC_ALL": "C.UTF-8", "ALLOCPOOL_DATA": str(data)}
    lost = ("LD_PRELOAD", "MALLOC_ARENA_MAX", "GLIBC_TUNABLES", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "PYTHONMALLOC")
    for name, value in {**kept, **dict.fromkeys(lost, "spoilt")}.items():
        monkeypatch.setenv(name, value)
    launch = Launch(child="allocpool.packets.child.batch", code_hash="", environment={"LD_PRELOAD": "chosen.so"})
    environment = child_environment(launch)
    assert kept.items() <= environment.items()
    assert "spoilt" not in environment.values()
    assert environment["LD_PRELOAD"] == "chosen.so"
    assert environment["PYTHONPATH"].split(os.pathsep)[0] == str(home.home() / "src")


def test_order_is_random_inside_blocks_and_the_same_for_the_same_seed() -> None:
    items = [(number // 50, number) for number in range(100)]
    ordered = shuffled_in_blocks(items, order_seed=7)
    assert sorted(ordered[:50]) == list(range(50)) and sorted(ordered[50:]) == list(range(50, 100))
    assert ordered != list(range(100))
    assert ordered == shuffled_in_blocks(items, order_seed=7)
    assert ordered != shuffled_in_blocks(items, order_seed=8)


def test_a_record_says_what_ran_and_is_on_disk_after_its_log(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []

    def fsync(descriptor: int, real: Callable[[int], None] = os.fsync) -> None:
        synced.append(os.path.basename(os.readlink(f"/proc/self/fd/{descriptor}")))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    record = run_one(
        data, "layout=heap", "runtime=17", "collector=serial", "strategy=pool", "scale=0.01", "packets=9999"
    )
    assert record.status == "ok"
    assert record.launch.jvm is not None
    assert "-XX:+UseSerialGC" in record.launch.jvm.flags and "-Xmx21m" in record.launch.jvm.flags
    assert record.launch.jvm.version.startswith("17.")
    assert record.host.cpu_model and record.host.kernel
    assert record.measurement is not None
    assert record.measurement["peak_rss_mb"] > 0
    assert (Path(record.directory) / "gc.log").stat().st_size > 0
    assert record.exit_code == 0 and record.wall_s > 0 and record.cpu_s > 0
    assert os.path.basename(record.command[0]).startswith("python")
    log, result, folder = synced[-3:]
    assert log == GC_LOG and RESULT in result and folder == record.trial_id
