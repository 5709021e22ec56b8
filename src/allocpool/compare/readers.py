"""Read what benchmark tools write: each format is one row of `FORMATS`, recognised by its content.

A trial is one process: the values that one process measured are averaged. A file may hold what several processes wrote,
one after the other. Where all is of one process, each of its values counts as a trial, and a warning says so.
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
from typing import Any

import numpy as np
import pandas as pd

from allocpool.errors import UserError, unknown_choice

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
        twin: the same command measured before in the same document.
        problem: why it cannot be compared; empty where it can.
    """

    name: str
    unit: str = ""
    larger: bool = False
    processes: list[tuple[float, ...]] = field(default_factory=list)
    starts: list[float | None] = field(default_factory=list)
    twin: bool = False
    problem: str = ""

    @property
    def iterations_only(self) -> bool:
        """Whether all values are of one process."""
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
    """What a file holds: the name of its ``format``, its benchmarks by side (all under `BASE` where the format has no
    sides), and ``warnings``; ``commands`` where benchmarks are what is to be compared."""

    format: str
    sides: dict[str, list[Benchmark]]
    warnings: list[str] = field(default_factory=list)
    commands: bool = False


class _Collected:
    """Benchmarks by name while a file is read, process by process."""

    def __init__(self, two_files: bool) -> None:
        self.two_files = two_files
        self.benchmarks: dict[str, Benchmark] = {}
        self.warnings: list[str] = []

    def add(
        self, name: str, numbers: list[float], unit: str, larger: bool = False, start: float | None = None,
        twin: bool = False,
    ) -> None:  # fmt: skip
        """Add the values of one process."""
        name = plain(name)
        one = self.benchmarks.get(name)
        if one is None:
            one = self.benchmarks[name] = Benchmark(name, unit, larger, twin=twin)
        if (one.unit, one.larger) != (unit, larger):
            one.problem = f"its units differ: {plain(one.unit)} and {plain(unit)}"
        if not numbers:
            return
        for value in numbers:
            if not 0 < value < math.inf:
                one.problem = one.problem or f"{value:g} is not a positive number"
        one.processes.append(tuple(numbers))
        one.starts.append(start)

    def done(self) -> tuple[list[Benchmark], list[str]]:
        return [one for one in self.benchmarks.values() if one.processes], self.warnings


def plain(text: object) -> str:
    """Return a stranger's text without characters that a terminal obeys."""
    text = str(text)
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


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
    if bottom in _SECONDS:
        return f"{top}/s", 1 / _SECONDS[bottom]
    return unit, 1.0


def _scaled(values: Iterable[Any], factor: float) -> list[float]:
    return [_number(value) * factor for value in values]


