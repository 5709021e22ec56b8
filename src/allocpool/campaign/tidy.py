"""From records to tidy tables: the columns every study shares, and how tables are made, checked and written.

A study defines which rows a record becomes (``rows_of``). A table is written only after its schema held.
"""

from __future__ import annotations

import io
import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import NoneType
from typing import Any, Generic, TypeVar, get_args

import numpy as np
import pandas as pd
from pandera.errors import SchemaError, SchemaErrors
from pandera.pandas import Check, Column, DataFrameSchema
from pydantic import BaseModel, TypeAdapter, ValidationError

from allocpool import pace
from allocpool.campaign.steady import STEADY_STATES, steady_states
from allocpool.campaign.study import Study
from allocpool.errors import UserError, warn_once
from allocpool.files import replacing
from allocpool.runtimes.threads import GROUPS, cpu_ns_by_group
from allocpool.trial.measurement import CpuTime
from allocpool.trial.noise import Noise
from allocpool.trial.record import Status, TrialRecord
from allocpool.trial.stops import stops_of

COUNT = Check.ge(0)
POSITIVE = Check.gt(0)

Row = dict[str, Any]
Columns = dict[str, list[Any]]
"""Rows of one table, column by column: for tables that have many rows of each trial."""
Rows = Mapping[str, Sequence[Row]]
"""Rows by the name of their table."""
Tables = Mapping[str, Sequence[Row] | Columns]
"""Rows by the name of their table, of some tables column by column."""
_Measurement = TypeVar("_Measurement", bound=Mapping[str, object])


def text(description: str, *, nullable: bool = False) -> Column:
    return Column("string", nullable=nullable, description=description)


def choice(valid: Iterable[str], description: str, *, nullable: bool = False) -> Column:
    return Column("string", Check.isin(list(valid)), nullable=nullable, description=description)


def number(description: str, check: Check | None = COUNT) -> Column:
    """Return a column of numbers that a trial without a measurement leaves empty."""
    return Column("Float64", check, nullable=True, description=description)


def whole(description: str, check: Check | None = COUNT) -> Column:
    """Return a column of whole numbers that a trial without a measurement leaves empty."""
    return Column("Int64", check, nullable=True, description=description)


def columns_of(model: type[BaseModel]) -> dict[str, Column]:
    """Return a column, which may be empty, for each field of a model that has a description."""
    made: dict[str, Column] = {}
    for name, field in model.model_fields.items():
        if field.description:
            (kind,) = {*(get_args(field.annotation) or [field.annotation])} - {NoneType}
            empty = {float: number, int: whole}.get(kind)
            made[name] = empty(field.description) if empty else text(field.description, nullable=True)
    return made


def pick(columns: Iterable[str], *sources: Mapping[str, Any]) -> Row:
    """Return the values of the columns that the sources have; the last source that has one counts."""
    return {name: source[name] for source in sources for name in columns if name in source}


TRIAL_ID = text("trial that the row belongs to")
STUDY = "study"
STEADY_STATE = "steady_state"
PACE = "pace"
_PUT_IN = (STUDY, PACE)
"""Columns that are no row's own: `tables_of` puts them in."""

TRIAL_COLUMNS: dict[str, Column] = {
    "trial_id": Column("string", unique=True, description="hash of spec, code and host"),
    STUDY: Column("string", required=False, description="study that the table belongs to"),
    "mode": text("kind of trial: what ran in its process"),
    "block": Column("int64", COUNT, description="repetition: every configuration runs once per block"),
    "status": choice(get_args(Status), "outcome of the trial"),
    "reason": text("why a trial that is not ok is not; empty otherwise", nullable=True),
    "wall_s": Column("float64", COUNT, description="the whole child process, s"),
    "cpu_s": Column("float64", COUNT, description="CPU of the whole child process, s"),
    "load_before": Column("float64", COUNT, description="load average over one minute before the start"),
    "started_utc": text("when the child started, ISO 8601"),
    "git_commit": text("commit of the checkout, with -dirty where it had changes", nullable=True),
    "code_hash": text("hash of the code that the trial ran"),
    "host_id": text("fingerprint of the machine"),
    "attempt": Column("int64", Check.isin([1, 2]), description="2: run again because attempt 1 was disturbed"),
    "disturbed": text("what disturbed the trial beyond the profile's limit", nullable=True),
    "compute_before_ns": number("pace before the trial: a step of fixed work on one core, ns"),
    "compute_after_ns": number("the same after it, ns"),
    "latency_before_ns": number("pace before the trial: a dependent read from 32 MiB, ns"),
    "latency_after_ns": number("the same after it, ns"),
    "bandwidth_before_gbs": number("pace before the trial: reading 32 MiB in order, 10^9 bytes a second"),
    "bandwidth_after_gbs": number("the same after it"),
    **columns_of(Noise),
    PACE: Column(
        "float64",
        POSITIVE,
        nullable=True,
        required=False,
        description="by what factor the machine's pace raised the cost, as the trials just before and after show; "
        "empty where the trial has no cost. Frames and pages have costs over it, files as measured",
    ),
    # Not required of rows: `frames` reports it of all trials at once.
    STEADY_STATE: choice(
        STEADY_STATES,
        "change points of the measured iterations: steady, warming, slowing, never; empty where they are too few to "
        "tell",
        nullable=True,
    ),
}

