"""Tables of packets for a reader; every figure has its interval and n."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd
from great_tables import GT, loc, style

from allocpool import decisions, stats
from allocpool.evidence.trials import gap_of, records
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
    cases, strategies = in_case_order(cells["case"]), present(STRATEGIES, cells["strategy"])
    wide = pd.DataFrame({"configuration": cell_data.configuration_order(cells)})
    columns = {(case, strategy): f"{case} {strategy}" for case in cases for strategy in strategies}
    for (case, strategy), name in columns.items():
        wide[name] = [texts.get((configuration, strategy, case), "") for configuration in wide["configuration"]]
    every = list(columns.values())
    table = (
        GT(wide, rowname_col="configuration")
        .tab_header(title=titles[0], subtitle=titles[1])
        .tab_stubhead(label="configuration")
        .fmt_passthrough(columns=every, escape=False)
        .cols_label({name: strategy for (_, strategy), name in columns.items()})
        .cols_align("right", columns=every)
        .tab_options(table_width="100%")
    )
    for case in cases:
        table = table.tab_spanner(f"case {case}, {what}", columns=[columns[case, strategy] for strategy in strategies])
    for (configuration, strategy, case), colour in fills:
        rows = wide.index[wide["configuration"] == configuration].tolist()
        table = table.tab_style(style.fill(colour), loc.body(columns=columns[case, strategy], rows=rows))
    return table


def key_of(row: pd.Series) -> Key:
    """Return which cell of a `configuration_grid` a row is."""
    return str(row["configuration"]), str(row["strategy"]), str(row["case"])


def costs_table(cells: pd.DataFrame) -> pd.DataFrame:
    """Return ns a packet with its interval, n and the published figure, one row per case and configuration, a column
    per strategy; ``cells`` comes from `allocpool.packets.cells.cells`."""
    rows = cells[cells["n"] > 0]
    texts = [
        f"{stats.significant(row.ns)} ({stats.ends(row.low, row.high)}), n = {row.n}"
        + ("" if pd.isna(row.published_ns) else f" [{stats.significant(row.published_ns)}]")
        for row in records(rows)
    ]
    wide = rows.assign(text=texts).pivot(index=["case", "configuration"], columns="strategy", values="text")
    order = pd.MultiIndex.from_product([in_case_order(rows["case"]), cell_data.configuration_order(rows)])
    wide = wide.loc[order[order.isin(wide.index)], present(STRATEGIES, rows["strategy"])]
    return wide.rename_axis(index=["case", "configuration"], columns=None).reset_index()


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
    rows: list[dict[str, Any]] = []
    sides: list[tuple[pd.Series, pd.Series]] = []
    for word in words:
        field, value, _ = OPTIONS[word]
        chosen = trials[trials[field].astype(str) == str(value)]
        for (label, strategy, case), group in chosen.groupby(list(CONFIGURATION), observed=True):
            plain = Configuration.of(group.iloc[0]).without(word).label
            own, base = (cell_data.by_block(trials, name, str(strategy), str(case)) for name in (str(label), plain))
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
    """Return `options_table` for a reader, with a word for each side."""
    shown = table.drop(columns=["option", "huge_pages_mb"])
    shown[["without_ns", "with_ns"]] = table[["without_ns", "with_ns"]].map(stats.significant)
    return shown.rename(
        columns={
            "without_ns": f"{without}, ns", "with_ns": f"{with_option}, ns", "why_not": "why not",
            "text": f"cost {with_option} over {without}",
        }
    )  # fmt: skip