def _time(text: Any) -> float | None:
    """Seconds of a date, those without a zone taken for UTC; None where it is none."""
    try:
        when = datetime.fromisoformat(str(text))
        return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def _lists(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [item for item in _lists(value) if isinstance(item, dict)]


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


# JMH: a list of results; `rawData` has a list for each fork, with a value for each iteration.


def _is_jmh(document: Any) -> bool:
    return any("primaryMetric" in result for result in _dicts(document))


def _read_jmh(document: Any, into: _Collected) -> None:
    results = _dicts(document)
    modes = {(result.get("benchmark"), result.get("mode")) for result in results}
    several = len(modes) > len({name for name, _ in modes})
    for result in results:
        metric = _dict(result.get("primaryMetric"))
        parameters = "".join(f" {key}={value}" for key, value in _dict(result.get("params")).items())
        mode = str(result.get("mode"))
        name = f"{result.get('benchmark')}{parameters}{f' {mode}' if several else ''}"
        unit, factor = _in_seconds(str(metric.get("scoreUnit")))
        forks = _lists(metric.get("rawData"))
        if not forks:  # of mode `sample`: a histogram for each iteration, pairs of value and count
            forks = [
                [_histogram_mean(iteration) for iteration in _lists(fork)]
                for fork in _lists(metric.get("rawDataHistogram"))
            ]
        for fork in forks:
            into.add(name, _scaled(_lists(fork), factor), unit, larger=mode == "thrpt")


def _histogram_mean(pairs: Any) -> float:
    known = [(_number(pair[0]), _number(pair[1])) for pair in _lists(pairs) if len(_lists(pair)) == 2]
    count = math.fsum(times for _, times in known)
    return math.fsum(value * times for value, times in known) / count if count > 0 else math.nan


# hyperfine: `times` of each command (1.x), or `measurements` with the metrics of each run (2.0): a run is a process.


def _is_hyperfine(document: Any) -> bool:
    return any("times" in one or "measurements" in one for one in _dicts(_dict(document).get("results")))


def _read_hyperfine(document: Any, into: _Collected) -> None:
    metric = str(document.get("primary_metric", "time_wall_clock"))
    seen: dict[str, int] = {}
    start = _time(_dict(document.get("metadata")).get("start_time"))
    order = sum(len(one.processes) for one in into.benchmarks.values())
    for result in _dicts(document["results"]):
        name = str(result.get("command"))
        seen[name] = seen.get(name, 0) + 1
        if again := seen[name] > 1:
            name = f"{name} (again: {seen[name]})"
        runs = _dicts(result.get("measurements"))
        figures = [_dict(run.get(metric)) for run in runs]
        unit = str(figures[0].get("unit")) if figures else "second"
        values = [one.get("value") for one in figures] if figures else _lists(result.get("times"))
        codes = [run.get("exit_code") for run in runs] if runs else _lists(result.get("exit_codes"))
        if failed := sum(code != 0 for code in codes):
            into.warnings.append(f"{plain(name)}: {failed} of {len(codes)} runs did not end with status 0")
        unit, factor = _in_seconds(unit)
        for value in _scaled(values, factor):
            order += 1  # within one file, runs are in order
            known = None if into.two_files and start is None else (start or 0.0) + 1e-6 * order
            into.add(name, [value], unit, start=known, twin=again)


# Google Benchmark: a row for each repetition, and rows of aggregates; repetitions are of one process.

_AGGREGATE = re.compile(r"_(mean|median|stddev|cv|BigO|RMS|min|max)$")


def _is_google(document: Any) -> bool:
    return any("real_time" in one or "run_type" in one for one in _dicts(_dict(document).get("benchmarks")))


def _read_google(document: Any, into: _Collected) -> None:
    start = _time(_dict(document.get("context")).get("date"))
    rows: dict[tuple[str, str], list[float]] = {}
    aggregates = 0
    for row in _dicts(document["benchmarks"]):
        name = str(row.get("run_name") or row.get("name"))
        if row.get("run_type", "aggregate" if _AGGREGATE.search(name) else "iteration") != "iteration":
            aggregates += 1
        elif row.get("error_occurred"):
            into.warnings.append(f"{plain(name)} ended with an error: {plain(row.get('error_message', ''))}")
        else:
            unit, factor = _in_seconds(str(row.get("time_unit", "ns")))
            rows.setdefault((name, unit), []).extend(_scaled([row.get("real_time")], factor))
    if aggregates and not rows:
        into.warnings.append("it holds aggregates only: run it without --benchmark_report_aggregates_only")
    for (name, unit), values in rows.items():
        into.add(name, values, unit, start=start)


# pyperf: `runs` of each benchmark, a process each; calibrations have no values.


def _is_pyperf(document: Any) -> bool:
    return any("runs" in one for one in _dicts(_dict(document).get("benchmarks")))


def _read_pyperf(document: Any, into: _Collected) -> None:
    common = _dict(document.get("metadata"))
    for benchmark in _dicts(document["benchmarks"]):
        shared = common | _dict(benchmark.get("metadata"))
        for run in _dicts(benchmark.get("runs")):
            about = shared | _dict(run.get("metadata"))
            unit, factor = _in_seconds(str(about.get("unit", "second")))
            name, when = str(about.get("name", "benchmark")), _time(about.get("date"))
            into.add(name, _scaled(_lists(run.get("values")), factor), unit, start=when)


# Go: lines `BenchmarkName-8  100  12.3 ns/op  4 B/op`; each process starts with lines as `goos: linux`.

_GO_LINE = re.compile(r"^Benchmark\S*\s+\d+\s+\S+\s+\S+", re.MULTILINE)
_GO_KEY = re.compile(r"(goos|goarch|pkg|cpu):\s*(.*)")
_GO_LARGER = {"lower": False, "higher": True}


def _is_go(text: str) -> bool:
    return bool(_GO_LINE.search(text))


def _read_go(text: str, into: _Collected) -> None:
    better: dict[str, bool] = {}
    lines = text.splitlines()
    for words in (line.split() for line in lines if line.startswith("Unit")):
        if len(words) > 2 and words[0] == "Unit":
            found = dict(word.partition("=")[::2] for word in words[2:])
            if found.get("better") in _GO_LARGER:
                better[words[1]] = _GO_LARGER[found["better"]]
    values: dict[tuple[str, str], list[float]] = {}
    unknown: set[str] = set()
    package, in_header = "", False

    def end_process() -> None:
        for (name, unit), numbers in values.items():
            tidy, factor = _in_seconds(unit)
            into.add(f"{name} [{tidy}]", _scaled(numbers, factor), tidy, larger=better.get(unit, unit.endswith("/s")))
        values.clear()

    for line in lines:
        if not _GO_LINE.match(line):
            if key := _GO_KEY.match(line):
                if not in_header:
                    end_process()
                in_header = True
                package = key[2] if key[1] == "pkg" else package
            continue
        in_header = False
        name, _, *pairs = line.split()
        for number, unit in zip(pairs[::2], pairs[1::2], strict=False):
            if unit not in better and not unit.endswith(("/op", "/s")):
                unknown.add(unit)
                continue
            values.setdefault((f"{package}.{name}" if package else name, unit), []).append(_parsed(number))
    end_process()
    into.warnings += [
        f"{plain(unit)} is left out: whether more is better is not said; a line 'Unit {plain(unit)} better=lower' does"
        for unit in sorted(unknown)
    ]


def _parsed(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


# CSV: a row for each trial.

_COLUMNS = ("block", "side", "value", "cell")


def _is_csv(text: str) -> bool:
    return "value" in re.split(r'[\s,;|"]+', text.split("\n", 1)[0].strip())


def _read_csv(text: str, path: Path, two_files: bool) -> dict[str, list[Benchmark]]:
    delimiter = next((c for c in text.split("\n", 1)[0] if c in ",;\t|"), ";")
    rows = csv.reader(io.StringIO(text), delimiter=delimiter, skipinitialspace=True)
    header = [word.strip() for word in next(rows)]
    for column in header:
        if column not in _COLUMNS:
            raise unknown_choice("column", column, _COLUMNS)
    if len(set(header)) < len(header):
        raise UserError(f"{path} has a column twice: {', '.join(header)}")
    needed = ("value",) if two_files else ("side", "value")
    for column in needed:
        if column not in header:
            raise UserError(f"{path} has no column {column!r}: it needs block, side, value and may have cell")
    if two_files and "side" in header:
        raise UserError(f"{path} has a column 'side': give it alone, or two files without that column")
    lines: list[int] = []
    words: list[str] = []
    for k, row in enumerate(rows, 2):
        if row and len(row) != len(header):
            raise UserError(f"{path}, line {k} has {len(row)} fields: the first line has {len(header)}")
        if row:
            lines.append(k)
            words += row
    if not lines:
        raise UserError(f"{path} has no trial: it needs a line for each")
    columns = {column: [word.strip() for word in words[k :: len(header)]] for k, column in enumerate(header)}
    texts = columns["value"]
    if delimiter != "," and any("," in value for value in texts):  # a decimal comma; a point then is no number
        texts = [value.replace(".", "?").replace(",", ".") for value in texts]
    values = [_parsed(value) for value in texts]
    for k, found, value in zip(lines, columns["value"], values, strict=True):
        if not 0 < value < math.inf:
            raise UserError(f"{path}, line {k}: value {plain(found)} is not a positive number")
    named = columns.get("side", [BASE] * len(values))
    for word in set(named):
        if word not in SIDES:
            raise unknown_choice("side", word, SIDES)
    blocks = _in_order(columns["block"]) if "block" in columns else np.arange(len(values), dtype=float)
    cells = [plain(cell) for cell in columns["cell"]] if "cell" in columns else ""
    frame = pd.DataFrame({"side": named, "cell": cells, "value": values, "block": blocks})
    frame = frame.sort_values("block", kind="stable")
    ordered = "block" in columns and not two_files
    sides: dict[str, list[Benchmark]] = {}
    for (side, cell), own in frame.groupby([frame["side"].map(SIDES), "cell"], sort=False):
        one = Benchmark(str(cell), processes=list(zip(own["value"].tolist())))
        one.starts = own["block"].tolist() if ordered else [None] * len(own)
        sides.setdefault(str(side), []).append(one)
    return sides


def _in_order(words: list[str]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the rank of each block: by number where all are, else numbers inside of words count as numbers."""
    try:
        ranks = {word: float(word) for word in dict.fromkeys(words)}
    except ValueError:
        ranks = {"": math.nan}
    if not all(map(math.isfinite, ranks.values())):
        ranks = {word: float(rank) for rank, word in enumerate(sorted(dict.fromkeys(words), key=_natural))}
    return np.array([ranks[word] for word in words])


def _natural(word: str) -> list[Any]:
    """Return the parts of a word as they sort: text and numbers take turns, a number by its length and its digits."""
    parts: list[Any] = re.split(r"(\d+)", word)
    digits = [part.lstrip("0") for part in parts[1::2]]
    parts[1::2] = [(len(part), part) for part in digits]
    return parts


@dataclass(frozen=True)
class Format:
    """One row of `FORMATS`: ``recognises`` a JSON document or a text, ``reads`` it into what is collected."""

    name: str
    recognises: Callable[[Any], bool]
    reads: Callable[[Any, _Collected], None]


JSON_FORMATS = (
    Format("JMH JSON", _is_jmh, _read_jmh),
    Format("hyperfine JSON", _is_hyperfine, _read_hyperfine),
    Format("pyperf JSON", _is_pyperf, _read_pyperf),
    Format("Google Benchmark JSON", _is_google, _read_google),
)
GO, CSV = "Go benchmark text", "CSV"
FORMATS = (*(one.name for one in JSON_FORMATS), GO, CSV)


def read(path: Path, two_files: bool) -> Trials:
    """Return the trials of a file of any of `FORMATS`; ``two_files`` where it is one side of two.

    Raises:
        UserError: no such file, too large, no format that is known, cut off, or without a trial.
    """
    text = _text(path)
    into = _Collected(two_files)
    if text.lstrip()[:1] in ("{", "["):
        kind: Format | None = None
        for document in _documents(text, path):
            known, kind = kind, next((one for one in JSON_FORMATS if one.recognises(document)), None)
            if kind is None:
                raise _unknown(path)
            if known not in (kind, None):
                raise UserError(f"{path} mixes formats: give each alone")
            kind.reads(document, into)
        assert kind is not None
        name = kind.name
    elif _is_go(text):
        name = GO
        _read_go(text, into)
    elif _is_csv(text):
        try:
            return Trials(CSV, _read_csv(text, path, two_files))
        except csv.Error as error:
            raise UserError(f"{path} can't be read as CSV: {error}") from None
    else:
        raise _unknown(path)
    benchmarks, warnings = into.done()
    if not benchmarks:
        raise UserError(f"{path} ({name}) has no trial" + "".join(f"; {warning}" for warning in warnings))
    return Trials(name, {BASE: benchmarks}, warnings, commands=name == "hyperfine JSON")


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
