"""``python -m allocpool.studies.realtime.proof``: how often the decision map is wrong, by simulation.

Writes `FILE` to ``data/simulated/``. The truth is made up, so that it is known; trials are placed, fitted, judged and
named by `allocpool.studies.realtime.decision_map` itself.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from allocpool import home
from allocpool.decisions import A_CHEAPER, B_CHEAPER, EFFECT, EQUIVALENT, OPEN
from allocpool.studies.realtime import decision_map as maps

FILE = "decision_map.csv"
SEED = 20_190_117
DESIGN = maps.Design((1_000, 8_000, 30_000, 80_000), 100.0, 10_000.0, maps.deadlines_of(100.0))
TRUTHS: Mapping[str, Mapping[str, Sequence[float]]] = MappingProxyType(
    {
        "the same": {"alloc": (300, 350, 450, 700), "pool": (300, 350, 450, 700)},
        "straight": {"alloc": (300, 600, 1_000, 1_500), "pool": (280, 300, 320, 340)},
        "bent": {"alloc": (300, 330, 700, 3_000), "pool": (320, 330, 340, 400)},
    }
)
"""Smallest intervals, ns, at the live sets of `DESIGN`."""
WIDTHS = (0.05, 0.4)
"""Of the soft edge: nine in ten of the change from losing to not losing lie within."""
SIZES = (10, 15, 24)
LAPSE = 0.02
"""Trials that lose whatever their interval is, as on a machine with neighbours."""
_SOONER = 1.5
"""The boundary of the shorter deadline over that of the longer one."""


def trials_of(edges_ns: Sequence[float], width: float, count: int, rng: np.random.Generator) -> tuple[maps.Seen, ...]:
    """Trials of one boundary, placed one after the other."""
    soft = math.log1p(width) / (2 * math.log(19))
    seen: list[maps.Seen] = []
    for _ in range(count):
        live, interval_ns = maps.next_place(DESIGN, tuple(maps.shown_by(DESIGN, each) for each in seen))
        edge_ns = edges_ns[DESIGN.lives.index(live)]
        draw, lapse = rng.random(), rng.random() < LAPSE
        lost, late = (
            lapse or draw < 1 / (1 + math.exp(min(500.0, math.log(interval_ns / (factor * edge_ns)) / soft)))
            for factor in (1.0, _SOONER)
        )
        latest_ms = math.inf if lost else 50.0 if late else 1.0
        share = max(0.001, 1 - interval_ns / edge_ns) if lost else 0.0
        seen.append(maps.Seen(live, interval_ns, DESIGN.deadlines_ms[-1], latest_ms, 0.0, share))
    return tuple(seen)


def errors(repetitions: int, sizes: Sequence[int] = SIZES, widths: Sequence[float] = WIDTHS) -> pd.DataFrame:
    """How often boundaries, verdicts and regions are wrong.

    Columns: ``truth`` (of `TRUTHS`), ``width`` (of `WIDTHS`), ``n`` (trials of a boundary), ``repetitions``, ``holds``
    (share of the intervals of the boundary at a live set that hold the truth), ``factor`` (high over low, in the
    median), ``false`` (share of all comparisons that are decided wrongly), ``decided`` (share that is decided),
    ``misnamed`` (share of points, random in the map, whose region is named and not theirs), ``named`` (share named).
    """
    rows = []
    for truth, edges in TRUTHS.items():
        for width in widths:
            for n in sizes:
                rng = np.random.default_rng([SEED, n, round(100 * width)])
                told = [_once(edges, width, n, rng) for _ in range(repetitions)]
                columns = ("holds", "factor", "false", "decided", "misnamed", "named")
                folds: tuple[Callable[[Any], Any], ...] = (np.mean, np.median, np.mean, np.mean, np.mean, np.mean)
                shares = {
                    name: float(fold(np.array([value for each in told for value in each[name]])))
                    for name, fold in zip(columns, folds, strict=True)
                }
                rows.append({"truth": truth, "width": width, "n": n, "repetitions": repetitions, **shares})
    return pd.DataFrame(rows)


def _once(
    edges: Mapping[str, Sequence[float]], width: float, n: int, rng: np.random.Generator
) -> dict[str, list[float]]:
    sides = {strategy: trials_of(edges[strategy], width, n, rng) for strategy in maps.STRATEGIES}
    deadline_ms = DESIGN.deadlines_ms[-1]
    told: dict[str, list[float]] = {name: [] for name in ("holds", "factor", "false", "decided", "misnamed", "named")}
    found = []
    for strategy, seen in sides.items():
        for live, edge_ns in zip(DESIGN.lives, edges[strategy], strict=True):
            point = maps.boundary_at(seen, DESIGN.lives, live, deadline_ms)
            ends = (point.estimate, point.low, point.high) if point else (math.nan,) * 3
            told["holds"].append(point is None or point.low <= edge_ns <= point.high)
            told["factor"].append(point.high / max(point.low, 1e-9) if point else math.inf)
            found.append(["made up", strategy, deadline_ms, live, *ends])
    judged = maps.judged_together(
        [(sides["alloc"], sides["pool"], live) for live in DESIGN.lives], DESIGN.lives, deadline_ms
    )
    for told_of, alloc_ns, pool_ns in zip(judged, edges["alloc"], edges["pool"], strict=True):
        ratio = alloc_ns / pool_ns
        wrong = {
            A_CHEAPER: ratio >= 1, B_CHEAPER: ratio <= 1, EQUIVALENT: max(ratio, 1 / ratio) > EFFECT, OPEN: False,
        }[told_of.verdict]  # fmt: skip
        told["false"].append(float(wrong))
        told["decided"].append(told_of.verdict != OPEN)
    table = pd.DataFrame(found, columns=list(maps.BOUNDARY_COLUMNS[:7]))
    logs = np.log(DESIGN.lives)
    for _ in range(20):
        held = math.exp(rng.uniform(logs[0], logs[-1]))
        rate_per_s = 1e9 / math.exp(rng.uniform(math.log(DESIGN.low_ns), math.log(DESIGN.high_ns)))
        alloc, pool = (1e9 / math.exp(np.interp(math.log(held), logs, np.log(edges[name]))) for name in maps.STRATEGIES)
        named = maps.region_of_point(table, "made up", deadline_ms, (held, rate_per_s))
        told["named"].append(named != maps.UNKNOWN)
        told["misnamed"].append(named not in (maps.UNKNOWN, maps.region(rate_per_s, alloc, pool)))
    return told


def main(repetitions: int) -> None:
    """Simulate the table."""
    folder = home.home() / "data" / "simulated"
    folder.mkdir(parents=True, exist_ok=True)
    errors(repetitions).to_csv(folder / FILE, index=False, float_format="%.4g")


def load() -> pd.DataFrame:
    """The table, as it was simulated last."""
    return pd.read_csv(home.home() / "data" / "simulated" / FILE)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 12)
