"""What holds on several hosts: a figure host by host, and in words what agrees and what does not."""

from __future__ import annotations

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from allocpool import stats
from allocpool.decisions import A_CHEAPER, B_CHEAPER, EQUIVALENT
from allocpool.evidence.style import INK, WIDTH, describe, legend, log_axis, new_figure, nothing
from allocpool.evidence.trials import records

_MOST = 24
"""Questions that a figure has room for."""
_NAMED = 3
ONE_HOST = (
    "These trials are of one host. Whether it holds on others, a fleet says (`allocpool run STUDY --scheduler`), or "
    "the archive of another site (`allocpool import`)."
)


def agreement(questions: pd.DataFrame, combined: pd.DataFrame) -> str:
    """What hosts agree on, and what not, in words, from `questions_of_hosts` and `combined` of it.

    Hosts agree where two of them or more have decided, and all that have say the same; they contradict each other
    where one shows the one side to be cheaper, and another one the other.
    """
    if combined.empty:
        return ONE_HOST
    ends = {key: set(group["verdict"]) for key, group in _decided(questions) if len(group) > 1}
    same = sum(len(verdicts) == 1 for verdicts in ends.values())
    against = [key for key, verdicts in ends.items() if {A_CHEAPER, B_CHEAPER} <= verdicts]
    other = len(ends) - same - len(against)
    found = [
        f"{questions['host_id'].nunique()} hosts were measured, each a block of its own. Of {len(combined)} questions "
        f"that two or more have figures of, {len(ends)} are decided on two or more: they agree on {same}, contradict "
        f"each other on {len(against)}, and on {other} one sees a difference that does not matter on another."
    ]
    named = {(str(row.study), str(row.question)): f"{row.a} against {row.b}" for row in records(combined)}
    if against:
        names = [named[key] for key in against[:_NAMED]]
        more = f", and {len(against) - _NAMED} more" if len(against) > _NAMED else ""
        found.append(f"They contradict each other on {'; '.join(names)}{more}.")
    decided = combined["verdict"].isin([A_CHEAPER, B_CHEAPER]).sum()
    level = combined["verdict"].eq(EQUIVALENT).sum()
    found.append(
        f"Over hosts, as a sample of such hosts, {decided} are decided, {level} show no difference that matters, and "
        f"{len(combined) - decided - level} are inconclusive; beyond their own noise hosts differ by a factor of "
        f"{stats.significant(float(combined['spread'].median()))} in the median question, and of "
        f"{stats.significant(float(combined['spread'].max()))} in the widest."
    )
    return " ".join(found)


def _decided(questions: pd.DataFrame) -> list[tuple[tuple[str, str], pd.DataFrame]]:
    rows = questions[questions["verdict"].isin([A_CHEAPER, B_CHEAPER, EQUIVALENT])]
    return [((str(key[0]), str(key[1])), group) for key, group in rows.groupby(["study", "question"], sort=False)]


def forest(questions: pd.DataFrame, combined: pd.DataFrame) -> Figure:
    """Cost ratios host by host with their intervals, and the mean over hosts: the primary questions on which hosts lie
    furthest apart."""
    shown = furthest_apart(combined)
    if shown.empty:
        return nothing("one host: nothing to set beside it")
    place = {key: line for line, key in enumerate(zip(shown["study"], shown["question"], strict=True))}
    rows = questions[[key in place for key in zip(questions["study"], questions["question"], strict=True)]]
    hosts = list(rows["host"].unique())
    step = 0.7 / (len(hosts) + 1)
    keys = zip(rows["study"], rows["question"], strict=True)
    below = [step * (1 + hosts.index(host)) - 0.35 for host in rows["host"]]
    rows = rows.assign(line=[place[key] + more for key, more in zip(keys, below, strict=True)])
    figure, (axis,) = new_figure(1, 1, WIDTH, 1.6 + 0.45 * len(shown))
    colours = dict(zip(hosts, sns.color_palette("colorblind", len(hosts)), strict=True))
    known = rows.dropna(subset=["low", "high"])
    axis.hlines(known["line"], known["low"], known["high"], colors=[colours[host] for host in known["host"]], lw=1.4)
    sns.scatterplot(rows, x="ratio", y="line", hue="host", style="host", palette=colours, s=30, ax=axis, zorder=3)
    lines = [line + step * (1 + len(hosts)) - 0.35 for line in range(len(shown))]
    axis.hlines(lines, shown["low"], shown["high"], colors=INK, lw=2.4)
    axis.scatter(shown["ratio"], lines, marker="D", s=34, color=INK, zorder=3, label="mean over hosts")
    axis.axvline(1.0, color=INK, lw=0.8)
    ends = pd.concat([rows["ratio"], known["low"], known["high"], shown["ratio"]]).astype(float)
    log_axis(axis, float(ends.min()), float(ends.max()))  # the mean of few hosts reaches beyond, and is cut
    axis.set_yticks(range(len(shown)), [f"{a}\nover {b}" for a, b in zip(shown["a"], shown["b"], strict=True)])
    axis.invert_yaxis()
    axis.set_xlabel("ratio of costs")
    axis.set_ylabel("")
    legend(figure, axis.get_legend_handles_labels()[0], 3)
    if (own := axis.get_legend()) is not None:
        own.remove()
    return describe(
        figure,
        f"{stats.plural(len(shown), 'ratio')} of costs on {stats.plural(len(hosts), 'host')}; their means over hosts "
        f"lie between {stats.significant(float(shown['ratio'].min()))} and "
        f"{stats.significant(float(shown['ratio'].max()))}, furthest apart of all {shown['a'].iloc[0]} over "
        f"{shown['b'].iloc[0]}, by a factor of {stats.significant(float(shown['spread'].iloc[0]))}.",
        rows.drop(columns="line"),
    )


def furthest_apart(combined: pd.DataFrame) -> pd.DataFrame:
    """The questions that `forest` has room for."""
    return (
        combined[combined["primary"].astype(bool)]
        .astype({"spread": float})
        .nlargest(_MOST, "spread")
        .reset_index(drop=True)
    )


def forest_caption(combined: pd.DataFrame) -> str:
    """What the figure shows, and what it leaves out."""
    shown, primary = furthest_apart(combined), combined[combined["primary"].astype(bool)]
    left = len(primary) - len(shown)
    rest = f"; {left} others, on which hosts lie closer together, are left out" if left else ""
    few = int(combined["hosts"].min()) if len(combined) else 0
    wide = " Of two hosts alone that interval says little." if few == 2 else ""
    return (
        f"Ratios of costs in {len(shown)} primary questions, host by host, with intervals that hold whenever one "
        "looks; in black the mean over hosts, each of which counts the same, with Student's 95% interval as of a "
        f"sample of such hosts{rest}.{wide}"
    )
