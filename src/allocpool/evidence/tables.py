"""Tables for a reader in one dress: any small one, and claims with their verdicts and evidence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd
from great_tables import GT, loc, style

from allocpool import stats
from allocpool.decisions import Comparison
from allocpool.evidence.claims import MIXED, OPEN, REFUTED, REPRODUCED, Verdict, tally, verdict_table

_OUTCOME_COLOURS = {REPRODUCED: "#1b7f3b", REFUTED: "#b00020", MIXED: "#8a5a00", OPEN: "#666666"}
_CHANCES = ("p", "p_against")


def verdicts_table(verdicts: Sequence[Verdict]) -> GT:
    """The claims with their verdicts, coloured, and how many of each there are."""
    rows = verdict_table(verdicts)
    table = plain_table(rows, "Published claims on this machine", tally(verdicts))
    for outcome, colour in _OUTCOME_COLOURS.items():
        where = rows.index[rows["verdict"] == outcome].tolist()
        table = table.tab_style(style.text(color=colour, weight="bold"), loc.body(columns="verdict", rows=where))
    return table


def evidence_table(verdicts: Iterable[Verdict], *shown: str) -> pd.DataFrame:
    """The numbers behind verdicts, one row per comparison; a claim with evidence of another kind tells it as facts.

    Of ``shown`` only, where that is given.
    """
    rows = []
    for verdict in verdicts:
        for item in verdict.evidence.to_dict("records"):
            if shown and item["shown"] not in shown:
                continue
            if "larger" in item:
                what = f"{item['larger']} over {item['smaller']}"
                spread = stats.ends(item["low"], item["high"])
                beware = f" ({item['remark']})" if item.get("remark") else ""
                numbers = (
                    f"{stats.significant(item['ratio'])} ({spread}), n = {item['trials']}: {item['shown']}{beware}"
                )
            else:
                *names, last = (name for name in item if name not in ("shown", *_CHANCES))
                what = " ".join(str(item[name]) for name in names)
                name = "" if isinstance(item[last], str) else f"{str(last).replace('_', ' ')} "
                numbers = f"{name}{_figure(item[last])}: {item['shown']}"
            row = {"claim": verdict.claim.id, "set-up": verdict.set_up, "comparison": what, "found": numbers}
            rows.append(row)
    table = pd.DataFrame(rows, columns=["claim", "set-up", "comparison", "found"])
    return table if table["set-up"].any() else table.drop(columns="set-up")


def _figure(value: Any) -> str:
    return value if isinstance(value, str) else stats.significant(float(value))


def comparisons(names: Sequence[Mapping[str, Any]], compared: Sequence[Comparison], ratio: str) -> pd.DataFrame:
    """Comparisons for a reader, one row each: its names, the ratio in words in column ``ratio``, trials of the smaller
    side, and, where any has such, what an average would hide with the ratio that the outermost trials have no part
    in."""
    rows = []
    for name, comparison in zip(names, compared, strict=True):
        told = comparison.decision
        hidden = f"{told.remark}; trimmed {stats.significant(told.trimmed_ratio)}" if told.remark else None
        rows.append({**name, ratio: comparison.text(), "n": told.n, "an average hides": hidden})
    table = pd.DataFrame(rows, columns=None if rows else [ratio, "n", "an average hides"])
    return table if table["an average hides"].notna().any() else table.drop(columns="an average hides")


def plain_table(rows: pd.DataFrame, title: str, note: str = "") -> GT:
    """Any small table in the same dress; ``None`` and NaN are shown as a dash."""
    table = (
        GT(rows)
        .tab_header(title=title)
        .sub_missing(missing_text="-")
        .tab_options(table_font_size="13px", data_row_padding="4px")
        .opt_align_table_header(align="left")
        .tab_options(table_margin_left="0px")
    )
    return table.tab_source_note(note) if note else table
