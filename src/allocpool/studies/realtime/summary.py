"""Single trials of the real-time modes as plain data, for a reader of JSON."""

from __future__ import annotations

from typing import Any

from allocpool.campaign.tidy import trial_row
from allocpool.packets.columns import COUNTS
from allocpool.studies.realtime import delays
from allocpool.studies.realtime.tables import probe_rows, search_columns, tick_columns, trial_columns
from allocpool.trial.record import TrialRecord


def _delay_us(measured: dict[str, Any]) -> dict[str, float] | None:
    if not measured.get("delays"):
        return None
    found = delays.percentiles_us(measured["delays"], list(delays.SUMMARY.values()))
    return dict(zip(delays.SUMMARY, found, strict=True))


def summarise_ring(record: TrialRecord) -> dict[str, Any]:
    """A ring trial: counts after the warm-up, ``ns_per_tick``, delays."""
    measured = record.measurement or {}
    spec = record.spec
    told = {key: spec[key] for key in ("language", "runtime", "collector", "interval_ns", "input_queue_ms")}
    row: dict[str, Any] = {**trial_row(record), **told}
    if "figures" not in measured:
        return row
    figures, seen = measured["figures"], measured["consumption"]
    columns = tick_columns(figures, {"majors": None, "cap_reached": None})
    length_ns = seen["end_ns"] - seen["measured_start_ns"]
    return {
        **row,
        **{key: value for key, value in columns.items() if value is not None},
        "seconds": length_ns / 1e9,
        "ns_per_tick": length_ns / figures["received"] if figures["received"] else None,
        "delay_us": _delay_us(measured),
        "clock_is_tsc": bool(measured["account"]["clock_is_tsc"]),
        "clock_drift_ppm": measured["account"]["clock_drift_ppm"],
        "peak_rss_mb": measured["peak_rss_mb"],
    }


def summarise_realtime(record: TrialRecord) -> dict[str, Any]:
    """A real-time trial: the row of table ``trials`` with delays and counts of packets each in one place."""
    row = {key: value for key, value in trial_columns(record).items() if not key.startswith("delay_")}
    counts = {name: row.pop(f"packets_{name}", None) for name in COUNTS}
    return {**row, "delay_us": _delay_us(record.measurement or {}), "counts": counts}


def summarise_search(record: TrialRecord) -> dict[str, Any]:
    """A search: the row of table ``searches``, brackets as [largest that fails, smallest that passes], probes."""
    row = search_columns(record)
    measured = record.measurement or {}
    if "probes" not in measured:
        return row
    return {
        **row,
        "seconds": row["search_seconds"],
        "ndr_bracket": measured["ndr_bracket"],
        "pdr_bracket": measured["pdr_bracket"],
        "probe_rows": probe_rows(record),
    }
