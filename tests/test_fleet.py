"""One plan on many machines, under Dask's real scheduler: workers as hosts by name, and in network namespaces."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import psutil
import pytest
from click.testing import CliRunner

from allocpool import home
from allocpool.campaign import campaign
from allocpool.cli import main
from allocpool.errors import UserError
from allocpool.fleet import fleet, worker
from allocpool.machine.host import read_host
from allocpool.trial.record import RESULT, read_record

SETTINGS: dict[str, Any] = {
    "blocks": 2, "configurations": ["cpp/flat"], "strategies": ["alloc", "pool"], "cases": ["A"], "seconds": 0.1,
    "warmup_seconds": 0.0,
}  # fmt: skip
PLANNED = 4


def records(raw: Path) -> dict[str, int]:
    """Each trial's record in a store, with the time of its last change."""
    return {path.parent.name: path.stat().st_mtime_ns for path in raw.glob(f"*/{RESULT}")}


def until(holds: Callable[[], object], seconds: float = 900.0) -> None:
    ends_s = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < ends_s, "waited in vain"
        time.sleep(0.02)


def children_of(process: int) -> list[psutil.Process]:
    return [one for one in psutil.Process(process).children() if "allocpool.trial.child" in one.cmdline()]


@pytest.mark.long
def test_a_worker_lost_in_mid_trial_costs_that_trial_only(data: Path, tmp_path: Path) -> None:
    own = [tmp_path / name for name in ("one", "two")]
    settings = [{"ALLOCPOOL_DATA": str(path), "ALLOCPOOL_LOCK": str(path) + ".lock"} for path in own]
    opened = campaign.open_study("batch", "smoke", SETTINGS)
    lines: list[str] = []
    results: list[fleet.HostResult] = []
    with fleet.local_workers(2, settings) as client:
        sockets = [line for one in psutil.Process().children(recursive=True) for line in one.net_connections()]
        listening = [line.laddr.ip for line in sockets if line.status == psutil.CONN_LISTEN]
        assert listening and set(listening) <= {"127.0.0.1", "::1"}
        names, processes = client.run(os.getenv, "ALLOCPOOL_HOST"), client.run(os.getpid)
        first = next(processes[address] for address, name in names.items() if name == "local-1")
        running = threading.Thread(target=lambda: results.extend(fleet.run_on(client, [opened], report=lines.append)))
        running.start()
        until(lambda: records(own[0] / "raw") and children_of(first))
        before = records(own[0] / "raw")
        assert len(before) < PLANNED
        child = children_of(first)
        os.kill(first, signal.SIGKILL)
        assert not psutil.wait_procs(child, timeout=120)[1], "a child outlived its worker"
        running.join()
        assert [(host.name, host.problem) for host in sorted(results, key=lambda host: host.name)] == [
            ("local-1", None), ("local-2", None),
        ], lines  # fmt: skip
        after = records(own[0] / "raw")
        assert len(after) == PLANNED and {name: after[name] for name in before} == before, "lost, or repeated"
        here = records(data / "raw")
        assert set(here) == set(after) | set(records(own[1] / "raw")) and len(here) == 2 * PLANNED
        _tables_hold_both(data, opened, results)

        # What has run there is handed over, not run again.
        for name in list(after)[:2]:
            (data / "raw" / name / RESULT).unlink()
        fleet.run_on(client, [opened], report=lines.append)
        assert records(own[0] / "raw") == after and set(records(data / "raw")) == set(here)


def _tables_hold_both(data: Path, opened: campaign.Campaign, results: list[fleet.HostResult]) -> None:
    folders = sorted((data / "hosts").iterdir())
    provenance = [
        json.loads((folder / opened.profile.profile / "batch" / "provenance.json").read_text(encoding="utf-8"))
        for folder in folders
    ]
    assert {one["host"]["name"] for one in provenance} == {"local-1", "local-2"}
    assert [one["host_id"] for one in provenance] == [folder.name for folder in folders]
    assert all(one["statuses"] == {"ok": PLANNED} for one in provenance)
    assert all(host.states["batch"].complete for host in results)
    for folder in folders:
        trials = pd.read_parquet(folder / opened.profile.profile / "batch" / "trials.parquet")
        assert set(trials["host_id"]) == {folder.name}
        read = [read_record(data / "raw" / name) for name in trials["trial_id"]]
        windows = sorted(
            (r.measurement["cpu"]["start_ns"], r.measurement["cpu"]["end_ns"]) for r in read if r and r.measurement
        )
        assert len(windows) == PLANNED
        assert all(end < start for (_, end), (start, _) in pairwise(windows)), "two trials at once on one host"
    assert opened.status().finished == 0, "another host's trials are no trials of this one"


