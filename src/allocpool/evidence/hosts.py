"""What holds on several hosts: how many questions they agree on, and a figure host by host."""

from __future__ import annotations

import math

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from allocpool.decisions import A_CHEAPER, B_CHEAPER, EQUIVALENT, OPEN
from allocpool.evidence import style

_MOST = 24
"""Questions that a figure has room for."""
_MEAN = "mean over hosts"
ONE_HOST = (
    "These trials are of one host. To compare hosts, run a fleet (`allocpool run STUDY --scheduler`) or import the "
    "archive of another site (`allocpool import`)."
)


def agreement(questions: pd.DataFrame, combined: pd.DataFrame) -> pd.DataFrame:
    """Return how many ``questions`` two or more hosts decide alike, in opposite ways, or otherwise, and how many are
    decided over hosts; from `questions_of_hosts` and `combined` of it."""
    decided = questions[questions["verdict"] != OPEN].groupby(["study", "question"])["verdict"]
    verdicts = [set(each) for _, each in decided if len(each) > 1]
    agree = sum(len(each) == 1 for each in verdicts)
    opposite = sum({A_CHEAPER, B_CHEAPER} <= each for each in verdicts)
    over_hosts = combined["verdict"]
    counts = {
        "measured on two or more hosts": len(combined),
        "decided alike on two or more": agree,
        "decided in opposite ways": opposite,
        "a difference on one, equivalent on another": len(verdicts) - agree - opposite,
        "one side cheaper over hosts": int(over_hosts.isin([A_CHEAPER, B_CHEAPER]).sum()),
        "equivalent over hosts": int((over_hosts == EQUIVALENT).sum()),
    }
    return pd.DataFrame({"comparisons": counts.keys(), "count": counts.values()})


def forest(questions: pd.DataFrame, combined: pd.DataFrame) -> Figure:
    """Draw the cost ratios on which hosts differ most, host by host with their intervals, and the mean."""
    primary = combined[combined["primary"].astype(bool)].astype({"spread": float})
    shown = primary.nlargest(_MOST, "spread")
    if shown.empty:
        return style.nothing("one host: nothing to compare it with")
    rows = questions.merge(shown[["study", "question"]])
    hosts = list(rows["host"].unique())
    ends = pd.concat([rows["ratio"], rows["low"], rows["high"]]).astype(float)
    ends = ends[(ends > 0) & (ends < math.inf)]
    rows = pd.concat([rows, shown.assign(host=_MEAN)])
    rows = rows.assign(comparison=rows["a"] + "\nover " + rows["b"])
    rows = rows[["comparison", "host", "ratio", "low", "high", "verdict"]]
    # The interval of a mean of few hosts reaches far beyond them.
    cut = rows.assign(low=rows["low"].clip(lower=ends.min()), high=rows["high"].clip(upper=ends.max()))
    colours = dict(zip(hosts, sns.color_palette("colorblind", len(hosts)), strict=True))
    grid = sns.catplot(
        style.stated(cut, "ratio"), kind="point", x="ratio", y="comparison", hue="host", dodge=0.6, linestyle="none",
        order=(shown["a"] + "\nover " + shown["b"]).unique(), palette={**colours, _MEAN: style.INK},
        markers=[*(style.MARKERS * len(hosts))[: len(hosts)], "D"],
        **style.STATED, **style.size(1, 1.6 + 0.45 * len(shown)),
    )  # fmt: skip
    style.log_axes(grid, "x", ends)
    style.rule(grid, x=1.0)
    grid.set(ylabel="")
    text = "Ratios of costs by host, furthest apart first."
    return style.describe(style.finish(grid, text, x="ratio of costs"), text, rows)
