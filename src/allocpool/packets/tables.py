"""Tables of packets for a reader; every figure has its interval and n."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd
from great_tables import GT, loc, style

from allocpool import decisions, stats
from allocpool.evidence.trials import gap_of
from allocpool.packets import cells as cell_data
from allocpool.packets.cells import CONFIGURATION, present
from allocpool.packets.specs import OPTIONS, Configuration, in_case_order
from allocpool.packets.strategies import STRATEGIES

BEST_OVERALL = "#bfe3c0"
BEST_JAVA = "#ffe08a"
GAP = "#f3f3f3"
Key = tuple[str, str, str]
"""Configuration, strategy, case."""


def configuration_grid(
    cells: pd.DataFrame, texts: Mapping[Key, str], fills: Iterable[tuple[Key, str]], titles: tuple[str, str], what: str
) -> GT:
    """Return the article's form of a summary: rows are configurations, columns case by strategy, each a text in HTML.

    ``fills`` colours cells, later ones over earlier. ``titles`` are title and subtitle, ``what`` names the figures
    below each case.
    """
    strategies, order = present(STRATEGIES, cells["strategy"]), cell_data.configuration_order(cells)
    columns = {(case, name): f"{case} {name}" for case in in_case_order(cells["case"]) for name in strategies}
    wide = pd.DataFrame({"configuration": order}).assign(**{
        column: [texts.get((configuration, strategy, case), "") for configuration in order]
        for (case, strategy), column in columns.items()
    })  # fmt: skip
    table = (
        GT(wide, rowname_col="configuration")
        .tab_header(title=titles[0], subtitle=titles[1])
        .tab_stubhead(label="configuration")
        .fmt_passthrough(columns=list(columns.values()), escape=False)
        .cols_label({name: strategy for (_, strategy), name in columns.items()})
        .cols_align("right", columns=list(columns.values()))
        .tab_options(table_width="100%")
    )
    for case in in_case_order(cells["case"]):
        table = table.tab_spanner(f"case {case}, {what}", columns=[columns[case, strategy] for strategy in strategies])
    for (configuration, strategy, case), colour in fills:
        where = loc.body(columns=columns[case, strategy], rows=[order.index(configuration)])
        table = table.tab_style(style.fill(colour), where)
    return table


def key_of(row: pd.Series) -> Key:
    """Return which cell of a `configuration_grid` a row is."""
    return str(row["configuration"]), str(row["strategy"]), str(row["case"])


def gaps_table(cells: pd.DataFrame, plan: pd.DataFrame) -> pd.DataFrame:
    """Return what has no figure: one row per configuration and reason, with the cells it covers.

    First what was planned (failed, unavailable, not run yet), then how many configurations the profile leaves out.
    """
    rows = cells[cells["gap"].notna()]
    folded = []
    for (configuration, gap), group in rows.groupby(["configuration", "gap"], sort=False):
        everything = len(group) == (cells["configuration"] == configuration).sum()
        parts = [f"{case}: {' '.join(present(STRATEGIES, part['strategy']))}" for case, part in group.groupby("case")]
        folded.append((configuration, "all" if everything else ", ".join(parts), gap))
    for reason, group in plan[~plan["planned"].astype(bool)].groupby("left_out_because", sort=False):
        whose = group["configuration"].iloc[0] if len(group) == 1 else f"{len(group)} more configurations"
        folded.append((whose, "all", reason))
    return pd.DataFrame(folded, columns=["configuration", "cells", "reason"])


def options_table(trials: pd.DataFrame, *words: str) -> pd.DataFrame:
    """Return what these options change: one row per configuration with one of them, strategy and case, against the same
    without it, all decided together.

    Columns: option, configuration (without it), strategy, case, without_ns, with_ns, text (cost with over without),
    huge_pages_mb (of the process, at the end), why_not.
    """
    costs, none = cell_data.costs_by_cell(trials), pd.Series(dtype=float)
    rows, sides = [], []
    for word in words:
        field, value, _ = OPTIONS[word]
        chosen = trials[trials[field].astype(str) == str(value)]
        for (label, strategy, case), group in chosen.groupby(list(CONFIGURATION), observed=True):
            plain = Configuration.of(group.iloc[0]).without(word).label
            own, base = (costs.get((str(name), str(strategy), str(case)), none) for name in (label, plain))
            sides.append((own, base))
            means = [stats.geometric_mean(side) if len(side) else float("nan") for side in (base, own)]
            rows.append((word, plain, strategy, case, *means, group["huge_pages_mb"].max(), gap_of(group).text))
    names = ["option", "configuration", "strategy", "case", "without_ns", "with_ns", "huge_pages_mb", "why_not"]
    table, compared = pd.DataFrame(rows, columns=names), decisions.compare_together(sides)
    table.insert(6, "text", [each.text() for each in compared])
    measured = pd.Series([bool(each.ratio) for each in compared], table.index, dtype=bool)
    return table.assign(huge_pages_mb=table["huge_pages_mb"].round(), why_not=table["why_not"].mask(measured))


def options_grid(table: pd.DataFrame, with_option: str, without: str) -> pd.DataFrame:
    """Return `options_table` for a reader, with a word for each side."""
    shown = table.drop(columns=["option", "huge_pages_mb"])
    shown[["without_ns", "with_ns"]] = table[["without_ns", "with_ns"]].map(stats.significant)
    names = {"without_ns": f"{without}, ns", "with_ns": f"{with_option}, ns", "why_not": "why not"}
    return shown.rename(columns=names | {"text": f"cost {with_option} over {without}"})
