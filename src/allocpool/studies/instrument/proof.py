"""``python -m allocpool.studies.instrument.proof``: how often the judge is wrong, and what it sees, by simulation.

Writes `TABLES` to ``data/simulated/``, with the hash of the judge that they are about; tests run parts of them again.
"""

from __future__ import annotations

import hashlib
import math
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import signal
from scipy import stats as scipy_stats

from allocpool import decisions, home, pace, stats
from allocpool.campaign import schedule
from allocpool.campaign.schedule import Progress, Question, next_round
from allocpool.evidence import claims
from allocpool.studies.instrument.simulation import NOISES, SEED, Array, shift_seen

Flags = npt.NDArray[np.bool_]

SIZES = tuple(range(2, 16))
"""Trials a side after which a reader may stop and look."""
THIRDS: Mapping[str, float] = {"quiet": 0.05, "usual": 0.10, "noisy": 0.25}
"""Cells of a made-up campaign, a third each, with this standard deviation of the logarithm, as shipped ones have."""
OF_EACH = 7
BESIDES = ("lognormal", "two speeds", "outliers", "drift")
"""What a campaign has besides the noise of its cells: nothing; three trials in ten that take four times as long; one in
twenty that takes twice as long; blocks that wander by 5% a step, for all alike."""
COMPARISONS = 40
"""Of the campaign that has `MINUTES`, half of them with a true difference."""
MINUTES, TRIAL_S = 20, 1.7
"""Of a campaign, and of one trial with what it takes to start, as profile quick has them."""
FACTOR = 1.3
"""A true difference that such a campaign is to find."""
_ALLOWED = 1e-3
"""A share above its rate by chance alone once in a thousand is no fault."""


def highest_allowed(repetitions: float, rate: float = decisions.ALPHA) -> float:
    """Return the share that so many repetitions of a rate exceed once in a thousand."""
    return float(scipy_stats.binom.ppf(1 - _ALLOWED, int(repetitions), rate)) / int(repetitions)


def campaign_of_controls(rng: np.random.Generator, besides: str, repetitions: int, n: int) -> tuple[Array, Array]:
    """Draw logarithms of a campaign of 21 cells, each under two names: repetitions x cells x trials."""
    sigma = np.repeat(list(THIRDS.values()), OF_EACH)[None, :, None]
    shape = (repetitions, sigma.size, n)
    sides = [sigma * rng.standard_normal(shape) for _ in "ab"]
    if besides == "two speeds":
        sides = [side + math.log(4) * (rng.random(shape) < 0.3) for side in sides]
    elif besides == "outliers":
        sides = [side + math.log(2) * (rng.random(shape) < 0.05) for side in sides]
    elif besides == "drift":
        blocks = np.cumsum(0.05 * rng.standard_normal((repetitions, 1, n)), axis=-1)
        sides = [side + blocks for side in sides]
    return sides[0], sides[1]


class Judged(NamedTuple):
    """Verdicts on comparisons: whether each has one, and whether it is that of a difference."""

    decided: Flags
    different: Flags


def alone(a: Array, b: Array, alpha: float = decisions.ALPHA, effect: float = decisions.EFFECT) -> Judged:
    """Return `decisions.decide` at the latest look, of many comparisons at once; trials along the last axis."""
    if a.shape[-1] < decisions.FEWEST:
        none = np.zeros(a.shape[:-1], dtype=bool)
        return Judged(none, none)
    low, high = decisions.repeated_interval(a, b, alpha)
    margin = math.log(effect)
    equivalent = (-margin < low) & (high < margin)
    different = ~equivalent & ((low > 0) | (high < 0))
    return Judged(equivalent | different, different)


def together(a: Array, b: Array, alpha: float = decisions.ALPHA) -> Judged:
    """Return `decisions.decide_together` over the last axis but one, of many campaigns at once."""
    cells = a.shape[-2]
    levels = [alone(a, b, alpha * max(level, 1) / cells) for level in range(cells + 1)]
    decided = np.stack([found.decided for found in levels])
    counts = decided.sum(axis=-1)
    at = np.full(a.shape[:-2], cells)
    while True:
        still = np.take_along_axis(counts, at[None], axis=0)[0]
        lower = (still < at) & (at > 1)
        if not lower.any():
            break
        at = np.where(lower, still, at)
    different = np.stack([found.different for found in levels])
    chosen = at[None, ..., None]
    return Judged(np.take_along_axis(decided, chosen, axis=0)[0], np.take_along_axis(different, chosen, axis=0)[0])


