"""Read what benchmark tools write; the content decides the format.

A trial is one process: the values that one process measured are averaged. A file may hold what several processes wrote,
one after the other. Where all is of one process, each of its values counts as a trial, with a warning.
"""

from __future__ import annotations

import csv
import functools
import io
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from allocpool.errors import UserError, unknown_choice
from allocpool.strangers import printable

BASE, NEW = "base", "new"
SIDES = {"a": BASE, "b": NEW, BASE: BASE, NEW: NEW}
"""Words of a CSV's column ``side``."""
MOST_BYTES = 256 << 20


@dataclass
class Benchmark:
    """What one file has of one benchmark.

    Attributes:
        name: as its tool names it, with parameters.
        unit: of the values; times are in seconds.
        larger: whether larger values are better.
        processes: the values of each process, in order of time.
        starts: when each process began, in seconds or in the order of blocks; None where the file does not record it.
        again: the same command was measured before in the same document.
        problem: why it cannot be compared; empty where it can.
    """

    name: str
    unit: str = ""
    larger: bool = False
    processes: list[tuple[float, ...]] = field(default_factory=list)
    starts: list[float | None] = field(default_factory=list)
    again: bool = False
    problem: str = ""

    @property
    def iterations_only(self) -> bool:
        return len(self.processes) == 1 and len(self.processes[0]) > 1

    def costs(self) -> list[float]:
        """Return the trials in order of time, as costs: where larger is better, one over the value."""
        values = [each[0] if len(each) == 1 else math.fsum(each) / len(each) for each in self.processes]
        if self.iterations_only:
            values = list(self.processes[0])
        elif None not in self.starts:
            values = [values[k] for k in np.argsort(np.array(self.starts, dtype=float), kind="stable")]
        return [1 / value for value in values] if self.larger else values


