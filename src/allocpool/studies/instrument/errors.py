"""The simulated error rates of the judge, for a reader: tables of `proof`, each with a sentence computed from it."""

from __future__ import annotations

import math
from collections.abc import Iterable

import pandas as pd

from allocpool import decisions, stats
from allocpool.evidence import claims, tables
from allocpool.evidence.trials import records
from allocpool.studies.instrument import proof
from allocpool.studies.instrument.simulation import NOISES

_SHOWN_SIZES = (2, 3, 4, 5, 8, 10, 15, 30)


def shown() -> list[tables.TableOrWords]:
    """Every table, in the order of the questions: is it wrong, do its intervals hold, what does it see."""
    return [
        tables.plain_table(false_verdict_table(), "Differences found where there is none, share", false_sentence()),
        tables.plain_table(coverage_table(), "How often intervals hold the truth", coverage_sentence()),
        tables.plain_table(power_table(), "Smallest true ratio found with a chance of 80%", power_sentence()),
        tables.plain_table(found_table(), "What a campaign finds in the same time", found_sentence()),
        tables.plain_table(claims_table(), "What becomes of a claim", claims_sentence()),
    ]


def _share(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.1%}"


def false_verdict_table() -> pd.DataFrame:
    """By what a campaign has beside its noise and by the size at which a reader stops: false differences."""
    rates = proof.load("false_verdicts")
    rates = rates[rates["n"].isin(_SHOWN_SIZES)]
    columns = {third: f"{third} cells ({sigma:.0%})" for third, sigma in proof.THIRDS.items()}
    shares = rates[[*columns, "page"]].map(_share).rename(columns={**columns, "page": "of a page's verdicts"})
    return pd.concat([rates[["beside", "n"]].rename(columns={"n": "up to n ="}), shares], axis=1)


def false_sentence() -> str:
    """The worst of them against the stated rate."""
    rates = proof.load("false_verdicts")
    thirds = list(proof.THIRDS)
    worst = rates[thirds].max()
    third, share = str(worst.idxmax()), float(worst.max())
    beside = rates["beside"].to_numpy()[rates[third].to_numpy().argmax()]
    campaigns = int(rates["repetitions"].iloc[0])
    each = proof.OF_EACH
    allowed = proof.highest_allowed(campaigns * each)
    verdict = "within" if share <= allowed else "beyond"
    return (
        f"{campaigns} campaigns of {len(thirds) * each} cells, each planned twice, looked at after every block and "
        f"stopped whenever one likes. Most often wrong are {third} cells with {beside} noise: {share:.1%} of "
        f"comparisons, {verdict} the stated {decisions.ALPHA:.0%} (at most {allowed:.1%} by the binomial bound). "
        f"Decided together, at the worst moment to stop, {rates['page'].max():.1%} of a page's verdicts are false."
    )


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


def coverage_sentence() -> str:
    """Where intervals fail, and what is done about it."""
    rates = proof.load("coverage")
    failing = rates[_too_low(rates)]
    if failing.empty:
        return f"Every interval holds the truth in {stats.CONFIDENCE:.0%} or more, within the binomial bound."
    parts = []
    for (interval, noise), group in failing.groupby(["interval", "noise"], sort=False):
        sizes = ", ".join(str(n) for n in group["n"])
        means = NOISES[str(noise)].means if noise in NOISES else noise
        parts.append(f"{interval} with {noise} ({means}) at n = {sizes}, down to {group['holds'].min():.0%}")
    verdicts = int(failing["interval"].eq(proof.REPEATED).sum())
    safe = "none of these fails" if not verdicts else f"of these {verdicts} fail"
    return (
        f"A star where it fails: {'; '.join(parts)}. Verdicts rest on intervals of ratios at every look alone; {safe}. "
        "The others are shown and decide nothing: few trials of a mixture may all come from one part of it, and what "
        "wanders has no mean. So two speeds and trials far off are named, with the trimmed mean beside."
    )


def power_table() -> pd.DataFrame:
    """By n and kind of cell, the smallest ratio: ours, and the rule of before."""
    grid = proof.load("power").pivot(index="n", columns="third", values=["ours", "before"])
    grid = grid.map(lambda ratio: "none" if math.isinf(ratio) or math.isnan(ratio) else f"{ratio:.2f}")
    grid = grid[[(rule, third) for third in proof.THIRDS for rule in ("ours", "before")]]
    grid.columns = [f"{third}: {rule}" for third in proof.THIRDS for rule in ("ours", "before")]
    return grid.reset_index()


