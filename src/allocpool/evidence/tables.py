"""Tables for a reader: any small one, and claims with their verdicts and evidence; with the rows behind them, which
readers can download."""

from __future__ import annotations

import base64
import functools
import html
import io
import math
import operator
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from great_tables import GT, loc, style
from pandas.api.types import is_float_dtype, is_numeric_dtype

from allocpool import stats
from allocpool.decisions import Comparison
from allocpool.evidence import claims
from allocpool.evidence.claims import CANNOT, NOT_MEASURED, NOT_TESTED, OPEN, Verdict
from allocpool.evidence.trials import spelled_out

ROWS_MIME = "application/vnd.allocpool.rows+json"
"""Of a figure or table: ``title``, and its rows as ``parquet`` in base64."""

NOTHING_MIME = "application/vnd.allocpool.nothing+json"
"""Marks a sentence in place of an empty figure or table."""


def packed(title: str, rows: pd.DataFrame) -> dict[str, str]:
    """Return rows as the value of `ROWS_MIME`; a column of mixed types becomes text."""
    plain = rows.rename(columns=str).loc[:, ~rows.columns.duplicated()]
    plain = plain.assign(**{str(name): plain[name].map(str) for name in plain if plain[name].dtype == object})
    buffer = io.BytesIO()
    plain.to_parquet(buffer, compression="zstd", index=False)
    return {"title": title, "parquet": base64.b64encode(buffer.getvalue()).decode()}


def region(inner: str, title: str) -> str:
    """Return a table in a region that scrolls, by keyboard too."""
    named = html.escape(title, quote=True)
    return f'<div class="table-scroll" role="region" tabindex="0" aria-label="{named}">{inner}</div>'


@dataclass(frozen=True)
class Shown:
    html: str
    title: str
    rows: pd.DataFrame

    def _repr_mimebundle_(self, **_asked: Any) -> dict[str, Any]:
        return {"text/html": self.html, "text/plain": self.title, ROWS_MIME: packed(self.title, self.rows)}


@dataclass(frozen=True)
class Nothing:
    """A sentence in place of empty tables (``of``: their titles) and figures (``because``: why each is empty)."""

    of: tuple[str, ...] = ()
    because: tuple[str, ...] = ()

    def __add__(self, other: Nothing) -> Nothing:
        return Nothing(self.of + other.of, self.because + other.because)

    @property
    def data(self) -> str:
        tables = [f"**{'; '.join(self.of)}**: nothing in this campaign."] if self.of else []
        return " ".join((*tables, *(f"No figure: {reason}." for reason in self.because)))

    def _repr_mimebundle_(self, **_asked: Any) -> dict[str, Any]:
        return {"text/markdown": self.data, "text/plain": self.data, NOTHING_MIME: {}}


_AFTER_DECIDED = {OPEN: 1, NOT_TESTED: 2, CANNOT: 3}
_NUMBERS = ("effect", "from", "to", "n")
_COLUMNS = ("claim", "verdict", "judged on", *_NUMBERS, "evidence", "its own figures", "missing", "source")
_CSS = {
    **dict.fromkeys(_NUMBERS, "number"), "claim": "long", "missing": "long",
    **dict.fromkeys(("evidence", "its own figures", "source"), "wide"),
}  # fmt: skip


@dataclass(frozen=True)
class Judged:
    """The verdicts of one study; ``page``: where its evidence is, empty on its own page."""

    verdicts: Sequence[Verdict]
    page: str = ""
    title: str = ""


def claim_rows(judged: Iterable[Judged]) -> pd.DataFrame:
    """Return a row per verdict, with the comparison that decides it (effect, above 1 as claimed, its interval, trials).

    Of a claim that is refuted or mixed that is the comparison with the smallest p value against it, else the one with
    the largest p value for it.
    """
    rows = [
        {
            "claim": verdict.claim.text, "source": verdict.claim.source,
            "its own figures": claims.published_says(verdict.claim), "judged on": verdict.set_up,
            "verdict": verdict.outcome, **_deciding(verdict), "found": verdict.sentence,
            "missing": claims.missing_in_words(verdict.missing), "id": verdict.claim.id, "page": part.page,
        }
        for part in judged
        for verdict in part.verdicts
    ]  # fmt: skip
    names = [*(name for name in _COLUMNS if name != "evidence"), "found", "id", "page"]
    return pd.DataFrame(rows, columns=names)


def _deciding(verdict: Verdict) -> dict[str, float]:
    rows = verdict.evidence
    if not {"ratio", "p", "p_against"} <= set(rows) or not rows["ratio"].notna().any():
        return dict.fromkeys(_NUMBERS, math.nan)
    known = rows[rows["ratio"].notna()]
    against = verdict.outcome in (claims.REFUTED, claims.NO_DIFFERENCE, claims.MIXED)
    chance, is_shown = ("p_against", claims.OTHER_WAY) if against else ("p", claims.AS_PUBLISHED)
    # Exact evidence has no p values.
    chances = known[chance].astype(float).fillna((known["shown"] != is_shown).astype(float))
    row = known.iloc[int(chances.argmin() if against else chances.argmax())]
    ends = (row["low"], row["high"]) if row["low"] < row["high"] else (math.nan, math.nan)
    return dict(zip(_NUMBERS, (row["ratio"], *ends, row["trials"]), strict=True))


