"""What this machine can run, what is missing, and how to get it; starts every runtime with every collector. With
``--data`` what is broken in a store; nothing is deleted or mended."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import click
import pandas as pd
from pandera.errors import SchemaError, SchemaErrors
from pydantic import BaseModel, ValidationError

from allocpool import home
from allocpool.campaign import store, tidy
from allocpool.campaign.registry import STUDY_NAMES, every_study, mode_named, study_named
from allocpool.compile import check_module, java_modules, module_release
from allocpool.errors import UserError
from allocpool.machine.allocators import ALLOCATORS, check_boost, find_allocator, find_boost
from allocpool.machine.host import Host, read_host
from allocpool.prerequisites import Part, part_of, tools
from allocpool.runtimes import discovery, flags
from allocpool.runtimes.collectors import COLLECTORS
from allocpool.studies.instrument.outlook import MINUTES, Outlook, outlook
from allocpool.studies.native.specs import why_not_counted
from allocpool.trial.record import RESULT, checked_record, trial_id

_PROBE_HEAP_MB = 64
_LITTLE_MB = 500
"""Of free space, below which a campaign is likely to end for want of it."""


class CollectorReport(BaseModel, frozen=True):
    """One cell of the table; ``absent``: the runtime never had it, ``fails``: it does not start here."""

    collector: str
    state: Literal["runs", "absent", "fails"]
    problem: str | None = None


class RuntimeReport(BaseModel, frozen=True):
    """The runtime of one feature release that trials would use, or why there is none."""

    feature: int
    version: str | None = None
    vendor: str | None = None
    home: Path | None = None
    origin: str | None = None
    problem: str | None = None
    collectors: tuple[CollectorReport, ...] = ()


class Diagnosis(BaseModel, frozen=True):
    """All that was found; ``ready`` if the essentials are there, ``outlook`` how noisy the machine is, where asked."""

    ready: bool
    host: Host
    fingerprint: str
    runtimes: tuple[RuntimeReport, ...]
    building: tuple[Part, ...]
    java_modules: tuple[Part, ...]
    allocators: tuple[Part, ...]
    system: tuple[Part, ...]
    outlook: Outlook | None = None

    def missing(self) -> tuple[str, ...]:
        """Return a line for everything that is missing or does not work, essentials first."""
        cells = (cell for runtime in self.runtimes for cell in runtime.collectors)
        parts: tuple[Part | RuntimeReport | CollectorReport, ...] = (
            *self.building, *self.runtimes, *cells, *self.java_modules, *self.allocators, *self.system,
        )  # fmt: skip
        return tuple(part.problem for part in parts if part.problem)


def diagnose() -> Diagnosis:
    """Look at everything; takes some seconds, most of them starting Java."""
    host = read_host()
    with ThreadPoolExecutor() as pool:
        found = tuple(pool.map(_runtime, discovery.known_releases()))
    building = tools()
    usable = any(cell.state == "runs" for runtime in found for cell in runtime.collectors)
    return Diagnosis(
        ready=usable and not any(part.problem for part in building),
        host=host,
        fingerprint=host.fingerprint(),
        runtimes=found,
        building=building,
        java_modules=_modules(),
        allocators=(*(part_of(name, partial(_allocator, name)) for name in (*ALLOCATORS, "boost_pool")),),
        system=_system(host),
    )


def _runtime(feature: int) -> RuntimeReport:
    try:
        runtime = discovery.find_runtime(feature)
    except UserError as error:
        return RuntimeReport(feature=feature, problem=str(error))
    return RuntimeReport(**asdict(runtime), collectors=tuple(_cell(runtime, name) for name in COLLECTORS))


def _cell(runtime: discovery.Runtime, collector: str) -> CollectorReport:
    if not COLLECTORS[collector].is_on(runtime.feature):
        return CollectorReport(collector=collector, state="absent")
    try:
        probe = flags.Jvm("", runtime.feature, collector, _PROBE_HEAP_MB, pre_touch=False)
        flags.verify_flags(runtime, flags.jvm_flags(probe))
    except UserError as error:
        return CollectorReport(collector=collector, state="fails", problem=str(error))
    return CollectorReport(collector=collector, state="runs")


def _modules() -> tuple[Part, ...]:
    try:
        javac = discovery.find_javac()
    except UserError:  # reported among the tools
        return ()

    def check(module: str) -> str:
        check_module(module, javac)
        return f"for Java {module_release(module)}"

    return tuple(part_of(module, partial(check, module)) for module in java_modules())


def _allocator(name: str) -> str:
    if name in ALLOCATORS:
        return str(find_allocator(name) or "the C library's own")
    check_boost()
    boost = find_boost()
    return f"Boost {boost.version}" if boost else ""


def _system(host: Host) -> tuple[Part, ...]:
    hardware, simulated = why_not_counted("hardware"), why_not_counted("simulated")
    return (
        Part("hardware counters", None if hardware else "perf_event_open", hardware),
        Part("simulated counters", shutil.which("valgrind"), simulated),
        Part("transparent huge pages", host.transparent_huge_pages or "not offered"),
    )


def as_text(diagnosis: Diagnosis) -> str:
    """Return a diagnosis as text: which runtime runs with which collector, the parts, and what is missing."""
    host = diagnosis.host
    signs = {"runs": "yes", "fails": "no", "absent": "-"}
    table = []
    for runtime in diagnosis.runtimes:
        states = {cell.collector: signs[cell.state] for cell in runtime.collectors}
        about = f"{runtime.version}, {runtime.vendor}, {runtime.origin}" if runtime.version else "not here"
        table.append({"Java": runtime.feature, **{name: states.get(name, "no") for name in COLLECTORS}, "": about})
    lines = [
        f"{host.cpu_model}, {host.logical_cores} hardware threads, {host.memory_mb} MB of memory "
        f"({host.available_memory_mb} MB available), {host.system} {host.kernel}"
        + (f", virtual machine ({host.hypervisor})" if host.hypervisor else ""),
        f"Python {host.python_version}, host {diagnosis.fingerprint}",
        "",
        pd.DataFrame(table).to_markdown(index=False, tablefmt="plain"),
    ]
    for title, parts in (
        ("Building", diagnosis.building),
        ("Java modules", diagnosis.java_modules),
        ("Allocators", diagnosis.allocators),
        ("System", diagnosis.system),
    ):
        width = max((len(part.name) for part in parts), default=0)
        lines += ["", title]
        lines += [
            f"  {'no ' if part.problem else 'yes'}  {part.name:<{width}}  {part.found or ''}".rstrip() for part in parts
        ]
    missing = diagnosis.missing()
    lines += ["", "Missing"] if missing else []
    lines += [f"  {line}" for line in missing]
    lines += ["", "Noise", f"  {diagnosis.outlook.sentences()}"] if diagnosis.outlook else []
    ready = "ready: the essentials are there" if diagnosis.ready else "not ready: essentials are missing"
    return "\n".join([*lines, "", ready])


@dataclass(frozen=True)
class Damage:
    path: Path
    what: str
    remedy: str


def damages() -> Iterator[Damage]:
    yield from _of_place(home.data_dir())
    for folder in _folders(home.raw_dir()):
        if folder.name != "single":
            yield from _of_trial(folder)
    for profile in _folders(home.tidy_dir()):
        yield from _of_tables(profile, "`allocpool run {study} --profile {profile}` makes it anew")
    for host in _folders(home.hosts_dir()):
        for profile in _folders(host):
            yield from _of_tables(profile, "import it again, or run that host again")


def _folders(root: Path) -> list[Path]:
    try:
        return sorted(path for path in root.iterdir() if path.is_dir())
    except OSError:
        return []


def _of_place(data: Path) -> Iterator[Damage]:
    place = next(folder for folder in (data, *data.parents) if folder.exists())
    if not place.is_dir():
        yield Damage(place, "it is no folder", "set ALLOCPOOL_DATA to one")
        return
    if not os.access(place, os.W_OK) or os.statvfs(place).f_flag & os.ST_RDONLY:
        yield Damage(place, "it takes no files", "measure with ALLOCPOOL_DATA set elsewhere; what is here can be shown")
    free_mb = shutil.disk_usage(place).free >> 20
    if free_mb < _LITTLE_MB:
        yield Damage(place, f"{free_mb} MB are free", "make room there, or set ALLOCPOOL_DATA to another place")


def _of_trial(folder: Path) -> Iterator[Damage]:
    again = "the campaign that plans it runs it again; the folder may be removed"
    try:
        record = checked_record(folder)
        if record is None:
            yield Damage(folder, "the trial did not end", again)
            return
        mode = mode_named(record.spec.get("mode"))
        named = trial_id(mode.spec(**record.spec), record.launch.code_hash, record.host.fingerprint())
        if record.trial_id.removesuffix("-2") != named:
            raise UserError(f"what it ran is trial {named}")
        tidy.read_trial(record, mode.measurement)
        for study in every_study():
            if mode in study.modes:
                tidy.check_cost(record, study)
                tidy.check_rows(record, study)
    except (UserError, ValidationError) as error:
        yield Damage(folder / RESULT, str(error), again)
    for scratch in sorted(folder.glob(".*")):
        yield Damage(scratch, "it is what an interrupted write left", "it may be removed")


def _of_tables(profile: Path, remedy: str) -> Iterator[Damage]:
    for folder in _folders(profile):
        if folder.name not in STUDY_NAMES:
            yield Damage(folder, "there is no such study", "it may be removed")
            continue
        if not any(folder.iterdir()):  # of a campaign that has begun
            continue
        anew = remedy.format(study=folder.name, profile=profile.name)
        if not (folder / "provenance.json").is_file():
            yield Damage(folder, "provenance.json is missing: its tables are not shown", anew)
            continue
        try:
            store.check_folder(study_named(folder.name), folder, "")
        except (UserError, SchemaError, SchemaErrors, LookupError, ValueError) as error:
            yield Damage(folder, str(error).removesuffix(": ")[:300], anew)


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print everything that was found as JSON.")
@click.option("--data", is_flag=True, help="Look at the measured data instead: what is broken, and what to do.")
def doctor_command(as_json: bool, data: bool) -> None:
    """Show what this machine can run, what is missing and how to get it, and how noisy it is now.

    Starts every runtime with every collector that it has. Exit status: 0 if the essentials are there (compilers for
    Java and C++, Maven, CMake, and a runtime that starts), or with --data if nothing is broken; else 1. Nothing is
    ever deleted.

    Example: allocpool doctor --json
    """
    if data:
        found = list(damages())
        if as_json:
            click.echo(json.dumps([{**asdict(one), "path": str(one.path)} for one in found], indent=2))
        else:
            lines = [f"{one.path}: {' '.join(one.what.split())}: {one.remedy}" for one in found]
            click.echo("\n".join(lines) or f"{home.data_dir()}: nothing is broken")
        raise SystemExit(1 if found else 0)
    diagnosis = diagnose().model_copy(update={"outlook": outlook("quick", MINUTES)})
    click.echo(diagnosis.model_dump_json(indent=2) if as_json else as_text(diagnosis))
    if not diagnosis.ready:
        raise SystemExit(1)
