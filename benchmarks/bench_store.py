"""What many hosts do to the store: records written and tidied a second, bytes, time to tables.

The records are made: one C++ trial is run here, and its record is copied with the spec, name and host that each trial
would have, and thirty measured iterations, as trials of profile standard have. Java trials add the reading of what
their logs told, which is kept beside each.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path
from typing import Any

from allocpool.campaign.campaign import open_study
from allocpool.fleet.fleet import HostCampaign, RemoteHost
from allocpool.trial.launch import Launcher
from allocpool.trial.record import RESULT, TrialRecord

SETTINGS = {"configurations": ["cpp/flat", "cpp/allocating"], "strategies": ["alloc", "pool"], "cases": ["A"]}
CELLS = 4
ITERATIONS = 30


def template() -> TrialRecord:
    """The record of one real trial."""
    one = {"configurations": ["cpp/flat"], "strategies": ["pool"], "cases": ["A"], "blocks": 1}
    campaign = open_study("batch", "smoke", {**one, "seconds": 0.05, "warmup_seconds": 0.0})
    campaign.run()
    (record,) = campaign.records()
    measurement = dict(record.measurement or {})
    windows = dict(measurement["iterations"])
    windows["measured"] = (list(windows["measured"]) * ITERATIONS)[:ITERATIONS]
    return record.model_copy(update={"measurement": {**measurement, "iterations": windows}, "directory": ""})


class Answered(RemoteHost):
    """A host that can run whatever this one can."""

    def ask(self, function: Any, *arguments: Any) -> Any:
        launcher = Launcher()
        return [(None, launcher.code_hash(spec)) for spec in arguments[0]]


def stored(host: str, trials: int, record: TrialRecord) -> HostCampaign:
    """A campaign of so many trials on a host of that name."""
    here = open_study("batch", "smoke", {**SETTINGS, "blocks": max(1, trials // CELLS)})
    named = record.host.model_copy(update={"name": host})
    nowhere: Any = None
    return HostCampaign(here.study, here.profile, Answered(nowhere, named, 2, host))


def write(campaign: HostCampaign, record: TrialRecord) -> int:
    """Write a record for each trial of the campaign, as it comes from a host; their bytes."""
    size = 0
    for task in campaign.tasks:
        spec = task.spec.model_dump(mode="json")
        own = record.model_copy(update={"trial_id": task.trial_id, "spec": spec, "host": campaign.host})
        text = own.model_dump_json(indent=1)
        task.folder.mkdir(parents=True)
        (task.folder / RESULT).write_text(text, encoding="utf-8")
        size += len(text)
    return size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hosts", type=int, default=100)
    parser.add_argument("--trials", type=int, default=1000, help="of each host")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="allocpool-store-") as folder:
        os.environ["ALLOCPOOL_DATA"] = folder
        record = template()
        campaigns = [stored(f"node{number}", asked.trials, record) for number in range(asked.hosts)]
        begun_s = time.perf_counter()
        size = sum(write(campaign, record) for campaign in campaigns)
        count = sum(len(campaign.tasks) for campaign in campaigns)
        took_s = time.perf_counter() - begun_s
        print(
            f"{count} records of {asked.hosts} hosts: {size / count:.0f} bytes each, {count / took_s:.0f} written a s"
        )
        begun_s = time.perf_counter()
        before_s = time.process_time()
        for campaign in campaigns:
            campaign.tables()
        finished = sum(campaign.status().finished for campaign in campaigns)
        took_s = time.perf_counter() - begun_s
        cpu_s = time.process_time() - before_s
        tables = sum(path.stat().st_size for path in Path(folder).glob("hosts/**/*.parquet"))
        print(
            f"{finished} trials tidied in {took_s:.1f} s, {finished / took_s:.0f} a s, by {cpu_s:.1f} s of CPU; "
            f"{tables / 1e6:.1f} MB of tables"
        )


if __name__ == "__main__":
    main()
