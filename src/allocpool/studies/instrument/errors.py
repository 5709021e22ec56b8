"""Tables of the simulated error rates of the judge (`proof`)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from allocpool import decisions, stats
from allocpool.evidence import claims, tables
from allocpool.studies.instrument import proof

_SHOWN_SIZES = (2, 3, 4, 5, 8, 10, 15, 30)


def _shares(rates: pd.DataFrame, keys: list[str], names: dict[str, str]) -> pd.DataFrame:
    shares = rates[[*names]].map(lambda value: "" if pd.isna(value) else f"{value:.1%}")
    return pd.concat([rates[keys], shares.rename(columns=names)], axis=1)


def coverage_table() -> pd.DataFrame:
    """Return by interval and noise, and by n, the share of intervals that hold the truth; a star where it is below its
    rate by more than chance, of which there is none in what is exact."""
    rates = proof.load("coverage")
    least = [
        stats.CONFIDENCE if pd.isna(repetitions) else 1 - proof.highest_allowed(repetitions)
        for repetitions in rates["repetitions"]
    ]
    rates["text"] = rates["holds"].map("{:.0%}".format) + np.where(rates["holds"] < least, "*", "")
    grid = rates.pivot(index=["interval", "noise"], columns="n", values="text").fillna("")
    return grid.rename(columns="n = {}".format).rename_axis(columns=None).reset_index()


def power_table() -> pd.DataFrame:
    """Return the smallest ratio that is found, by n and kind of cell."""
    grid = proof.load("power").pivot(index="n", columns="third", values="ours")[list(proof.THIRDS)]
    return grid.map(lambda ratio: f"{ratio:.2f}" if np.isfinite(ratio) else "none").reset_index()


def shown() -> list[tables.TableOrWords]:
    """Return every table, in the order of the questions: is it wrong, do its intervals hold, what does it see."""
    wrong, found, outcomes, paces = map(proof.load, ("false_verdicts", "found", "claim_errors", "paces"))
    cells = {third: f"{third} cells ({sigma:.0%})" for third, sigma in proof.THIRDS.items()}
    names = {
        "found": "true differences found", "of_verdicts": "false, of verdicts",
        "equivalent": "equal ones shown not to matter", "open": "inconclusive",
    }  # fmt: skip
    wrong = wrong[wrong["n"].isin(_SHOWN_SIZES)].rename(columns={"disturbance": "noise besides", "n": "up to n ="})
    found = found.rename(columns={"ratio": "true ratio"})
    return [
        tables.plain_table(
            _shares(wrong, ["noise besides", "up to n ="], cells | {"page": "of a page's verdicts"}),
            "Differences found where there is none, share",
            f"Looked at after every block, and stopped whenever one likes; stated: {decisions.ALPHA:.0%}.",
        ),
        tables.plain_table(
            coverage_table(), "How often intervals hold the truth",
            "A star: too low by more than chance. Verdicts rest on those at every look, or at the end of a fixed plan.",
        ),
        tables.plain_table(
            _shares(paces, ["machine", "comparisons", "n", "width"], {
                "missed_raw": "intervals that miss, as measured", "missed": "adjusted for the pace",
            }).round({"width": 2}),
            "Costs adjusted for the machine's pace by the trials before and after",
            "Width: of the adjusted interval over that of costs as measured.",
        ),
        tables.plain_table(
            power_table(), "Smallest true ratio found with a chance of 80%",
            f"Below {decisions.FEWEST} trials a side nothing is decided.",
        ),
        tables.plain_table(
            _shares(found, ["true ratio", "rule", "trials"], names), "What a campaign finds in the same time",
            f"{proof.COMPARISONS} comparisons, half of them of equal configurations, in {proof.MINUTES} minutes.",
        ),
        tables.plain_table(
            _shares(outcomes, ["orderings", "truth", "n"], {name: name for name in claims.OUTCOMES}),
            "What becomes of a claim", f"Orderings that are so are {proof.FACTOR:g} apart.",
        ),
    ]  # fmt: skip


def provenance() -> str:
    """Return whether the tables are about the judge as it is now."""
    command = "python -m allocpool.studies.instrument.proof"
    if proof.of_this_judge():
        return f"Simulated with the judge that made this page's verdicts: `{command}`."
    return f"**Simulated with an earlier version of the judge**: `{command}` makes the tables anew."
