"""Where losses begin: the chance that a trial loses, fitted to all trials of full length, and the point at which it is
small.

A trial loses or does not; its packets are no sample, since losses come in bursts. The logarithm of the odds is linear
in its covariates, the first of them the logarithm of the interval. Few trials near a sharp edge separate those that
lose from those that don't, and maximum likelihood has no answer then, so the likelihood is penalised by Jeffreys' prior
(Firth, "Bias reduction of maximum likelihood estimates", Biometrika 80, 1993; Heinze and Schemper, "A solution to the
problem of separation in logistic regression", Statistics in Medicine 21, 2002), and intervals are those of the profile
of that likelihood. Trials of one cluster, as those of one search, are nearer to each other than the likelihood of
single ones knows: the profile is flattened by as much as their scores vary more between clusters than it says (Chandler
and Bate, "Inference for clustered data using the independence loglikelihood", Biometrika 94, 2007), never sharpened.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy

from allocpool.stats import CONFIDENCE

Array = npt.NDArray[np.float64]

SAFE, EDGE = 0.05, 0.5
"""Chances of a loss: at an interval that one would choose; where a search's bracket lies."""
_FARTHEST = math.log(100.0)
"""An end of an interval is looked for so far beyond the trials; further off it is open."""
_STEPS, _LONGEST_STEP, _SHORTEST_STEP = 50, 3.0, 1e-7
_FEWEST_OF_EACH = 2
"""Trials that lose, and that don't, below which there is no edge to speak of."""


@dataclass(frozen=True)
class Point:
    """Where the chance of a loss is some value: ``estimate`` and its interval of 95%, in the unit of the covariate;
    an end that the trials do not bound is 0 or infinite. ``trials`` of which ``losing`` lost."""

    estimate: float
    low: float
    high: float
    trials: int
    losing: int


