"""What this machine can run, what is missing, and how to get it.

Every runtime is really started with every collector; nothing is concluded from a version number.
"""

from __future__ import annotations

import json
import resource
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
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
from allocpool.prerequisites import tools
from allocpool.runtimes import (
    COLLECTORS,
    Jvm,
    Runtime,
    find_javac,
    find_runtime,
    jvm_flags,
    known_releases,
    verify_flags,
)
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
    """One cell of the table of runtimes and collectors.

    ``absent`` means that the runtime never had it, ``fails`` that it has it and does not start here.
    """

    collector: str
    state: Literal["runs", "absent", "fails"]
    problem: str | None


class RuntimeReport(_Report):
    """One feature release: the runtime that trials would use, or why there is none."""

    feature: int
    version: str | None
    vendor: str | None
    home: Path | None
    origin: str | None
    problem: str | None
    collectors: tuple[CollectorReport, ...]


class Part(_Report):
    """Anything else: ``found`` says what is there, ``problem`` what is wrong with it and how to mend it."""

    name: str
    essential: bool
    found: str | None
    problem: str | None


class Diagnosis(_Report):
    """All that was found; ``ready`` if the essentials are there."""

    ready: bool
    host: Host
    fingerprint: str
    runtimes: tuple[RuntimeReport, ...]
    building: tuple[Part, ...]
    java_modules: tuple[Part, ...]
    allocators: tuple[Part, ...]
    system: tuple[Part, ...]
    outlook: Outlook | None = None
    """How noisy the machine is, where that was asked for, too."""

    def packages(self) -> tuple[str, ...]:
        """Debian packages that bring what is missing, for the parts that come as one."""
        parts = (*self.building, *self.allocators, *self.system)
        return tuple(dict.fromkeys(_DEBIAN[part.name] for part in parts if part.problem and part.name in _DEBIAN))

    def missing(self) -> tuple[str, ...]:
        """One line for everything that is missing or does not work, essentials first."""
        parts = (*self.building, *self.java_modules, *self.allocators, *self.system)
        essential = [part.problem for part in parts if part.essential and part.problem]
        other = [part.problem for part in parts if not part.essential and part.problem]
        runtimes = [runtime.problem for runtime in self.runtimes if runtime.problem]
        cells = [c.problem for runtime in self.runtimes for c in runtime.collectors if c.problem]
        return (*essential, *runtimes, *cells, *other)


def diagnose() -> Diagnosis:
    """Look at everything; takes a few seconds, most of them starting Java."""
    host = read_host()
    runtimes = _runtimes()
    building = _building()
    usable = any(cell.state == "runs" for runtime in runtimes for cell in runtime.collectors)
    return Diagnosis(
        ready=usable and not any(part.problem for part in building),
        host=host,
        fingerprint=host.fingerprint(),
        runtimes=runtimes,
        building=building,
        java_modules=_modules(),
        allocators=(*(_allocator(name) for name in ALLOCATORS), _boost()),
        system=(_perf(), _valgrind(), _descriptors(), _huge_pages(host), _browser()),
    )


def _runtimes() -> tuple[RuntimeReport, ...]:
    with ThreadPoolExecutor() as pool:
        return tuple(pool.map(_runtime, known_releases()))


def _runtime(feature: int) -> RuntimeReport:
    try:
        runtime = find_runtime(feature)
    except UserError as error:
        return RuntimeReport(
            feature=feature,
            version=None,
            vendor=None,
            home=None,
            origin=None,
            problem=str(error),
            collectors=(),
        )
    return RuntimeReport(**asdict(runtime), problem=None, collectors=tuple(_cell(runtime, name) for name in COLLECTORS))


def _cell(runtime: Runtime, collector: str) -> CollectorReport:
    if not COLLECTORS[collector].is_on(runtime.feature):
        return CollectorReport(collector=collector, state="absent", problem=None)
    try:
        verify_flags(runtime, jvm_flags(Jvm("", runtime.feature, collector, _PROBE_HEAP_MB, pre_touch=False)))
    except UserError as error:
        return CollectorReport(collector=collector, state="fails", problem=str(error))
    return CollectorReport(collector=collector, state="runs", problem=None)


def _building() -> tuple[Part, ...]:
    return tuple(
        Part(
            name=tool.name,
            essential=True,
            found=f"{tool.version} ({tool.path})" if tool.path else None,
            problem=tool.problem,
        )
        for tool in tools()
    )


def _modules() -> tuple[Part, ...]:
    try:
        javac = find_javac()
    except UserError:  # already told among the tools
        return ()
    parts = []
    for module in java_modules():
        problem = None
        try:
            check_module(module, javac)
        except UserError as error:
            problem = str(error)
        parts.append(Part(name=module, essential=False, found=f"for Java {module_release(module)}", problem=problem))
    return tuple(parts)


def _allocator(name: str) -> Part:
    try:
        library = find_allocator(name)
    except UserError as error:
        return Part(name=name, essential=False, found=None, problem=str(error))
    return Part(name=name, essential=False, found=str(library) if library else "the C library's own", problem=None)


def _perf() -> Part:
    problem = why_not_counted("hardware")
    return Part(
        name="hardware counters", essential=False, found=None if problem else "perf_event_open", problem=problem
    )


def _valgrind() -> Part:
    problem = why_not_counted("simulated")
    return Part(name="simulated counters", essential=False, found=shutil.which("valgrind"), problem=problem)


def _boost() -> Part:
    boost = find_boost()
    try:
        check_boost()
    except UserError as error:
        return Part(name="boost_pool", essential=False, found=None, problem=str(error))
    return Part(name="boost_pool", essential=False, found=f"Boost {boost.version}" if boost else None, problem=None)


def _descriptors() -> Part:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    ceiling = "unlimited" if hard == resource.RLIM_INFINITY else str(hard)
    few = soft != resource.RLIM_INFINITY and soft < _FEW_DESCRIPTORS
    return Part(
        name="open files",
        essential=False,
        found=f"{'unlimited' if soft == resource.RLIM_INFINITY else soft} (at most {ceiling})",
        problem=f"open files: {soft} at once, {_FEW_DESCRIPTORS} are better: ulimit -n {_FEW_DESCRIPTORS}"
        if few
        else None,
    )


def _huge_pages(host: Host) -> Part:
    return Part(
        name="transparent huge pages",
        essential=False,
        found=host.transparent_huge_pages or "not offered",
        problem=None,
    )


def _browser() -> Part:
    browser = next((path for name in _BROWSERS if (path := shutil.which(name))), None)
    problem = None if browser else "a browser for the site's tests is missing: install chromium (Debian)"
    return Part(name="chromium", essential=False, found=browser, problem=problem)


def as_text(diagnosis: Diagnosis) -> str:
    """The diagnosis for a reader: a table of runtimes and collectors, the parts, and what is missing."""
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
        _tell_damages(as_json)
        return
    diagnosis = diagnose().model_copy(update={"outlook": outlook("quick", MINUTES)})
    click.echo(diagnosis.model_dump_json(indent=2) if as_json else as_text(diagnosis))
    if not diagnosis.ready:
        raise SystemExit(1)


def _tell_damages(as_json: bool) -> None:
    found = list(damages())
    if as_json:
        click.echo(json.dumps([{**asdict(one), "path": str(one.path)} for one in found], indent=2))
    else:
        click.echo("\n".join(one.text() for one in found) or f"{home.data_dir()}: nothing is broken")
    if found:
        raise SystemExit(1)
