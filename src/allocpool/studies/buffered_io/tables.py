"""Tidy tables of the study of buffered I/O: one row per trial, and where its memory was, one row per part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
from pandera.pandas import Check, Column, DataFrameSchema

from allocpool.campaign.tidy import COUNT, GC_COLUMNS, POSITIVE, TRIAL_COLUMNS, frame, gc_row, text, trial_row
from allocpool.studies.buffered_io.specs import IO, THREADS, Variant
from allocpool.studies.realtime import delays
from allocpool.trial.record import TrialRecord

PARTS = {
    "stack": "resident thread stacks; of virtual threads the stack chunks on the heap",
    "char_buffer": "char arrays and the readers and writers that hold them",
    "byte_buffer": "byte arrays and byte buffers on the heap",
    "codec": "decoders and encoders between bytes and chars, with their byte arrays",
    "direct": "direct buffers, by the JVM's own account",
    "socket": "sockets, channels and what a server keeps of each on the heap",
    "thread": "thread objects on the heap",
    "native": "the C library's heap without direct buffers: what the JVM keeps of a thread; in 25 its socket's too",
    "code": "compiled code and metadata of classes, which grow with what the JVM has done, not with connections",
    "other": "everything else that is alive on the heap",
}
_MEMORY = {
    "rss_mb": "resident set size as the load left it, MiB",
    "pss_mb": "proportional set size, MiB",
    "uss_mb": "unique set size, MiB",
    "heap_used_mb": "Java heap in use, garbage included, MiB",
    "heap_committed_mb": "Java heap committed, MiB",
    "collected_rss_mb": "resident set size after a full collection, free memory of both heaps given back, MiB",
    "collected_pss_mb": "proportional set size after it, MiB",
    "collected_uss_mb": "unique set size after it, MiB",
    "collected_heap_used_mb": "Java heap in use after it, MiB",
    "collected_heap_committed_mb": "Java heap committed after it, MiB",
}
_LATENCY = {"p50": 50.0, "p90": 90.0, "p99": 99.0, "p99_9": 99.9, "max": 100.0}
_COUNTS = {
    "errors": "connections dropped or not opened, messages wrong or not answered",
    "behind": "messages that were due and not sent, their connection still waiting for an echo",
}


def _number(description: str, check: Check = COUNT) -> Column:
    return Column("Float64", check, nullable=True, description=description)


TRIALS = DataFrameSchema(
    {
        **TRIAL_COLUMNS,
        "variant": text("label of the row: server, I/O, size of the buffer, threads, runtime"),
        "server": Column("string", Check.isin(list(IO)), description="java or cpp"),
        "io": Column("string", Check.isin([name for names in IO.values() for name in names]), description="way of I/O"),
        "buffer": Column(
            "Int64", COUNT, nullable=True, description="chars (buffered_reader) or bytes (buffered_stream)"
        ),
        "threads": Column("string", Check.isin(THREADS), nullable=True, description="of Java's blocking ways"),
        "runtime": Column("Int64", nullable=True, description="feature release of the JDK; empty for C++"),
        "collector": text("garbage collector; empty for C++", nullable=True),
        "heap_mb": Column("Int64", nullable=True, description="-Xmx, MiB"),
        "connections": Column("int64", POSITIVE, description="open at once"),
        "rate": Column("float64", POSITIVE, description="messages per second that were due, over all connections"),
        "message_bytes": Column("int64", POSITIVE, description="newline included"),
        "seconds": Column("float64", POSITIVE, description="length of the measured window, s"),
        "messages_per_second": _number("echoed in the measured window"),
        "cpu_percent_median": _number("CPU of the server's process, percent of one processor, median of the samples"),
        "cpu_percent_mean": _number("its mean over the samples"),
        "cpu_us_per_message": _number("CPU of the server's process per echoed message, us"),
        **{name: _number(f"{what}; empty for C++" if "heap" in name else what) for name, what in _MEMORY.items()},
        "stacks_mb": _number("resident thread stacks, MiB"),
        "direct_mb": _number("direct buffers, MiB"),
        "os_threads": Column("Int64", COUNT, nullable=True, description="threads of the process"),
        **{f"latency_{name}_us": _number(f"due time to whole echo, {name.replace('_', '.')}, us") for name in _LATENCY},
        **{name: Column("Int64", COUNT, nullable=True, description=what) for name, what in _COUNTS.items()},
        **GC_COLUMNS,
    },
    strict=True,
    coerce=True,
)

PARTS_TABLE = DataFrameSchema(
    {
        "trial_id": text("trial that the row belongs to"),
        "part": Column("string", Check.isin(list(PARTS)), description="; ".join(f"{k}: {v}" for k, v in PARTS.items())),
        "bytes": Column("int64", description="after the full collection"),
    },
    strict=True,
    coerce=True,
)

SCHEMAS = {"trials": TRIALS, "parts": PARTS_TABLE}


def tidy_buffered_io(records: Sequence[TrialRecord]) -> dict[str, pd.DataFrame]:
    """The study's tables, checked against their schemas."""
    parts = [row for record in records for row in _part_rows(record)]
    return {
        "trials": frame([_trial_row(record) for record in records], TRIALS),
        "parts": frame(parts, PARTS_TABLE),
    }


def summarise_echo(record: TrialRecord) -> dict[str, Any]:
    """One trial as plain data, for a reader of JSON: the row of table ``trials``, and the bytes of each part."""
    row = _trial_row(record) | {"study": record.spec["mode"]}
    return {**row, "parts_bytes": {part["part"]: part["bytes"] for part in _part_rows(record)}}


def variant_of(spec: dict[str, Any]) -> Variant:
    """The variant that a stored spec belongs to."""
    return Variant(spec["server"], spec["io"], spec["buffer"], spec["threads"], spec["runtime"])


def _trial_row(record: TrialRecord) -> dict[str, Any]:
    spec = record.spec
    stated = ("server", "io", "buffer", "threads", "runtime", "collector", "heap_mb", "connections", "rate",
              "message_bytes", "seconds")  # fmt: skip
    row = trial_row(record) | {"study": "buffered_io", "variant": variant_of(spec).label}
    row |= {name: spec[name] for name in stated}
    measured = record.measurement
    if not measured or "load" not in measured:
        return row | dict.fromkeys(name for name in TRIALS.columns if name not in row)
    load, cpu = measured["load"], measured["cpu"]
    echoed = load["measured"]
    window_s = (load["end_ns"] - load["start_ns"]) / 1e9
    latencies = delays.percentiles_us(load["delays"], list(_LATENCY.values())) if echoed else [None] * len(_LATENCY)
    return {
        **row,
        "messages_per_second": echoed / window_s,
        "cpu_percent_median": measured["cpu_percent_median"],
        "cpu_percent_mean": measured["cpu_percent_mean"],
        "cpu_us_per_message": cpu["process_ns"] / 1e3 / echoed if echoed else None,
        **{name: measured["memory"].get(name) for name in _MEMORY},
        "stacks_mb": measured["stacks_bytes"] / 2**20,
        "direct_mb": measured["parts"]["direct"] / 2**20,
        "os_threads": measured["threads"],
        **{f"latency_{name}_us": value for name, value in zip(_LATENCY, latencies, strict=True)},
        "errors": load["errors"],
        "behind": load["behind"],
        **gc_row(record, load["start_ns"], load["end_ns"]),
    }


def _part_rows(record: TrialRecord) -> list[dict[str, Any]]:
    parts = (record.measurement or {}).get("parts", {})
    return [{"trial_id": record.trial_id, "part": part, "bytes": size} for part, size in parts.items()]