def false_verdicts(repetitions: int = 2_000) -> pd.DataFrame:
    """Judge identical configurations under two names at every size so far: a difference that is found is false.

    Columns: ``disturbance`` (of `BESIDES`), ``n``, ``repetitions``, ``quiet``, ``usual``, ``noisy`` (share of
    the comparisons of a third ever found different, each alone), ``page`` (share of false verdicts of a campaign
    decided together, at the worst moment to stop: its mean), ``decided`` (share decided together, at the last size).
    """
    rows = []
    for besides in BESIDES:
        a, b = campaign_of_controls(np.random.default_rng([SEED, 1]), besides, repetitions, SIZES[-1])
        ever = np.zeros(a.shape[:-1], dtype=bool)
        worst = np.zeros(repetitions)
        found = Judged(ever, ever)
        for n in SIZES:
            if n in decisions.LOOKS:
                ever = ever | alone(a[..., :n], b[..., :n]).different
                found = together(a[..., :n], b[..., :n])
                worst = np.maximum(worst, found.different.sum(axis=-1) / np.maximum(found.decided.sum(axis=-1), 1))
            thirds = ever.reshape(repetitions, len(THIRDS), OF_EACH).mean(axis=(0, 2))
            rows.append(
                {"disturbance": besides, "n": n, "repetitions": repetitions, **dict(zip(THIRDS, thirds, strict=True)),
                 "page": worst.mean(), "decided": found.decided.mean()}
            )  # fmt: skip
    return pd.DataFrame(rows)


def coverage(repetitions: int = 4_000) -> pd.DataFrame:
    """Return how often each interval holds the truth; its nominal rate is `stats.CONFIDENCE`.

    Columns: ``interval``, ``noise`` (of `NOISES`, or the true share of trials), ``n``, ``repetitions``, ``holds``,
    ``trimmed_off`` (of two sides with this noise, how far apart the trimmed means are in the median case, as a share).
    """
    rows: list[dict[str, object]] = []
    truth = math.log(FACTOR)
    for name, noise in NOISES.items():
        for n in (2, 3, 4, 5, 8, 10, 15, 30):
            a, b = noise.draw(np.random.default_rng([SEED, 2, n]), (repetitions, n))
            facts = {"noise": name, "n": n, "repetitions": repetitions}
            half = scipy_stats.t.ppf(0.5 + stats.CONFIDENCE / 2, n - 1) * a.std(axis=-1, ddof=1) / math.sqrt(n)
            rows.append({"interval": _CELL, **facts, "holds": np.mean(np.abs(a.mean(axis=-1) - noise.mean) <= half)})
            if n < decisions.FEWEST:
                middle, half = decisions.early_interval(a + truth, b, decisions.ALPHA)
                rows.append({"interval": _EARLY, **facts, "holds": np.mean(np.abs(middle - truth) <= half)})
                continue
            holds = np.ones(repetitions, dtype=bool)
            for look in (size for size in decisions.LOOKS if size <= n):
                low, high = decisions.repeated_interval(a[:, :look] + truth, b[:, :look], decisions.ALPHA)
                holds &= (low <= truth) & (truth <= high)
            middle, half = decisions.welch(a + truth, b, decisions.ALPHA)
            rows.append({"interval": ONLY, **facts, "holds": np.mean(np.abs(middle - truth) <= half)})
            off = np.median(np.abs(_trimmed(a) - _trimmed(b)))
            rows.append({"interval": REPEATED, **facts, "holds": np.mean(holds), "trimmed_off": math.expm1(off)})
    for share in (0.05, 0.2, 0.5):
        for n in (2, 5, 10, 30):
            chances = scipy_stats.binom.pmf(np.arange(n + 1), n, share)
            bounds = [stats.binomial_bounds(events, n) for events in range(n + 1)]
            holds_share = sum(p for p, (low, high) in zip(chances, bounds, strict=True) if low <= share <= high)
            rows.append({"interval": _SHARE, "noise": f"{share:.0%} of trials", "n": n, "holds": holds_share})
    return pd.DataFrame(rows)


_CELL, _EARLY, REPEATED = "a cell's mean", "a ratio, below five trials", "a ratio, at every look so far"
ONLY = "a ratio, at the end of a fixed plan"
_SHARE = "a share of trials"


