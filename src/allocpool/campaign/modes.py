"""The modes of a single trial: which spec each one takes and how its record is told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from allocpool import home
from allocpool.errors import UserError, from_validation, unknown_choice
from allocpool.machine.host import read_host
from allocpool.packets.batch import BatchSpec
from allocpool.packets.columns import summarise_batch
from allocpool.studies.allocation.specs import AccessSpec, AllocationSpec, FragmentationSpec, JmhSpec
from allocpool.studies.allocation.tables import summarise_buffers
from allocpool.studies.buffered_io.specs import EchoSpec
from allocpool.studies.buffered_io.tables import summarise_echo
from allocpool.studies.native.specs import CountersSpec
from allocpool.studies.native.tables import summarise_counters
from allocpool.studies.pauses.specs import DisturbedSpec, LiveSetSpec
from allocpool.studies.pauses.tables import summarise_disturbed
from allocpool.studies.realtime.specs import RealtimeSpec, RingSpec, SearchSpec
from allocpool.studies.realtime.summary import summarise_realtime, summarise_ring, summarise_search
from allocpool.studies.stream.specs import StreamSearchSpec, StreamSpec
from allocpool.studies.stream.tables import summarise_stream, summarise_stream_search
from allocpool.trial.launch import Launcher
from allocpool.trial.record import TrialRecord
from allocpool.trial.runner import alone, run_trial, task_for
from allocpool.trial.spec import TrialSpec


@dataclass(frozen=True)
class Mode:
    """One kind of trial."""

    spec: type[TrialSpec]
    summarise: Callable[[TrialRecord], dict[str, Any]]
    example: str


MODES: dict[str, Mode] = {
    "batch": Mode(
        BatchSpec,
        summarise_batch,
        "mode=batch layout=heap runtime=11 collector=cms strategy=alloc case=A scale=0.1 seconds=5",
    ),
    "counters": Mode(
        CountersSpec,
        summarise_counters,
        "mode=counters counter=simulated layout=slab strategy=pool case=B scale=0.1 packets=1000000",
    ),
    "ring": Mode(RingSpec, summarise_ring, "mode=ring language=java runtime=25 interval_ns=10 seconds=60"),
    "realtime": Mode(
        RealtimeSpec,
        summarise_realtime,
        "mode=realtime layout=heap runtime=25 collector=g1 strategy=pool case=B scale=0.1 interval_ns=1000 seconds=10",
    ),
    "search": Mode(
        SearchSpec,
        summarise_search,
        "mode=search layout=allocating strategy=pool scale=0.1 low_ns=10 high_ns=2000 probe_seconds=0.3 full_seconds=2",
    ),
    "live_set": Mode(
        LiveSetSpec,
        summarise_batch,
        "mode=live_set layout=heap runtime=25 collector=g1 strategy=pool pool_size=300000 heap_mb=1024 seconds=0.5",
    ),
    "disturbed": Mode(
        DisturbedSpec,
        summarise_disturbed,
        "mode=disturbed layout=heap runtime=25 collector=parallel strategy=pool scale=0.1 interval_ns=1000 seconds=1 "
        "disturbance=full_collection",
    ),
    "allocation": Mode(
        AllocationSpec,
        summarise_buffers,
        "mode=allocation technique=malloc allocator=glibc bytes=1024 touch=none seconds=1",
    ),
    "access": Mode(
        AccessSpec,
        summarise_buffers,
        "mode=access memory=heap runtime=25 collector=g1 operation=write bytes=102400 seconds=1",
    ),
    "fragmentation": Mode(
        FragmentationSpec,
        summarise_buffers,
        "mode=fragmentation technique=malloc allocator=jemalloc distribution=phases live_mb=64",
    ),
    "jmh": Mode(
        JmhSpec,
        summarise_buffers,
        "mode=jmh technique=byte_array runtime=25 collector=g1 bytes=1024 seconds=1",
    ),
    "echo": Mode(
        EchoSpec,
        summarise_echo,
        "mode=echo server=java io=buffered_reader buffer=8192 threads=platform connections=1000 seconds=5",
    ),
    "stream": Mode(
        StreamSpec,
        summarise_stream,
        "mode=stream runtime=25 collector=genzgc events_per_second=100000 keys=10000 cooperative_threads=1 seconds=10",
    ),
    "stream_search": Mode(
        StreamSearchSpec,
        summarise_stream_search,
        "mode=stream_search runtime=25 collector=g1 low_events_per_second=100000 high_events_per_second=5000000 "
        "seconds=2",
    ),
}


def parse_spec(settings: Sequence[str]) -> TrialSpec:
    """The spec that ``KEY=VALUE`` words describe.

    Raises:
        UserError: a word is no ``KEY=VALUE``, or key or value is not valid; names the valid ones.
    """
    given: dict[str, str] = {}
    for word in settings:
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise UserError(f"{word!r} is not KEY=VALUE, for example {MODES['batch'].example}")
        if key in given:
            raise UserError(f"{key} is given twice")
        given[key] = value
    if given.get("mode") not in MODES:
        raise unknown_choice("mode", given.get("mode"), MODES)
    model = MODES[given["mode"]].spec
    try:
        return model(**given)
    except ValidationError as error:
        raise from_validation("trial", error, model) from None


def run_and_summarise(spec: TrialSpec) -> dict[str, Any]:
    """What one trial measured, as plain data.

    Raises:
        UserError: this machine can't run it, or it did not end well.
    """
    record = run_single(spec)
    if record.status != "ok":
        raise UserError(f"the trial ended as {record.status}: {record.reason}")
    return MODES[spec.mode].summarise(record)


def run_single(spec: TrialSpec) -> TrialRecord:
    """Run one trial now, whatever was measured before; its folder is ``data/raw/single/<trial id>``.

    Raises:
        UserError: this machine can't run it, or a campaign is measuring.
    """
    launcher = Launcher()
    refused = launcher.refusal(spec)
    if refused:
        raise UserError(refused)
    host = read_host()
    task = task_for(spec, launcher, host, home.raw_dir() / "single")
    with alone(home.raw_dir()):
        return run_trial(task, host)
