"""``allocpool bench``: how fast parts of the instrument are, as ratios from interleaved rounds with their spread.

A benchmark prints and judges nothing: whoever reads it knows what else the machine was doing.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from allocpool import home
from allocpool.errors import UserError

_PASS_ON = {"ignore_unknown_options": True, "help_option_names": []}
_ARGUMENTS = click.argument("arguments", nargs=-1, type=click.UNPROCESSED)


@click.group("bench")
def bench_command() -> None:
    """Measure a part of the instrument: ratios from interleaved runs, with their spread."""


def _run(script: Path, *arguments: str | Path) -> None:
    status = subprocess.run([sys.executable, script, *arguments], check=False, cwd=home.home()).returncode
    if status:
        raise UserError(f"{script.name} ended with {status}: what it printed says why")


@bench_command.command("gclog", context_settings=_PASS_ON)
@_ARGUMENTS
def gclog(arguments: Sequence[str]) -> None:
    """Reading a G1 log with phases, MB/s on one core (--help for options)."""
    _run(home.home() / "benchmarks" / "bench_gclog.py", *arguments)


@bench_command.command("ring", context_settings=_PASS_ON)
@_ARGUMENTS
def ring(arguments: Sequence[str]) -> None:
    """The ring beside JCTools and Agrona, then ticks every 10 ns into Java for a minute (--help for options)."""
    from allocpool.build import native_library
    from allocpool.runtimes import find_javac, find_runtime

    pom = home.workloads_dir() / "pom.xml"
    maven = ["mvn", "--quiet", "--batch-mode", "-f", str(pom), "-pl", "ring", "-am", "package", "-DskipTests"]
    if subprocess.run(maven, check=False, env=find_javac().environment()).returncode:
        raise UserError("the ring's Java module could not be built: what Maven printed says why")
    jvm = find_runtime(25).libjvm
    library = native_library().library
    _run(home.native_dir() / "bench" / "bench_ring.py", "--jvm", jvm, "--library", library, *arguments)


@bench_command.command("packets")
@click.option("--rounds", default=7, show_default=True, type=click.IntRange(1), help="Interleaved rounds.")
@click.option("--seconds", default=1.0, show_default=True, type=click.FloatRange(0.01), help="Measured per trial.")
@click.option(
    "--scale", default=1.0, show_default=True, type=click.FloatRange(0.001, 4), help="Of the published sizes."
)
def packets(rounds: int, seconds: float, scale: float) -> None:
    """C++ slab against C++ flat, both pooling: ns a packet in cases A, B and C, each trial a fresh process."""
    import pandas as pd

    from allocpool import modes, stats

    for case in ("A", "B", "C"):
        costs: dict[str, list[float]] = {"flat": [], "slab": []}
        checksums: set[str] = set()
        for round_number in range(rounds):
            order = list(costs) if round_number % 2 == 0 else list(costs)[::-1]
            for layout in order:
                settings = f"mode=batch language=cpp layout={layout} strategy=pool case={case} scale={scale}"
                told = modes.run_and_summarise(modes.parse_spec([*settings.split(), f"seconds={seconds}"]))
                costs[layout].append(told["ns_per_packet"])
        for layout in costs:
            exact = f"mode=batch language=cpp layout={layout} strategy=pool case={case} scale={scale} packets=5000000"
            checksums.add(modes.run_and_summarise(modes.parse_spec(exact.split()))["checksum"])
        flat, slab = (pd.Series(costs[layout]) for layout in ("flat", "slab"))
        same = "same checksum" if len(checksums) == 1 else f"DIFFERENT CHECKSUMS {sorted(checksums)}"
        click.echo(
            f"case {case}: flat {stats.geometric_interval(flat).text(3, 'ns')}, "
            f"slab {stats.geometric_interval(slab).text(3, 'ns')}, "
            f"slab / flat {stats.geometric_interval(slab / flat).text(3)}; "
            f"{stats.geometric_interval(slab).describe()}; {same}"
        )