def _trimmed(logs: Array) -> Array:
    """`decisions.trimmed_mean` along the last axis."""
    cut = math.floor(0.2 * logs.shape[-1])
    return np.asarray(np.sort(logs, axis=-1)[..., cut : logs.shape[-1] - cut].mean(axis=-1))


def power(repetitions: int = 1_000) -> pd.DataFrame:
    """Return the smallest true ratio that is found with a chance of 80%, each comparison alone: ``n``, ``third``,
    ``ours`` (infinite: none is)."""
    rows = []
    for n in (2, 3, 5, 8, 10, 15, 30):
        a, b = campaign_of_controls(np.random.default_rng([SEED, 3, n]), "lognormal", repetitions, n)
        ours = shift_seen(a, b)
        for k, third in enumerate(THIRDS):
            part = ours[:, k * OF_EACH : (k + 1) * OF_EACH]
            rows.append({"n": n, "third": third, "ours": math.exp(np.quantile(part, 0.8, method="higher"))})
    return pd.DataFrame(rows)


def found(campaigns: int = 50, ratios: Sequence[float] = (1.1, 1.2, FACTOR, 1.5)) -> pd.DataFrame:
    """Return what a campaign of `COMPARISONS` finds in `MINUTES`: with trials where they are needed, and after as many
    equal blocks as fit.

    Columns: ``ratio`` (true, of half of the comparisons), ``rule``, ``campaigns``, ``trials``, ``found`` (share of the
    true differences), ``false`` (share of the others found different, or of true ones the wrong way), ``of_verdicts``
    (false, of all verdicts of a campaign, in the mean), ``equivalent`` (share of the others), ``open``.
    """
    rows = []
    for ratio in ratios:
        tallies: dict[str, list[tuple[float, ...]]] = {}
        for k in range(campaigns):
            for rule, tally in _one_campaign(ratio, np.random.default_rng([SEED, 4, k]), k).items():
                tallies.setdefault(rule, []).append(tally)
        for rule, every in tallies.items():
            means = np.mean(every, axis=0)
            names = ("trials", "found", "false", "of_verdicts", "equivalent", "open")
            rows.append({"ratio": ratio, "rule": rule, "campaigns": campaigns, **dict(zip(names, means, strict=True))})
    return pd.DataFrame(rows)


_SPREAD, _SPREAD_OF_IT = 0.10, 0.55
"""Median over cells of the standard deviation of the logarithm on a noisy day, and that of its logarithm: nine cells in
ten stay below 0.2."""
OURS, OURS_FIXED = "ours", "ours, equal blocks"


def _one_campaign(ratio: float, rng: np.random.Generator, seed: int) -> dict[str, tuple[float, ...]]:
    """One campaign by each rule: trials, and the shares of `found`."""
    sigmas = np.minimum(0.6, _SPREAD * np.exp(_SPREAD_OF_IT * rng.standard_normal((COMPARISONS, 2))))
    shifts = np.where(np.arange(COMPARISONS) % 2 == 0, math.log(ratio), 0.0)
    budget = int(MINUTES * 60 / TRIAL_S)
    blocks = budget // (2 * COMPARISONS)
    logs = sigmas[..., None] * rng.standard_normal((COMPARISONS, 2, budget))
    logs[:, 0] += shifts[:, None]
    a, b = logs[:, 0, :blocks], logs[:, 1, :blocks]
    found = together(a, b)
    larger = found.different & (a.mean(axis=-1) > b.mean(axis=-1))
    results = {OURS_FIXED: (2.0 * COMPARISONS * blocks, *_shares(shifts, found, larger))}
    results[OURS] = _sequential(logs, shifts, budget, seed)
    return results


def _sequential(logs: Array, shifts: Array, budget: int, seed: int) -> tuple[float, ...]:
    """Trials where `next_round` asks for them, until the time is up."""
    questions = [Question((k, 0), (k, 1)) for k in range(COMPARISONS)]
    taken = {cell: 0 for question in questions for cell in question.cells}
    costs: dict[tuple[int, int], list[float]] = {cell: [] for cell in taken}
    order, left_s = random.Random(seed), MINUTES * 60.0
    while more := next_round(questions, Progress(costs, {}), lambda _cell: TRIAL_S, left_s):
        todo = [cell for cell, count in more.items() for _ in range(count)]
        order.shuffle(todo)
        for cell in todo:
            costs[cell].append(math.exp(logs[cell[0], cell[1], taken[cell]]))
            taken[cell] += 1
        left_s -= TRIAL_S * len(todo)
    found = decisions.decide_together([(costs[q.a], costs[q.b]) for q in questions])
    verdicts = np.array([decision.verdict for decision in found])
    different = np.isin(verdicts, [decisions.A_CHEAPER, decisions.B_CHEAPER])
    judged = Judged(verdicts != decisions.OPEN, different)
    return (float(sum(taken.values())), *_shares(shifts, judged, verdicts == decisions.B_CHEAPER))


