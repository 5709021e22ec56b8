"""Tidy tables of the study of buffered I/O: one row per trial, and where its memory was, one row per part."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd
from pandera.pandas import Column, DataFrameSchema

from allocpool.campaign import tidy
from allocpool.campaign.tidy import POSITIVE, Row, Rows, choice, number, read_trial, text, whole
from allocpool.percentiles import histogram_percentiles_us
from allocpool.studies.buffered_io.measurement import EchoMeasurement
from allocpool.studies.buffered_io.specs import IO, MESSAGE_BYTES, THREADS, Variant
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
_SIZES = {
    "rss_mb": "resident set size", "pss_mb": "proportional set size", "uss_mb": "unique set size",
    "heap_used_mb": "Java heap in use", "heap_committed_mb": "Java heap committed",
}  # fmt: skip
_MEMORY = {
    "idle_rss_mb": "resident set size before the first connection, a thread for each waiting; platform threads, MiB",
    **{name: f"{what}, as the load left it, garbage included, MiB" for name, what in _SIZES.items()},
    **{
        f"collected_{name}": f"{what} after a full collection, free memory of both heaps given back, MiB"
        for name, what in _SIZES.items()
    },
}
_LATENCY = {"p50": 50.0, "p90": 90.0, "p99": 99.0, "p99_9": 99.9, "max": 100.0}
_table = partial(DataFrameSchema, strict=True, coerce=True)

TRIALS = _table({
    **tidy.TRIAL_COLUMNS,
    "variant": text(
        f"label of the row: server, I/O, size of the buffer, threads, runtime; messages, if not of {MESSAGE_BYTES}"
    ),
    "server": choice(IO, "java or cpp"),
    "io": choice((name for names in IO.values() for name in names), "way of I/O"),
    "buffer": whole("chars (buffered_reader) or bytes (buffered_stream)"),
    "threads": choice(THREADS, "of Java's blocking ways", nullable=True),
    "runtime": whole("feature release of the JDK; empty for C++", None),
    "collector": text("garbage collector; empty for C++", nullable=True),
    "heap_mb": whole("-Xmx, MiB", None),
    "connections": Column("int64", POSITIVE, description="open at once"),
    "rate": Column("float64", POSITIVE, description="messages per second that were due, over all connections"),
    "message_bytes": Column("int64", POSITIVE, description="newline included"),
    "seconds": Column("float64", POSITIVE, description="length of the measured window, s"),
    "messages_per_second": number("echoed in the measured window"),
    "cpu_percent_median": number("CPU of the server's process, percent of one processor, median of the samples"),
    "cpu_percent_mean": number("its mean over the samples"),
    "cpu_us_per_message": number("CPU of the server's process per echo, of the window and of draining, us"),
    **{name: number(f"{what}; empty for C++" if "heap" in name else what) for name, what in _MEMORY.items()},
    "stacks_mb": number("resident thread stacks, MiB"),
    "direct_mb": number("direct buffers, MiB"),
    "os_threads": whole("threads of the process"),
    **{
        f"latency_{name}_us": number(
            f"due time to complete echo, {name.replace('_', '.')}, of messages due in the window, us; empty where any "
            "has no delay"
        )
        for name in _LATENCY
    },
    "arrived_p99_us": number(
        "p99 of the echoes that came in the window: what choosing by arrival shows, whatever was left behind, us"
    ),
    "neighbour_line_ns": number(
        "processor time per cache line of a thread outside the server that walks over its own memory, after a rest "
        "of two ms, median, ns",
        POSITIVE,
    ),
    "neighbour_again_ns": number("the same at once afterwards, when nothing was evicted, ns", POSITIVE),
    "due": whole("messages due in the measured window"),
    "errors": whole("connections dropped or not opened, messages wrong or not answered"),
    "behind": whole(
        "messages due before its end and never sent, their connection waiting for an echo when draining ended"
    ),
    **tidy.GC_COLUMNS,
})  # fmt: skip

_OF_A_PROFILE = (
    *tidy.TRIAL_COLUMNS, "variant", "server", "io", "buffer", "threads", "runtime", "connections", "message_bytes",
)  # fmt: skip
PROFILES = _table({
    **{name: column for name, column in TRIALS.columns.items() if name in _OF_A_PROFILE},
    "samples": whole("samples of processor time in the measured window that have a stack of Java"),
    "in_read": whole("of these, in BufferedReader.read or in what it calls"),
})  # fmt: skip

PARTS_TABLE = _table({
    "trial_id": tidy.TRIAL_ID,
    "part": choice(PARTS, "; ".join(f"{part}: {what}" for part, what in PARTS.items())),
    "bytes": Column("int64", description="after the full collection"),
})  # fmt: skip

SCHEMAS = {"trials": TRIALS, "parts": PARTS_TABLE, "profiles": PROFILES}
"""Profiled trials are in ``profiles`` alone: samples cost."""


def _rows_of(record: TrialRecord) -> Rows:
    spec = record.spec
    row = {**tidy.pick(TRIALS.columns, spec), **tidy.trial_row(record), "variant": _label(spec)}
    measured = read_trial(record, EchoMeasurement).measurement
    if spec["profiled"]:
        return {"profiles": [{**row, **((measured and measured["samples"]) or {})}]}
    if measured is None:
        return {"trials": [row]}
    sizes = measured["parts"]
    parts = [{"trial_id": record.trial_id, "part": part, "bytes": sizes.get(part, 0)} for part in PARTS]
    return {"trials": [row | _measured_columns(record, measured)], "parts": parts}


def _measured_columns(record: TrialRecord, measured: EchoMeasurement) -> Row:
    load = measured["load"]
    latencies_us: Sequence[float | None] = [None] * len(_LATENCY)
    if load["measured"] == load["due"] > 0 and not load["behind"]:
        latencies_us = histogram_percentiles_us(load["delays"], list(_LATENCY.values()))
    lines = load["neighbour_lines"] if load["neighbour_walks"] else None
    return {
        "messages_per_second": load["arrived"] / ((load["end_ns"] - load["start_ns"]) / 1e9),
        "cpu_percent_median": statistics.median(measured["cpu_percent"]),
        "cpu_percent_mean": statistics.fmean(measured["cpu_percent"]),
        "cpu_us_per_message": _cpu_us_per_message(measured),
        **{name: measured["memory"].get(name) for name in _MEMORY},
        "stacks_mb": measured["stacks_bytes"] / 2**20,
        "direct_mb": measured["parts"].get("direct", 0) / 2**20,
        "os_threads": measured["threads"],
        **{f"latency_{name}_us": value for name, value in zip(_LATENCY, latencies_us, strict=True)},
        "arrived_p99_us": histogram_percentiles_us(load["arrived_delays"], [99.0])[0] if load["arrived"] else None,
        "neighbour_line_ns": load["neighbour_walk_ns"] / lines if lines else None,
        "neighbour_again_ns": load["neighbour_again_ns"] / lines if lines else None,
        "due": load["due"], "errors": load["errors"], "behind": load["behind"],
        **tidy.gc_row(record, load["start_ns"], load["end_ns"]),
    }  # fmt: skip


def cost_of(record: TrialRecord) -> float | None:
    """Return processor time of the server per echo, us; None where nothing was served, or it was profiled."""
    measured = read_trial(record, EchoMeasurement).measurement
    return _cpu_us_per_message(measured) if measured and not record.spec["profiled"] else None


def _cpu_us_per_message(measured: EchoMeasurement) -> float | None:
    served = measured["load"]["served"]
    return measured["cpu"]["process_ns"] / 1e3 / served if served else None


def tidy_buffered_io(records: Sequence[TrialRecord]) -> dict[str, pd.DataFrame]:
    """Return the study's tables, checked against their schemas."""
    return tidy.frames(records, _rows_of, SCHEMAS)


def summarise_echo(record: TrialRecord) -> dict[str, Any]:
    """Return one trial as plain data: its row of ``trials`` or ``profiles``, and the bytes of each part."""
    rows = _rows_of(record)
    (row,) = rows.get("trials") or rows["profiles"]
    return {**row, "parts_bytes": {part["part"]: part["bytes"] for part in rows.get("parts", ())}}


def _label(spec: Mapping[str, Any]) -> str:
    """The variant's, with the size of messages where it is not the usual one: such rows never mix."""
    label = Variant(*(spec[name] for name in ("server", "io", "buffer", "threads", "runtime"))).label
    return label if spec["message_bytes"] == MESSAGE_BYTES else f"{label}, messages of {spec['message_bytes']}"
