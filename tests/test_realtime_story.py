"""What a page shows of a real-time campaign, from made-up and published figures."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from allocpool.campaign import tidy
from allocpool.packets.specs import SETTINGS
from allocpool.studies.realtime import cells as realtime_cells
from allocpool.studies.realtime import story as realtime_report
from allocpool.studies.realtime.tables import SCHEMAS

_PLAIN: dict[str, Any] = {
    **dict.fromkeys(("allocator", "steps", "compact_headers", "large_pages", *SETTINGS)),
    "no_refinement": None, "large_young": None, "detached": False,
    "lean_view": False, "host_cpu": False, "pool_order": "aged", "pool_reuse": "lifo",
    "payload_touch": False, "control": None,
}  # fmt: skip
JAVA: dict[str, Any] = {
    **_PLAIN, "language": "java", "layout": "heap", "runtime": 11, "configuration": "heap / Parallel / 11",
    "collector": "parallel",
}  # fmt: skip
NOTHING = {name: tidy.frame([], schema) for name, schema in SCHEMAS.items()}
APART = [sign * step for step in (0.02, 0.05, 0.1, 0.2, 0.3, 0.5) for sign in (-1, 1)]


def placed(edge_ns: float | None = 300.0, lost_ppm: float = 2e4, **changes: Any) -> list[dict[str, Any]]:
    """A dozen adaptive trials of a cell around a sharp boundary; all lose where there is none."""
    intervals_ns = [edge_ns * math.exp(step) for step in APART] if edge_ns else [1_000.0] * 2 + [10_000.0] * 10
    return [
        {
            **JAVA, "mode": "realtime", "trial_id": f"{sorted(changes.items())} {block}", "strategy": "pool",
            "case": "A", "block": block, "status": "ok", "reason": None, "scale": 0.3, "interval_ns": ns,
            "input_queue_ms": 30.0, "queue_factor": 1.0, "heap_factor": 1.0, "source_stall_max_ms": 0.0,
            "delay_max_us": 20.0, "queue_size": 500,
            "stored_count": 500, "majors": 3, "decides_long_pauses": True, "prologue_ns_per_packet": 50.0,
            "gc_pause_max_ms": 1.0, "lost": int(lost), "lost_ppm": lost_ppm if lost else 0.0, **changes,
        }
        for block, ns in enumerate(intervals_ns)
        for lost in [edge_ns is None or ns < edge_ns]
    ]  # fmt: skip


def of(*cells: list[dict[str, Any]]) -> dict[str, pd.DataFrame]:
    """The tables of a campaign with these adaptive trials."""
    return {**NOTHING, "adaptive": pd.DataFrame([row for cell in cells for row in cell])}


def cells(*of_cells: list[dict[str, Any]]) -> pd.DataFrame:
    return realtime_cells.realtime_cells(of(*of_cells))


def test_a_cell_has_its_boundary_or_what_it_loses() -> None:
    found = cells(placed(), placed(None, case="B"), placed(None, 4e4, case="C")).set_index("case")
    assert found["answer"].tolist() == ["ndr", "loses", "loses"] and (found["n"] == 12).all()
    assert found["ndr_low_ns"]["A"] < 300 < found["ndr_high_ns"]["A"] < 400
    assert found.loc["A", "ndr_ns"] == pytest.approx(300, rel=0.05) and all(each.decides for each in found["every_pdr"])
    assert found["lost_percent"].tolist()[1:] == pytest.approx([2.0, 4.0])
    few = cells(placed()[:3])
    assert np.isnan(few["ndr_low_ns"][0]) and not few["every_pdr"][0].decides


def test_a_cell_is_as_weak_as_the_weakest_of_its_trials() -> None:
    rows = placed()
    rows[-1] |= {"majors": 0, "decides_long_pauses": False}
    (row,) = cells(rows).to_dict("records")
    assert not row["decides_long_pauses"]


def test_trials_of_searches_have_a_boundary_but_decide_nothing() -> None:
    found = cells(placed(mode="search"), [row | {"status": "failed"} for row in placed(case="B", mode="search")])
    assert found["ndr_ns"][0] == pytest.approx(300, rel=0.05) and found["n"][0] == 12
    assert not found["every_pdr"][0].decides and found["gap_word"][1] == "failed"


def test_what_trials_do_not_tell_apart_stays_open() -> None:
    assert realtime_report.verdict(cells(placed(), placed(305.0, strategy="alloc"))).startswith("**Inconclusive.**")
    assert realtime_report.verdict(cells(placed()).iloc[:0]).startswith("**Inconclusive.**")
    neither = realtime_report.pool_or_allocate(cells(placed(None), placed(None, strategy="alloc")))
    assert neither["decided"].tolist() == ["neither passes"]
    both = realtime_report.pool_or_allocate(cells(placed(case="B"), placed(None, strategy="alloc", case="B")))
    assert both["decided"].tolist() == ["pooling"] and both["ratio"].isna().all()