def _shares(shifts: Array, judged: Judged, larger: Flags) -> tuple[float, ...]:
    true = shifts > 0
    wrong = judged.different & (~true | ~larger)
    if shifts.max() >= math.log(decisions.EFFECT) - 1e-9:
        wrong |= true & judged.decided & ~judged.different
    equivalent = judged.decided & ~judged.different
    shares = (
        larger[true].mean(), wrong.mean(), wrong.sum() / max(1, int(judged.decided.sum())), equivalent[~true].mean(),
        1 - judged.decided.mean(),
    )  # fmt: skip
    return tuple(map(float, shares))


AS_CLAIMED, REVERSED = "all as claimed", "one the other way round"
TRUTHS: Mapping[str, Callable[[int], Array]] = {
    AS_CLAIMED: lambda k: np.full(k, math.log(FACTOR)),
    "all equal": np.zeros,
    "one equal, the others as claimed": lambda k: np.r_[0.0, np.full(k - 1, math.log(FACTOR))],
    REVERSED: lambda k: np.r_[-math.log(FACTOR), np.full(k - 1, math.log(FACTOR))],
}
"""Logarithms of the true ratios of a claim's orderings, by what is so."""


def claim_errors(
    repetitions: int = 400, sizes: Sequence[int] = (5, 10), numbers: Sequence[int] = (1, 5, 20)
) -> pd.DataFrame:
    """Return what becomes of a claim that each of K orderings must bear out, under several truths, at 10% noise.

    Columns: ``orderings``, ``truth`` (of `TRUTHS`), ``n``, ``repetitions``, and the shares ``reproduced``, ``refuted``,
    ``mixed``, ``open``.
    """
    rows = []
    for k in numbers:
        for truth, shifts in TRUTHS.items():
            for n in sizes:
                rng = np.random.default_rng([SEED, 5, k, n])
                outcomes = [_outcome(shifts(k), n, rng) for _ in range(repetitions)]
                shares = {outcome: outcomes.count(outcome) / repetitions for outcome in claims.OUTCOMES}
                rows.append({"orderings": k, "truth": truth, "n": n, "repetitions": repetitions, **shares})
    return pd.DataFrame(rows)


def _outcome(shifts: Array, n: int, rng: np.random.Generator) -> str:
    orderings = [
        claims.Ordering("a", "b", decisions.compare(_costs(rng, n, float(shift)), _costs(rng, n))) for shift in shifts
    ]
    claim = claims.Claim[claims.Evidence]("simulated", "", "", lambda evidence: evidence, lambda _evidence: "")
    return claims.judge(claim, claims.of_orderings(orderings)).outcome


def _costs(rng: np.random.Generator, n: int, shift: float = 0.0) -> list[float]:
    return [float(cost) for cost in np.exp(shift + 0.10 * rng.standard_normal(n))]


def _correlated(rng: np.random.Generator, n: int, trials: float) -> Array:
    """Draw a standard normal series whose correlation falls to 1/e over so many trials (autoregressive, of order 1)."""
    kept = math.exp(-1 / trials)
    steps = math.sqrt(1 - kept**2) * rng.standard_normal(n)
    steps[0] = rng.standard_normal()
    return np.asarray(signal.lfilter([1.0], [1.0, -kept], steps))


