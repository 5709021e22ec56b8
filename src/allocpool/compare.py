"""``allocpool compare FILE.csv``: decide between two sides by anybody's trials."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

from allocpool.decisions import CONFIDENCE, EFFECT, decide_together, in_words
from allocpool.errors import UserError, unknown_choice

SIDES = ("a", "b")
_COLUMNS = ("block", "side", "value")


def read_trials(path: Path) -> pd.DataFrame:
    """Trials of a file in order of their blocks: block, side, value and cell, which is empty where the file has none.

    Raises:
        UserError: no such file, a column or a side that is unknown or missing, a value that is no positive number.
    """
    try:
        table = pd.read_csv(path, dtype={"side": str, "cell": str}, skipinitialspace=True)
    except (OSError, UnicodeDecodeError, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise UserError(f"{path} can't be read as CSV: {' '.join(str(error).split())}") from None
    known = (*_COLUMNS, "cell")
    for column in _COLUMNS:
        if column not in table:
            raise UserError(f"{path} has no column {column!r}: it needs {', '.join(_COLUMNS)} and may have cell")
    for column in map(str, table.columns):
        if column not in known:
            raise unknown_choice("column", column, known)
    for side in table["side"]:
        if side not in SIDES:
            raise unknown_choice("side", side, SIDES)
    if table.empty:
        raise UserError(f"{path} has no trial: it needs a line for each")
    values = pd.to_numeric(table["value"], errors="coerce")
    wrong = ~((values > 0) & np.isfinite(values))
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise UserError(f"{path}, line {row + 2}: value {table['value'].iloc[row]} is not a positive number")
    if "cell" not in table:
        table["cell"] = ""
    return table.assign(value=values.astype(float), cell=table["cell"].fillna("")).sort_values("block", kind="stable")


def compare(trials: pd.DataFrame, effect: float = EFFECT, confidence: float = CONFIDENCE) -> list[dict[str, Any]]:
    """One object per cell, as ``--json`` prints it; ``trials`` as `read_trials` gives them."""
    cells = [(str(cell), group) for cell, group in trials.groupby("cell", sort=False)]
    sides = [
        tuple(group.loc[group["side"] == side, "value"].astype(float).tolist() for side in SIDES) for _, group in cells
    ]
    decisions = decide_together([(a, b) for a, b in sides], effect, round(1 - confidence, 12))
    rows = []
    for (cell, _), (a, b), decision in zip(cells, sides, decisions, strict=True):
        numbers = {
            key: None if isinstance(value, float) and not math.isfinite(value) else value
            for key, value in asdict(decision).items()
        }
        rows.append({"cell": cell, **numbers, "n_a": len(a), "n_b": len(b), "sentence": in_words(decision, *SIDES)})
    return rows


@click.command("compare", context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--effect", default=EFFECT, show_default=True, help="The smallest ratio that matters, above 1.")
@click.option("--confidence", default=CONFIDENCE, show_default=True, help="Of all that is decided, at any time.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def compare_command(file: Path, effect: float, confidence: float, as_json: bool) -> None:
    """Which side costs less? Decide by the trials in FILE, a CSV with the columns block, side (a or b) and value.

    A value is the cost of one trial, in any unit; blocks are in order of time. With a column `cell` each cell is
    decided, and all of them together stay at the confidence. Look as often as you like, and stop when you like: the
    verdicts stay valid.

    \b
    a_cheaper, b_cheaper   by the ratio a/b, in the interval from low to high
    equivalent             the ratio is nearer to 1 than what matters
    open                   not decided; blocks_needed says about how many more would do
    """
    if not 1 < effect < math.inf:
        raise UserError(f"--effect {effect:g} is no ratio that matters: give one above 1, for example 1.1")
    if not 0.5 <= confidence < 1:
        raise UserError(f"--confidence {confidence:g} is out of range: give 0.5 to below 1, for example 0.95")
    rows = compare(read_trials(file), effect, confidence)
    if as_json:
        settings = {"effect": effect, "confidence": confidence}
        click.echo(json.dumps({**settings, **(rows[0] if len(rows) == 1 else {}), "cells": rows}, indent=1))
        return
    for row in rows:
        name = f"{row['cell']}: " if row["cell"] else ""
        remark = f" [{row['remark']}; trimmed ratio {row['trimmed_ratio']:.3g}]" if row["remark"] else ""
        click.echo(f"{name}{row['sentence']}, n = {row['n_a']} and {row['n_b']}{remark}")