GC_COLUMNS: dict[str, Column] = {
    "gc_collections": whole("collections that paused in the measured window"),
    "gc_pauses": whole("stop-the-world pauses in the measured window"),
    "gc_pause_total_ms": number("their total, ms"),
    "gc_pause_max_ms": number("the longest of them, ms"),
}

CPU = DataFrameSchema(
    {
        "trial_id": text("trial that the CPU time belongs to"),
        "thread_group": choice(GROUPS, "whose threads: application, gc, ..."),
        "cpu_ns": Column("int64", COUNT, description="CPU time in the measured window, ns"),
    },
    strict=True,
    coerce=True,
)


@dataclass(frozen=True)
class Trial(Generic[_Measurement]):
    """A trial as tables read it: its record, and what it measured; None where it came to no measurement."""

    record: TrialRecord
    measurement: _Measurement | None

    @property
    def peak_rss_mb(self) -> float | None:
        """Peak resident memory, MiB; recorded also by a trial whose memory was exhausted before it had measured."""
        return (self.record.measurement or {}).get("peak_rss_mb")


_adapter = cache(TypeAdapter)


def read_trial(record: TrialRecord, kind: type[_Measurement]) -> Trial[_Measurement]:
    """Return the record with its measurement, which is checked to be of this kind, a TypedDict.

    A trial that did not end well may have measured a part, which counts as nothing.

    Raises:
        UserError: a trial that is ok lacks what it should have measured; names the first thing that is missing.
    """
    try:
        return Trial(record, _adapter(kind).validate_python(record.measurement))
    except ValidationError as error:
        if record.status != "ok":
            return Trial(record, None)
        first = error.errors()[0]
        where = ".".join(str(part) for part in ("measurement", *first["loc"]))
        raise UserError(f"{where} of a trial of mode {record.spec['mode']}: {first['msg']}") from None


def check_cost(record: TrialRecord, study: Study[Any]) -> None:
    """Check that what a study's questions compare of a trial that ended well is above 0; UserError otherwise."""
    try:
        cost = study.cost(record) if record.status == "ok" else None
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise UserError(f"what it cost can't be read: {type(error).__name__}: {error}") from None
    if isinstance(cost, int | float) and not 0 < cost < math.inf:
        raise UserError(f"it cost {cost:g}")


def trial_row(record: TrialRecord) -> Row:
    """Return the shared columns of one trial, but study and steady state, which `tables_of` and `frames` add."""
    row = pick(TRIAL_COLUMNS, record.spec, vars(record))
    row |= {
        "git_commit": record.host.git_commit, "code_hash": record.launch.code_hash,
        "host_id": record.host.fingerprint(), STEADY_STATE: None,
    }  # fmt: skip
    if (noise := record.noise) is not None:
        row |= pick(TRIAL_COLUMNS, vars(noise))
        for when, pace in (("before", noise.before), ("after", noise.after)):
            for name, value in pace or ():
                what, _, unit = name.rpartition("_")
                row[f"{what}_{when}_{unit}"] = value
    return row


def steady_states_of(records: Sequence[TrialRecord]) -> list[str | None]:
    """Return the state by `allocpool.campaign.steady` of each trial that has measured iterations and ended well."""
    return steady_states([_costs(record) for record in records])


def _costs(record: TrialRecord) -> list[float]:
    iterations = (record.measurement or {}).get("iterations")
    measured = iterations.get("measured") if isinstance(iterations, Mapping) else None
    if record.status not in ("ok", "disturbed") or not measured:
        return []
    return [(row[1] - row[0]) / row[2] for row in measured if row[2]]


