"""Campaigns that survive: disks, clocks, memory and runners that end at any moment. Trials are made up, so that there
are hundreds of moments in seconds; real children under real signals are in test_runner.py and test_guard.py."""

from __future__ import annotations

import ctypes
import json
import multiprocessing
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime, timedelta, tzinfo
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner, Result

from allocpool import notebook
from allocpool.campaign import campaign, store, tidy
from allocpool.cli import main
from allocpool.errors import UserError
from allocpool.machine import memory
from allocpool.machine.host import NAME, read_host
from allocpool.trial import runner
from allocpool.trial.noise import PaceMeter
from allocpool.trial.record import MEASUREMENT, RESULT, TrialRecord

CELL: dict[str, Any] = {
    "configurations": ["cpp/flat"], "strategies": ["pool"], "cases": ["A"], "seconds": 0.02, "warmup_seconds": 0.0,
}  # fmt: skip
FORK = multiprocessing.get_context("fork")


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What a real trial left for its runner."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ALLOCPOOL_DATA", str(tmp_path_factory.mktemp("one")))
        opened = campaign.open_study("batch", "smoke", {**CELL, "blocks": 1})
        opened.run()
        (record,) = opened.records()
        return (Path(record.directory) / MEASUREMENT).read_text(encoding="utf-8")


