"""What this machine can run, what is missing, and how to get it; starts every runtime with every collector."""

from __future__ import annotations

import json
import resource
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Literal

import click
from pydantic import BaseModel, ConfigDict

from allocpool import home
from allocpool.campaign.damage import damages
from allocpool.compile import check_module, java_modules, module_release
from allocpool.errors import UserError
from allocpool.machine.allocators import ALLOCATORS, check_boost, find_allocator, find_boost
from allocpool.machine.host import Host, read_host
from allocpool.prerequisites import Part, tools
from allocpool.runtimes.collectors import COLLECTORS
from allocpool.runtimes.discovery import Runtime, find_javac, find_runtime, known_releases
from allocpool.runtimes.flags import Jvm, jvm_flags, verify_flags
from allocpool.studies.instrument.outlook import MINUTES, Outlook, outlook
from allocpool.studies.native.specs import why_not_counted

_PROBE_HEAP_MB = 64
_FEW_DESCRIPTORS = 4096
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


_DEBIAN = {
    "javac": "openjdk-17-jdk-headless",
    "Maven": "maven",
    "C++ compiler": "g++",
    "CMake": "cmake",
    "simulated counters": "valgrind",
    "boost_pool": "libboost-dev",
    "chromium": "chromium",
    **{name: row.debian for name, row in ALLOCATORS.items() if row.debian},
}
"""Which Debian package brings a part that is missing."""


class _Report(BaseModel):
    model_config = ConfigDict(frozen=True)


class CollectorReport(_Report):
    """One cell of the table; ``absent``: the runtime never had it, ``fails``: it does not start here."""

    collector: str
    state: Literal["runs", "absent", "fails"]
    problem: str | None = None


class RuntimeReport(_Report):
    """The runtime of one feature release that trials would use, or why there is none."""

    feature: int
    version: str | None = None
    vendor: str | None = None
    home: Path | None = None
    origin: str | None = None
    problem: str | None = None
    collectors: tuple[CollectorReport, ...] = ()


class Diagnosis(_Report):
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

    def packages(self) -> tuple[str, ...]:
        """Return the Debian packages that bring missing parts."""
        parts = (*self.building, *self.allocators, *self.system)
        return tuple(dict.fromkeys(_DEBIAN[part.name] for part in parts if part.problem and part.name in _DEBIAN))

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
    runtimes = _runtimes()
    building = tools()
    usable = any(cell.state == "runs" for runtime in runtimes for cell in runtime.collectors)
    return Diagnosis(
        ready=usable and not any(part.problem for part in building),
        host=host,
        fingerprint=host.fingerprint(),
        runtimes=runtimes,
        building=building,
        java_modules=_modules(),
        allocators=(*(_part(name, partial(_allocator, name)) for name in ALLOCATORS), _part("boost_pool", _boost)),
        system=_system(host),
    )


def _runtimes() -> tuple[RuntimeReport, ...]:
    with ThreadPoolExecutor() as pool:
        return tuple(pool.map(_runtime, known_releases()))


def _runtime(feature: int) -> RuntimeReport:
    try:
        runtime = find_runtime(feature)
    except UserError as error:
        return RuntimeReport(feature=feature, problem=str(error))
    return RuntimeReport(**asdict(runtime), collectors=tuple(_cell(runtime, name) for name in COLLECTORS))


def _cell(runtime: Runtime, collector: str) -> CollectorReport:
    if not COLLECTORS[collector].is_on(runtime.feature):
        return CollectorReport(collector=collector, state="absent")
    try:
        verify_flags(runtime, jvm_flags(Jvm("", runtime.feature, collector, _PROBE_HEAP_MB, pre_touch=False)))
    except UserError as error:
        return CollectorReport(collector=collector, state="fails", problem=str(error))
    return CollectorReport(collector=collector, state="runs")