def gc_row(record: TrialRecord, start_ns: int, end_ns: int) -> Row:
    """Return `GC_COLUMNS` between two instants of CLOCK_MONOTONIC; None in all where there is no collector's log."""
    stops = stops_of(record)
    if stops is None:
        return dict.fromkeys(GC_COLUMNS)
    inside = [pause for pause in stops.pauses if start_ns <= pause.start_ns < end_ns]
    inside_ms = [pause.duration_ns / 1e6 for pause in inside]
    return {
        "gc_collections": len({pause.gc_id for pause in inside} - {None}),
        "gc_pauses": len(inside_ms),
        "gc_pause_total_ms": sum(inside_ms),
        "gc_pause_max_ms": max(inside_ms, default=0.0),
    }


def cpu_rows(record: TrialRecord, cpu: CpuTime, *ended: tuple[str, int]) -> list[Row]:
    """Return the CPU time of the window by thread group; ``ended``: names and ns of threads that ended before."""
    spent = cpu_ns_by_group([*cpu["threads"], *ended], cpu["process_ns"])
    return [{"trial_id": record.trial_id, "thread_group": group, "cpu_ns": ns} for group, ns in spent.items()]


def ns_per_item(iterations: Sequence[tuple[int, ...]]) -> float | None:
    """Return wall time per item of (start_ns, end_ns, items, ...) rows; None where there was no item."""
    items = sum([row[2] for row in iterations])
    return sum([row[1] - row[0] for row in iterations]) / items if items else None


def drift_percent(iterations: Sequence[tuple[int, ...]]) -> float | None:
    """Return how much dearer an item is in the second half of the rows than in the first, percent."""
    half = len(iterations) // 2
    first, second = ns_per_item(iterations[:half]), ns_per_item(iterations[half:])
    return 100 * (second / first - 1) if first and second else None


def frames(
    records: Iterable[TrialRecord], rows_of: Callable[[TrialRecord], Tables], schemas: Mapping[str, DataFrameSchema]
) -> dict[str, pd.DataFrame]:
    """Return a table for each schema, of the rows of each record, checked. A record whose log can't be read, or whose
    values can't be, is in no table and is named in a line on stderr."""
    records = list(records)
    try:
        return _frames(records, rows_of, schemas)
    except _IMPOSSIBLE:
        possible = []
        for record in records:
            try:
                _frames([record], rows_of, schemas)
                possible.append(record)
            except _IMPOSSIBLE as error:
                reason = str(error).strip()[:300]
                warn_once(f"trial {record.trial_id} {_IN_NO_TABLE}: {reason}")
        return _frames(possible, rows_of, schemas)


_IMPOSSIBLE = (UserError, SchemaError, SchemaErrors, ArithmeticError, LookupError, TypeError, ValueError)
"""What a record raises on its way to a table when one of its values can't be."""
_IN_NO_TABLE = "can't be read and is in no table; without its folder it runs again"


def _frames(
    records: Sequence[TrialRecord], rows_of: Callable[[TrialRecord], Tables], schemas: Mapping[str, DataFrameSchema]
) -> dict[str, pd.DataFrame]:
    parts: dict[str, list[Sequence[Row] | Columns]] = {name: [] for name in schemas}
    for record in records:
        for name, more in rows_of(record).items():
            parts[name].append(more)
    states = dict(zip((record.trial_id for record in records), steady_states_of(records), strict=True))
    tables = {}
    for name, schema in schemas.items():
        columns = _columns_of(parts[name], schema)
        if STEADY_STATE in columns:
            columns[STEADY_STATE] = [states[trial_id] for trial_id in columns["trial_id"]]
        tables[name] = _frame(columns, schema)
    return tables


def check_rows(record: TrialRecord, study: Study[Any]) -> None:
    """Check that a record fits the tables of its study; UserError with the reason otherwise."""
    warn_once.cache_clear()
    with redirect_stderr(io.StringIO()) as printed:
        study.tidy([record])
    if reason := printed.getvalue().partition(f"{_IN_NO_TABLE}: ")[2]:
        raise UserError(reason.strip())


def rows_of(table: pd.DataFrame) -> list[Row]:
    """Return the rows of a table, by the names of its columns."""
    return [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]


def frame(rows: Sequence[Row], schema: DataFrameSchema) -> pd.DataFrame:
    """Return the rows as a table that fits the schema, but for what `tables_of` puts in."""
    return _frame(_columns_of([rows], schema), schema)