def claims_table(judged: Sequence[Judged], title: str, whole: bool = True, called: str = "published claim") -> Shown:
    """Return claims with their verdicts: columns sort on a page, each claim has an address (``#claim-ID``).

    ``whole``: with what is missing and the evidence, folded, in the order of the source; else with a link to it, and
    what is decided first.
    """
    judged = judged if whole else _decided_first(judged)
    rows = claim_rows(judged)
    verdicts = [verdict for part in judged for verdict in part.verdicts]
    earlier = rows.groupby("id").cumcount()
    addresses = "claim-" + rows["id"] + earlier.map(lambda n: f"-{n + 1}" if n else "")
    if whole:
        behind = [_folded(evidence_texts(verdict)) for verdict in verdicts]
    else:
        titles = {part.page: html.escape(part.title) for part in judged}
        behind = [
            f'<a href="{page}.ipynb#{address}">{titles[page]}</a>' if page else "this page"
            for page, address in zip(rows["page"], addresses, strict=True)
        ]
    cells = rows[[name for name in _COLUMNS if name in rows and (whole or name != "missing")]].map(_cell)
    cells["n"] = rows["n"].map("{:.0f}".format, na_action="ignore").fillna("")
    cells["claim"] += ' <a class="permalink" href="#' + addresses + '" aria-label="Address of this claim">#</a>'
    named = rows["verdict"].str.replace(" ", "-").map(html.escape)
    cells["verdict"] = '<strong class="' + named + '">' + cells["verdict"] + "</strong>"
    cells["evidence"] = behind
    shown = [name for name in _COLUMNS if name in cells and (cells[name].any() or name == "evidence")]
    heading = "".join(f'<th scope="col" class="{_CSS.get(name, "")}">{name}</th>' for name in shown)
    columns = [f'<td class="{_CSS.get(name, "")}">' + cells[name] + "</td>" for name in shown]
    body = ('<tr id="' + addresses + '">' + functools.reduce(operator.add, columns) + "</tr>").str.cat()
    note = (
        f"{claims.tally(verdicts, called)} Not tested: nothing that it is about was measured. Effect: above 1 is as "
        "claimed; the comparison with the smallest p value against a refuted or mixed claim, else the largest for it."
    )
    table = (
        f'<table class="sortable claims"><caption>{html.escape(title)}</caption><thead><tr>{heading}</tr></thead>'
        f"<tbody>{body}</tbody></table>"
    )
    return Shown(f"{region(table, title)}<p>{html.escape(note)}</p>", title, rows.drop(columns="page"))


def _decided_first(judged: Sequence[Judged]) -> list[Judged]:
    """Return a part per claim, all its set-ups together, those with a decided set-up first."""
    parts: dict[tuple[str, str], list[Verdict]] = {}
    for part in judged:
        for verdict in part.verdicts:
            parts.setdefault((part.page, verdict.claim.id), []).append(verdict)
    titles = {part.page: part.title for part in judged}
    each = [Judged(verdicts, page, titles[page]) for (page, _), verdicts in parts.items()]
    return sorted(each, key=lambda part: min(_AFTER_DECIDED.get(verdict.outcome, 0) for verdict in part.verdicts))


def verdicts_table(
    verdicts: Sequence[Verdict], title: str = "Published claims on this machine", called: str = "published claim"
) -> Shown:
    """Return the claims of one page with their verdicts and, folded, the numbers behind them."""
    return claims_table([Judged(verdicts)], title, called=called)


def _cell(value: Any) -> str:
    return "" if value is None or value != value else html.escape(_figure(value))


def _folded(texts: Sequence[str]) -> str:
    items = "".join(f"<li>{html.escape(text)}</li>" for text in texts)
    summary = stats.plural(len(texts), "comparison")
    return f"<details><summary>{summary}</summary><ul>{items}</ul></details>" if items else ""


def evidence_texts(verdict: Verdict) -> list[str]:
    """Return the numbers behind a verdict, a line per comparison."""
    lines = []
    for item in verdict.evidence.drop(columns=["p", "p_against", "p_equal"], errors="ignore").to_dict("records"):
        shown = item.pop("shown")
        if "larger" in item:
            remark = f" ({item['remark']})" if item.get("remark") else ""
            lines.append(f"{item['larger']} over {item['smaller']}: {_ratio_in_words(item, shown)}{shown}{remark}")
        else:
            *names, last = item
            unit = "" if isinstance(item[last], str) else f"{str(last).replace('_', ' ')} "
            lines.append(f"{' '.join(str(item[name]) for name in names)}: {unit}{_figure(item[last])}: {shown}")
    return lines


def _ratio_in_words(row: Mapping[Hashable, Any], shown: str) -> str:
    if shown == NOT_MEASURED or pd.isna(row["ratio"]):
        return ""
    ratio, n = stats.significant(row["ratio"]), row["trials"]
    if not row["low"] < row["high"]:
        return f"{ratio}, {'one trial' if n == 1 else f'n = {n}'}: "
    return f"{ratio} ({stats.ends(row['low'], row['high'])}), n = {n}: "