def test_a_machine_with_other_code_is_refused_in_one_line(data: Path) -> None:
    refused = worker.examine(f"commit {'0' * 40} with code {'0' * 16}").refused
    assert refused is not None and "check out that commit there" in refused and "\n" not in refused
    own = worker.checkout(read_host())
    assert worker.examine(own).refused is None


def test_what_a_host_can_not_run_is_a_row_that_says_why(data: Path) -> None:
    class Unable(fleet.RemoteHost):
        def ask(self, function: Callable[..., Any], *arguments: Any) -> Any:
            assert function is worker.answers
            return [("it has no such collector", "")] * len(arguments[0])

    asked = campaign.open_study("batch", "smoke", SETTINGS)
    nowhere: Any = None
    there = fleet.HostCampaign(asked.study, asked.profile, Unable(nowhere, read_host(), 2, "there"))
    status = there.status()
    assert (status.planned, status.unavailable, status.finished, status.missing) == (PLANNED, PLANNED, 0, 0)
    assert set(there.tables()["trials"]["reason"]) == {"it has no such collector"}


def test_what_has_run_there_is_handed_over_and_not_run_again(data: Path, tmp_path: Path) -> None:
    class Here(fleet.RemoteHost):
        def ask(self, function: Callable[..., Any], *arguments: Any) -> Any:
            with pytest.MonkeyPatch.context() as there:
                there.setenv("ALLOCPOOL_DATA", str(tmp_path / "there"))
                return function(*arguments)

    asked = campaign.open_study("batch", "smoke", {**SETTINGS, "blocks": 1})
    nowhere: Any = None
    ran = []
    for _ in range(2):
        result = fleet.HostResult("there")
        fleet._run_host(Here(nowhere, read_host(), 2, "there"), [asked], None, result)
        assert result.problem is None and result.states["batch"].complete
        ran.append(records(tmp_path / "there" / "raw"))
        assert set(records(data / "raw")) == set(ran[-1])
        shutil.rmtree(data / "raw")
    assert ran[0] == ran[1] and len(ran[0]) >= PLANNED / 2


def test_a_trial_that_would_be_another_one_there_is_refused(data: Path) -> None:
    opened = campaign.open_study("batch", "smoke", SETTINGS)
    task = opened.tasks[0]
    with pytest.raises(UserError, match=f"trial {'0' * 16} is {task.trial_id} here"):
        worker.trial("0" * 16, task.spec, 1, None)


@pytest.mark.parametrize("name", ["../escaped", "/tmp/escaped", "..", ""])
def test_a_file_from_elsewhere_stays_in_its_trials_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match="is none of a trial"):
        fleet.keep({name: b"", RESULT: b"{}"}, tmp_path / "raw" / "trial")
    assert not list(tmp_path.rglob("*"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--scheduler", "tcp://127.0.0.1:9", "--local-workers", "2"], "give one of them"),
        (["--scheduler", "nowhere"], "no scheduler answers at nowhere"),
    ],
)
def test_a_mistake_about_a_fleet_is_one_line(
    data: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], message: str
) -> None:
    monkeypatch.setattr(fleet, "_FIRST_S", 0.2)
    result = CliRunner().invoke(main, ["run", "batch", "--profile", "smoke", *words])
    assert result.exit_code == 2 and message in result.output and result.output.count("\n") == 1, result.output


_NETWORK = """
set -e
ip link set lo up
for k in 2 3; do
  unshare -n sh -c 'echo up; exec sleep 600' >&3 2>&3 & host=$!; hosts="$hosts $host"
  until [ "$(readlink /proc/$host/ns/net)" != "$(readlink /proc/$$/ns/net)" ]; do sleep 0.02; done
  ip link add v$k type veth peer name eth0 netns $host
  ip addr add 10.77.$k.1/24 dev v$k; ip link set v$k up
  nsenter -t $host -n sh -c "ip addr add 10.77.$k.2/24 dev eth0; ip link set eth0 up; ip link set lo up"
  echo $host
done
echo $$
cat
kill $hosts
"""


