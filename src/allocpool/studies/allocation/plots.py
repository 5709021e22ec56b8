"""What a buffer costs by its size."""

from __future__ import annotations

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from allocpool.evidence import style
from allocpool.evidence.style import by_panel, finish, label_lines, log_axes, looks, nothing, panels, stated
from allocpool.evidence.tables import means
from allocpool.evidence.trials import finished
from allocpool.packets.cells import present
from allocpool.packets.style import COLOURS
from allocpool.studies.allocation.claims import published_as_trials
from allocpool.studies.allocation.story import label

_CPP, _ARRAYS, _OTHER = "C++", "Java: byte[]", "Java: other ways"


def _names(rows: pd.DataFrame) -> list[str]:
    """Return the technique and what serves it, of each row."""
    facts = zip(rows["technique"], rows["strategy"], rows["served_by"], strict=True)
    return [f"{label(technique, strategy)} on {served_by}" for technique, strategy, served_by in facts]


def _panels(rows: pd.DataFrame) -> pd.Series:
    """Sort rows into what can be read in one panel: C++, byte[] by collector, the other ways of Java."""
    cpp, plain = rows["language"] == "cpp", (rows["technique"] == "byte_array") & (rows["strategy"] == "alloc")
    return cpp.map({True: _CPP, False: _OTHER}).mask(~cpp & plain, _ARRAYS)


def cost_by_size(trials: pd.DataFrame, column: str = "ns_per_alloc") -> Figure:
    """Draw a column in ns against bytes, one line per technique and what serves it, untouched buffers; bars are the
    spread over trials, crosses the published figures."""
    done = finished(trials[(trials["mode"] == "allocation") & (trials["touch"] == "none") & trials[column].notna()])
    if done.empty:
        return nothing("no trial has finished yet")
    done = done.assign(panel=_panels(done), name=_names(done))
    several = done.groupby("name")["bytes"].transform("nunique") > 1
    cells = means(done[several] if several.any() else done, ["panel", "name", "strategy", "bytes"], column)
    theirs = published_as_trials().dropna(subset=[column])
    theirs = theirs.assign(panel=_panels(theirs), ns=theirs[column], name="2012 " + theirs["technique"].map(label))
    shown = present((_CPP, _ARRAYS, _OTHER), cells["panel"])
    # Colours are the two of all figures; what serves the memory is shown by markers and by the name at each line.
    palette = dict(zip(cells["name"], cells["strategy"].map(COLOURS), strict=True))
    markers = {
        name: look for _, part in cells.groupby("panel") for name, look in looks(part["name"])["markers"].items()
    }
    grid = sns.relplot(stated(cells, "ns"), kind="line", x="bytes", y="ns", hue="name", style="name", dashes=False,
                       palette=palette, markers=markers, **style.BARS, legend=False,
                       **panels("panel", shown, 3.6, 1))  # fmt: skip
    log_axes(grid, "x", cells["bytes"], most=3)
    log_axes(grid, "y", [*cells["ns"], 10], 1.5, most=5)
    for panel, axis, mine in by_panel(grid, cells):
        crosses = theirs[theirs["panel"] == panel]
        axis.plot(crosses["bytes"], crosses["ns"], linestyle="", marker="x", color=style.INK, markersize=7, zorder=5)
        ends = pd.concat([mine, crosses]).sort_values("bytes").groupby("name")["ns"].last()
        label_lines(axis, [(float(ns), _briefly(str(name), panel), palette.get(str(name), style.INK))
                           for name, ns in ends.items()])  # fmt: skip
    grid.set_axis_labels("bytes per buffer (log scale)", column.replace("_", " ") + " (log)")
    return finish(grid, f"{column.replace('_', ' ')} of a buffer against its size in bytes.")


def _briefly(name: str, panel: str) -> str:
    """Return a name as it stands at its line, without what the title of the panel says."""
    name = name.replace("byte[] on ", "").replace("byte[]", "") if panel == _ARRAYS else name
    return name.replace(" ByteBuffer", "").replace("generational", "gen.").strip()