def _figure(value: Any) -> str:
    return value if isinstance(value, str) else stats.significant(float(value))


def comparisons(names: Sequence[Mapping[str, Any]], compared: Sequence[Comparison], ratio: str) -> pd.DataFrame:
    """Return comparisons for a reader, one row each: its names, the ratio in words in column ``ratio``, trials of the
    smaller side, and, where any has such, what an average would hide with the trimmed ratio."""
    rows = []
    for name, comparison in zip(names, compared, strict=True):
        found = comparison.decision
        hidden = f"{found.remark}; trimmed {stats.significant(found.trimmed_ratio)}" if found.remark else None
        rows.append({**name, ratio: comparison.text(), "n": found.n, "an average hides": hidden})
    table = pd.DataFrame(rows, columns=None if rows else [ratio, "n", "an average hides"])
    return table if table["an average hides"].notna().any() else table.drop(columns="an average hides")


def interval_text(values: pd.Series, digits: int = 3) -> str | None:
    """Return the geometric mean over trials with its interval; the mean alone where a trial has none of it."""
    known = values.dropna().astype(float)
    if (known > 0).all():
        return stats.geometric_interval(known).text(digits) if len(known) else None
    return stats.significant(float(known.mean()), digits)


def intervals(trials: pd.DataFrame, by: Sequence[str], columns: Mapping[str, str]) -> pd.DataFrame:
    """Return a row per group of trials: ``by``, ``n``, and `interval_text` of columns under their new names."""
    groups = trials.groupby(list(by), sort=False, observed=True, dropna=False)
    texts = {name: groups[column].agg(interval_text) for column, name in columns.items()}
    return pd.DataFrame({"n": groups.size(), **texts}).reset_index()


def means(trials: pd.DataFrame, by: Sequence[str], value: str) -> pd.DataFrame:
    """Return a row per group of trials: columns ``by``, ``ns`` (geometric mean), ``low``, ``high`` and ``n``."""
    groups = trials.astype({value: float}).groupby(list(by), observed=True, sort=False)[value]
    costs = {key: stats.geometric_interval(cell) for key, cell in groups}
    found = [(*key, cost.estimate, cost.low, cost.high, cost.trials) for key, cost in costs.items()]
    return pd.DataFrame(found, columns=[*by, "ns", "low", "high", "n"])


TableOrWords = GT | Nothing
_HEADINGS = {
    "llc_misses": "misses of the last level",
    "l1d_misses": "misses of the first level",
    "sd_free": "SD of the logarithm, free",
    "sd_held": "SD of the logarithm, held",
    "compiled_states": "states of compiled code",
    "shared_states": "of these, with both speeds",
}
_UNITS = ("ns", "us", "ms", "s", "mb", "mib")


def heading(column: str) -> str:
    """Return a column's name in words, a unit at its end behind a comma."""
    if column in _HEADINGS:
        return _HEADINGS[column]
    *words, last = column.split("_")
    unit = {"mb": "MB", "mib": "MiB", "us": "µs"}.get(last, last)
    return f"{' '.join(words)}, {unit}" if words and last in _UNITS else " ".join((*words, last))


def plain_table(rows: pd.DataFrame, title: str, note: str = "", under: str | None = None) -> TableOrWords:
    """Return any small table; missing values are dashes, fractions have four digits, and no rows are a sentence.

    ``under``: a column to group rows by, its texts as headings.
    """
    if rows.empty:
        return Nothing(of=(title,))
    named = rows.apply(lambda column: column if is_numeric_dtype(column) else column.map(spelled_out))
    named = named.rename(columns=lambda name: heading(str(name)))
    fractions = [heading(str(name)) for name, column in rows.items() if is_float_dtype(column)]
    table = (
        GT(named, groupname_col=under and heading(under))
        .fmt(_fraction, columns=fractions)
        .tab_header(title=title)
        .sub_missing(missing_text="-")
        .tab_options(table_font_size="13px", data_row_padding="4px", table_margin_left="0px")
        .opt_align_table_header(align="left")
    )
    widest_em = _FIRST_EM  # it stays in sight, so it leaves room for the others
    for name, column in rows.drop(columns=under or []).items():
        longest = column.map(lambda value: len(value) if isinstance(value, str) else 0).max()
        if longest > _SHORT:
            least = f"min-width:{min(longest / 2, widest_em):g}em"
            table = table.tab_style(style.css(least), loc.column_labels(columns=heading(str(name))))
        widest_em = _WIDEST_EM
    return table.tab_source_note(note) if note else table


def _fraction(value: Any) -> str:
    text = "-" if pd.isna(value) else stats.significant(float(value), 4)
    return text.rstrip("0").rstrip(".") if "." in text else text


_SHORT, _FIRST_EM, _WIDEST_EM = 14, 7.0, 13.0
"""Columns with texts of more characters than that are given room for half of them, so many em at most: a narrow screen
would break them after every word."""