@pytest.fixture
def made_up(measured: str, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trials without a process: each leaves what a real one left, in no time that matters."""

    def leave(_command: object, task: runner.Task, _launch: object) -> tuple[int, None]:
        time.sleep(0.003)  # so that some are ended in the middle
        (task.folder / MEASUREMENT).write_text(measured, encoding="utf-8")
        return 0, None

    monkeypatch.setattr(runner, "_run_child", leave)
    host = read_host()
    monkeypatch.setattr(campaign, "read_host", lambda: host)
    monkeypatch.setattr(campaign.Campaign, "pace_meter", lambda _self: PaceMeter(None))
    monkeypatch.setattr("allocpool.campaign.sequential.tqdm", _NoBar)


class _NoBar:
    """A bar that shows nothing, and needs no lock that a killed process might hold."""

    def __init__(self, **_settings: object) -> None:
        pass

    def __enter__(self) -> _NoBar:
        return self

    def __exit__(self, *_error: object) -> None:
        pass

    total = n = 0

    def update(self, *_told: object, **_how: object) -> None:
        """Nothing."""

    set_postfix_str = set_description_str = write = update


def opened(blocks: int) -> campaign.Campaign:
    return campaign.open_study("batch", "smoke", {**CELL, "blocks": blocks})


def allocpool(*words: str) -> Result:
    return CliRunner().invoke(main, list(words))


def run_words(blocks: int) -> list[str]:
    chosen = {**CELL, "blocks": blocks}
    settings = [word for key, value in chosen.items() for word in ("--set", f"{key}={json.dumps(value)}")]
    return ["run", "batch", "--profile", "smoke", *settings]


def records(data: Path, known: Mapping[str, int] | None = None) -> dict[str, int]:
    """The records of a store with the times of their last changes; each that is not known is whole."""
    found = {path.parent.name: path for path in (data / "raw").glob(f"*/{RESULT}")}
    for name in found.keys() - (known or {}).keys():
        TrialRecord.model_validate_json(found[name].read_bytes())
    return {name: path.stat().st_mtime_ns for name, path in found.items()}


@pytest.mark.parametrize("kills", [5, pytest.param(100, marks=pytest.mark.long)])
def test_a_runner_that_is_ended_at_any_moment_loses_and_repeats_nothing(data: Path, made_up: None, kills: int) -> None:
    blocks = kills + 50  # each moment finishes one at most
    before: dict[str, int] = {}
    (data / "raw").mkdir(parents=True)
    one = opened(blocks)
    one.prepare()  # what runners would all find anew of machine, sources and, below, of the records before
    for moment in range(kills):
        one.records()
        begun = len(os.listdir(data / "raw"))
        child = FORK.Process(target=_run_quietly, args=(one,))
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDINGS)  # until it can be ended without unwinding into this test
        child.start()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDINGS)
        while moment % 5 and child.is_alive() and len(os.listdir(data / "raw")) == begun:
            time.sleep(0.001)  # each fifth is ended while it starts
        time.sleep(0.0001 * (moment % 50))
        with suppress(ProcessLookupError):  # it had done all
            os.kill(child.pid or 0, ENDINGS[moment % len(ENDINGS)])
        child.join(600)
        assert child.exitcode is not None
        after = records(data, before)
        assert {name: after.get(name) for name in before} == before, f"lost or repeated at moment {moment}"
        before = after
    assert len(before) <= kills
    whole = opened(blocks)
    status = whole.run()
    after = records(data)
    assert status.complete and status.finished == blocks == len(after)
    assert {name: after[name] for name in before} == before
    assert len(whole.tables()["trials"]) == blocks


ENDINGS = (signal.SIGKILL, signal.SIGHUP, signal.SIGTERM, signal.SIGINT)


def _run_quietly(one: campaign.Campaign) -> None:
    """Finishes one trial and waits in the second for its end, however late whoever ends it is woken."""
    leave, first = runner._run_child, iter([True])

    def leave_one(*trial: Any) -> Any:
        if not next(first, False):
            time.sleep(1)
            os._exit(0)  # its signal came where Python ignores what a handler raises
        return leave(*trial)

    runner._run_child = leave_one  # type: ignore[assignment]  # in this process alone
    with suppress(BaseException):
        try:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDINGS)
            one.run()
        finally:
            signal.pthread_sigmask(signal.SIG_BLOCK, ENDINGS)
    os._exit(0)


def test_tables_are_whole_wherever_in_one_their_writer_is_killed(data: Path, made_up: None) -> None:
    small = opened(8)
    small.run()
    names = {*small.tables(), "questions"}
    for written in range(len(names)):
        shutil.rmtree(small.tidy_folder)
        child = FORK.Process(target=_die_in_the_middle, args=(small, written))
        child.start()
        child.join(600)
        assert child.exitcode == -signal.SIGKILL
        tables = list(small.tidy_folder.glob("[!.]*.parquet"))
        assert len(tables) == written
        for path in tables:
            assert path.read_bytes()[-4:] == b"PAR1", f"{path} is torn"
    small.tables()
    assert {path.stem for path in small.tidy_folder.glob("*.parquet")} == names
    assert len(store.read_tables("batch", small.profile.profile)[0]["trials"]) == 8


def _die_in_the_middle(one: campaign.Campaign, written: int) -> None:
    """Writes so many tables, and half of the next."""
    write, writing = pd.DataFrame.to_parquet, iter(range(written))

    def write_or_die(table: pd.DataFrame, path: Path, **settings: Any) -> None:
        write(table, path, **settings)
        if next(writing, None) is None:
            os.truncate(path, path.stat().st_size // 2)
            os.kill(os.getpid(), signal.SIGKILL)

    pd.DataFrame.to_parquet = write_or_die  # type: ignore[method-assign,assignment]  # in this process alone
    one.tables()


def in_a_place_of_its_own(work: Callable[[], Any]) -> Any:
    """What ``work`` returns in a forked process that may mount what nobody else sees (user_namespaces(7))."""

    def act(answer: Connection) -> None:
        try:
            libc = ctypes.CDLL(None, use_errno=True)
            new_mounts, new_user, private = 0x00020000, 0x10000000, (1 << 18) | (1 << 14)
            user, group = os.geteuid(), os.getegid()
            if libc.unshare(new_mounts | (new_user if user else 0)):
                raise OSError(ctypes.get_errno(), "unshare")
            if user:
                Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
                Path("/proc/self/uid_map").write_text(f"0 {user} 1", encoding="ascii")
                Path("/proc/self/gid_map").write_text(f"0 {group} 1", encoding="ascii")
            libc.mount(b"none", b"/", None, private, None)
            answer.send(work())
        except BaseException as error:
            answer.send(error)
            raise

    here, there = FORK.Pipe()
    child = FORK.Process(target=act, args=(there,))
    child.start()
    there.close()
    answer = here.recv()
    child.join(600)
    if isinstance(answer, PermissionError) and "unshare" in str(answer):
        pytest.skip("no namespaces here, as in a chroot of an ordinary user")
    if isinstance(answer, BaseException):
        raise answer
    return answer


def mount(folder: Path, size_kb: int, read_only: bool = False) -> None:
    """A file system in memory of so many KiB; or what is there, made read-only."""
    folder.mkdir(parents=True, exist_ok=True)
    libc = ctypes.CDLL(None, use_errno=True)
    flags = 0x21 if read_only else 0  # MS_REMOUNT | MS_RDONLY
    if libc.mount(b"tmpfs", os.fsencode(folder), b"tmpfs", flags, f"size={size_kb}k".encode()):
        raise OSError(ctypes.get_errno(), "mount")


def test_a_full_disk_is_one_line_and_what_is_finished_is_whole(data: Path, made_up: None) -> None:
    def work() -> tuple[int, str, int, int, int]:
        mount(data, 400)
        full = allocpool(*run_words(100))
        finished = records(data)
        mount_more = ctypes.CDLL(None).mount(b"tmpfs", os.fsencode(data), b"tmpfs", 0x20, b"size=8m")
        assert mount_more == 0
        again = allocpool(*run_words(100))
        after = records(data)
        assert {name: after[name] for name in finished} == finished, "lost or repeated"
        return full.exit_code, full.output, len(finished), again.exit_code, len(after)

    status, output, finished, again, after = in_a_place_of_its_own(work)
    assert status == 2 and output.count("\n") == 1 and "make room there, or set ALLOCPOOL_DATA" in output, output
    assert 0 < finished < 100 and (again, after) == (0, 100)


def test_a_read_only_store_shows_what_is_complete_and_refuses_the_rest_in_one_line(data: Path, made_up: None) -> None:
    def work() -> tuple[int, int, str, str]:
        mount(data, 8000)
        opened(3).run()
        mount(data, 8000, read_only=True)
        shown = opened(3)
        assert shown.run().complete
        more = allocpool(*run_words(4))
        return len(shown.tables()["trials"]), more.exit_code, more.output, allocpool("doctor", "--data").output

    rows, status, output, doctor = in_a_place_of_its_own(work)
    assert rows == 3
    assert status == 2 and output.count("\n") == 1 and "set ALLOCPOOL_DATA to a folder that takes files" in output, (
        output
    )
    assert "it takes no files" in doctor


def test_two_runners_at_once_lose_and_repeat_nothing(data: Path, made_up: None) -> None:
    both = [FORK.Process(target=opened(60).run) for _ in range(2)]
    for one in both:
        one.start()
    for one in both:
        one.join(600)
    before = records(data)
    assert len(before) == 60 and 0 in [one.exitcode for one in both]
    opened(60).run()
    assert records(data) == before


class _Stepping:
    """A wall clock that somebody sets back by a day between any two looks."""

    looks = 0

    @classmethod
    def now(cls, zone: tzinfo) -> datetime:
        cls.looks += 1
        return datetime.now(zone) - timedelta(days=cls.looks)


def test_a_clock_that_is_set_back_changes_no_figure_and_repeats_nothing(
    data: Path, made_up: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "datetime", _Stepping)
    day = 0

    def wall() -> float:
        nonlocal day
        day += 1
        return 1e9 - 86_400.0 * day

    monkeypatch.setattr(time, "time", wall)
    stepped = opened(5)
    status = stepped.run()
    assert status.complete and status.finished == 5
    trials = stepped.tables()["trials"]
    assert (trials["wall_s"] >= 0).all() and trials["started_utc"].nunique() == 5
    before = records(data)
    assert opened(5).run().finished == 5 and records(data) == before


@pytest.mark.parametrize("worker", [False, True], ids=["child", "its worker"])
@pytest.mark.parametrize("kills", [1, 0])
def test_a_process_that_the_kernel_ended_for_memory_is_told_apart_from_a_killed_one(
    data: Path, made_up: None, monkeypatch: pytest.MonkeyPatch, kills: int, worker: bool
) -> None:
    counts: Iterator[int] = iter([3, 3 + kills])

    def end(_command: object, task: runner.Task, _launch: object) -> tuple[int, None]:
        if not worker:
            return -signal.SIGKILL, None
        crashed = {"status": "crashed", "reason": "a worker ended with status -9"}
        (task.folder / MEASUREMENT).write_text(json.dumps(crashed), encoding="utf-8")
        return 0, None

    status = "out_of_memory" if kills else "crashed" if worker else "killed"
    monkeypatch.setattr(runner, "memory_kills", lambda: next(counts))
    monkeypatch.setattr(runner, "_run_child", end)
    one = opened(1)
    one.run()
    assert [record.status for record in one.records()] == [status]


def test_what_does_not_fit_into_its_control_group_is_refused_before_it_starts(
    data: Path, tmp_path: Path, made_up: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "max").write_text(str(1 << 20), encoding="ascii")
    (tmp_path / "current").write_text("0", encoding="ascii")
    monkeypatch.setattr(memory, "_limits", lambda: iter([(tmp_path / "max", tmp_path / "current")]))
    settings = {**CELL, "blocks": 1, "configurations": ["cpp/flat", "java/heap/g1/25"]}
    tight = campaign.open_study("batch", "smoke", settings)
    status = tight.run()
    assert (status.planned, status.unavailable, status.finished) == (2, 2, 0) and not records(data)
    assert tight.tables()["trials"]["reason"].str.contains("1 MB available").all()


def test_the_doctor_finds_what_is_broken_and_deletes_nothing(data: Path, made_up: None) -> None:
    one = opened(6)
    one.run()
    assert allocpool("doctor", "--data").output == f"{data}: nothing is broken\n"
    folders = sorted((data / "raw").iterdir())
    texts = [(folder / RESULT).read_text(encoding="utf-8") for folder in folders]
    (folders[0] / RESULT).unlink()
    (folders[1] / RESULT).write_text(texts[1][: len(texts[1]) // 2], encoding="utf-8")
    (folders[2] / RESULT).write_text(texts[2].replace('"seed": ', '"seed": 1'), encoding="utf-8")
    (folders[3] / f".{RESULT}.left").touch()
    (folders[4] / RESULT).write_text(json.dumps(json.loads(texts[4]) | {"measurement": {}}), encoding="utf-8")
    (one.tidy_folder / "trials.parquet").write_bytes(b"PAR1")
    other = one.tidy_folder.with_name("native")
    shutil.copytree(one.tidy_folder, other)
    (other / "provenance.json").unlink()
    before = sorted(data.rglob("*"))
    result = allocpool("doctor", "--data")
    assert result.exit_code == 1 and sorted(data.rglob("*")) == before
    lines = result.output.splitlines()
    expected = [
        (folders[0], "the trial did not end"), (folders[1], "EOF while parsing"), (folders[2], "what it ran is trial"),
        (folders[3], "what an interrupted write left"), (folders[4], "measurement."),
        (one.tidy_folder, "trials.parquet can't be read"), (other, "provenance.json is missing"),
    ]  # fmt: skip
    for path, what in expected:
        assert [line for line in lines if line.startswith(str(path)) and what in line], (path, what, lines)
    assert len(lines) == len(expected)
    assert json.loads(allocpool("doctor", "--data", "--json").output)[0]["what"] == "the trial did not end"
    again = opened(6)
    assert again.run().finished == 6
    assert [line for line in allocpool("doctor", "--data").output.splitlines() if str(one.tidy_folder) in line] == []


UNREADABLE: dict[str, Callable[[dict[str, Any]], str | dict[str, Any]]] = {
    "empty": lambda _whole: "", "cut": lambda _whole: "{", "list": lambda _whole: "[]",
    "partial": lambda _whole: '{"format": 2}', "zeroed": lambda _whole: "\0" * 64, "latin": lambda _whole: '"\udce9"',
    "older": lambda whole: {"format": 1}, "newer": lambda whole: {"format": 3, "more": 1},
    "folder": lambda _whole: "", "pipe": lambda _whole: "", "foreign": lambda _whole: {"trial_id": "0" * 16},
    "logless": lambda _whole: {"gc_log_bytes": 7}, "hollow": lambda _whole: {"measurement": {}},
    "null": lambda _whole: {"measurement": None},
    "no iterations": lambda whole: {"measurement": {**whole["measurement"], "iterations": {}}},
    "another host": lambda whole: {"host": {**whole["host"], "cpu_model": "Abacus 9000"}},
    "not a number": lambda whole: {"wall_s": float("nan")}, "negative": lambda whole: {"cpu_s": -1.0},
    "without end": lambda whole: {"measurement": {**whole["measurement"], "peak_rss_mb": float("inf")}},
    "too large": lambda whole: {"measurement": {**whole["measurement"], "peak_rss_mb": 10**400}},
    "backwards": lambda whole: {"measurement": {**whole["measurement"], "iterations": {
        name: [[end, start, *rest] for start, end, *rest in rows]
        for name, rows in whole["measurement"]["iterations"].items()}}},
    "respecced": lambda whole: {"spec": {**whole["spec"], "seed": 99}},
}  # fmt: skip
"""Damages to a record: other content, or what stands in it instead."""


def test_records_that_can_not_be_read_are_named_and_their_trials_run_again(
    data: Path, made_up: None, capsys: pytest.CaptureFixture[str]
) -> None:
    blocks = len(UNREADABLE)
    opened(blocks + 1).run()
    paths = dict(zip([*UNREADABLE, "whole"], sorted((data / "raw").glob(f"*/{RESULT}")), strict=True))
    whole = paths.pop("whole")
    for name, path in paths.items():
        record = json.loads(path.read_text(encoding="utf-8"))
        content = UNREADABLE[name](record)
        path.unlink()
        if name == "folder":
            path.mkdir()
        elif name == "pipe":
            os.mkfifo(path)
        else:
            text = content if isinstance(content, str) else json.dumps(record | content)
            path.write_bytes(text.encode(errors="surrogateescape"))
    before = whole.stat().st_mtime_ns
    capsys.readouterr()
    again = opened(blocks + 1)
    assert again.status().missing == blocks
    assert len(again.tables()["trials"]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == blocks
    for name, path in paths.items():
        assert sum(f"{path} can't be read and counts as not run: " in line for line in lines) == 1, name
    assert again.run().complete and whole.stat().st_mtime_ns == before
    assert {TrialRecord.model_validate_json(path.read_bytes()).status for path in paths.values()} == {"ok"}


def test_another_machine_of_the_same_model_goes_on_with_no_campaign_of_the_first_unless_it_is_named(
    data: Path, made_up: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = read_host()
    assert now.processor
    alike = [now.model_copy(update={"processor": f"{now.processor}, {each}"}) for each in "ab"]
    assert len({host.fingerprint() for host in (now, *alike)}) == 3
    # Records of earlier versions have no boot: their hosts' names leave the processor out.
    first, second, now = (host.model_copy(update={"boot": None}) for host in (*alike, now))
    older, named = (second.model_copy(update=update) for update in ({"processor": None}, {"name": "second"}))
    assert first.fingerprint() == second.fingerprint() == now.fingerprint()
    monkeypatch.setattr(campaign, "read_host", lambda: first)
    assert opened(2).run().complete
    monkeypatch.setattr(campaign, "read_host", lambda: second)
    before = records(data)
    with pytest.raises(UserError, match=NAME):
        opened(3).run()
    assert records(data) == before
    monkeypatch.setattr(campaign, "read_host", lambda: older)
    assert opened(2).run().complete and records(data) == before, "an earlier version did not look"
    monkeypatch.setattr(campaign, "read_host", lambda: named)
    assert opened(2).run().complete and len(records(data)) == 2 * len(before)


def test_a_campaign_that_goes_on_after_a_reboot_counts_the_boots(
    data: Path, made_up: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for boots, (boot, blocks) in enumerate({"first": 1, "second": 2}.items(), 1):
        host = read_host().model_copy(update={"boot": boot})
        monkeypatch.setattr(campaign, "read_host", lambda host=host: host)
        each = opened(blocks)
        assert each.run().complete and each.provenance()["boots"] == boots
    assert str(boots) in notebook.status_banner(each.provenance()).data


def test_what_has_not_ended_well_runs_again_only_when_it_is_asked_for(data: Path, made_up: None) -> None:
    opened(3).run()
    before = records(data)
    (path, *_) = sorted((data / "raw").glob(f"*/{RESULT}"))
    killed = {"status": "killed", "reason": "ended by SIGKILL", "measurement": None}
    path.write_text(json.dumps(json.loads(path.read_bytes()) | killed), encoding="utf-8")
    assert "1 of them not ok" in allocpool(*run_words(3)).output and set(records(data)) == set(before)
    result = allocpool(*run_words(3), "--retry", "failed")
    assert result.exit_code == 0 and "0 of them not ok" in result.output, result.output
    both = records(data)
    assert both.keys() - before.keys() == {f"{path.parent.name}-2"}
    assert sorted(opened(3).tables()["trials"]["status"]) == ["disturbed", "ok", "ok", "ok"]
    assert "0 of them not ok" in allocpool(*run_words(3), "--retry", "failed").output
    assert records(data) == both, "a second attempt is the last"


@pytest.mark.long
def test_writers_of_the_same_tables_at_once_do_not_meet(data: Path, made_up: None) -> None:
    one = opened(4)
    one.run()

    tables = one.tables()

    def write() -> None:
        for _ in range(20):
            tidy.write_tables(one.tidy_folder, tables)

    writers = [FORK.Process(target=write) for _ in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(600)
    assert [writer.exitcode for writer in writers] == [0] * 4
    assert len(store.read_tables("batch", one.profile.profile)[0]["trials"]) == 4
    assert not list(one.tidy_folder.glob(".*")), "what a write left"
