"""Tables for a reader in one dress: any small one, and claims with their verdicts and evidence."""

from __future__ import annotations

import html
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from great_tables import GT, loc, style
from pandas.api.types import is_numeric_dtype

from allocpool import stats
from allocpool.decisions import Comparison
from allocpool.evidence.claims import (
    AS_PUBLISHED,
    MIXED,
    NOT_MEASURED,
    OPEN,
    OTHER_WAY,
    REFUTED,
    Verdict,
    published_says,
    tally,
    told_missing,
)
from allocpool.evidence.shown import Nothing, Shown, region
from allocpool.evidence.trials import spelled_out

_CHANCES = ("p", "p_against")
NOT_TESTED = "not tested"
"""Of a claim of whose comparisons none was measured, where another one is open."""
CANNOT = "this machine can't"
"""Of a claim that was not tested since the machine lacks what it takes: processors."""
_AFTER_DECIDED = {OPEN: 1, NOT_TESTED: 2, CANNOT: 3}
_NUMBERS = ("effect", "from", "to", "n")
_EVIDENCE = "evidence"
_COLUMNS = ("claim", "verdict", "judged on", *_NUMBERS, _EVIDENCE, "its own figures", "found", "missing", "source")
_CSS = {
    **dict.fromkeys(_NUMBERS, "number"),
    **dict.fromkeys(("claim", "found", "missing"), "long"),
    **dict.fromkeys((_EVIDENCE, "its own figures", "source"), "wide"),
}


@dataclass(frozen=True)
class Judged:
    """The verdicts of one study; ``page``: where its evidence is, empty on its own page."""

    verdicts: Sequence[Verdict]
    page: str = ""
    title: str = ""


def outcome_of(verdict: Verdict) -> str:
    """The verdict in a word: what nothing was measured of is not tested, or can't be on this machine."""
    if verdict.outcome != OPEN or (verdict.evidence["shown"] != NOT_MEASURED).any():
        return verdict.outcome
    lacks = [item.why.startswith("this machine") for item in verdict.missing]
    return CANNOT if lacks and all(lacks) else NOT_TESTED


def claim_rows(judged: Iterable[Judged]) -> pd.DataFrame:
    """One row per verdict: claim, source, what the source's own figures say, the set-up that it was judged on, verdict,
    and the comparison that decides it (effect, above 1 as claimed, its interval and trials); also id and page.

    Of a claim that is refuted or mixed the comparison is the one most surely against it, else the one that is least
    surely for it.
    """
    rows = []
    for part in judged:
        for verdict in part.verdicts:
            effect = _deciding(verdict)
            rows.append({
                "claim": verdict.claim.text, "source": verdict.claim.source,
                "its own figures": published_says(verdict.claim), "judged on": verdict.set_up,
                "verdict": outcome_of(verdict), **effect, "found": verdict.sentence,
                "missing": told_missing(verdict.missing), "id": verdict.claim.id, "page": part.page,
            })  # fmt: skip
    return pd.DataFrame(rows, columns=[*(name for name in _COLUMNS if name != _EVIDENCE), "id", "page"])


def _deciding(verdict: Verdict) -> dict[str, float]:
    rows = verdict.evidence
    if not {"ratio", "p", "p_against"} <= set(rows) or not rows["ratio"].notna().any():
        return dict.fromkeys(_NUMBERS, math.nan)
    known = rows[rows["ratio"].notna()]
    against = verdict.outcome in (REFUTED, MIXED)
    chance, is_shown = ("p_against", OTHER_WAY) if against else ("p", AS_PUBLISHED)
    # What is exact has no chances: it is so, or it is not.
    chances = known[chance].astype(float).fillna((known["shown"] != is_shown).astype(float))
    row = known.iloc[int(chances.argmin() if against else chances.argmax())]
    ends = (row["low"], row["high"]) if row["low"] < row["high"] else (math.nan, math.nan)
    return dict(zip(_NUMBERS, (row["ratio"], *ends, row["trials"]), strict=True))


def claims_table(judged: Sequence[Judged], title: str, whole: bool = True, called: str = "published claim") -> Shown:
    """Claims with their verdicts: columns sort on a page, each claim has an address (``#claim-ID``).

    ``whole``: with what was found, what is missing, and the evidence, folded, in the order of the source; else with a
    link to it, and what is decided first.
    """
    if not whole:
        judged = _decided_first(judged)
    rows = claim_rows(judged)
    found = [name for name in _COLUMNS if whole or name not in ("found", "missing")]
    something = rows.astype(object).where(rows.notna(), "").astype(bool).any()
    shown = [name for name in found if name in ("claim", "verdict", _EVIDENCE) or something[name]]
    verdicts = [verdict for part in judged for verdict in part.verdicts]
    pages = {part.page: part.title for part in judged}
    heading = "".join(f'<th scope="col" class="{_CSS.get(name, "")}">{name}</th>' for name in shown)
    addresses: set[str] = set()
    body = "".join(
        _claim_row(row, shown, verdict, whole, pages, addresses)
        for row, verdict in zip(rows.to_dict("records"), verdicts, strict=True)
    )
    note = (
        f"{tally(verdicts, called)} Not tested: nothing that it speaks of was measured; inconclusive: its trials do "
        "not decide it. Effect: of the comparisons that it makes, the one most surely against a claim that is refuted "
        "or mixed, else the one least surely for it; above 1 is as claimed."
    )
    table = (
        f'<table class="sortable claims"><caption>{html.escape(title)}</caption><thead><tr>{heading}</tr></thead>'
        f"<tbody>{body}</tbody></table>"
    )
    return Shown(f"{region(table, title)}<p>{html.escape(note)}</p>", title, rows.drop(columns="page"))


