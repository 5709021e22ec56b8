"""Tidy tables of the made-up study."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
from allocpool.studies.toy.measurement import ToyMeasurement
from pandera.pandas import Column, DataFrameSchema

from allocpool.campaign.tidy import POSITIVE, TRIAL_COLUMNS, Rows, frames, number, read_trial, trial_row, whole
from allocpool.trial.record import TrialRecord

TRIALS = DataFrameSchema(
    {
        **TRIAL_COLUMNS,
        "terms": Column("int64", POSITIVE, description="numbers that are added"),
        "total": whole("their sum"),
        "sum_us": number("how long that took, us"),
    },
    strict=True,
    coerce=True,
)
SCHEMAS = {"trials": TRIALS}


def _rows_of(record: TrialRecord) -> Rows:
    measured = read_trial(record, ToyMeasurement).measurement
    row = {**trial_row(record), "terms": record.spec["terms"]}
    if measured is not None:
        row |= {"total": measured["total"], "sum_us": measured["sum_ns"] / 1e3}
    return {"trials": [row]}


def tidy_toy(records: Sequence[TrialRecord]) -> dict[str, pd.DataFrame]:
    """Table ``trials``."""
    return frames(records, _rows_of, SCHEMAS)


def summarise_toy(record: TrialRecord) -> dict[str, Any]:
    """The row of table ``trials``."""
    return dict(_rows_of(record)["trials"][0])
