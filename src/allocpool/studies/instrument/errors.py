"""Tables of the simulated error rates of the judge (`proof`)."""

from __future__ import annotations

import math

import pandas as pd

from allocpool import decisions, stats
from allocpool.evidence import claims, tables
from allocpool.evidence.trials import records
from allocpool.studies.instrument import proof
from allocpool.studies.instrument.simulation import NOISES

_SHOWN_SIZES = (2, 3, 4, 5, 8, 10, 15, 30)


def _share(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.1%}"


def false_verdict_table() -> pd.DataFrame:
    """By what a campaign has besides its noise and by the size at which a reader stops: false differences."""
    rates = proof.load("false_verdicts")
    rates = rates[rates["n"].isin(_SHOWN_SIZES)]
    columns = {third: f"{third} cells ({sigma:.0%})" for third, sigma in proof.THIRDS.items()}
    shares = rates[[*columns, "page"]].map(_share).rename(columns={**columns, "page": "of a page's verdicts"})
    return pd.concat([rates[["beside", "n"]].rename(columns={"n": "up to n ="}), shares], axis=1)


def coverage_table() -> pd.DataFrame:
    """Interval and noise by n: the share of intervals that hold the truth; a star where it is too low."""
    rates = proof.load("coverage")
    marked = rates.assign(
        text=[
            f"{row.holds:.0%}{'*' if too_low else ''}"
            for row, too_low in zip(records(rates), _too_low(rates), strict=True)
        ]
    )
    grid = marked.pivot(index=["interval", "noise"], columns="n", values="text").fillna("")
    grid.columns = [f"n = {n}" for n in grid.columns]
    order = {name: place for place, name in enumerate(NOISES)}
    table = grid.reset_index()
    return table.sort_values(["interval", "noise"], key=lambda column: column.map(order).fillna(-1)
                             if column.name == "noise" else column, kind="stable")  # fmt: skip


def _too_low(rates: pd.DataFrame) -> list[bool]:
    """Below its rate by more than chance; what is exact has no chance."""
    nominal = stats.CONFIDENCE
    return [
        row.holds < (nominal if pd.isna(row.repetitions) else 1 - proof.highest_allowed(row.repetitions))
        for row in records(rates)
    ]


def power_table() -> pd.DataFrame:
    """Return the smallest ratio that is found, by n and kind of cell."""
    grid = proof.load("power").pivot(index="n", columns="third", values="ours")[list(proof.THIRDS)]
    shown = grid.map(lambda ratio: "none" if math.isinf(ratio) or math.isnan(ratio) else f"{ratio:.2f}")
    return shown.rename_axis(columns=None).reset_index()


def found_table() -> pd.DataFrame:
    """By true ratio and rule: what was found, what of it is false, what was shown not to matter, what is open."""
    rates = proof.load("found")
    shares = rates[["found", "of_verdicts", "equivalent", "open"]].map(_share)
    names = {
        "found": "true differences found", "of_verdicts": "false, of verdicts",
        "equivalent": "equal ones shown not to matter", "open": "inconclusive",
    }  # fmt: skip
    facts = rates[["ratio", "rule", "trials"]].rename(columns={"ratio": "true ratio"}).astype({"trials": int})
    return pd.concat([facts, shares.rename(columns=names)], axis=1)


def claims_table() -> pd.DataFrame:
    """By orderings, truth and n: the share of each outcome."""
    rates = proof.load("claim_errors")
    return pd.concat([rates[["orderings", "truth", "n"]], rates[list(claims.OUTCOMES)].map(_share)], axis=1)


def provenance() -> str:
    """Whether the tables are about the judge as it is now."""
    command = "python -m allocpool.studies.instrument.proof"
    if proof.of_this_judge():
        return f"Simulated with the judge that made this page's verdicts: `{command}`."
    return f"**Simulated with an earlier version of the judge**: `{command}` makes the tables anew."


_STARRED = "A star: too low by more than chance. Verdicts rest on the intervals at every look alone."
_TABLES = {
    "Differences found where there is none, share": (
        false_verdict_table,
        f"Looked at after every block, and stopped whenever one likes; stated: {decisions.ALPHA:.0%}.",
    ),
    "How often intervals hold the truth": (coverage_table, _STARRED),
    "Smallest true ratio found with a chance of 80%": (
        power_table,
        f"Below {decisions.FEWEST} trials a side nothing is decided.",
    ),
    "What a campaign finds in the same time": (
        found_table,
        f"{proof.COMPARISONS} comparisons, half of them of equal configurations, in {proof.MINUTES} minutes.",
    ),
    "What becomes of a claim": (claims_table, f"Orderings that are so are {proof.FACTOR:g} apart."),
}


def shown() -> list[tables.TableOrWords]:
    """Return every table, in the order of the questions: is it wrong, do its intervals hold, what does it see."""
    return [tables.plain_table(table(), title, note) for title, (table, note) in _TABLES.items()]
