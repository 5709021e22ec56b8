"""Tables of packets for a reader: the article's summary in its own form, and the smaller ones beside it.

Every figure carries its interval and n, with the published figure below it; an empty cell says why it is
empty.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd
from great_tables import GT, loc, style

from allocpool import decisions, stats
from allocpool.evidence.tables import TableOrWords
from allocpool.evidence.trials import gap_of, records
from allocpool.packets import cells as cell_data
from allocpool.packets.cells import present
from allocpool.packets.comparisons import in_minutes
from allocpool.packets.published import ARTICLE
from allocpool.packets.specs import OPTIONS, Configuration, in_case_order
from allocpool.packets.strategies import CHOICES, STRATEGIES

BEST_OVERALL = "#bfe3c0"
BEST_JAVA = "#ffe08a"
SECOND_JAVA = "#fff3cf"
GAP = "#f3f3f3"
_WRAPPED = "font-size:0.82em;line-height:1.25;color:#555;display:inline-block"
_SMALL = f"{_WRAPPED};white-space:nowrap"


def _cell_html(row: pd.Series) -> str:
    published = "" if pd.isna(row["published_ns"]) else f"pub. {stats.significant(row['published_ns'])}"
    if pd.notna(row["gap"]):
        # The whole reason is a line of the table of gaps; here it would widen the column.
        reason, word = html.escape(str(row["gap"]), quote=True), html.escape(str(row["gap_word"]), quote=True)
        return f'<span style="{_WRAPPED}"><em title="{reason}">{word}</em><br>{published}</span>'
    spread = (
        []
        if row["method"] in ("one trial", stats.SPREAD_UNKNOWN)
        else [f"{stats.significant(row['low'])}\u2013{stats.significant(row['high'])}"]
    )
    notes = [*spread, f"n = {row['n']}", *([published] if published else [])]
    if pd.notna(row["remark"]):
        remark = html.escape(str(row["remark"]), quote=True)
        notes.append(f'<em title="{remark}">trimmed {stats.significant(row["trimmed_ns"])}</em>')
    if pd.notna(row["partial"]):
        notes.append(html.escape(str(row["partial"])))
    return f'<strong>{stats.significant(row["ns"])}</strong><br><span style="{_SMALL}">{"<br>".join(notes)}</span>'


BEST, BEST_IN_JAVA, SECOND_IN_JAVA = "best overall", "best Java", "second-best Java"


def highlights(cells: pd.DataFrame) -> pd.DataFrame:
    """Per case, over all strategies and collectors but controls: the cheapest cell overall, the
    cheapest and the second-cheapest in Java.

    Columns: case, strategy, configuration, rank (``best overall``, ``best Java``, ``second-best Java``), of (cells that
    it is the cheapest of), not_dearer (as many of the others as are not shown to be dearer). The second-best Java cell
    belongs to another configuration than the best one, so that it is a second choice rather than the same again, and is
    not judged.

    The same trials choose the cheapest cell and judge it, so it is put to every other one, at two-sided 5%: none that
    is not dearer, and it is the cheapest, falsely in 5% (Gutmann and Maymin, "Is the selected population the best?",
    Annals of Statistics 15, 1987).
    """
    rows = []
    choices = cells["strategy"].isin(CHOICES) & ~cells["collector"].isin(cell_data.CONTROLS)
    measured = cells[cells["ns"].notna() & choices]
    for case, group in measured.groupby("case"):
        ordered = group.sort_values("ns", kind="stable")
        java = ordered[ordered["language"] == "java"]
        ranked = [(BEST, ordered, ordered[:1]), (BEST_IN_JAVA, java, java[:1])]
        ranked.append((SECOND_IN_JAVA, java[:0], java.drop_duplicates("configuration")[1:2]))
        for rank, rivals, chosen in ranked:
            for cell in records(chosen):
                others = rivals[rivals.index != cell.Index]
                dearer = sum(decisions.compare(costs, cell.costs).direction > 0 for costs in others["costs"])
                rows.append({
                    "case": case, "strategy": cell.strategy, "configuration": cell.configuration, "rank": rank,
                    "of": len(rivals), "not_dearer": len(others) - dearer,
                })  # fmt: skip
    return pd.DataFrame(rows, columns=["case", "strategy", "configuration", "rank", "of", "not_dearer"])


Key = tuple[str, str, str]
"""Configuration, strategy, case."""


def configuration_grid(
    cells: pd.DataFrame, texts: Mapping[Key, str], fills: Iterable[tuple[Key, str]], titles: tuple[str, str], what: str
) -> GT:
    """The article's form of a summary: rows are configurations, columns case by strategy, each with a text in HTML.

    ``fills`` colours cells, later ones over earlier. ``titles`` are title and subtitle, ``what`` says below each case
    what the figures are.
    """
    cases, strategies = in_case_order(cells["case"]), present(STRATEGIES, cells["strategy"])
    wide = pd.DataFrame({"configuration": cell_data.configuration_order(cells)})
    columns = {(case, strategy): f"{case} {strategy}" for case in cases for strategy in strategies}
    for (case, strategy), name in columns.items():
        wide[name] = [texts.get((configuration, strategy, case), "") for configuration in wide["configuration"]]
    table = (
        GT(wide, rowname_col="configuration")
        .tab_header(title=titles[0], subtitle=titles[1])
        .tab_stubhead(label="configuration")
        .fmt_passthrough(columns=list(columns.values()), escape=False)
        .cols_label({name: strategy for (_, strategy), name in columns.items()})
        .cols_align("right", columns=list(columns.values()))
        .tab_options(table_width="100%")
    )
    for case in cases:
        table = table.tab_spanner(
            label=f"case {case}, {what}", columns=[columns[case, strategy] for strategy in strategies]
        )
    for (configuration, strategy, case), colour in fills:
        rows = wide.index[wide["configuration"] == configuration].tolist()
        table = table.tab_style(style.fill(colour), loc.body(columns=columns[case, strategy], rows=rows))
    return table


def key_of(row: pd.Series) -> Key:
    """Which cell of a `configuration_grid` a row is."""
    return str(row["configuration"]), str(row["strategy"]), str(row["case"])


def summary_table(cells: pd.DataFrame, title: str, subtitle: str) -> TableOrWords:
    """The article's summary, figures in ns/packet.

    Highlighted per case: best overall, best Java, second-best Java (see `highlights`). ``cells`` comes from
    `allocpool.packets.cells.cells`.
    """
    marks = highlights(cells)
    colours = {SECOND_IN_JAVA: SECOND_JAVA, BEST_IN_JAVA: BEST_JAVA, BEST: BEST_OVERALL}
    fills = [
        (key_of(mark), colour)
        for rank, colour in colours.items()
        for _, mark in marks[marks["rank"] == rank].iterrows()
    ]
    fills += [(key_of(row), GAP) for _, row in cells[cells["gap"].notna()].iterrows()]
    table = configuration_grid(
        cells,
        {key_of(row): _cell_html(row) for _, row in cells.iterrows()},
        fills,
        (title, subtitle),
        "ns per packet",
    ).tab_options(
        table_font_size="12px",
        data_row_padding="3px",
        data_row_padding_horizontal="3px",
        column_labels_padding_horizontal="3px",
    )
    return table.tab_source_note(
        f"Geometric mean over trials. {cell_data.spread_caption(cells)} Per case, green: best overall; "
        f"amber: best Java; pale amber: second-best Java configuration. {_sure_of(marks)}trimmed: where the mean hides "
        "two speeds or trials far off, the mean without the largest and the smallest fifth. "
        f"pub.: {ARTICLE}, on another machine and Java 8 (ZGC: 11)."
    )


def _sure_of(marks: pd.DataFrame) -> str:
    """Which of the best cells are shown to be, in words."""
    best = marks[marks["rank"] == BEST]
    told = [
        f"in case {row.case} it is shown to be the cheapest of {row.of}"
        if row.not_dearer == 0
        else f"in case {row.case} {row.not_dearer} of {row.of - 1} others may be as cheap"
        for row in records(best)
    ]
    return f"Of green, {'; '.join(told)}. " if told else ""


def gaps_table(cells: pd.DataFrame, plan: pd.DataFrame) -> pd.DataFrame:
    """What has no figure, folded: one row per configuration and reason, with the cells it covers.

    First what was planned (failed, unavailable, not run yet), then how many configurations the profile leaves out.
    """
    rows = cells[cells["gap"].notna()]
    folded = []
    for (configuration, gap), group in rows.groupby(["configuration", "gap"], sort=False):
        everything = len(group) == len(cells[cells["configuration"] == configuration])
        parts = [f"{case}: {' '.join(present(STRATEGIES, part['strategy']))}" for case, part in group.groupby("case")]
        folded.append(
            {"configuration": configuration, "cells": "all" if everything else ", ".join(parts), "reason": gap}
        )
    for reason, group in plan[~plan["planned"].astype(bool)].groupby("left_out_because", sort=False):
        whose = group["configuration"].iloc[0] if len(group) == 1 else f"{len(group)} more configurations"
        folded.append({"configuration": whose, "cells": "all", "reason": reason})
    return pd.DataFrame(folded, columns=["configuration", "cells", "reason"])


def comparison_table(trials: pd.DataFrame, numerator: str = "alloc", denominator: str = "pool") -> pd.DataFrame:
    """Per configuration and case that both were tried of, how much more ``numerator`` costs than ``denominator``; all
    that can run here are decided together.

    So ``trials`` are those of one study at one scale, and what is not to be told is left out of the result: of fewer
    trials the verdicts would be other ones than those of the campaign (`allocpool.campaign.schedule.decisions_of`).

    Columns: configuration, case, ratio, low, high, n (trials of the smaller side; 0 where one has no figure), direction
    (1, -1, 0: neither is shown), equivalent (no difference that matters is shown), more_trials (of each side until it
    is decided as noise goes, 0 where it is; NaN: too noisy to say), more_minutes (the same as time; NaN where unknown),
    trimmed_ratio, remark (what an average would hide), text.
    """
    tried = set(zip(trials["configuration"], trials["strategy"], trials["case"], strict=True))
    pairs = [
        (configuration, case)
        for configuration in cell_data.configuration_order(trials)
        for case in in_case_order(trials["case"])
        if {(configuration, numerator, case), (configuration, denominator, case)} <= tried
    ]
    costs, none = cell_data.costs_by_cell(trials), pd.Series(dtype=float)
    runs = trials[trials["status"] != "unavailable"]
    can_run = set(zip(runs["configuration"], runs["strategy"], runs["case"], strict=True))
    asked = [(s, case) for s, case in pairs if {(s, numerator, case), (s, denominator, case)} <= can_run]
    sides = [(costs.get((s, numerator, case), none), costs.get((s, denominator, case), none)) for s, case in asked]
    together = dict(zip(asked, decisions.compare_together(sides), strict=True))
    compared = [together.get(pair) or decisions.compare(none, none) for pair in pairs]
    seconds = cell_data.with_cost(trials).groupby(list(cell_data.CONFIGURATION), observed=True)["wall_s"].median()
    rows = []
    for (configuration, case), item in zip(pairs, compared, strict=True):
        told = item.decision
        more = math.nan if told.blocks_needed is None else float(told.blocks_needed)
        both_s = sum(seconds.get((configuration, strategy, case), math.nan) for strategy in (numerator, denominator))
        row = {
            "configuration": configuration, "case": case, "ratio": told.ratio, "low": told.low, "high": told.high,
            "n": told.n,
            "direction": item.direction, "equivalent": item.equivalent, "more_trials": more,
            "more_minutes": more * both_s / 60, "trimmed_ratio": told.trimmed_ratio,
            "remark": told.remark.replace("a: ", f"{numerator}: ").replace("b: ", f"{denominator}: "),
        }  # fmt: skip
        rows.append({**row, "text": _comparison_text(row, numerator, denominator)})
    columns = [
        "configuration", "case", "ratio", "low", "high", "n", "direction", "equivalent", "more_trials", "more_minutes",
        "trimmed_ratio", "remark", "text",
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


def _comparison_text(row: Mapping[str, Any], numerator: str, denominator: str) -> str:
    """``pool cheaper by 3.10 (2.90 to 3.40), n = 5``; ``no difference that matters, 1.02 (0.97 to 1.08), n = 15``;
    ``open, 1.20 (0.90 to 1.60), n = 5: about 3 more trials each, a minute``."""
    if row["n"] == 0:
        return "not measured"
    ratio, low, high = row["ratio"], row["low"], row["high"]
    if row["direction"] < 0:
        ratio, low, high = 1 / ratio, 1 / high, 1 / low
    spread = "" if math.isnan(low) else f" ({stats.ends(low, high)})"
    figures = f"{stats.significant(ratio)}{spread}, n = {row['n']}"
    if row["direction"]:
        return f"{denominator if row['direction'] > 0 else numerator} cheaper by {figures}"
    if row["equivalent"]:
        return f"no difference that matters, {figures}"
    if math.isnan(row["more_trials"]):
        return f"open, {figures}: too noisy"
    minutes = "" if math.isnan(row["more_minutes"]) else f", {in_minutes(row['more_minutes'])}"
    least = "at least" if row["n"] < decisions.FEWEST else "about"
    return f"open, {figures}: {least} {row['more_trials']:.0f} more trials each{minutes}"


def options_table(trials: pd.DataFrame, *words: str) -> pd.DataFrame:
    """What these options change: one row per configuration with one of them, strategy and case, beside the same without
    it, all decided together.

    Columns: option, configuration (without it), strategy, case, without_ns, with_ns, text (cost with over without),
    huge_pages_mb (of the process, at the end), why_not.
    """
    rows: list[dict[str, Any]] = []
    sides: list[tuple[pd.Series, pd.Series]] = []
    for word in words:
        field, value, _ = OPTIONS[word]
        chosen = trials[trials[field].astype(str) == str(value)]
        for (label, strategy, case), group in chosen.groupby(["configuration", "strategy", "case"], observed=True):
            plain = Configuration.of(group.iloc[0]).without(word).label
            base = cell_data.by_block(trials, plain, str(strategy), str(case))
            own = cell_data.by_block(trials, str(label), str(strategy), str(case))
            sides.append((own, base))
            granted_mb = group["huge_pages_mb"].max()
            rows.append({
                "option": word, "configuration": plain, "strategy": strategy, "case": case,
                "without_ns": stats.geometric_mean(base) if len(base) else float("nan"),
                "with_ns": stats.geometric_mean(own) if len(own) else float("nan"),
                "huge_pages_mb": None if pd.isna(granted_mb) else round(float(granted_mb)),
                "why_not": gap_of(group).text,
            })  # fmt: skip
    for row, compared in zip(rows, decisions.compare_together(sides), strict=True):
        row["text"] = compared.text()
        row["why_not"] = None if compared.ratio else row["why_not"]
    names = ["option", "configuration", "strategy", "case", "without_ns", "with_ns", "text", "huge_pages_mb", "why_not"]
    return pd.DataFrame(rows, columns=names)


def options_grid(table: pd.DataFrame, with_option: str, without: str) -> pd.DataFrame:
    """`options_table` for a reader, with a word for each side."""
    shown = table.drop(columns=["option", "huge_pages_mb"]).assign(
        without_ns=table["without_ns"].map(stats.significant), with_ns=table["with_ns"].map(stats.significant)
    )
    return shown.rename(
        columns={
            "without_ns": f"{without}, ns", "with_ns": f"{with_option}, ns", "why_not": "why not",
            "text": f"cost {with_option} over {without}",
        }
    )  # fmt: skip
