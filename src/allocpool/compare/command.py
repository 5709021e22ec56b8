"""The command ``compare``: pair what two sides measured, decide all of it together, warn, print."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
import scipy

from allocpool import decisions
from allocpool.compare.readers import BASE, CSV, HYPERFINE, NEW, Benchmark, read
from allocpool.errors import UserError
from allocpool.stats import ends, plural, significant
from allocpool.strangers import printable

SLOWER, FASTER, EQUIVALENT, INCONCLUSIVE = "slower", "faster", "equivalent", "inconclusive"
_VERDICTS = {
    decisions.A_CHEAPER: FASTER,
    decisions.B_CHEAPER: SLOWER,
    decisions.EQUIVALENT: EQUIVALENT,
    decisions.OPEN: INCONCLUSIVE,
}
FAIL_ON = {"slower": (SLOWER,), "unproven": (SLOWER, INCONCLUSIVE)}
"""The verdicts that end the command with status 1."""
_DRIFTS = 10
"""Trials below which no drift is looked for."""


@dataclass(frozen=True)
class Row:
    """One benchmark: ``ratio`` is the cost of NEW over that of BASE, in the interval from ``low`` to ``high`` (None
    where unknown).

    ``n_base`` and ``n_new`` are trials, ``used`` those of each side that the verdict is made of, ``more_trials`` how
    many more of each side would decide it (0: decided, None: too noisy). ``control``: both sides are the same command.
    """

    benchmark: str
    unit: str
    verdict: str
    ratio: float | None
    low: float | None
    high: float | None
    n_base: int
    n_new: int
    used: int
    more_trials: int | None
    level: float
    control: bool


@dataclass(frozen=True)
class Pair:
    name: str
    base: Benchmark
    new: Benchmark
    control: bool = False


@dataclass(frozen=True)
class Result:
    """The verdicts of `compare`; ``format`` of the files."""

    format: str
    margin: float
    alpha: float
    rows: list[Row]
    warnings: list[str]

    def failed(self, fail_on: str | None) -> bool:
        """Return whether a benchmark has a verdict that ``fail_on`` names; controls have none."""
        bad = FAIL_ON[fail_on] if fail_on else ()
        return any(row.verdict in bad for row in self.rows if not row.control)


def compare(files: Sequence[Path], effect: float = decisions.EFFECT, alpha: float = decisions.ALPHA) -> Result:
    """Return the verdicts on one file with both sides, or on two with one each, BASE first.

    ``effect`` is the smallest ratio that matters, ``alpha`` the share of what is decided that may be false.

    Raises:
        UserError: a file that can't be read, a side that is missing, nothing that both sides have.
    """
    kind, pairs, warnings = _paired(files)
    judged = []
    for pair in pairs:
        if all(set(value) == {0.0} for one in (pair.base, pair.new) for value in one.processes):
            continue  # as of no allocation on either side
        problem = pair.base.problem or pair.new.problem
        if not problem and (pair.base.unit, pair.base.larger) != (pair.new.unit, pair.new.larger):
            problem = f"its units differ: {printable(pair.base.unit)} in BASE, {printable(pair.new.unit)} in NEW"
        if problem:
            warnings.append(f"{pair.name} is left out: {problem}")
        else:
            judged.append(pair)
    if not judged:
        raise UserError("; ".join(["nothing can be compared", *warnings]))
    sides = [(pair.new.costs(), pair.base.costs()) for pair in judged]
    decided = decisions.decide_together(sides, effect, alpha)
    warnings += _of_order(judged)
    rows = []
    for pair, (new, base), found in zip(judged, sides, decided, strict=True):
        ratio, low, high = (value if math.isfinite(value) else None for value in (found.ratio, found.low, found.high))
        rows.append(Row(
            pair.name, pair.base.unit, _VERDICTS[found.verdict], ratio, low, high, len(base), len(new), found.used,
            found.blocks_needed, found.level, pair.control,
        ))  # fmt: skip
        warnings += _of_trials(rows[-1], base, new, effect)
    return Result(kind, effect - 1, alpha, rows, warnings)


def _paired(files: Sequence[Path]) -> tuple[str, list[Pair], list[str]]:
    both = [read(file, two_files=len(files) > 1) for file in files]
    warnings = list(dict.fromkeys(warning for each in both for warning in each.warnings))
    kind = both[0].format
    if len(both) > 1:
        if kind != both[1].format:
            raise UserError(f"{files[0]} is {kind}, {files[1]} is {both[1].format}: give both in one format")
        left, right = (each.sides[BASE] for each in both)
        if len(left) == len(right) == 1:  # commands of two builds differ in name
            (base,), (new,) = left.values(), right.values()
            return kind, [Pair(" -> ".join(dict.fromkeys((base.name, new.name))), base, new)], warnings
        return kind, *_by_name(left, right, warnings)
    sides = both[0].sides
    if kind == CSV:
        for side, word in ((BASE, "a"), (NEW, "b")):
            if side not in sides:
                raise UserError(f"{files[0]} has no trial of side {word}: it needs both")
        return kind, *_by_name(sides[BASE], sides[NEW], warnings)
    first, *others = sides[BASE].values()
    if not others or kind != HYPERFINE:
        raise UserError(f"{files[0]} ({kind}) has one side only: give two files, BASE and NEW")
    again = f"{first.name} (again"
    return kind, [Pair(each.name, first, each, each.again and each.name.startswith(again)) for each in others], warnings


def _by_name(
    bases: Mapping[str, Benchmark], news: Mapping[str, Benchmark], warnings: Sequence[str]
) -> tuple[list[Pair], list[str]]:
    alone = [
        f"{name or 'the cell without a name'} is in {'BASE' if name in bases else 'NEW'} only"
        for name in [*bases, *news]
        if (name in bases) != (name in news)
    ]
    pairs = [Pair(name, base, news[name]) for name, base in bases.items() if name in news]
    if not pairs:
        raise UserError(f"no benchmark is in both: BASE has {_some(bases)}; NEW has {_some(news)}")
    return pairs, [*warnings, *alone]


def _some(names: Sequence[str] | Mapping[str, Benchmark]) -> str:
    shown = list(names)
    return ", ".join(shown[:5]) + (f" and {len(shown) - 5} more" if len(shown) > 5 else "")


def _of_order(pairs: Sequence[Pair]) -> Iterator[str]:
    if one := [pair.name for pair in pairs if pair.base.iterations_only or pair.new.iterations_only]:
        yield (
            f"all values are of one process: {_some(one)}; iterations of one process are not trials, and a difference "
            "may be of that process alone: run more processes"
        )
    apart = []
    for pair in pairs:
        base, new = ([start for start in one.starts if start is not None] for one in (pair.base, pair.new))
        if base and new and (max(base) < min(new) or max(new) < min(base)):
            apart.append(pair.name)
    if apart:
        yield (
            f"sides are not interleaved, one was measured after the other: {_some(apart)}; a difference may be of the "
            "machine's state"
        )


def _of_trials(row: Row, base: list[float], new: list[float], effect: float) -> Iterator[str]:
    name = f"{row.benchmark}: " if row.benchmark else ""
    for side, costs in (("BASE", base), ("NEW", new)):
        logs = np.log(costs)
        if shape := decisions.shape_of(logs):
            yield f"{name}{side} has {shape}"
        if _drifts(logs, effect):
            yield f"{name}{side} drifts: its later trials differ from its earlier ones"
    if row.used < decisions.FEWEST:
        yield f"{name}{plural(row.used, 'trial')} a side decide nothing: {decisions.FEWEST} are needed at least"
    elif row.more_trials is None:
        yield f"{name}too noisy to decide at this margin"
    if row.control and row.verdict in (SLOWER, FASTER):
        yield f"{name}the same command differs from itself: a ratio as far from 1 as this one is no finding here"


def _drifts(logs: np.ndarray[Any, np.dtype[np.float64]], effect: float) -> bool:
    if logs.size < _DRIFTS or np.ptp(logs) == 0:
        return False
    half = logs.size // 2
    if abs(float(logs[half:].mean() - logs[:half].mean())) <= math.log(effect) / 2:
        return False
    # Spearman's rank correlation and its p by Student's t; importing scipy.stats takes longer than all else here.
    rho = float(np.corrcoef(np.arange(logs.size), pd.Series(logs).rank())[0, 1])
    t = abs(rho) * math.sqrt((logs.size - 2) / max(1 - rho**2, 1e-300))
    return float(2 * scipy.special.stdtr(logs.size - 2, -t)) < 0.001


_HEAD = ("benchmark", "NEW / BASE", "interval", "verdict", "n", "more trials")


def _cells(row: Row) -> tuple[str, ...]:
    interval = "-" if row.low is None or row.high is None else ends(row.low, row.high)
    more = "too noisy" if row.more_trials is None else f"{row.more_trials:,} a side" if row.more_trials else ""
    name = (row.benchmark or "all") + (" (control)" if row.control else "")
    ratio = "-" if row.ratio is None else significant(row.ratio)
    return name, ratio, interval, row.verdict, f"{row.n_base:,}, {row.n_new:,}", more


def _about(result: Result) -> str:
    together = f"{plural(len(result.rows), 'benchmark')} decided together" if len(result.rows) > 1 else "1 benchmark"
    return f"{result.format}; {together}, margin {100 * result.margin:.4g}%, alpha {result.alpha:.4g}"


def as_text(result: Result) -> str:
    """Return a table for a terminal, warnings below it."""
    table = pd.DataFrame(map(_cells, result.rows), columns=_HEAD)
    text = table.to_markdown(index=False, tablefmt="plain", disable_numparse=True)
    return "\n".join([text, _about(result), *(f"warning: {warning}" for warning in result.warnings)])


def as_markdown(result: Result) -> str:
    """Return a table for a pull request; names are code, so nothing in them is markup."""
    table = pd.DataFrame(map(_cells, result.rows), columns=_HEAD)
    table["benchmark"] = table["benchmark"].map(_code)
    found = [f"- {_code(f'warning: {warning}')}" for warning in result.warnings]
    text = table.to_markdown(index=False, disable_numparse=True)
    return "\n".join([text, "", _about(result), *([""] if found else []), *found])


def _code(text: str) -> str:
    return "`" + text.replace("`", "'").replace("|", "\\|") + "`"


def as_json(result: Result, fail_on: str | None) -> str:
    found = asdict(result)
    last = {"benchmarks": found.pop("rows"), "warnings": found.pop("warnings")}
    return json.dumps(found | {"failed": result.failed(fail_on)} | last, indent=1)


def effect_of(margin: str) -> float:
    """Return the smallest ratio that matters: 1.05 of ``5%`` and of ``0.05``.

    Raises:
        UserError: no share above 0 and at most 1,000%.
    """
    text = margin.strip()
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = math.nan
    if not 0 < share <= (10 if text.endswith("%") else 0.999):
        raise UserError(f"--margin {margin} is out of range: give a share above 0, for example 5% or 0.05")
    return 1 + share


@click.command("compare", context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.argument("files", nargs=-1, metavar="BASE NEW", type=click.Path(path_type=Path))
@click.option("--margin", default=f"{100 * (decisions.EFFECT - 1):.4g}%", show_default=True,
              help="Equivalence margin, for example 5%.")  # fmt: skip
@click.option("--alpha", default=decisions.ALPHA, show_default=True,
              help="Share of decided benchmarks that may be wrong.")  # fmt: skip
@click.option("--fail-on", type=click.Choice(list(FAIL_ON)),
              help="End with status 1 if a benchmark is slower; unproven: or inconclusive.")  # fmt: skip
@click.option("--json", "json_", is_flag=True, help="Print one JSON object.")
@click.option("--markdown", is_flag=True, help="Print a table for a pull request.")
def compare_command(
    files: tuple[Path, ...], margin: str, alpha: float, fail_on: str | None, json_: bool, markdown: bool
) -> None:
    """Decide whether NEW is slower than BASE, from the files that a benchmark tool wrote.

    Reads JMH, hyperfine, pyperf and Google Benchmark JSON, Go benchmark text, and CSV with the columns block, side and
    value; docs/compare.md describes the formats. One file may hold both sides. The verdicts stay valid however often
    you look and whenever you stop.

    \b
    slower, faster   all of the interval of NEW / BASE (costs) lies above 1, or below
    equivalent       it lies within the margin
    inconclusive     not decided; the last column estimates how many more trials would do

    Exit status: 0; 1 where --fail-on applies; 2 where a file or an option is wrong.

    Example: allocpool compare base.json new.json --margin 5% --fail-on slower
    """
    if len(files) not in (1, 2):
        raise UserError(f"{plural(len(files), 'file')} given: give BASE and NEW, or one file with both sides")
    if not 0 < alpha <= 0.5:
        raise UserError(f"--alpha {alpha:g} is out of range: give a share above 0 and up to 0.5, for example 0.05")
    if json_ and markdown:
        raise UserError("--json and --markdown exclude each other: give one of them")
    result = compare(files, effect_of(margin), alpha)
    click.echo(as_json(result, fail_on) if json_ else as_markdown(result) if markdown else as_text(result))
    if result.failed(fail_on):
        raise click.exceptions.Exit(1)
