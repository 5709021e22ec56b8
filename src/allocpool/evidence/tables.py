"""Tables for a reader: the article's summary in its own form, and the smaller ones beside it.

Every figure carries its interval and n, with the published figure below it; an empty cell says why it is
empty.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

import pandas as pd
from great_tables import GT, loc, style

from allocpool import stats
from allocpool.evidence import reference
from allocpool.evidence.claims import INCONCLUSIVE, REFUTED, REPRODUCED, Verdict, tally, verdict_table
from allocpool.packets import cells as cell_data
from allocpool.packets.cells import records
from allocpool.packets.specs import CASES
from allocpool.packets.strategies import STRATEGIES

BEST_OVERALL = "#bfe3c0"
BEST_JAVA = "#ffe08a"
SECOND_JAVA = "#fff3cf"
GAP = "#f3f3f3"
_OUTCOME_COLOURS = {REPRODUCED: "#1b7f3b", REFUTED: "#b00020", INCONCLUSIVE: "#666666"}
_WRAPPED = "font-size:0.82em;line-height:1.25;color:#555;display:inline-block"
_SMALL = f"{_WRAPPED};white-space:nowrap"


def _present(order: Iterable[str], values: pd.Series) -> list[str]:
    found = set(values.dropna())
    return [name for name in order if name in found]


def _cell_html(row: pd.Series) -> str:
    published = "" if pd.isna(row["published_ns"]) else f"pub. {stats.significant(row['published_ns'])}"
    if pd.notna(row["gap"]):
        # The whole reason is a line of the table of gaps; here it would widen the column.
        reason = html.escape(str(row["gap"]), quote=True)
        head = reason.partition(":")[0]
        return f'<span style="{_WRAPPED}"><em title="{reason}">{head}</em><br>{published}</span>'
    spread = (
        []
        if row["method"] == "one trial"
        else [f"{stats.significant(row['low'])}\u2013{stats.significant(row['high'])}"]
    )
    notes = [*spread, f"n = {row['n']}", *([published] if published else [])]
    if pd.notna(row["unstable"]):
        notes.append("unstable")
    if pd.notna(row["partial"]):
        notes.append(html.escape(str(row["partial"])))
    return f'<strong>{stats.significant(row["ns"])}</strong><br><span style="{_SMALL}">{"<br>".join(notes)}</span>'


def highlights(cells: pd.DataFrame) -> pd.DataFrame:
    """Per case, over all strategies but ``dummy`` and all collectors but controls: the cheapest cell overall, the
    cheapest and the second-cheapest in Java.

    Columns: case, strategy, solution, rank (``best overall``, ``best Java``, ``second-best Java``). The
    second-best Java cell belongs to another solution than the best one, so that it is a second choice
    rather than the same again.
    """
    rows = []
    choices = (cells["strategy"] != "dummy") & ~cells["collector"].isin(cell_data.CONTROLS)
    good = cells[cells["ns"].notna() & choices]
    for case, group in good.groupby("case"):
        java = group[group["language"] == "java"].sort_values("ns").drop_duplicates("solution").head(2)
        ranked = pd.concat([group.nsmallest(1, "ns"), java])
        ranks = ("best overall", "best Java", "second-best Java")
        rows += [
            {"case": case, "strategy": cell.strategy, "solution": cell.solution, "rank": rank}
            for rank, cell in zip(ranks, records(ranked), strict=False)
        ]
    return pd.DataFrame(rows, columns=["case", "strategy", "solution", "rank"])


def summary_table(cells: pd.DataFrame, title: str, subtitle: str) -> GT:
    """The article's summary: rows are solutions, columns case by strategy, figures in ns/packet.

    Highlighted per case: best overall, best Java, second-best Java (see `highlights`). ``cells`` comes from
    `allocpool.packets.cells.cells`.
    """
    shown = cells.copy()
    shown["text"] = [_cell_html(row) for _, row in shown.iterrows()]
    cases, strategies = _present(CASES, shown["case"]), _present(STRATEGIES, shown["strategy"])
    wide = pd.DataFrame({"solution": cell_data.solution_order(shown)})
    lookup = shown.set_index(["solution", "case", "strategy"])
    for case in cases:
        for strategy in strategies:
            wide[f"{case} {strategy}"] = [
                lookup["text"].get((solution, case, strategy), "") for solution in wide["solution"]
            ]
    names = [str(name) for name in wide if name != "solution"]
    table = (
        GT(wide, rowname_col="solution")
        .tab_header(title=title, subtitle=subtitle)
        .tab_stubhead(label="solution")
        .fmt_passthrough(columns=names, escape=False)
        .cols_label({name: name.split()[1] for name in names})
        .cols_align("right", columns=names)
        .tab_options(
            table_font_size="12px",
            data_row_padding="3px",
            data_row_padding_horizontal="3px",
            column_labels_padding_horizontal="3px",
            table_width="100%",
        )
    )
    for case in cases:
        table = table.tab_spanner(label=f"case {case}, ns per packet", columns=[n for n in names if n[0] == case])
    colours = {"second-best Java": SECOND_JAVA, "best Java": BEST_JAVA, "best overall": BEST_OVERALL}
    marks = highlights(shown)
    for rank, colour in colours.items():
        for mark in records(marks[marks["rank"] == rank]):
            table = table.tab_style(
                style.fill(colour),
                loc.body(
                    columns=f"{mark.case} {mark.strategy}",
                    rows=wide.index[wide["solution"] == mark.solution].tolist(),
                ),
            )
    for gap in records(shown[shown["gap"].notna()]):
        table = table.tab_style(
            style.fill(GAP),
            loc.body(
                columns=f"{gap.case} {gap.strategy}",
                rows=wide.index[wide["solution"] == gap.solution].tolist(),
            ),
        )
    return table.tab_source_note(
        f"Geometric mean over trials. {cell_data.spread_caption(cells)} Per case, green: best overall; "
        f"amber: best Java; pale amber: second-best Java solution. pub.: {reference.ARTICLE}, "
        "on another machine and Java 8 (ZGC: 11)."
    )


def gaps_table(cells: pd.DataFrame, plan: pd.DataFrame) -> pd.DataFrame:
    """What has no figure, folded: one row per solution and reason, with the cells it covers.

    First what was planned (failed, unavailable, not run yet), then the solutions that the profile leaves out.
    """
    rows = cells[cells["gap"].notna()]
    folded = []
    for (solution, gap), group in rows.groupby(["solution", "gap"], sort=False):
        everything = len(group) == len(cells[cells["solution"] == solution])
        parts = [f"{case}: {' '.join(_present(STRATEGIES, part['strategy']))}" for case, part in group.groupby("case")]
        folded.append({"solution": solution, "cells": "all" if everything else ", ".join(parts), "reason": gap})
    for row in records(plan[~plan["planned"].astype(bool)]):
        folded.append({"solution": row.solution, "cells": "all", "reason": row.left_out_because})
    return pd.DataFrame(folded, columns=["solution", "cells", "reason"])


def comparison_table(trials: pd.DataFrame, numerator: str = "alloc", denominator: str = "pool") -> pd.DataFrame:
    """Per solution and case, how much more ``numerator`` costs than ``denominator``, paired within blocks.

    Columns: solution, case, ratio, low, high, n (blocks), method, direction (1, -1, 0: no difference
    shown), text.
    """
    noise = stats.noise_band(cell_data.finished(trials), cell_data.CONFIGURATION)
    rows = []
    for solution in cell_data.solution_order(trials):
        for case in _present(CASES, trials["case"]):
            found = stats.compare(
                cell_data.by_block(trials, solution, numerator, case),
                cell_data.by_block(trials, solution, denominator, case),
                noise,
            )
            ratio = found.ratio
            rows.append(
                {
                    "solution": solution,
                    "case": case,
                    "ratio": ratio.estimate if ratio else float("nan"),
                    "low": ratio.low if ratio else float("nan"),
                    "high": ratio.high if ratio else float("nan"),
                    "n": ratio.trials if ratio else 0,
                    "method": ratio.method if ratio else None,
                    "direction": found.direction,
                    "text": found.text(),
                }
            )
    return pd.DataFrame(rows)


def comparison_grid(compared: pd.DataFrame) -> pd.DataFrame:
    """A table of comparisons as a grid: one row per solution, one column per case, the ratio in words in each."""
    grid = compared.pivot(index="solution", columns="case", values="text").reindex(compared["solution"].unique())
    grid.columns = [f"case {case}" for case in grid.columns]
    return grid.reset_index()


def verdicts_table(verdicts: Sequence[Verdict]) -> GT:
    """The claims with their verdicts, coloured, and how many of each there are."""
    rows = verdict_table(verdicts)
    table = plain_table(rows, "Published claims on this machine", tally(verdicts))
    for outcome, colour in _OUTCOME_COLOURS.items():
        where = rows.index[rows["verdict"] == outcome].tolist()
        table = table.tab_style(style.text(color=colour, weight="bold"), loc.body(columns="verdict", rows=where))
    return table


def evidence_table(verdicts: Iterable[Verdict]) -> pd.DataFrame:
    """The numbers behind verdicts, one row per comparison; a claim with evidence of another kind tells it as facts."""
    rows = []
    for verdict in verdicts:
        for item in verdict.evidence.to_dict("records"):
            if "larger" in item:
                what = f"{item['larger']} over {item['smaller']}"
                spread = f"{stats.significant(item['low'])} to {stats.significant(item['high'])}"
                found = f"{stats.significant(item['ratio'])} ({spread}), {item['blocks']} blocks: {item['shown']}"
            else:
                *names, last = item
                what = " ".join(str(item[name]) for name in names)
                found = f"{str(last).replace('_', ' ')} {stats.significant(float(item[last]))}"
            rows.append({"claim": verdict.claim.id, "comparison": what, "found": found})
    return pd.DataFrame(rows, columns=["claim", "comparison", "found"])


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