MACHINES: Mapping[str, Callable[[np.random.Generator, Array], Array]] = {
    "steady": lambda _rng, cell: np.zeros(cell.size),
    "changes every 3 trials": lambda rng, cell: _correlated(rng, cell.size, 3),
    "changes every 50 trials": lambda rng, cell: _correlated(rng, cell.size, 50),
    "wanders": lambda rng, cell: 0.15 * np.asarray(rng.standard_normal(cell.size).cumsum()),
    "two paces": lambda rng, cell: np.asarray(2.0 * (np.cumsum(rng.random(cell.size) < 1 / 30) % 2)),
    "half of the cells feel it": lambda rng, cell: 1.5 * (cell // 2 % 2) * _correlated(rng, cell.size, 10),
    "outliers": lambda rng, cell: np.asarray(6.0 * (rng.random(cell.size) < 0.05)),
}
"""How a machine's pace runs on, in standard deviations of a cell's own noise, given the cell of each trial in time."""


def paces(repetitions: int = 2_000) -> pd.DataFrame:
    """Return what `allocpool.pace` does to identical configurations under two names, in rounds of random order.

    Columns: ``machine`` (of `MACHINES`), ``comparisons`` of the campaign, ``n`` trials a side, ``repetitions``
    (comparisons in all), ``missed_raw`` and ``missed`` (share of repeated intervals that leave out the truth at any
    look so far, of costs as measured and adjusted), ``width`` (of the adjusted interval over that of costs as measured,
    geometric mean).
    """
    rows = []
    for comparisons, n in ((1, 10), (4, 10), (20, 5), (20, 15)):
        for machine in MACHINES:
            rng = np.random.default_rng([SEED, 6, comparisons, n])
            each = [_paced_campaign(rng, machine, comparisons, n) for _ in range(repetitions // comparisons)]
            missed_raw, missed, widths = (np.concatenate(part) for part in zip(*each, strict=True))
            rows.append({
                "machine": machine, "comparisons": comparisons, "n": n, "repetitions": missed.size,
                "missed_raw": missed_raw.mean(), "missed": missed.mean(), "width": math.exp(np.log(widths).mean()),
            })  # fmt: skip
    return pd.DataFrame(rows)


def _paced_campaign(rng: np.random.Generator, machine: str, comparisons: int, n: int) -> tuple[Flags, Flags, Array]:
    """One campaign, adjusted at each look by the trials until then: which intervals missed as measured, which adjusted,
    and the widths of the latest."""
    sigma = np.repeat(np.resize(list(THIRDS.values()), comparisons), 2)
    cell = np.concatenate([rng.permutation(sigma.size) for _ in range(n)])
    logs = sigma[cell] * (rng.standard_normal(cell.size) + MACHINES[machine](rng, cell))
    missed = np.zeros((2, comparisons), dtype=bool)
    widths = np.ones((2, comparisons))
    for look in (size for size in decisions.LOOKS if size <= n):
        so_far, cells = logs[: look * sigma.size], cell[: look * sigma.size]
        by_cell = np.argsort(cells, kind="stable")
        for k, costs in enumerate((so_far, so_far - np.log(pace.paces(np.exp(so_far), cells.tolist())))):
            sides = costs[by_cell].reshape(comparisons, 2, look)
            low, high = decisions.repeated_interval(sides[:, 0], sides[:, 1], decisions.ALPHA)
            missed[k] |= (low > 0) | (high < 0)
            widths[k] = high - low
    return missed[0], missed[1], widths[1] / widths[0]


TABLES: Mapping[str, Callable[[], pd.DataFrame]] = {
    "false_verdicts": false_verdicts, "coverage": coverage, "power": power, "found": found,
    "claim_errors": claim_errors, "paces": paces,
}  # fmt: skip
"""What is simulated, by the name of its file."""


def judge_hash() -> str:
    """Return a hash of the judge that the tables are about, and of what it is given to judge."""
    digest = hashlib.sha256()
    for module in (decisions, claims, schedule, pace):
        digest.update(Path(module.__file__ or "").read_bytes())
    return digest.hexdigest()[:12]


def _file(name: str) -> Path:
    return home.home() / "data" / "simulated" / f"{name}.csv"


def load(name: str) -> pd.DataFrame:
    """Return one of `TABLES`, as it was simulated last."""
    return pd.read_csv(_file(name)).drop(columns="judge")


def of_this_judge() -> bool:
    """Return whether the tables are about the judge as it is now."""
    return all(set(pd.read_csv(_file(name))["judge"]) == {judge_hash()} for name in TABLES)


def main(names: Sequence[str]) -> None:
    """Simulate these tables, all of them where none is named."""
    for name in names or TABLES:
        TABLES[name]().assign(judge=judge_hash()).to_csv(_file(name), index=False, float_format="%.5g")


if __name__ == "__main__":
    main(sys.argv[1:])
