"""``python -m allocpool.studies.realtime.proof``: simulate how often the decision map and adaptive cells are wrong.

Writes `FILE` and `CELLS_FILE` to ``data/simulated/``. The truth is made up, so that it is known; trials are placed,
fitted and judged by `decision_map` and by `adaptive`.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from allocpool import home
from allocpool.decisions import A_CHEAPER, ALPHA, B_CHEAPER, EFFECT, EQUIVALENT, OPEN
from allocpool.studies.realtime import adaptive
from allocpool.studies.realtime import decision_map as maps
from allocpool.studies.realtime.adaptive import Seen
from allocpool.studies.realtime.specs import PDR_LOSS_RATIO

FILE, CELLS_FILE = "decision_map.csv", "adaptive_cells.csv"
SEED = 20_190_117
DESIGN = maps.Design((1_000, 8_000, 30_000, 80_000), 100.0, 10_000.0, maps.deadlines_of(100.0))
TRUTHS: dict[str, dict[str, Sequence[float]]] = {
    "the same": {"alloc": (300, 350, 450, 700), "pool": (300, 350, 450, 700)},
    "straight": {"alloc": (300, 600, 1_000, 1_500), "pool": (280, 300, 320, 340)},
    "bent": {"alloc": (300, 330, 700, 3_000), "pool": (320, 330, 340, 400)},
}
"""Smallest intervals, ns, at the live sets of `DESIGN`."""
WIDTHS = (0.05, 0.4)
"""Of the soft edge: nine in ten of the change from losing to not losing lie within."""
SIZES = (10, 15, 24)
LAPSE = 0.02
"""Trials that lose whatever their interval is, as on a machine with neighbours."""
_SOONER = 1.5
"""The boundary of the shorter deadline over that of the longer one."""


def _shown(
    live: int, interval_ns: float, edge_ns: float, width: float, queue_ms: float, rng: np.random.Generator
) -> Seen:
    """Return a trial of a boundary with a soft edge; a shorter deadline has a larger boundary."""
    soft = math.log1p(width) / (2 * math.log(19))
    draw, lapse = rng.random(), rng.random() < LAPSE
    lost, late = (
        bool(lapse or draw < 1 / (1 + math.exp(min(500.0, math.log(interval_ns / (factor * edge_ns)) / soft))))
        for factor in (1.0, _SOONER)
    )
    latest_ms = math.inf if lost else queue_ms / 2 if late else 1.0
    return Seen(live, interval_ns, queue_ms, latest_ms, 0.0, max(0.001, 1 - interval_ns / edge_ns) if lost else 0.0)


def trials_of(edges_ns: Sequence[float], width: float, count: int, rng: np.random.Generator) -> tuple[Seen, ...]:
    """Return trials of one boundary of the map, placed one after the other."""
    seen: list[Seen] = []
    for _ in range(count):
        live, interval_ns = maps.next_place(DESIGN, tuple(maps.shown_by(DESIGN, each) for each in seen))
        edge_ns = edges_ns[DESIGN.lives.index(live)]
        seen.append(_shown(live, interval_ns, edge_ns, width, DESIGN.deadlines_ms[-1], rng))
    return tuple(seen)


def errors(repetitions: int, sizes: Sequence[int] = SIZES, widths: Sequence[float] = WIDTHS) -> pd.DataFrame:
    """Return how often boundaries and verdicts are wrong.

    Columns: ``truth`` (of `TRUTHS`), ``width`` (of `WIDTHS`), ``n`` (trials of a boundary), ``repetitions``, ``holds``
    (share of the intervals of the boundary at a live set that hold the truth), ``factor`` (high over low, in the
    median), ``false`` (share of all comparisons that are decided wrongly), ``decided`` (share that is decided).
    """
    rows = []
    for (truth, edges), width, n in itertools.product(TRUTHS.items(), widths, sizes):
        rng = np.random.default_rng([SEED, n, round(100 * width)])
        found = [_once(edges, width, n, rng) for _ in range(repetitions)]
        every = {name: np.array([value for each in found for value in each[name]], float) for name in found[0]}
        shares = {name: float(np.median(all_) if name == "factor" else all_.mean()) for name, all_ in every.items()}
        rows.append({"truth": truth, "width": width, "n": n, "repetitions": repetitions, **shares})
    return pd.DataFrame(rows)


def _once(
    edges: Mapping[str, Sequence[float]], width: float, n: int, rng: np.random.Generator
) -> dict[str, list[float]]:
    sides = {strategy: trials_of(edges[strategy], width, n, rng) for strategy in maps.STRATEGIES}
    deadline_ms = DESIGN.deadlines_ms[-1]
    result: dict[str, list[float]] = {name: [] for name in ("holds", "factor", "false", "decided")}
    for strategy, seen in sides.items():
        for live, edge_ns in zip(DESIGN.lives, edges[strategy], strict=True):
            point = maps.boundary_at(seen, DESIGN.lives, live, deadline_ms)
            result["holds"].append(point is None or point.low <= edge_ns <= point.high)
            result["factor"].append(point.high / max(point.low, 1e-9) if point else math.inf)
    asked = [(sides["alloc"], sides["pool"], live) for live in DESIGN.lives]
    judged = maps.judged_together(asked, DESIGN.lives, deadline_ms)
    for comparison, alloc_ns, pool_ns in zip(judged, edges["alloc"], edges["pool"], strict=True):
        result["false"].append(float(_is_wrong(comparison.verdict, alloc_ns / pool_ns)))
        result["decided"].append(comparison.verdict != OPEN)
    return result


def _is_wrong(verdict: str, ratio: float) -> bool:
    return {
        A_CHEAPER: ratio >= 1, B_CHEAPER: ratio <= 1, EQUIVALENT: max(ratio, 1 / ratio) > EFFECT, OPEN: False,
    }[verdict]  # fmt: skip


CELL_RATIOS, CELL_WIDTHS, CELL_SIZES = (1.0, 1.5, 3.0), (0.05, 0.4, 1.0), (6, 10, 15)
_SHORTEST_NS, _LONGEST_NS = 20.0, 10_000.0
_EDGES_NS = (60.0, 3_000.0)
"""Between these lies the smaller of two boundaries, anywhere alike in logarithms."""
_BEYOND_NS = 1e6
"""Where no interval that is tried passes."""


def placed_of(edge_ns: float, width: float, count: int, rng: np.random.Generator) -> tuple[Seen, ...]:
    """Return trials of one cell, placed one after the other."""
    seen: list[Seen] = []
    for _ in range(count):
        shown = tuple(adaptive.shown_by(each, PDR_LOSS_RATIO) for each in seen)
        interval_ns = adaptive.next_interval(_SHORTEST_NS, _LONGEST_NS, shown)
        seen.append(_shown(2, interval_ns, edge_ns, width, 100.0, rng))
    return tuple(seen)


def _cell(seen: Sequence[Seen]) -> adaptive.AdaptiveTrials:
    highest_ns = max(each.interval_ns for each in seen)
    return adaptive.AdaptiveTrials(adaptive.outcomes_of(seen, PDR_LOSS_RATIO), 0, highest_ns)


def cell_errors(repetitions: int, sizes: Sequence[int] = CELL_SIZES) -> pd.DataFrame:
    """Return how often adaptive cells are wrong, two of them at a time, whose boundaries lie ``ratio`` apart.

    Columns: ``ratio``, ``width`` (of the soft edge), ``n`` (trials of a cell), ``repetitions``, ``holds`` (share of the
    intervals that hold the truth), ``factor`` (high over low, in the median), ``false`` (share of verdicts that are
    wrong), ``decided`` (share that is decided), ``false_claims`` (share of pairs where the wrong one is shown to be
    smaller, at the level of one claim), ``loses`` (share of cells without an interval that passes which are shown to
    have none), ``false_loses`` (share of the others that are).
    """
    rows = []
    for ratio, width, n in itertools.product(CELL_RATIOS, CELL_WIDTHS, sizes):
        rng = np.random.default_rng([SEED, n, round(100 * width), round(100 * ratio)])
        found = pd.DataFrame([_two_cells(ratio, width, n, rng) for _ in range(repetitions)])
        shares = {name: found[name].median() if name == "factor" else found[name].mean() for name in found}
        rows.append({"ratio": ratio, "width": width, "n": n, "repetitions": repetitions, **shares})
    return pd.DataFrame(rows)


def _two_cells(ratio: float, width: float, n: int, rng: np.random.Generator) -> dict[str, float]:
    small_ns = math.exp(rng.uniform(math.log(_EDGES_NS[0]), math.log(_EDGES_NS[1])))
    edges_ns = (ratio * small_ns, small_ns)
    sides = [placed_of(edge_ns, width, n, rng) for edge_ns in edges_ns]
    larger, smaller = map(_cell, sides)
    never = _cell(placed_of(_BEYOND_NS, width, n, rng))
    verdict = adaptive.AdaptiveJudge(PDR_LOSS_RATIO)(sides[0], sides[1], EFFECT).verdict
    ends = [cell.interval_ns() for cell in (larger, smaller)]
    # An interval that is not reported misses nothing.
    holds = [not (edge < low or edge > high) for (_, low, high), edge in zip(ends, edges_ns, strict=True)]
    return {
        "holds": float(np.mean(holds)),
        "factor": ends[1][2] / max(ends[1][1], 1e-9),
        "false": float(_is_wrong(verdict, ratio)), "decided": float(verdict != OPEN),
        "false_claims": float(adaptive.p_smaller(larger, smaller) <= ALPHA),
        "loses": float(never.p_above(never.highest_ns) <= ALPHA),
        "false_loses": float(any(cell.p_above(cell.highest_ns) <= ALPHA for cell in (larger, smaller))),
    }  # fmt: skip


def main(repetitions: int) -> None:
    folder = home.home() / "data" / "simulated"
    folder.mkdir(parents=True, exist_ok=True)
    errors(repetitions).to_csv(folder / FILE, index=False, float_format="%.4g")
    # Pairs of cells take so much less time than a map.
    cell_errors(25 * repetitions).to_csv(folder / CELLS_FILE, index=False, float_format="%.4g")


def load(file: str = FILE) -> pd.DataFrame:
    return pd.read_csv(home.home() / "data" / "simulated" / file)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 12)
