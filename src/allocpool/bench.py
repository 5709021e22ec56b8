"""``allocpool bench``: how fast parts of the instrument are, as ratios from interleaved rounds with their spread.

A benchmark prints and keeps nothing, unless asked to: only its reader knows what else the machine was doing.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import click

from allocpool import home
from allocpool.errors import UserError, unknown_choice

_PASS_ON = {"ignore_unknown_options": True, "help_option_names": []}
_ARGUMENTS = click.argument("arguments", nargs=-1, type=click.UNPROCESSED)


@click.group("bench")
def bench_command() -> None:
    """Measure a part of the instrument: ratios from interleaved runs, with their spread.

    Example: allocpool bench store --hosts 2 --trials 8
    """


def _run(script: Path, *arguments: str | Path) -> None:
    status = subprocess.run([sys.executable, script, *arguments], check=False, cwd=home.home()).returncode
    if status:
        raise UserError(f"{script.name} ended with {status}: see what it printed")


def _script(name: str, about: str) -> None:
    """Add the command that runs ``benchmarks/bench_NAME.py``."""

    @bench_command.command(name, help=f"{about} (--help for options).", context_settings=_PASS_ON)
    @_ARGUMENTS
    def command(arguments: Sequence[str]) -> None:
        _run(home.home() / "benchmarks" / f"bench_{name}.py", *arguments)


_script("gclog", "Reading a G1 log with phases, MB/s on one core")
_script("store", "Records of a hundred made hosts: written and tidied a second, bytes")


@bench_command.command("ring", context_settings=_PASS_ON)
@_ARGUMENTS
def ring(arguments: Sequence[str]) -> None:
    """The ring against JCTools and Agrona, then ticks every 10 ns into Java for a minute (--help for options)."""
    from allocpool.compile import native_library
    from allocpool.runtimes.discovery import find_javac, find_runtime

    pom = home.workloads_dir() / "pom.xml"
    maven = ["mvn", "--quiet", "--batch-mode", "-f", str(pom), "-pl", "ring", "-am", "package", "-DskipTests"]
    if subprocess.run(maven, check=False, env=find_javac().environment()).returncode:
        raise UserError("the ring's Java module could not be built: see what Maven printed")
    jvm, library = find_runtime(25).libjvm, native_library().library
    _run(home.native_dir() / "bench" / "bench_ring.py", "--jvm", jvm, "--library", library, *arguments)


_ROUNDS = click.option("--rounds", default=7, show_default=True, type=click.IntRange(1), help="Interleaved rounds.")
_SPECS = click.argument("specs", nargs=-1)
_USUAL = ("mode=batch strategy=alloc case=B", "mode=batch strategy=pool case=B")


def _taking_turns(specs: Iterable[str], rounds: int) -> dict[str, list[Any]]:
    """Return the records of each spec, one a round; trials take turns, in an order that turns with the rounds."""
    from allocpool.campaign import single

    parsed = {words: single.parse_spec(words.split()) for words in specs}
    found: dict[str, list[Any]] = {words: [] for words in parsed}
    for block in range(rounds):
        for words in list(found)[:: 1 if block % 2 == 0 else -1]:
            record = single.run_single(parsed[words].model_copy(update={"block": block}))
            if record.status != "ok":
                raise UserError(f"{words}: the trial ended as {record.status}: {record.reason}")
            found[words].append(record)
    return found


@bench_command.command("ratio")
@_SPECS
@_ROUNDS
@click.option("--cost", default="cpu_ns_per_packet", show_default=True, help="A figure of a trial's summary.")
def ratio(specs: Sequence[str], rounds: int, cost: str) -> None:
    """A cost of each trial, in turns, and its ratio to the first's, with intervals.

    Each SPEC is what allocpool trial takes, in quotes; without any, allocating and the pool. Every trial is a fresh
    process.

    \b
    Example: allocpool bench ratio "mode=batch language=cpp layout=flat strategy=pool case=B"
      "mode=batch language=cpp layout=slab strategy=pool case=B"
    """
    import pandas as pd

    from allocpool import stats
    from allocpool.campaign import single

    costs = {}
    for words, records in _taking_turns(specs or _USUAL, rounds).items():
        summaries = [single.summary_of(record) for record in records]
        if cost not in summaries[0]:
            raise unknown_choice("cost", cost, [name for name, value in summaries[0].items() if type(value) is float])
        costs[words] = pd.Series([each[cost] for each in summaries], dtype=float)
    first = next(iter(costs.values()))
    for words, own in costs.items():
        over = "" if own is first else f"; over the first {stats.geometric_interval(own / first).text(3)}"
        click.echo(f"{words}: {stats.geometric_interval(own).text(3)}{over}")


@bench_command.command("trial")
@_SPECS
@_ROUNDS
def trial_length(specs: Sequence[str], rounds: int) -> None:
    """Where the time of a batch trial goes: seconds, of wall and of CPU, and trials a minute; medians of the rounds.

    Specs as of allocpool bench ratio. Objects alive are counted in the first round only, as in the first block of a
    campaign.
    """
    for words, records in _taking_turns(specs or _USUAL, rounds).items():
        parts = []
        for record in records:
            took = {"set-up": record.measurement["set_up_ns"] / 1e9}
            for window, iterations in record.measurement["iterations"].items():
                took[window] = sum(end_ns - start_ns for start_ns, end_ns, _ in iterations) / 1e9
            cpu = {} if record.cpu_s is None else {"cpu": record.cpu_s}
            # The rest is the start, and what comes after the measured window.
            parts.append({"wall": record.wall_s, **cpu, **took, "rest": record.wall_s - sum(took.values())})
        half = {part: median(each[part] for each in parts) for part in parts[0]}
        spent = ", ".join(f"{part} {value:.2f}" for part, value in half.items())
        click.echo(f"{words}: {spent} s; {60 / half['wall']:.1f} a minute")


@bench_command.command("advice")
@click.option("--minutes", type=click.FloatRange(0.1), help="Of each advice; 10, when left out.")
@click.option("--long-minutes", type=click.FloatRange(0.1), help="Of each long plan; 60, when left out.")
@click.option("--workload", "names", multiple=True, help="One of ten; may be repeated. All, when left out.")
@click.option("--on-record", is_flag=True, help="Measure nothing: print the results of earlier runs on this machine.")
@click.option("--keep", is_flag=True, help="Write the rows into data/checked, whose table page 09 shows.")
def advice(
    minutes: float | None, long_minutes: float | None, names: Sequence[str], on_record: bool, keep: bool
) -> None:
    """Advice in a few minutes against an exhaustive plan, on ten varied workloads: do they agree?

    Trials are ordinary records, so an interrupted run goes on where it stopped.
    """
    import pandas as pd

    from allocpool.machine.host import read_host
    from allocpool.studies.your_workload import check
    from allocpool.studies.your_workload.advice import Machine

    if unknown := [name for name in names if name not in check.WORKLOADS]:
        raise unknown_choice("workload", unknown[0], check.WORKLOADS)
    machine = Machine(starts=not on_record)
    for name in names or check.WORKLOADS:
        lengths = (None, None) if on_record else (minutes or check.MINUTES, long_minutes or check.LONG_MINUTES)
        found, long = check.check(name, lengths[0], lengths[1], machine)
        if not found.trials and not long.trials:
            click.echo(f"{name:10} nothing is on record")
            continue
        row = check.row_of(name, found, long, read_host())
        if keep:
            check.keep(row)
        click.echo(check.table(pd.DataFrame([row])).T.to_string(header=False))