def _part(name: str, find: Callable[[], str | None]) -> Part:
    try:
        return Part(name, find())
    except UserError as error:
        return Part(name, None, str(error))


def _modules() -> tuple[Part, ...]:
    try:
        javac = find_javac()
    except UserError:  # reported among the tools
        return ()

    def check(module: str) -> str:
        check_module(module, javac)
        return f"for Java {module_release(module)}"

    return tuple(_part(module, partial(check, module)) for module in java_modules())


def _allocator(name: str) -> str:
    return str(find_allocator(name) or "the C library's own")


def _boost() -> str | None:
    check_boost()
    boost = find_boost()
    return f"Boost {boost.version}" if boost else None


def _system(host: Host) -> tuple[Part, ...]:
    hardware, simulated = why_not_counted("hardware"), why_not_counted("simulated")
    limits = [
        "unlimited" if limit == resource.RLIM_INFINITY else limit
        for limit in resource.getrlimit(resource.RLIMIT_NOFILE)
    ]
    few = isinstance(limits[0], int) and limits[0] < _FEW_DESCRIPTORS
    more = f"open files: {limits[0]} at once, {_FEW_DESCRIPTORS} are better: ulimit -n {_FEW_DESCRIPTORS}"
    browser = next((path for name in _BROWSERS if (path := shutil.which(name))), None)
    missing = "a browser for the site's tests is missing: install chromium (Debian)"
    return (
        Part("hardware counters", None if hardware else "perf_event_open", hardware),
        Part("simulated counters", shutil.which("valgrind"), simulated),
        Part("open files", f"{limits[0]} (at most {limits[1]})", more if few else None),
        Part("transparent huge pages", host.transparent_huge_pages or "not offered"),
        Part("chromium", browser, None if browser else missing),
    )


def as_text(diagnosis: Diagnosis) -> str:
    """Return a diagnosis as text: the table of runtimes and collectors, the parts, and what is missing."""
    host = diagnosis.host
    lines = [
        f"{host.cpu_model}, {host.logical_cores} hardware threads, {host.memory_mb} MB of memory "
        f"({host.available_memory_mb} MB available), {host.system} {host.kernel}"
        + (f", virtual machine ({host.hypervisor})" if host.hypervisor else ""),
        f"Python {host.python_version}, host {diagnosis.fingerprint}",
        "",
        *_collector_table(diagnosis),
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
    packages = diagnosis.packages()
    install = [f"to install what is missing (Debian): apt-get install {' '.join(packages)}"] if packages else []
    return "\n".join([*lines, "", ready, *install])


def _collector_table(diagnosis: Diagnosis) -> list[str]:
    """One line per runtime, one column per collector: yes, no (it fails here), or a dash (it never had it)."""
    signs = {"runs": "yes", "fails": "no", "absent": "-"}
    names = list(COLLECTORS)
    lines = ["Java  " + "  ".join(names)]
    for runtime in diagnosis.runtimes:
        states = {cell.collector: signs[cell.state] for cell in runtime.collectors}
        cells = "  ".join(f"{states.get(name, 'no'):<{len(name)}}" for name in names)
        description = f"{runtime.version}, {runtime.vendor}, {runtime.origin}" if runtime.version else "not here"
        lines.append(f"{runtime.feature:<4}  {cells}  {description}")
    return lines


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
        _report_damages(as_json)
        return
    diagnosis = diagnose().model_copy(update={"outlook": outlook("quick", MINUTES)})
    click.echo(diagnosis.model_dump_json(indent=2) if as_json else as_text(diagnosis))
    if not diagnosis.ready:
        raise SystemExit(1)


def _report_damages(as_json: bool) -> None:
    found = list(damages())
    if as_json:
        click.echo(json.dumps([{**asdict(one), "path": str(one.path)} for one in found], indent=2))
    else:
        click.echo("\n".join(one.text() for one in found) or f"{home.data_dir()}: nothing is broken")
    if found:
        raise SystemExit(1)