class LossBoundary:
    """The chance of a loss over covariates, fitted to trials.

    ``covariates``: one row per trial, one column each; the first is what boundaries are asked of, positive, and enters
    by its logarithm; so should the others where they are sizes. ``lost``: whether each trial lost. ``clusters``: which
    trials belong together; none: each is alone.
    """

    def __init__(
        self,
        covariates: npt.ArrayLike,
        lost: Sequence[bool] | npt.ArrayLike,
        clusters: Sequence[Hashable] | None = None,
    ) -> None:
        matrix = np.asarray(covariates, dtype=np.float64)
        matrix = matrix[:, None] if matrix.ndim == 1 else matrix
        self._lost = np.asarray(lost, dtype=np.float64)
        if matrix.shape[0] != self._lost.size or not (matrix[:, 0] > 0).all():
            raise ValueError("one row of covariates for each trial, the first of them above 0")
        logs = np.column_stack([np.log(matrix[:, 0]), matrix[:, 1:]])
        self._middle, self._scale = logs.mean(axis=0), np.where(np.ptp(logs, axis=0) > 0, logs.std(axis=0), 1.0)
        self._design = np.column_stack([np.ones(self._lost.size), (logs - self._middle) / self._scale])
        self._ends = (float(logs[:, 0].min()), float(logs[:, 0].max()))
        numbers = {cluster: number for number, cluster in enumerate(dict.fromkeys(clusters or ()))}
        self._clusters = None if clusters is None else np.array([numbers[cluster] for cluster in clusters])

    @property
    def has_edge(self) -> bool:
        """Whether at least two trials lost and two did not, at two intervals at least."""
        losing = int(self._lost.sum())
        few = min(losing, self._lost.size - losing) < _FEWEST_OF_EACH
        return not few and bool(np.ptp(self._design[:, 1]) > 0)

    @cached_property
    def _fitted(self) -> tuple[Array, float]:
        size = self._design.shape[1]
        return self._largest(np.zeros(size), np.eye(size))

    def chance(self, *covariates: float) -> float:
        """Of a loss in a trial there."""
        return float(scipy.special.expit(self._at(covariates) @ self._fitted[0]))

    def point(self, chance: float = SAFE, others: Sequence[float] = (), confidence: float = CONFIDENCE) -> Point | None:
        """The first covariate where the chance of a loss is ``chance``, the others as given; None where trials have no
        edge, or losses do not become rarer along it."""
        if not self.has_edge:
            return None
        coefficients, most = self._fitted
        slope = coefficients[1]
        if slope >= 0:
            return None
        rest = self._at([math.exp(self._middle[0]), *others])
        estimate = (scipy.special.logit(chance) - rest @ coefficients) / slope
        limit = self._limit(rest + np.eye(rest.size)[1] * estimate, confidence)

        def beyond(place: float) -> float:
            """How much less likely the trials are with the boundary there than the limit allows."""
            row = rest + np.eye(rest.size)[1] * place
            return most - limit - self._largest_through(row, float(scipy.special.logit(chance)), coefficients)

        ends = []
        for sign, farthest in ((-1.0, self._ends[0] - _FARTHEST), (1.0, self._ends[1] + _FARTHEST)):
            ends.append(self._end(beyond, float(estimate), sign, (farthest - self._middle[0]) / self._scale[0]))
        found = [self._unscaled(place) for place in (float(estimate), *ends)]
        return Point(found[0], found[1], found[2], self._lost.size, int(self._lost.sum()))

    def _limit(self, row: Array, confidence: float) -> float:
        """By how much the logarithm of the likelihood may be below its largest at the ends of the interval of a
        boundary where the design is ``row``: half of chi square's quantile, or of that of F with as many degrees of
        freedom as there are clusters but one, times how much more the clusters vary."""
        if self._clusters is None:
            return float(scipy.stats.chi2.ppf(confidence, 1)) / 2
        number = int(self._clusters.max()) + 1
        if number < _FEWEST_OF_EACH:
            return math.inf
        coefficients = self._fitted[0]
        chances = scipy.special.expit(self._design @ coefficients)
        scores = self._design * (self._lost - chances)[:, None]
        summed = np.array([scores[self._clusters == cluster].sum(axis=0) for cluster in range(number)])
        towards = np.linalg.solve(self._penalised(coefficients)[2], row)
        between = number / (number - 1) * float(np.sum((summed @ towards) ** 2))
        excess = max(1.0, between / float(row @ towards))
        return excess * float(scipy.stats.f.ppf(confidence, 1, number - 1)) / 2

    def _at(self, covariates: Sequence[float]) -> Array:
        values = np.array([math.log(covariates[0]), *covariates[1:]])
        return np.concatenate([[1.0], (values - self._middle) / self._scale])

    def _unscaled(self, place: float) -> float:
        if math.isinf(place):
            return math.inf if place > 0 else 0.0
        return math.exp(self._middle[0] + self._scale[0] * place)

    @staticmethod
    def _end(beyond: Callable[[float], float], estimate: float, sign: float, farthest: float) -> float:
        """Where ``beyond`` changes sign on one side of the estimate; infinite where it does not."""
        step, inside = 0.1, estimate
        while True:
            outside = inside + sign * step
            if beyond(outside) > 0:
                return float(scipy.optimize.brentq(beyond, inside, outside, xtol=1e-3))
            if sign * (outside - farthest) > 0:
                return sign * math.inf
            inside, step = outside, 2 * step

    def _largest_through(self, row: Array, logit: float, near: Array) -> float:
        """The largest penalised likelihood among fits whose log odds at ``row`` are ``logit``."""
        through = row * logit / (row @ row)
        _, _, rows = np.linalg.svd(row[None, :])
        free = rows[1:].T
        return self._largest(through, free, near)[1]

    def _largest(self, through: Array, free: Array, near: Array | None = None) -> tuple[Array, float]:
        """The coefficients ``through + free @ t`` with the largest penalised likelihood, and its logarithm; by Fisher's
        scoring, with steps halved until they gain."""
        place = np.zeros(free.shape[1]) if near is None else free.T @ (near - through)
        now, score, information = self._penalised(through + free @ place)
        for _ in range(_STEPS):
            step = np.linalg.solve(free.T @ information @ free, free.T @ score)
            step *= min(1.0, _LONGEST_STEP / max(float(np.abs(step).max()), 1e-12))
            while True:
                gained, next_score, next_information = self._penalised(through + free @ (place + step))
                if gained >= now or float(np.abs(step).max()) < _SHORTEST_STEP:
                    break
                step = step / 2
            if gained <= now + _SHORTEST_STEP:
                break
            place, now, score, information = place + step, gained, next_score, next_information
        return through + free @ place, now

    def _penalised(self, coefficients: Array) -> tuple[float, Array, Array]:
        """The logarithm of the penalised likelihood, Firth's score and the information."""
        odds = self._design @ coefficients
        chances = scipy.special.expit(odds)
        weights = np.maximum(chances * (1 - chances), 1e-12)
        information = (self._design * weights[:, None]).T @ self._design
        leverage = weights * (self._design * np.linalg.solve(information, self._design.T).T).sum(axis=1)
        likely = float(np.sum(np.where(self._lost > 0, scipy.special.log_expit(odds), scipy.special.log_expit(-odds))))
        score = self._design.T @ (self._lost - chances + leverage * (0.5 - chances))
        return likely + 0.5 * float(np.linalg.slogdet(information)[1]), score, information