def _decided_first(judged: Sequence[Judged]) -> list[Judged]:
    """One part per claim, all its set-ups together, by the most that any of them says."""
    parts: dict[tuple[str, str], list[Verdict]] = {}
    for part in judged:
        for verdict in part.verdicts:
            parts.setdefault((part.page, verdict.claim.id), []).append(verdict)
    titles = {part.page: part.title for part in judged}
    each = [Judged(verdicts, page, titles[page]) for (page, _), verdicts in parts.items()]
    return sorted(each, key=lambda part: min(_AFTER_DECIDED.get(outcome_of(verdict), 0) for verdict in part.verdicts))


def verdicts_table(
    verdicts: Sequence[Verdict], title: str = "Published claims on this machine", called: str = "published claim"
) -> Shown:
    """The claims of one page with their verdicts and, folded, the numbers behind them."""
    return claims_table([Judged(verdicts)], title, called=called)


def _claim_row(
    row: Mapping[Hashable, Any], shown: Sequence[str], verdict: Verdict, whole: bool, pages: Mapping[str, str],
    addresses: set[str],
) -> str:  # fmt: skip
    stem = f"claim-{row['id']}"
    address = next(each for each in (stem, *(f"{stem}-{n}" for n in range(2, 99))) if each not in addresses)
    addresses.add(address)
    cells = []
    for name in shown:
        if name == _EVIDENCE:
            cells.append(f'<td class="{_CSS.get(name, "")}">{_behind(row, verdict, whole, pages, address)}</td>')
            continue
        value = row[name]
        unknown = value is None or value != value
        text = "" if unknown else f"{value:.0f}" if name == "n" else html.escape(_figure(value))
        if name == "claim":
            text = f'{text} <a class="permalink" href="#{address}" aria-label="Address of this claim">#</a>'
        if name == "verdict":
            text = f'<strong class="{str(value).replace(" ", "-")}">{text}</strong>'
        cells.append(f'<td class="{_CSS.get(name, "")}">{text}</td>')
    return f'<tr id="{address}">{"".join(cells)}</tr>'


def _behind(row: Mapping[Hashable, Any], verdict: Verdict, whole: bool, pages: Mapping[str, str], address: str) -> str:
    """The evidence, folded, or where it is."""
    if not whole:
        page = row["page"]
        return f'<a href="{page}.ipynb#{address}">{html.escape(pages[page])}</a>' if page else "this page"
    count = stats.plural(len(verdict.evidence), "comparison")
    shown = evidence_table([verdict])
    pairs = zip(shown["comparison"], shown["found"], strict=True)
    items = "".join(f"<li>{html.escape(f'{what}: {found}')}</li>" for what, found in pairs)
    return f"<details><summary>{count}</summary><ul>{items}</ul></details>" if items else ""


def evidence_table(verdicts: Iterable[Verdict]) -> pd.DataFrame:
    """Return the numbers behind verdicts, one row per comparison; evidence of another kind as facts."""
    rows = []
    for verdict in verdicts:
        for item in verdict.evidence.to_dict("records"):
            if "larger" in item:
                what = f"{item['larger']} over {item['smaller']}"
                numbers = f"{_ratio_in_words(item)}{item['shown']}" + (
                    f" ({item['remark']})" if item.get("remark") else ""
                )
            else:
                *names, last = (name for name in item if name not in ("shown", *_CHANCES))
                what = " ".join(str(item[name]) for name in names)
                name = "" if isinstance(item[last], str) else f"{str(last).replace('_', ' ')} "
                numbers = f"{name}{_figure(item[last])}: {item['shown']}"
            row = {"claim": verdict.claim.text, "set-up": verdict.set_up, "comparison": what, "found": numbers}
            rows.append(row)
    table = pd.DataFrame(rows, columns=["claim", "set-up", "comparison", "found"])
    return table if table["set-up"].any() else table.drop(columns="set-up")


def _ratio_in_words(row: Mapping[Hashable, Any]) -> str:
    """Ratio, interval and trials of a comparison; of one trial there is no interval, and of none nothing."""
    if row["shown"] == NOT_MEASURED or pd.isna(row["ratio"]):
        return ""
    ratio, n = stats.significant(row["ratio"]), row["trials"]
    if not row["low"] < row["high"]:
        return f"{ratio}, {'one trial' if n == 1 else f'n = {n}'}: "
    return f"{ratio} ({stats.ends(row['low'], row['high'])}), n = {n}: "