def power_sentence() -> str:
    """Where ours sees more than the rule of before, and where less."""
    seen = proof.load("power")
    decided = seen[seen["n"] >= decisions.FEWEST]
    better, worse = (
        sorted(set(decided.loc[which, "third"]), key=list(proof.THIRDS).index)
        for which in (decided["ours"] < decided["before"], decided["ours"] > decided["before"])
    )
    return (
        f"Before, one factor pooled over all cells was a part of every verdict: quiet cells paid for the noisy ones, "
        f"and these were judged too lightly. Ours sees smaller ratios in {_and(better)} cells and larger ones only in "
        f"{_and(worse)} cells, where the pooled factor was too small. Below {decisions.FEWEST} trials ours decides "
        "nothing."
    )


def _and(words: Iterable[str]) -> str:
    return " and ".join(words) or "no"


def found_table() -> pd.DataFrame:
    """By true ratio and rule: what was found, what of it is false, what was shown not to matter, what is open."""
    rates = proof.load("found")
    shares = rates[["found", "of_verdicts", "equivalent", "open"]].map(_share)
    names = {
        "found": "true differences found", "of_verdicts": "false, of verdicts",
        "equivalent": "equal ones shown not to matter", "open": "open",
    }  # fmt: skip
    facts = rates[["ratio", "rule", "trials"]].rename(columns={"ratio": "true ratio"}).astype({"trials": int})
    return pd.concat([facts, shares.rename(columns=names)], axis=1)


def found_sentence() -> str:
    """How many true differences are found in the same time, ours against the rule of before."""
    rates = proof.load("found")
    half = proof.COMPARISONS // 2

    def of(rule: str, column: str, ratio: float = proof.FACTOR) -> float:
        row = rates[(rates["rule"] == rule) & (rates["ratio"] == ratio)]
        return float(row[column].iloc[0])

    smallest = float(rates["ratio"].min())
    slightly = tuple(of(rule, "of_verdicts", smallest) for rule in (proof.OURS, proof.BEFORE))

    ours, before, planned = (of(rule, "found") for rule in (proof.OURS, proof.BEFORE, proof.BEFORE_PLANNED))
    often = rates.loc[(rates["rule"] == proof.OURS) & (rates["found"] >= _POWER), "ratio"]
    least = f"ratios of {often.min():g} and more are" if len(often) else "no ratio is"
    return (
        f"{proof.COMPARISONS} comparisons, half of them of configurations that differ, in {proof.MINUTES} minutes of "
        f"{proof.TRIAL_S:g} s a trial. Of true differences of {proof.FACTOR:g} ours finds {ours * half:.1f} of {half}, "
        f"the rule of before {before * half:.1f} after as many blocks and {planned * half:.1f} as campaigns were "
        f"planned then, with half of the time on controls: {_times(ours, before)} and {_times(ours, planned)}. False "
        f"are {of(proof.OURS, 'of_verdicts'):.1%} of verdicts, before {of(proof.BEFORE, 'of_verdicts'):.1%}; where "
        f"true differences are {smallest:g} only, {slightly[0]:.1%} against {slightly[1]:.1%}. Ours also shows "
        f"of {of(proof.OURS, 'equivalent'):.0%} of the equal ones that they do not differ, which the rule of before "
        f"never could; in that time {least} found with a chance of {_POWER:.0%}."
    )


_POWER = 0.8


def _times(one: float, other: float) -> str:
    return f"{stats.significant(one / other)} times as many" if other > 0 else "where it found none"


def claims_table() -> pd.DataFrame:
    """By orderings, truth and n: the share of each outcome."""
    rates = proof.load("claim_errors")
    return pd.concat([rates[["orderings", "truth", "n"]], rates[list(claims.OUTCOMES)].map(_share)], axis=1)


def claims_sentence() -> str:
    """How often a claim is reproduced that is not so, and refuted that is."""
    rates = proof.load("claim_errors")
    so = rates["truth"] == proof.AS_CLAIMED
    false = rates.loc[~so, claims.REPRODUCED].max()
    refuted = rates.loc[rates["truth"] != proof.REVERSED, [claims.REFUTED, claims.MIXED]].sum(axis=1).max()
    allowed = proof.highest_allowed(rates["repetitions"].iloc[0])
    borne = [
        f"{share:.0%} ({k} orderings, n = {n})"
        for k, n, share in rates.loc[so, ["orderings", "n", claims.REPRODUCED]].itertuples(index=False)
    ]
    return (
        f"At most {false:.1%} of claims are reproduced that are not so, and {refuted:.1%} refuted of which no ordering "
        f"is the other way round (stated {decisions.ALPHA:.0%}, at most {allowed:.1%} by the binomial bound). What it "
        "costs: claims that are so, with orderings "
        f"{proof.FACTOR:g} apart, are reproduced in " + ", ".join(borne) + "."
    )


def provenance() -> str:
    """Whether the tables are about the judge as it is now."""
    command = "python -m allocpool.studies.instrument.proof"
    if proof.of_this_judge():
        return f"Simulated with the judge that made this page's verdicts: `{command}`."
    return f"**Simulated with an earlier version of the judge**: `{command}` makes the tables anew."