@dataclass
class Trials:
    """What a file holds: its benchmarks by side and name (all under `BASE` where the format has no sides).

    ``two_files``: it is one side of two.
    """

    two_files: bool
    format: str = ""
    sides: dict[str, dict[str, Benchmark]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def add(
        self, name: str, values: Iterable[Any], unit: str, larger: bool = False, start: float | None = None,
        again: bool = False,
    ) -> None:  # fmt: skip
        """Add the values of one process to `BASE`, times in seconds."""
        unit, factor = _in_seconds(unit)
        numbers = tuple(_number(value) * factor for value in values)
        name = printable(name)
        one = self.sides.setdefault(BASE, {}).setdefault(name, Benchmark(name, unit, larger, again=again))
        if (one.unit, one.larger) != (unit, larger):
            one.problem = f"its units differ: {printable(one.unit)} and {printable(unit)}"
        if wrong := [value for value in numbers if not 0 < value < math.inf]:
            one.problem = one.problem or f"{wrong[0]:g} is not a positive number"
        if numbers:
            one.processes.append(numbers)
            one.starts.append(start)


def _number(value: Any) -> float:
    """Return a number of a JSON document; NaN of anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _parsed(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


_SECONDS = {
    "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0, "second": 1.0, "min": 60.0,
    "hr": 3600.0, "day": 86400.0,
}  # fmt: skip


@functools.lru_cache
def _in_seconds(unit: str) -> tuple[str, float]:
    """Return the unit with seconds in place of another time, and what a value is to be multiplied by."""
    top, slash, bottom = unit.partition("/")
    if top in _SECONDS:
        return f"s{slash}{bottom}", _SECONDS[top]
    return (f"{top}/s", 1 / _SECONDS[bottom]) if bottom in _SECONDS else (unit, 1.0)


def _time(text: Any) -> float | None:
    """Return the seconds of a date, those without a zone taken for UTC; None where it is none."""
    try:
        when = datetime.fromisoformat(str(text))
        return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [item for item in _list(value) if isinstance(item, dict)]


def _read_jmh(_document: Any, results: list[dict[str, Any]], into: Trials) -> None:
    """Read `rawData`, which has a list for each fork, with a value for each iteration."""
    modes = {(result.get("benchmark"), result.get("mode")) for result in results}
    several = len(modes) > len({name for name, _ in modes})
    for result in results:
        metric, mode = _dict(result.get("primaryMetric")), str(result.get("mode"))
        parameters = "".join(f" {key}={value}" for key, value in _dict(result.get("params")).items())
        name = f"{result.get('benchmark')}{parameters}{f' {mode}' if several else ''}"
        forks = [_list(fork) for fork in _list(metric.get("rawData"))]
        if not forks:  # of mode `sample`: a histogram for each iteration, pairs of value and count
            histograms = [_list(fork) for fork in _list(metric.get("rawDataHistogram"))]
            forks = [[_histogram_mean(iteration) for iteration in fork] for fork in histograms]
        for fork in forks:
            into.add(name, fork, str(metric.get("scoreUnit")), larger=mode == "thrpt")


def _histogram_mean(pairs: Any) -> float:
    known = [(_number(pair[0]), _number(pair[1])) for pair in _list(pairs) if len(_list(pair)) == 2]
    count = math.fsum(times for _, times in known)
    return math.fsum(value * times for value, times in known) / count if count > 0 else math.nan


def _read_hyperfine(document: Any, results: list[dict[str, Any]], into: Trials) -> None:
    """Read `times` of each command (1.x), or `measurements` with the metrics of each run (2.0); a run is a process."""
    metric = str(document.get("primary_metric", "time_wall_clock"))
    seen: dict[str, int] = {}
    start = _time(_dict(document.get("metadata")).get("start_time"))
    order = sum(len(one.processes) for one in into.sides.get(BASE, {}).values())
    for result in results:
        name = str(result.get("command"))
        seen[name] = seen.get(name, 0) + 1
        if again := seen[name] > 1:
            name = f"{name} (again: {seen[name]})"
        runs = _dicts(result.get("measurements"))
        figures = [_dict(run.get(metric)) for run in runs]
        unit = str(figures[0].get("unit")) if figures else "second"
        values = [one.get("value") for one in figures] if figures else _list(result.get("times"))
        codes = [run.get("exit_code") for run in runs] if runs else _list(result.get("exit_codes"))
        if failed := sum(code != 0 for code in codes):
            into.warnings.append(f"{printable(name)}: {failed} of {len(codes)} runs did not end with status 0")
        for value in values:
            order += 1  # within one file, runs are in order
            known = None if into.two_files and start is None else (start or 0.0) + 1e-6 * order
            into.add(name, [value], unit, start=known, again=again)


_AGGREGATE = re.compile(r"_(mean|median|stddev|cv|BigO|RMS|min|max)$")


def _read_google(document: Any, results: list[dict[str, Any]], into: Trials) -> None:
    """Read a row for each repetition, all of one process, but not the rows of aggregates."""
    rows: dict[tuple[str, str], list[Any]] = {}
    aggregates = False
    for row in results:
        name = str(row.get("run_name") or row.get("name"))
        if row.get("run_type", "aggregate" if _AGGREGATE.search(name) else "iteration") != "iteration":
            aggregates = True
        elif row.get("error_occurred"):
            into.warnings.append(
                f"{printable(name)} ended with an error: {printable(str(row.get('error_message', '')))}"
            )
        else:
            rows.setdefault((name, str(row.get("time_unit", "ns"))), []).append(row.get("real_time"))
    if aggregates and not rows:
        into.warnings.append("it holds aggregates only: run it without --benchmark_report_aggregates_only")
    for (name, unit), values in rows.items():
        into.add(name, values, unit, start=_time(_dict(document.get("context")).get("date")))


def _read_pyperf(document: Any, results: list[dict[str, Any]], into: Trials) -> None:
    """Read `runs` of each benchmark, a process each; calibrations have no values."""
    for benchmark in results:
        shared = _dict(document.get("metadata")) | _dict(benchmark.get("metadata"))
        for run in _dicts(benchmark.get("runs")):
            about = shared | _dict(run.get("metadata"))
            unit, name = str(about.get("unit", "second")), str(about.get("name", "benchmark"))
            into.add(name, _list(run.get("values")), unit, start=_time(about.get("date")))


class Format(NamedTuple):
    """A JSON format: the key of its list of results (empty: the document is that list), keys of which a result has one,
    and its reader of document and results."""

    name: str
    results: str
    keys: set[str]
    read: Callable[[Any, list[dict[str, Any]], Trials], None]

    def results_of(self, document: Any) -> list[dict[str, Any]]:
        """Return the results of a document of this format; none of another one."""
        found = _dicts(_dict(document).get(self.results) if self.results else document)
        return found if any(self.keys & set(result) for result in found) else []


JSON_FORMATS = (
    Format("JMH JSON", "", {"primaryMetric"}, _read_jmh),
    Format(HYPERFINE := "hyperfine JSON", "results", {"times", "measurements"}, _read_hyperfine),
    Format("pyperf JSON", "benchmarks", {"runs"}, _read_pyperf),
    Format("Google Benchmark JSON", "benchmarks", {"real_time", "run_type"}, _read_google),
)
GO, CSV = "Go benchmark text", "CSV"
FORMATS = (*(one.name for one in JSON_FORMATS), GO, CSV)

_GO_LINE = re.compile(r"^Benchmark\S*\s+\d+\s+\S+\s+\S+", re.MULTILINE)
_GO_KEY = re.compile(r"(goos|goarch|pkg|cpu):\s*(.*)")


def _read_go(text: str, into: Trials) -> None:
    """Read lines `BenchmarkName-8  100  12.3 ns/op  4 B/op`; each process starts with lines as `goos: linux`."""
    better: dict[str, bool] = {}
    lines = text.splitlines()
    for words in (line.split() for line in lines if line.startswith("Unit ")):
        found = dict(word.partition("=")[::2] for word in words[2:])
        if found.get("better") in ("lower", "higher"):
            better[words[1]] = found["better"] == "higher"
    values: dict[tuple[str, str], list[float]] = {}
    unknown: set[str] = set()
    package, in_header = "", False

    def end_process() -> None:
        for (name, unit), numbers in values.items():
            larger = better.get(unit, unit.endswith("/s"))
            into.add(f"{name} [{_in_seconds(unit)[0]}]", numbers, unit, larger)
        values.clear()

    for line in lines:
        if _GO_LINE.match(line):
            in_header = False
            name, _, *pairs = line.split()
            for number, unit in zip(pairs[::2], pairs[1::2], strict=False):
                if unit in better or unit.endswith(("/op", "/s")):
                    values.setdefault((f"{package}.{name}" if package else name, unit), []).append(_parsed(number))
                else:
                    unknown.add(unit)
        elif key := _GO_KEY.match(line):
            if not in_header:
                end_process()
            in_header = True
            package = key[2] if key[1] == "pkg" else package
    end_process()
    into.warnings += [
        f"{unit} is left out: whether more is better is unknown; add a line 'Unit {unit} better=lower'"
        for unit in map(printable, sorted(unknown))
    ]


_COLUMNS = ("block", "side", "value", "cell")


def _read_csv(text: str, path: Path, into: Trials) -> None:
    delimiter = next((c for c in text.split("\n", 1)[0] if c in ",;\t|"), ";")
    rows = csv.reader(io.StringIO(text), delimiter=delimiter, skipinitialspace=True)
    header = [word.strip() for word in next(rows)]
    for column in header:
        if column not in _COLUMNS:
            raise unknown_choice("column", column, _COLUMNS)
    if len(set(header)) < len(header):
        raise UserError(f"{path} has a column twice: {', '.join(header)}")
    for column in ("value",) if into.two_files else ("side", "value"):
        if column not in header:
            raise UserError(f"{path} has no column {column!r}: it needs block, side, value and may have cell")
    if into.two_files and "side" in header:
        raise UserError(f"{path} has a column 'side': give it alone, or two files without that column")
    trials: dict[int, list[str]] = {}
    for line, row in enumerate(rows, 2):
        if row and len(row) != len(header):
            raise UserError(f"{path}, line {line} has {len(row)} fields: the first line has {len(header)}")
        if row:
            trials[line] = row
    if not trials:
        raise UserError(f"{path} has no trial: it needs a line for each")
    frame = pd.DataFrame.from_dict(trials, orient="index", columns=header).map(str.strip)
    texts = frame["value"]
    if delimiter != "," and texts.str.contains(",").any():  # a decimal comma; a point then is no number
        texts = texts.str.replace(".", "?").str.replace(",", ".")
    values = texts.map(_parsed)
    if not (fine := values.between(0, math.inf, "neither")).all():
        wrong: Any = fine.idxmin()
        raise UserError(f"{path}, line {wrong}: value {printable(frame['value'][wrong])} is not a positive number")
    usual = {"side": BASE, "cell": "", "block": ""}
    frame = frame.assign(value=values, **{name: word for name, word in usual.items() if name not in header})
    frame["cell"] = frame["cell"].map(printable)
    for word in frame["side"].unique():
        if word not in SIDES:
            raise unknown_choice("side", word, SIDES)
    ordered = "block" in header
    if ordered:
        frame = frame.assign(block=_ranks(frame["block"].tolist())).sort_values("block", kind="stable")
    for (side, cell), own in frame.groupby([frame["side"].map(SIDES), "cell"], sort=False):
        starts = own["block"].tolist() if ordered and not into.two_files else [None] * len(own)
        one = Benchmark(str(cell), processes=[(value,) for value in own["value"].tolist()], starts=starts)
        into.sides.setdefault(str(side), {})[one.name] = one


def _ranks(words: list[str]) -> list[float]:
    """Return the rank of each block: by number where all are, else numbers inside of words count as numbers."""
    numbers = list(map(_parsed, words))
    if all(map(math.isfinite, numbers)):
        return numbers

    def parts_of(word: str) -> list[Any]:
        """Return text and numbers, which take turns."""
        return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", word)]

    order = sorted(set(words), key=parts_of)
    return [float(order.index(word)) for word in words]


def read(path: Path, two_files: bool) -> Trials:
    """Return the trials of a file of any of `FORMATS`; ``two_files`` where it is one side of two.

    Raises:
        UserError: no such file, too large, no format that is known, cut off, or without a trial.
    """
    text = _text(path)
    into = Trials(two_files)
    if text.lstrip()[:1] in ("{", "["):
        for document in _documents(text, path):
            kind = next((one for one in JSON_FORMATS if one.results_of(document)), None)
            if kind is None:
                raise _unknown(path)
            if into.format not in (kind.name, ""):
                raise UserError(f"{path} mixes formats: give each alone")
            into.format = kind.name
            kind.read(document, kind.results_of(document), into)
    elif _GO_LINE.search(text):
        into.format = GO
        _read_go(text, into)
    elif "value" in re.split(r'[\s,;|"]+', text.split("\n", 1)[0].strip()):
        into.format = CSV
        try:
            _read_csv(text, path, into)
        except csv.Error as error:
            raise UserError(f"{path} can't be read as CSV: {error}") from None
    else:
        raise _unknown(path)
    into.sides = {side: {name: one for name, one in every.items() if one.processes}
                  for side, every in into.sides.items()}  # fmt: skip
    if not any(into.sides.values()):
        raise UserError(f"{path} ({into.format}) has no trial" + "".join(f"; {warning}" for warning in into.warnings))
    return into


def _unknown(path: Path) -> UserError:
    return UserError(f"{path} is of no known format: give one of {', '.join(FORMATS)} with a first line of columns")


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise UserError(f"{path} can't be read: {error.strerror}") from None
    if len(data) > MOST_BYTES:
        raise UserError(f"{path} is larger than {MOST_BYTES >> 20} MiB")
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is no text: byte {error.start} is not {encoding.removesuffix('-sig')}") from None
    if not text.strip():
        raise UserError(f"{path} is empty")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _documents(text: str, path: Path) -> Iterator[Any]:
    """Yield each JSON document of a text that has several, one after the other."""
    decoder, at = json.JSONDecoder(), 0
    filled = re.compile(r"\S")
    while found := filled.search(text, at):
        try:
            document, at = decoder.raw_decode(text, found.start())
        except RecursionError:
            raise UserError(f"{path} is nested too deeply") from None
        except ValueError as error:
            line = text.count("\n", 0, getattr(error, "pos", at)) + 1
            raise UserError(f"{path} is no complete JSON: line {line}: {getattr(error, 'msg', error)}") from None
        yield document
