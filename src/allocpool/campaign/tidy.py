"""From records to tidy tables: the columns every study shares, and how tables are checked, written and described.

A table is written only after its schema held.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, get_args

import pandas as pd
from pandera.pandas import Check, Column, DataFrameSchema

from allocpool import gclog
from allocpool.files import write_atomically
from allocpool.trial.record import GC_LOG, Status, TrialRecord

COUNT = Check.ge(0)
POSITIVE = Check.gt(0)


def text(description: str, *, nullable: bool = False) -> Column:
    """A column of strings."""
    return Column("string", nullable=nullable, description=description)


TRIAL_COLUMNS: dict[str, Column] = {
    "trial_id": Column("string", unique=True, description="hash of spec, code and host"),
    "study": text("study that the trial belongs to"),
    "block": Column("int64", COUNT, description="repetition: every configuration runs once per block"),
    "status": Column("string", Check.isin(get_args(Status)), description="outcome of the trial"),
    "reason": text("why a trial that is not ok is not; empty otherwise", nullable=True),
    "wall_s": Column("float64", COUNT, description="the whole child process, s"),
    "cpu_s": Column("float64", COUNT, description="CPU of the whole child process, s"),
    "load_before": Column("float64", COUNT, description="load average over one minute before the start"),
    "started_utc": text("when the child started, ISO 8601"),
    "git_commit": text("commit of the checkout, with -dirty where it had changes", nullable=True),
    "code_hash": text("hash of the code that the trial ran"),
    "host_id": text("fingerprint of the machine"),
}

GC_COLUMNS: dict[str, Column] = {
    "gc_pauses": Column("Int64", COUNT, nullable=True, description="stop-the-world pauses in the measured window"),
    "gc_pause_total_ms": Column("Float64", COUNT, nullable=True, description="their total, ms"),
    "gc_pause_max_ms": Column("Float64", COUNT, nullable=True, description="the longest of them, ms"),
}


def trial_row(record: TrialRecord) -> dict[str, Any]:
    """The shared columns of one trial."""
    return {
        "trial_id": record.trial_id, "study": record.spec["mode"], "block": record.spec["block"],
        "status": record.status, "reason": record.reason, "wall_s": record.wall_s, "cpu_s": record.cpu_s,
        "load_before": record.load_before, "started_utc": record.started_utc, "git_commit": record.host.git_commit,
        "code_hash": record.launch.code_hash, "host_id": record.host.fingerprint(),
    }  # fmt: skip


@lru_cache(maxsize=1)
def reader_hash() -> str:
    """Changes with the log reader, so that what an older reader understood is read again."""
    digest = hashlib.sha256()
    for source in sorted(Path(gclog.__file__).parent.glob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:12]


def top_level_pauses(log: Path) -> list[tuple[int, int]]:
    """(start_ns, duration_ns) of every pause that no other pause contains; kept beside the log once read."""
    kept = log.with_name(f"pauses-{reader_hash()}.json")
    if kept.exists():
        return [(int(start), int(length)) for start, length in json.loads(kept.read_text(encoding="utf-8"))]
    pauses = gclog.read_gc_log(log).pauses
    outer = pauses[~pauses["nested"]]
    found = [(int(start), int(length)) for start, length in zip(outer["start_ns"], outer["duration_ns"], strict=True)]
    write_atomically(kept, json.dumps(found))
    return found


def gc_row(record: TrialRecord, start_ns: int, end_ns: int) -> dict[str, Any]:
    """What the collector did between two instants of CLOCK_MONOTONIC; empty where there is no collector's log."""
    log = Path(record.directory) / GC_LOG
    if not log.exists() or not log.stat().st_size:
        return dict.fromkeys(GC_COLUMNS)
    inside_ms = [length / 1e6 for start, length in top_level_pauses(log) if start_ns <= start < end_ns]
    return {
        "gc_pauses": len(inside_ms),
        "gc_pause_total_ms": sum(inside_ms),
        "gc_pause_max_ms": max(inside_ms, default=0.0),
    }


def frame(rows: Sequence[Mapping[str, Any]], schema: DataFrameSchema) -> pd.DataFrame:
    """The rows as a table whose columns, types and ranges are those of the schema."""
    table = pd.DataFrame(list(rows), columns=list(schema.columns))
    for name, column in schema.columns.items():
        if str(column.dtype) in ("Int64", "Float64"):
            table[name] = pd.to_numeric(table[name]).astype(str(column.dtype))
        elif str(column.dtype) == "boolean":
            table[name] = table[name].astype("boolean")
    return schema.validate(table)


def write_tables(folder: Path, tables: Mapping[str, pd.DataFrame]) -> list[Path]:
    """Write each table to ``<folder>/<name>.parquet``, whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, table in tables.items():
        path = folder / f"{name}.parquet"
        scratch = path.with_name(f".{path.name}.part")
        table.to_parquet(scratch, index=False)
        scratch.replace(path)
        written.append(path)
    return written
