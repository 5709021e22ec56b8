"""Tidy tables of the instrument's study: batch trials, and what two sides record of the same trial."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
from pandera.pandas import DataFrameSchema

from allocpool.campaign.tidy import (
    POSITIVE,
    TRIAL_COLUMNS,
    Row,
    Tables,
    choice,
    frames,
    ns_per_item,
    number,
    read_trial,
    text,
    trial_row,
    whole,
)
from allocpool.packets import columns
from allocpool.packets.columns import PACKETS_COLUMNS, batch_rows, packets_columns
from allocpool.studies.instrument.measurement import BridgeMeasurement
from allocpool.studies.instrument.specs import SIDES
from allocpool.trial.record import TrialRecord
from allocpool.trial.stops import stops_of

EXPLICIT = "System.gc()"
"""The cause that a log gives for a collection that somebody called for."""

WITNESSES = DataFrameSchema(
    {
        **TRIAL_COLUMNS,
        **PACKETS_COLUMNS,
        "side": choice(SIDES, "bridge: the JVM in a Python process; plain: java; recorded: java and Flight Recorder"),
        "packets": whole("packets of the measured half"),
        "ns_per_packet": number("wall time per packet of the measured half, ns", POSITIVE),
        "checksum": text("hex, over what was parsed and stored", nullable=True),
        "counted": text("what happened since the start, as numbers of packets", nullable=True),
        "allocated_bytes": whole("bytes the measuring thread allocated on the Java heap in the measured half"),
        "jvm_thread_ms": number("CPU of the measuring thread in the measured half, by the counters of the JVM, ms"),
        "kernel_thread_ms": number("the same by the kernel's; side bridge only, ms"),
        "jvm_process_ms": number("CPU of the process in the measured half, by the counters of the JVM, ms"),
        "kernel_process_ms": number("the same by the kernel's; side bridge only, ms"),
        "explicit_collections": whole("collections that somebody called for, in the log"),
        "log_pauses": whole("pauses from the warm-up's start to the end of the measured half, by the log"),
        "log_pause_ms": number("their total, ms"),
        "recorder_pauses": whole("the same by Flight Recorder; side recorded only"),
        "recorder_pause_ms": number("their total, ms"),
    },
    strict=True,
    coerce=True,
)

SCHEMAS = {**columns.SCHEMAS, "witnesses": WITNESSES}


def bridge_row(record: TrialRecord) -> Row:
    """Return the row of one trial in table ``witnesses``."""
    row: Row = {**trial_row(record), **packets_columns(record), "side": record.spec["side"]}
    measured = read_trial(record, BridgeMeasurement).measurement
    if measured is None:
        return row
    begin_ns, end_ns = measured["window"]
    if (stops := stops_of(record)) is not None:
        inside = [pause.duration_ns for pause in stops.pauses if begin_ns <= pause.start_ns < end_ns]
        row |= {
            "explicit_collections": len({pause.gc_id for pause in stops.pauses if pause.cause == EXPLICIT}),
            "log_pauses": len(inside), "log_pause_ms": sum(inside) / 1e6,
        }  # fmt: skip
    if measured["recorder"]:
        count, total_ns = measured["recorder"]
        row |= {"recorder_pauses": count, "recorder_pause_ms": total_ns / 1e6}
    times: dict[str, Any] = {**measured}
    for name in ("jvm_thread", "kernel_thread", "jvm_process", "kernel_process"):
        ns = times[f"{name}_ns"]
        row[f"{name}_ms"] = None if ns is None else ns / 1e6
    return {
        **row, "packets": sum(packets for _, _, packets in measured["measured"]),
        "ns_per_packet": ns_per_item(measured["measured"]), "checksum": measured["checksum"],
        "counted": " ".join(map(str, measured["counts"])), "allocated_bytes": measured["allocated_bytes"],
    }  # fmt: skip


def _rows_of(record: TrialRecord) -> Tables:
    return {"witnesses": [bridge_row(record)]} if record.spec["mode"] == "bridge" else batch_rows(record)


def tidy_instrument(records: Sequence[TrialRecord]) -> dict[str, pd.DataFrame]:
    """Return the tables of these trials, checked against their schemas."""
    return frames(records, _rows_of, SCHEMAS)


def summarise_bridge(record: TrialRecord) -> dict[str, Any]:
    """Return one trial as plain data."""
    return bridge_row(record)