@pytest.fixture
def hosts() -> Iterator[list[list[str]]]:
    """What goes before a command to run it on the scheduler's machine, and on two others: each has a network of its
    own. Where that can't be had it is said, and all share this machine's loopback."""
    as_root = [] if os.geteuid() == 0 else ["-U", "-r"]
    network = subprocess.Popen(
        ["unshare", *as_root, "-n", "--kill-child", "sh", "-c", f"exec 3>/dev/null;{_NETWORK}"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert network.stdout is not None and network.stderr is not None
    found = [line.strip() for line in (network.stdout.readline() for _ in range(3))]
    if all(found):
        enter = ["nsenter", *(["-U", "--preserve-credentials"] if as_root else []), "-n", "-t"]
        yield [[*enter, process] for process in (found[2], *found[:2])]
    else:
        why = network.stderr.read().strip()
        warnings.warn(f"no network namespaces here ({why}): hosts were tested on loopback only", stacklevel=1)
        yield [[], [], []]
    network.communicate("")


@pytest.mark.long
def test_a_scheduler_that_is_lost_loses_nothing_finished(data: Path, tmp_path: Path, hosts: list[list[str]]) -> None:
    own = [tmp_path / name for name in ("one", "two")]
    programs: list[subprocess.Popen[bytes]] = []
    dask = [sys.executable, "-m", "dask"]
    apart = bool(hosts[0])
    addresses = ["10.77.2.1", "10.77.3.1"] if apart else ["127.0.0.1", "127.0.0.1"]

    log = tmp_path / "workers.txt"
    up = tmp_path / "scheduler.json"

    def start(count: int) -> None:
        up.unlink(missing_ok=True)
        programs.append(subprocess.Popen(
            [*hosts[0], *dask, "scheduler", "--host", "0.0.0.0" if apart else "127.0.0.1", "--port", "18786",
             "--no-dashboard", "--scheduler-file", str(up)], stderr=subprocess.DEVNULL,
        ))  # fmt: skip
        until(up.exists)  # a worker that meets none just then may give up
        for place, (path, enter, address) in enumerate(list(zip(own, hosts[1:], addresses, strict=True))[:count]):
            named = {"ALLOCPOOL_HOST": f"node{place}", "ALLOCPOOL_DATA": str(path), "ALLOCPOOL_LOCK": f"{path}.lock"}
            programs.append(subprocess.Popen(
                [*enter, *dask, "worker", f"tcp://{address}:18786", "--nthreads", "1", "--resources", "TRIAL=1",
                 "--no-dashboard", "--no-nanny", "--local-directory", str(path)],
                env={**os.environ, **named}, stderr=log.open("ab"),
            ))  # fmt: skip

    def stop() -> None:
        for program in programs:
            program.kill()
            program.wait()
        programs.clear()

    settings = [word for key, value in SETTINGS.items() for word in ("--set", f"{key}={json.dumps(value)}")]
    run = [*hosts[0], sys.executable, "-m", "allocpool.cli", "run", "batch", "--profile", "smoke", *settings]
    run += ["--scheduler", f"tcp://{addresses[0]}:18786"]
    try:
        start(2)
        first = subprocess.Popen(run, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        until(lambda: records(data / "raw") or first.poll() is not None)
        assert first.poll() is None, first.communicate()[1]
        programs[0].kill()
        _, said = first.communicate()
        assert first.returncode == 2 and "Traceback" not in said, said
        assert "the scheduler is lost: nothing finished is" in said
        before = records(data / "raw")
        assert 0 < len(before) < 2 * PLANNED
        stop()
        start(1)
        again = subprocess.run(run, capture_output=True, text=True, check=False)
        assert again.returncode == 0, again.stderr + log.read_text(encoding="utf-8")
        after = records(data / "raw")
        assert len(after) >= PLANNED and {name: after[name] for name in before} == before, "lost, or repeated"
        assert f"): {PLANNED} of {PLANNED} trials have a record, 0 of them not ok" in again.stdout, again.stdout
    finally:
        stop()
    assert home.hosts_dir().is_relative_to(data)
