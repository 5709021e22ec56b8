"""Tidy tables of trials on many threads."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, get_args

import pandas as pd
from pandera.pandas import Column, DataFrameSchema

from allocpool import percentiles
from allocpool.campaign import tidy
from allocpool.campaign.tidy import COUNT, POSITIVE, Row, Rows, choice, number, read_trial, text, whole
from allocpool.packets.specs import CASES
from allocpool.packets.strategies import Language
from allocpool.studies.realtime.adaptive import Seen
from allocpool.studies.threads.measurement import SharingMeasurement, ThreadsMeasurement, Ticked
from allocpool.studies.threads.specs import configuration_of
from allocpool.studies.threads.strategies import STRATEGIES, TOPOLOGIES
from allocpool.trial.record import TrialRecord
from allocpool.trial.stops import stops_of

COUNTS = {
    "generated": "packets that the source numbered",
    "received": "packets that a worker took into its queue",
    "lost": "packets that found no room",
    "left": "packets still between receiver and workers",
    "parsed": "packets that left a queue and were parsed",
    "tcp": "parsed packets that were TCP, and so stored",
    "evicted": "stored packets replaced by a later one",
    "allocated": "messages obtained from the strategy",
    "freed": "messages given back to the strategy",
    "live": "messages in queues and stores, when queues had been emptied",
    "constructed": "messages made after the start",
    "discarded": "messages dropped, not pooled, after the start",
    "remote_frees": "messages freed by another thread than the one that had obtained them",
    "prepared": "messages made before the start",
    "pooled": "free messages in pools and caches; -1 where a library does not report it",
}

EVENTS = {
    "cycles": "of all threads in user mode, over packets; empty where no hardware counters were read",
    "instructions": "likewise",
    "llc_misses": "reads that missed the last level of caches, likewise",
    "l1d_misses": "reads that missed the cache nearest to the core, likewise",
}

_STATED = {
    "language": choice(get_args(Language), "language of the workload"),
    "topology": choice(TOPOLOGIES, "which thread does which part"),
    "threads": Column("int64", POSITIVE, description="workers; a pipeline has its receiver in addition"),
    "layout": text("where buffers and parse results live"),
    "strategy": choice(STRATEGIES, "where a message comes from"),
    "runtime": whole("feature release of the JDK; empty for C++", None),
    "collector": text("garbage collector; empty for C++", nullable=True),
    "allocator": text("what C++ new reaches; empty for Java", nullable=True),
    "configuration": text("layout with collector and runtime, or with allocator"),
    "case": choice(CASES, "sizes of queue and store"),
    "scale": Column("float64", POSITIVE, description="factor on queue, store and heap"),
    "heap_mb": whole("-Xms and -Xmx, MiB; empty for C++", None),
    "queue_size": Column("int64", POSITIVE, description="messages in all queues together"),
    "stored_count": Column("int64", POSITIVE, description="messages in all stores together"),
    "pool_size": Column("int64", COUNT, description="messages made before the start"),
    "interval_ns": number("real time: between ticks of the source, ns; empty in batch"),
    "input_queue_ms": number("real time: ticks that wait in all rings together at most, as a time, ms"),
    "source_yields": Column("bool", description="source and receivers slept while nothing was due: no finding"),
    "padded": Column("bool", description="what threads exchange in a pool lies two cache lines apart"),
    "counted": Column("bool", description="hardware counters were read in that time, which takes time"),
}
"""Columns of the settings of a trial, with their name."""
_SIMULATED = (
    "topology", "threads", "layout", "strategy", "allocator", "configuration", "padded", "queue_size", "stored_count",
)  # fmt: skip
TRIALS = DataFrameSchema(
    {
        **tidy.TRIAL_COLUMNS,
        **_STATED,
        **{f"{event}_per_packet": number(what) for event, what in EVENTS.items()},
        "loss_ratio": number("real time: ticks lost over ticks generated, after the warm-up"),
        "delay_p99_us": number("real time: 99th percentile of the delay from due to received, µs"),
        "packets": whole("packets of the measured window"),
        "ns_per_packet": number("wall time of the measured window over its packets, all threads together, ns"),
        "cpu_ns_per_packet": number("CPU of the process over the same packets, its collector's too, ns"),
        "gc_cpu_share": number("of that CPU, what the collector's threads took"),
        "drift_percent": number("how much dearer a packet is in the second half of the window, percent", None),
        "remote_share": number("of all frees, those by another thread than the one that had obtained the message"),
        "imbalance": number("packets of the busiest ring over the mean of all rings"),
        "blow_up": number("messages that existed over those alive, at the end of the window; empty if not reported"),
        "peak_rss_mb": number("peak resident memory of the process, MiB"),
        "safepoints": whole("stops of all threads in the measured window; empty without a JVM"),
        "reaching_max_ms": number("the longest time from asking for a stop until the last thread stood, ms"),
        **tidy.GC_COLUMNS,
        **{name: whole(what, None if name == "pooled" else COUNT) for name, what in COUNTS.items()},
        "checksum": text("sum over all packets: the same in every row of equal packets and seed", nullable=True),
        "seed": text("of contents, flows and stores"),
    },
    strict=True,
    coerce=True,
)
_RING_COUNTS = {
    "generated": "ticks that led to it, after the warm-up",
    "received": "of them, those that were taken out of it",
    "lost": "of them, those that found it full",
    "left": "of them, those that were still in it at the end",
}
RINGS = DataFrameSchema(
    {
        "trial_id": text("the trial, in real time"),
        "ring": Column("int64", COUNT, description="its number, from 0: a worker's, or the one of the receiver"),
        **{name: Column("int64", COUNT, description=what) for name, what in _RING_COUNTS.items()},
    },
    strict=True,
    coerce=True,
)
PLACES = {
    "ring": "the queue between receiver and worker",
    "pool": "taking a message from the pool and giving it back",
    "message": "filling, parsing, hashing and freeing messages",
    "other": "all else of the trial",
}
"""What the code was doing when a line was missing."""
SHARING = DataFrameSchema(
    {
        **tidy.TRIAL_COLUMNS,
        **{name: _STATED[name] for name in _SIMULATED},
        "turn": Column("int64", POSITIVE, description="accesses of a thread before another one's turn, in the mean"),
        "packets": whole("packets that count"),
        "cold_misses_per_packet": number("first accesses of a thread to a line, over packets"),
        "coherence_misses_per_packet": number("misses of lines that the thread had had, over packets: their sum"),
        "true_sharing_per_packet": number("of them, those that brought the thread a value that it then used"),
        "false_sharing_per_packet": number("of them, those that brought nothing it used before the line was gone"),
        **{
            f"{place}_{kind}_per_packet": number(f"of these, while the code was at: {what}")
            for kind in ("true_sharing", "false_sharing")
            for place, what in PLACES.items()
        },
        "checksum": text("as of trials on many threads, over all packets", nullable=True),
    },
    strict=True,
    coerce=True,
)
SCHEMAS = {"trials": TRIALS, "cpu": tidy.CPU, "rings": RINGS, "sharing": SHARING}


def _stated(record: TrialRecord, names: Iterable[str]) -> Row:
    settings = {**tidy.trial_row(record), **tidy.pick(names, record.spec)}
    return {**settings, "configuration": configuration_of(record.spec)}


def sharing_row(record: TrialRecord) -> Row:
    """Return a trial before a simulated cache as a row of table ``sharing``."""
    row = _stated(record, (*_SIMULATED, "turn"))
    measured = read_trial(record, SharingMeasurement).measurement
    if measured is None:
        return row
    packets, misses = record.spec["packets"] - record.spec["fill"], measured["misses"]
    cold = sum(at["cold_misses"] for at in misses.values())
    for kind in ("true_sharing", "false_sharing"):
        each = {f"{place}_{kind}_per_packet": misses[place][kind] / packets for place in PLACES}
        row |= {**each, f"{kind}_per_packet": sum(each.values())}
    return row | {
        "packets": packets,
        "cold_misses_per_packet": cold / packets,
        "coherence_misses_per_packet": row["true_sharing_per_packet"] + row["false_sharing_per_packet"],
        "checksum": measured["checksum"],
    }


def _rows_of(record: TrialRecord) -> Rows:
    if record.spec["mode"] == "threads_sharing":
        return {"sharing": [sharing_row(record)]}
    row = {**_stated(record, _STATED), "seed": str(record.spec["seed"])}
    trial = read_trial(record, ThreadsMeasurement)
    if (measured := trial.measurement) is None:
        return {"trials": [{**row, "peak_rss_mb": trial.peak_rss_mb}]}
    cpu = tidy.cpu_rows(record, measured["cpu"])
    row |= _measured(record, measured, cpu)
    if (ticked := measured["ticked"]) is None:
        return {"trials": [row], "cpu": cpu}
    rings = [{"trial_id": record.trial_id, "ring": place, **counts} for place, counts in enumerate(ticked["rings"])]
    return {"trials": [row | _ticked(ticked)], "cpu": cpu, "rings": rings}


def _ticked(ticked: Ticked) -> Row:
    """Return what real time lost and how late the rest was. Who waits for ticks spins, so that it has no cost."""
    figures = ticked["figures"]
    (p99_us,) = percentiles.histogram_percentiles_us(ticked["delays"], [percentiles.TAILS["p99"]])
    return {
        "loss_ratio": figures["lost"] / figures["generated"],
        "delay_p99_us": p99_us,
        **dict.fromkeys(("ns_per_packet", "cpu_ns_per_packet", "drift_percent"), None),
    }


def _measured(record: TrialRecord, measured: ThreadsMeasurement, cpu: Sequence[Row]) -> Row:
    parts, counts = measured["iterations"]["measured"], measured["counts"]
    packets = sum(part[2] for part in parts)
    process_ns = measured["cpu"]["process_ns"]
    rings = measured["received_by_ring"]
    start_ns, end_ns = parts[0][0], parts[-1][1]
    reported = measured["held_at_end"] is not None and STRATEGIES[record.spec["strategy"]].library != "Netty"
    row = {
        "packets": packets,
        "ns_per_packet": tidy.ns_per_item(parts),
        "cpu_ns_per_packet": process_ns / packets,
        "gc_cpu_share": sum(row["cpu_ns"] for row in cpu if row["thread_group"] == "gc") / process_ns,
        "drift_percent": tidy.drift_percent(parts),
        "remote_share": counts["remote_frees"] / counts["freed"] if counts["freed"] else None,
        "imbalance": max(rings) * len(rings) / sum(rings),
        "blow_up": (measured["held_at_end"] or 0) / measured["live_at_end"] if reported else None,
        **tidy.gc_row(record, start_ns, end_ns),
        **{f"{event}_per_packet": count / packets for event, count in measured["events"].items()},
        **tidy.pick(TRIALS.columns, counts, measured),
    }
    if (stops := stops_of(record)) is not None:
        inside = [stop.reaching_ns for stop in stops.safepoints if start_ns <= stop.start_ns < end_ns]
        row |= {"safepoints": len(inside), "reaching_max_ms": max(inside, default=0) / 1e6}
    return row


def tidy_threads(records: Sequence[TrialRecord]) -> dict[str, pd.DataFrame]:
    """Return tables ``trials``, ``cpu``, ``rings`` and ``sharing``."""
    return tidy.frames(records, _rows_of, SCHEMAS)


def seen_in(record: TrialRecord) -> Seen | None:
    """Return what a trial in real time shows of the minimum sustainable inter-arrival time; None of one in batch."""
    measured = read_trial(record, ThreadsMeasurement).measurement
    if measured is None or measured["ticked"] is None:
        return None
    spec, figures = record.spec, measured["ticked"]["figures"]
    return Seen(
        live=spec["queue_size"] + spec["stored_count"],
        interval_ns=spec["interval_ns"],
        queue_ms=spec["input_queue_ms"],
        latest_ms=math.inf if figures["lost"] else math.nan,
        source_stall_ms=figures["slip_max_ns"] / 1e6,
        lost_share=figures["lost"] / figures["generated"],
    )


def cost_of(record: TrialRecord) -> float | Seen | None:
    """Return CPU of the process, ns a packet of the measured window, or what a trial in real time shows; None of a
    trial without either."""
    if record.measurement is None or record.spec["mode"] != "threads":
        return None
    cost = _rows_of(record)["trials"][0].get("cpu_ns_per_packet")
    return seen_in(record) if cost is None else float(cost)


def summarise_threads(record: TrialRecord) -> dict[str, Any]:
    """Return a trial as plain data: its row, but for ``counts``, CPU by group of threads, and packets by ring."""
    rows = _rows_of(record)
    row = rows["trials"][0]
    return {
        **{name: value for name, value in row.items() if name not in COUNTS},
        "counts": tidy.pick(COUNTS, row),
        "cpu_ns": {part["thread_group"]: part["cpu_ns"] for part in rows.get("cpu", ())},
        "received_by_ring": (record.measurement or {}).get("received_by_ring"),
        "rings": rows.get("rings", []),
    }