def without_rows(schema: DataFrameSchema) -> pd.DataFrame:
    """Return the table of no rows, in the types of the schema. A page asks for hundreds, so each is made once, and
    there is nothing to check, which takes longest."""
    if id(schema) not in _WITHOUT_ROWS:
        types = {name: column.dtype.type for name, column in schema.columns.items() if name not in _PUT_IN}
        table = pd.DataFrame({name: pd.Series([], dtype=of_column) for name, of_column in types.items()})
        _WITHOUT_ROWS[id(schema)] = schema, table
    return _WITHOUT_ROWS[id(schema)][1].copy()


_WITHOUT_ROWS: dict[int, tuple[DataFrameSchema, pd.DataFrame]] = {}
"""By the identity of schemas, which have no hash and are kept alive here."""


def _columns_of(parts: Sequence[Sequence[Row] | Columns], schema: DataFrameSchema) -> Columns:
    """Return the values of each column of the schema but those that `tables_of` puts in; None where a row has none."""
    rows = [row for part in parts if not isinstance(part, dict) for row in part]
    whole = [part for part in parts if isinstance(part, dict)]
    return {
        name: [row.get(name) for row in rows] + list(itertools.chain.from_iterable(part[name] for part in whole))
        for name in schema.columns
        if name not in _PUT_IN
    }


def _frame(columns: Columns, schema: DataFrameSchema) -> pd.DataFrame:
    if not any(map(len, columns.values())):
        return without_rows(schema)
    return schema.validate(
        pd.DataFrame({name: _typed(values, str(schema.columns[name].dtype)) for name, values in columns.items()})
    )


def _typed(values: Sequence[Any], dtype: str) -> pd.Series:
    """Return the values in the type of their column; plain numbers are converted, or refused, by the schema."""
    if dtype in ("Int64", "Float64"):
        return pd.Series(pd.to_numeric(pd.Series(values, dtype=object)), dtype=dtype)
    if dtype in ("int64", "float64") and values:
        return pd.Series(np.asarray(values))
    return pd.Series(values, dtype=dtype if dtype in ("string", "boolean") or not values else None)


def tables_of(study: Study[Any], records: Sequence[TrialRecord]) -> dict[str, pd.DataFrame]:
    """Return the study's tables of these trials, with its name: a trial may belong to several studies."""
    tables = study.tidy(records)
    whole = {trial_id for name in study.paced for trial_id in tables[name]["trial_id"]}
    paces = paces_of(study, [record for record in records if record.trial_id in whole])
    for name, table in tables.items():
        columns = list(study.schemas[name].columns)
        if STUDY in columns:
            values = pd.Series(study.name, index=table.index, dtype=table["mode"].dtype)
            table.insert(columns.index(STUDY), STUDY, values)
            table.insert(columns.index(PACE), PACE, table["trial_id"].map(paces).astype("float64"))
    return tables


def paces_of(study: Study[Any], records: Iterable[TrialRecord]) -> dict[str, float]:
    """Return `allocpool.pace.paces` of the trials that ended well and whose cost is a number, by trial."""
    costs = [(record, study.cost(record)) for record in records if record.status == "ok"]
    costs = [(record, cost) for record, cost in costs if isinstance(cost, int | float)]
    costs.sort(key=lambda item: item[0].started_utc)
    cells = [str({**record.spec, "block": None, "timeout_s": None}) for record, _ in costs]
    found = pace.paces([cost for _, cost in costs], cells)
    return {record.trial_id: float(factor) for (record, _), factor in zip(costs, found, strict=True)}


def at_one_pace(study: Study[Any], tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return tables with the costs that the study compares over the machine's pace around each trial."""
    adjusted = dict(tables)
    for name in study.paced.keys() & tables.keys():
        cost, table = study.paced[name], tables[name]
        adjusted[name] = table.assign(**{cost: table[cost] / table[PACE].fillna(1.0)})
    return adjusted


def write_tables(folder: Path, tables: Mapping[str, pd.DataFrame]) -> list[Path]:
    written = [folder / f"{name}.parquet" for name in tables]
    for path, table in zip(written, tables.values(), strict=True):
        with replacing(path) as scratch:
            table.to_parquet(scratch, index=False, compression="zstd", **_encodings(table))
    return written


def _encodings(table: pd.DataFrame) -> dict[str, Any]:
    """Return how columns are encoded: integers as differences, other numbers byte by byte, all else by distinct values.
    It takes a third less than one encoding for all."""
    encoding = {
        name: "DELTA_BINARY_PACKED" if pd.api.types.is_integer_dtype(kind) else "BYTE_STREAM_SPLIT"
        for name, kind in table.dtypes.items()
        if pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind) and kind.itemsize >= 4
    }
    return {"column_encoding": encoding, "use_dictionary": [name for name in table if name not in encoding]}
