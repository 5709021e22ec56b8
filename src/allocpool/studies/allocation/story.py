"""Verdict, tables and figure of the allocation notebook, computed from its trials."""

from __future__ import annotations

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from allocpool import stats
from allocpool.campaign import store
from allocpool.decisions import compare_together
from allocpool.evidence import reference, style, tables
from allocpool.evidence.trials import finished
from allocpool.packets import by_size
from allocpool.packets.cells import present
from allocpool.packets.style import COLOURS
from allocpool.studies.allocation.claims import OPERATIONS, PUBLISHED_BYTES, published_as_trials, young_collections
from allocpool.studies.allocation.specs import EXPERIMENTS, SOURCE_TECHNIQUES, TECHNIQUES

_BUFFER = ["technique", "served_by", "touch", "bytes"]


def label(technique: object, strategy: object = "alloc") -> str:
    """Return a technique as figures print it."""
    name = TECHNIQUES[str(technique)].label if technique in TECHNIQUES else str(technique)
    return f"pool of {name}" if str(strategy) == "pool" else name


def named(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the trials that ended well, with techniques as readers see them."""
    done = finished(trials)
    return done.assign(technique=[label(*both) for both in zip(done["technique"], done["strategy"], strict=True)])


def _as_published(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the trials that did what was published, with column ``experiment``: the source's own first."""
    asked = trials["mode"].isin(EXPERIMENTS) & (trials["strategy"] == "alloc") & (trials["touch"] == "none")
    asked &= trials["technique"].isin(SOURCE_TECHNIQUES) & trials["bytes"].isin(PUBLISHED_BYTES)
    done = finished(trials[asked]).assign(experiment=lambda rows: rows["mode"].map(EXPERIMENTS))
    return done.sort_values(["experiment", "bytes"], kind="stable")


def both_experiments(trials: pd.DataFrame) -> pd.DataFrame:
    """Return what a buffer of the source's sizes costs when memory grows and when it is recycled: how many are alive,
    ns to obtain and to free one, page faults."""
    names = ["experiment", "technique", "served_by", "bytes", "slots", "live_mb"]
    costs = {"ns_per_alloc": "ns an allocation", "ns_per_free": "ns a free", "faults_per_alloc": "faults an allocation",
             "gc_pause_total_ms": "in collections, ms"}  # fmt: skip
    done = _as_published(trials)
    found = tables.intervals(done.assign(technique=done["technique"].map(label)), names, costs)
    return found.rename(columns={"slots": "buffers", "live_mb": "MB"}).round({"MB": 1})


def with_published(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the published table with our untouched figures: a row per operation, experiment, size and what serves
    it."""
    published, setup = published_as_trials(), reference.load("allocation_speed_setup")
    done = _as_published(trials)
    parts = []
    for operation, (technique, column) in OPERATIONS.items():
        theirs = published[published["technique"] == technique].dropna(subset=[column]).set_index("bytes")[column]
        columns = {column: "measured ns", "gc_pauses": "collections"}
        found = tables.intervals(done[done["technique"] == technique], ["experiment", "bytes", "served_by"], columns)
        found.insert(0, "operation", operation.replace("_", " "))
        found["published ns"] = found["bytes"].map(theirs).map(stats.significant, na_action="ignore")
        if technique == "byte_array":
            found["published collections"] = [f"{young_collections(setup, size):.0f}" for size in found["bytes"]]
        parts.append(found)
    return pd.concat(parts, ignore_index=True)


def pooling_saves(trials: pd.DataFrame) -> pd.DataFrame:
    """Return what obtaining and giving back a fresh buffer cost over a pooled one: ``ratio``, its interval, ``n``, the
    verdict, and ns saved. All buffers that were measured both ways are decided together."""
    names, sides = [], []
    for key, group in finished(trials[trials["mode"] == "allocation"]).groupby(_BUFFER, observed=True):
        fresh, pooled = (
            group[group["strategy"] == strategy].set_index("block")["ns_per_buffer"].astype(float).dropna()
            for strategy in ("alloc", "pool")
        )
        if len(fresh) and len(pooled):
            names.append((*key, stats.geometric_mean(fresh) - stats.geometric_mean(pooled)))
            sides.append((fresh, pooled))
    figures = []
    for one in compare_together(sides):
        found = one.decision
        verdict = by_size.verdict_of(found.n, one.direction, one.equivalent)
        figures.append((found.ratio, found.low, found.high, found.n, verdict, found.remark or None))
    saved = pd.DataFrame(names, columns=[*_BUFFER, "ns_saved"])
    return saved.join(pd.DataFrame(figures, columns=["ratio", "low", "high", "n", "verdict", "remark"]))


def verdict(trials: pd.DataFrame) -> str:
    """Return for how many buffers that the program touches a pool is shown to be cheaper, or a fresh buffer.

    Untouched buffers are no part of it: no program does nothing with a buffer.
    """
    saved = pooling_saves(trials)
    return by_size.tally("Buffers that are touched", saved[saved["touch"] != "none"]).text


def summary(profile: str) -> str:
    """Return the verdict on what is stored under a profile."""
    return verdict(store.stored("allocation", profile)[0]["trials"])


_CPP, _ARRAYS, _OTHER = "C++", "Java: byte[]", "Java: other ways"


def _panels(rows: pd.DataFrame) -> pd.Series:
    """Sort rows into what can be read in one panel: C++, byte[] by collector, the other ways of Java."""
    cpp, plain = rows["language"] == "cpp", (rows["technique"] == "byte_array") & (rows["strategy"] == "alloc")
    return cpp.map({True: _CPP, False: _OTHER}).mask(~cpp & plain, _ARRAYS)


def cost_by_size(trials: pd.DataFrame, column: str = "ns_per_alloc", mode: str = "allocation") -> Figure:
    """Draw a column in ns against bytes, one line per technique and what serves it, untouched buffers of one of the
    experiments; bars are the spread over trials, crosses the published figures."""
    done = trials[(trials["mode"] == mode) & (trials["touch"] == "none") & trials[column].notna()]
    done = named(done.assign(panel=_panels(done)))
    if done.empty:
        return style.nothing("no trial has finished yet")
    done["name"] = done["technique"] + " on " + done["served_by"]
    several = done.groupby("name")["bytes"].transform("nunique") > 1
    cells = tables.means(done[several] if several.any() else done, ["panel", "name", "strategy", "bytes"], column)
    theirs = published_as_trials().dropna(subset=[column])
    theirs = theirs.assign(panel=_panels(theirs), ns=theirs[column], name="2012 " + theirs["technique"].map(label))
    shown = present((_CPP, _ARRAYS, _OTHER), cells["panel"])
    # Colours are the two of all figures; what serves the memory is shown by markers and by the name at each line.
    palette = dict(zip(cells["name"], cells["strategy"].map(COLOURS), strict=True))
    markers: dict[str, str] = {}
    for names in cells.groupby("panel")["name"]:
        markers |= style.looks(names[1])["markers"]
    grid = sns.relplot(
        style.stated(cells, "ns"), kind="line", x="bytes", y="ns", hue="name", style="name", dashes=False,
        palette=palette, markers=markers, **style.BARS, legend=False, **style.panels("panel", shown, 3.6, 1),
    )  # fmt: skip
    style.log_axes(grid, "x", cells["bytes"], most=3)
    style.log_axes(grid, "y", [*cells["ns"], 10], 1.5, most=5)
    for panel, axis, mine in style.by_panel(grid, cells):
        crosses = theirs[theirs["panel"] == panel]
        axis.plot(crosses["bytes"], crosses["ns"], linestyle="", marker="x", color=style.INK, markersize=7, zorder=5)
        ends = pd.concat([mine, crosses]).sort_values("bytes").groupby("name")["ns"].last()
        style.label_lines(axis, [(float(ns), _briefly(str(name), panel), palette.get(str(name), style.INK))
                           for name, ns in ends.items()])  # fmt: skip
    what = column.replace("_", " ")
    grid.set_axis_labels("bytes per buffer (log scale)", f"{what} (log)")
    return style.finish(grid, f"{what} of a buffer against its size in bytes.")


def _briefly(name: str, panel: str) -> str:
    """Return a name as it stands at its line, without what the title of the panel says."""
    name = name.replace("byte[] on ", "").replace("byte[]", "") if panel == _ARRAYS else name
    return name.replace(" ByteBuffer", "").replace("generational", "gen.").strip()