def _figure(value: Any) -> str:
    return value if isinstance(value, str) else stats.significant(float(value))


def comparisons(names: Sequence[Mapping[str, Any]], compared: Sequence[Comparison], ratio: str) -> pd.DataFrame:
    """Comparisons for a reader, one row each: its names, the ratio in words in column ``ratio``, trials of the smaller
    side, and, where any has such, what an average would hide with the ratio that the outermost trials have no part
    in."""
    rows = []
    for name, comparison in zip(names, compared, strict=True):
        found = comparison.decision
        hidden = f"{found.remark}; trimmed {stats.significant(found.trimmed_ratio)}" if found.remark else None
        rows.append({**name, ratio: comparison.text(), "n": found.n, "an average hides": hidden})
    table = pd.DataFrame(rows, columns=None if rows else [ratio, "n", "an average hides"])
    return table if table["an average hides"].notna().any() else table.drop(columns="an average hides")


def interval_text(values: pd.Series, digits: int = 3) -> str | None:
    """Return the geometric mean over trials with its interval; the mean alone where a trial has none of it; None
    without a value."""
    known = values.dropna().astype(float)
    if known.empty:
        return None
    if (known > 0).all():
        return stats.geometric_interval(known).text(digits)
    return stats.significant(float(known.mean()), digits)


def intervals(trials: pd.DataFrame, by: Sequence[str], columns: Mapping[str, str]) -> pd.DataFrame:
    """Return a row per group of trials: the columns ``by``, ``n``, and `interval_text` of each of ``columns`` under its
    new name."""
    groups = trials.groupby(list(by), sort=False, observed=True, dropna=False)
    texts = {name: groups[column].agg(interval_text) for column, name in columns.items()}
    return pd.DataFrame({"n": groups.size(), **texts}).reset_index()


def means(trials: pd.DataFrame, by: Sequence[str], value: str) -> pd.DataFrame:
    """Return a row per group of trials: the columns ``by``, ``ns`` (geometric mean of a column), ``low``, ``high`` and
    ``n``."""
    groups = trials.astype({value: float}).groupby(list(by), observed=True, sort=False)[value]
    costs = [(key, stats.geometric_interval(cell)) for key, cell in groups]
    found = [(*key, cost.estimate, cost.low, cost.high, cost.trials) for key, cost in costs]
    return pd.DataFrame(found, columns=[*by, "ns", "low", "high", "n"])


TableOrWords = GT | Nothing
"""A table, or the sentence that stands in its place where it would be empty."""
_HEADINGS = {
    "left_out_because": "left out because",
    "llc_misses": "misses of the last level",
    "l1d_misses": "misses of the first level",
    "sd_free": "SD of the logarithm, free",
    "sd_held": "SD of the logarithm, held",
    "n_free": "n, free",
    "n_held": "n, held",
    "speeds_free": "speeds, free",
    "speeds_held": "speeds, held",
    "compiled_states": "states of compiled code",
    "shared_states": "of these, with both speeds",
}
_UNITS = ("ns", "us", "ms", "s", "mb", "mib")


def heading(column: str) -> str:
    """A column's name as a table shows it: in words, a unit at its end behind a comma."""
    if column in _HEADINGS:
        return _HEADINGS[column]
    *words, last = column.split("_")
    unit = {"mb": "MB", "mib": "MiB", "us": "µs"}.get(last, last)
    return f"{' '.join(words)}, {unit}" if words and last in _UNITS else " ".join((*words, last))


def plain_table(rows: pd.DataFrame, title: str, note: str = "", under: str | None = None) -> TableOrWords:
    """Any small table in the same dress; ``None`` and NaN are shown as a dash; of no rows, a sentence in its place.

    ``under``: a column whose texts stand once each, as a line above the rows that share them.
    """
    if rows.empty:
        return Nothing(of=(title,))
    named = rows.apply(lambda column: column if is_numeric_dtype(column) else column.map(spelled_out))
    named = named.rename(columns=lambda name: heading(str(name)))
    table = (
        GT(named, groupname_col=under and heading(under))
        .tab_header(title=title)
        .sub_missing(missing_text="-")
        .tab_options(table_font_size="13px", data_row_padding="4px")
        .opt_align_table_header(align="left")
        .tab_options(table_margin_left="0px")
    )
    widest_em = _FIRST_EM  # it stays in sight, so it leaves room for the others
    for name, column in rows.drop(columns=under or []).items():
        longest = column.map(lambda value: len(value) if isinstance(value, str) else 0).max()
        if longest > _SHORT:
            least = f"min-width:{min(longest / 2, widest_em):g}em"
            table = table.tab_style(style.css(least), loc.column_labels(columns=heading(str(name))))
        widest_em = _WIDEST_EM
    return table.tab_source_note(note) if note else table


_SHORT, _FIRST_EM, _WIDEST_EM = 14, 7.0, 13.0
"""Columns with texts of more characters than that are given room for half of them, so many em at most: a narrow screen
would break them after every word."""
