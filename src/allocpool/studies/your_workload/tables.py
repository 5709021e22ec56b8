"""Tidy tables: a row per trial of messages, CPU time by thread group, and the batch trials of the same packets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

import pandas as pd
from pandera.pandas import Column, DataFrameSchema

from allocpool.campaign import tidy
from allocpool.campaign.tidy import COUNT, Row, number, text, whole
from allocpool.packets.columns import TRIALS as BATCH
from allocpool.packets.columns import batch_row
from allocpool.packets.measurement import BatchMeasurement
from allocpool.percentiles import HIGHEST_NS, LOWEST_NS, SIGNIFICANT_DIGITS, samples_needed
from allocpool.studies.your_workload.measurement import MessagesMeasurement
from allocpool.studies.your_workload.sizes import classes_of, mean_bytes
from allocpool.studies.your_workload.specs import MessagesSpec, configuration_of
from allocpool.trial.record import TrialRecord
from allocpool.trial.stops import stops_of

COUNTS = {
    "generated": "messages that came due, in fill and warm-up too",
    "received": "messages that were handled",
    "lost": "messages that had waited too long when their turn came",
    "read": "messages that left flight and were read",
    "kept": "of these, those that went to a store",
    "evicted": "kept messages replaced by a later one",
    "obtained": "messages obtained from the strategy",
    "freed": "messages given back to the strategy",
    "constructed": "messages made after the start",
    "discarded": "messages dropped, not pooled, after the start",
    "prepared": "messages made before the start",
    "in_flight": "messages in flight, when all had been read",
    "in_store": "messages kept, when all had been read",
    "pooled": "free messages in pools; -1 where a library does not report it",
}
"""Of the trial; their counters are audited."""
DELAYS = {"delay_p50_ms": 50.0, "delay_p99_ms": 99.0, "delay_p999_ms": 99.9}
_MEMORY = {
    "idle_rss_mb": "resident memory when everything was ready and no message had come, MiB",
    "peak_rss_mb": "peak resident memory of the process, MiB",
    "pool_mb": "buffers that the strategy holds, used or free, at the end of the window, MiB",
    "wasted_mb": "of buffers in use, what lies beyond their messages, at the end of the window, MiB",
}

_DTYPES: dict[Any, str] = {
    bool: "bool", int: "int64", float: "float64", int | None: "Int64", float | None: "Float64",
}  # fmt: skip


def _stated(*names: str) -> dict[str, Column]:
    """Return the columns of fields of the spec that are numbers, flags, or one of a few words."""
    made: dict[str, Column] = {}
    for name in names:
        field = MessagesSpec.model_fields[name]
        dtype, words = _DTYPES.get(field.annotation, ""), str(field.description)
        if dtype:
            check = None if dtype == "bool" else COUNT
            made[name] = Column(dtype, check, nullable=dtype[0].isupper(), description=words)
        else:
            made[name] = tidy.choice(get_args(field.annotation), words)
    return made


TRIALS = DataFrameSchema(
    {
        **tidy.TRIAL_COLUMNS,
        **_stated("language", "layout", "strategy", "classes", "zeroing"),
        "sizes": text("(bytes, weight) of each size of messages"),
        "mean_bytes": Column("float64", COUNT, description="of a message, bytes"),
        **_stated("filled_share", "read_share", "rate_per_s", "arrivals", "burst_length", "delay_ms"),
        "messages_in_flight": Column("int64", COUNT, description="messages in flight at once"),
        **_stated("kept_share", "kept_count", "replacement", "temporaries", "temporary_bytes", "live_mb"),
        **_stated("changed_mb_per_s", "garbage_mb_per_s", "threads"),
        "runtime": whole("feature release of the JDK; empty for C++", None),
        "collector": text("garbage collector; empty for C++", nullable=True),
        "allocator": text("what C++ malloc reaches; empty for Java", nullable=True),
        "configuration": text("layout with collector and runtime, or with allocator"),
        **_stated("heap_mb", "direct_mb"),
        "jvm_flags": text("the reader's own flags"),
        "trace": text("prepared replay file; empty: messages are drawn", nullable=True),
        "messages": whole("messages handled in the measured window"),
        "ns_per_message": number("wall time of the measured window over its messages, all threads together, ns"),
        "cpu_ns_per_message": number("CPU of the process over the same messages, its collector's too, ns"),
        "gc_cpu_share": number("of that CPU, what the collector's threads took"),
        "rest_cpu_share": number("of that CPU, what the thread of the rest of the program took"),
        "cpu_share": number("CPU of the process over the window's length: 1 is one processor"),
        "drift_percent": number("how much dearer a message is in the second half of the window, percent", None),
        "lost_ppm": number("of a million messages due in the window, those lost"),
        **{name: number(f"{name[6:-3]} of delays against intended times, ms; empty without times, or too few")
           for name in DELAYS},
        "delay_max_ms": number("the longest of these delays, ms"),
        **{name: number(what) for name, what in _MEMORY.items()},
        "changed_mb": number("what the rest of the program replaced in the window, MiB"),
        "garbage_mb": number("what the rest of the program made in the window, MiB"),
        "humongous_share": number("of messages, those whose buffer G1 gives separate regions; empty without such"),
        "stalls": whole("waits of the message threads for memory, in the window; empty without a collector's log"),
        "stall_total_ms": number("their total, ms"),
        "stall_max_ms": number("the longest of them, ms"),
        "safepoints": whole("stops of all threads in the measured window; empty without a JVM"),
        **tidy.GC_COLUMNS,
        **{name: whole(what, None if name == "pooled" else COUNT) for name, what in COUNTS.items()},
        "checksum": text("sum over what was read: equal in rows of equal messages and seed", nullable=True),
        "seed": text("of sizes, contents, times and stores"),
    },
    strict=True,
    coerce=True,
)  # fmt: skip
SCHEMAS = {"trials": TRIALS, "cpu": tidy.CPU, "packets": BATCH}
_STATED = set(TRIALS.columns) & set(MessagesSpec.model_fields) - set(tidy.TRIAL_COLUMNS) - {"messages"}
_REST_THREAD = "allocpool-rest"


def _rows_of(record: TrialRecord) -> tidy.Rows:
    spec = record.spec
    if spec["mode"] == "batch":
        return {"packets": [batch_row(tidy.read_trial(record, BatchMeasurement))]}
    row = {
        **tidy.trial_row(record), **tidy.pick(_STATED, spec),
        "sizes": ",".join(f"{size}:{weight:.6g}" for size, weight in spec["sizes"]),
        "mean_bytes": mean_bytes(spec["sizes"]), "messages_in_flight": spec["in_flight"],
        "jvm_flags": " ".join(spec["jvm_flags"]), "configuration": configuration_of(spec), "seed": str(spec["seed"]),
    }  # fmt: skip
    trial = tidy.read_trial(record, MessagesMeasurement)
    measured = trial.measurement
    if measured is None:
        return {"trials": [{**row, "peak_rss_mb": trial.peak_rss_mb}]}
    cpu = tidy.cpu_rows(record, measured["cpu"])
    parts = measured["iterations"]["measured"]
    messages = sum(part[2] for part in parts)
    process_ns = measured["cpu"]["process_ns"]
    start_ns, end_ns = parts[0][0], parts[-1][1]
    rest_ns = sum(ns for name, ns in measured["cpu"]["threads"] if name == _REST_THREAD)
    row |= {  # where all is lost, no message is left that a cost could be over
        "messages": messages,
        "ns_per_message": (end_ns - start_ns) / messages if messages else None,
        "cpu_ns_per_message": process_ns / messages if messages else None,
        "gc_cpu_share": sum(row["cpu_ns"] for row in cpu if row["thread_group"] == "gc") / process_ns,
        "rest_cpu_share": rest_ns / process_ns,
        "cpu_share": process_ns / (measured["cpu"]["end_ns"] - measured["cpu"]["start_ns"]),
        "drift_percent": tidy.drift_percent(parts),
        "lost_ppm": 1e6 * measured["lost"] / measured["due"] if measured["due"] else None,
        **_delays(measured["delays"]),
        **measured["memory"],
        **measured["rest"],
        "humongous_share": _humongous_share(record.spec, measured["humongous_from_bytes"]),
        **_stops(record, start_ns, end_ns),
        **tidy.gc_row(record, start_ns, end_ns),
        **tidy.pick(COUNTS, measured["counts"]),
        "checksum": measured["checksum"],
    }
    return {"trials": [row], "cpu": cpu}


def _delays(buckets: Sequence[tuple[int, int]]) -> Row:
    """The percentiles that these delays have enough samples for, and the longest, ms."""
    from hdrh.histogram import HdrHistogram

    if not buckets:
        return dict.fromkeys((*DELAYS, "delay_max_ms"))
    filled = HdrHistogram(LOWEST_NS, HIGHEST_NS, SIGNIFICANT_DIGITS)
    for delay_ns, count in buckets:
        filled.record_value(delay_ns, count)
    total = filled.get_total_count()
    row: Row = {
        name: filled.get_value_at_percentile(percentile) / 1e6 if total >= samples_needed(percentile) else None
        for name, percentile in DELAYS.items()
    }
    return {**row, "delay_max_ms": buckets[-1][0] / 1e6}


def _humongous_share(spec: Mapping[str, Any], from_bytes: int | None) -> float | None:
    """Of messages on the heap, those whose buffer has this length or more; None of Netty, which has its own chunks."""
    if from_bytes is None or spec["layout"] == "native" or spec["strategy"] == "netty":
        return None
    classes = classes_of(spec["classes"], spec["sizes"])
    if spec["strategy"] == "reuse":
        return float(classes[-1] >= from_bytes)
    # A buffer of a class is as long as its class: the one that is the first not below the size.
    short = from_bytes if spec["strategy"] == "alloc" else max((c for c in classes if c < from_bytes), default=0) + 1
    return float(sum(weight for size, weight in spec["sizes"] if size >= short))


def _stops(record: TrialRecord, start_ns: int, end_ns: int) -> Row:
    stops = stops_of(record)
    if stops is None:
        return {}
    inside = [stall for stall in stops.stalls if start_ns <= stall.start_ns < end_ns and stall.thread != _REST_THREAD]
    return {
        "stalls": len(inside),
        "stall_total_ms": sum(stall.duration_ns for stall in inside) / 1e6,
        "stall_max_ms": max((stall.duration_ns for stall in inside), default=0) / 1e6,
        "safepoints": sum(1 for stop in stops.safepoints if start_ns <= stop.start_ns < end_ns),
    }


def tidy_messages(records: Sequence[TrialRecord]) -> dict[str, pd.DataFrame]:
    """Return tables ``trials`` and ``cpu`` of messages, and ``packets`` of batch trials."""
    return tidy.frames(records, _rows_of, SCHEMAS)


def cost_of(record: TrialRecord) -> float | None:
    """Return CPU of the process, ns a message; None of a trial without it, and of packets."""
    rows = _rows_of(record).get("trials") if record.measurement else None
    cost = rows[0].get("cpu_ns_per_message") if rows else None
    return None if cost is None else float(cost)


def summarise_messages(record: TrialRecord) -> dict[str, Any]:
    """Return one trial as plain data: the columns of its row, its ``counts``, and ``cpu_ns`` by thread group."""
    rows = _rows_of(record)
    row = dict(rows["trials"][0])
    counts = {name: row.pop(name) for name in COUNTS if name in row}
    cpu = {part["thread_group"]: part["cpu_ns"] for part in rows.get("cpu", ())}
    return {**row, "counts": counts, "cpu_ns": cpu}
