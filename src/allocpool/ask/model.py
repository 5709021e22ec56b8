"""What `ask` predicts and how far to trust it: allocation's CPU a message over the pool's, with a prediction interval.

The mean is a Gaussian process over the logarithm of that ratio (Rasmussen and Williams 2006, eq. 2.27) with a Matern
5/2 kernel. Intervals are conformal: residuals of workloads left out, each over the residuals near it (normalised as in
Papadopoulos et al. 2008), so they are wide where workloads that look alike differ. `fit` makes the file, which
`calculator.js` evaluates in a browser. Imports nothing heavy: an answer takes no second.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from allocpool import home
from allocpool.studies.your_workload.design import BASE_MB, HEAP_OVER_LIVE

ALLOCATE, POOL, EITHER, UNDECIDED = "allocate", "pool", "either", "inconclusive"
HEAP_USED = 0.85
"""Of a heap, the most that may live, as in `advise`."""
_OBJECT_BYTES = 64
_AMPLE = HEAP_OVER_LIVE[1]
"""Of a heap over what lives: a larger one counts as that."""
_NEAR, _OF_ALL = 8, 0.2
"""What counts as near for `spread`: the power of likeness, and the weight of the mean of all."""
_FAR = 1e-9
"""Added to likenesses, so that some workload counts where none is alike."""
_STEPS = 60
"""Values of a parameter that are tried between its bounds for where the answer turns."""


@dataclass(frozen=True)
class Question:
    """A workload in numbers, of one thread; sizes are their mean. ``heap_mb``: 0 for C++. ``direct``: buffers are
    outside of the heap."""

    bytes: float
    in_flight: int
    kept_count: int
    kept_share: float
    filled_share: float
    read_share: float
    temporaries: int
    temporary_bytes: int
    live_mb: float
    heap_mb: int
    direct: bool = False

    @property
    def alive(self) -> int:
        """Messages out at once: in flight, kept, and the one in hand."""
        return self.in_flight + self.kept_count + 1

    @property
    def live_in_mb(self) -> float:
        """What lives at a time where every message is allocated, in the heap if there is one, MiB."""
        results = (self.kept_count + 1) * self.temporaries * self.temporary_bytes
        size = _OBJECT_BYTES + (0 if self.direct else self.bytes)
        return (self.alive * size + results) / 2**20 + self.live_mb

    @property
    def pool_live_in_mb(self) -> float:
        """The same with a pool, whose buffers are as long as their size class, a power of two."""
        wasted: float = 0.0 if self.direct else 2.0 ** math.ceil(math.log2(self.bytes)) - self.bytes
        return self.live_in_mb + self.alive * wasted / 2**20


FEATURES: dict[str, Callable[[Question], float]] = {
    "bytes": lambda q: math.log2(q.bytes),
    "in_flight": lambda q: math.log2(1 + q.in_flight),
    "kept_count": lambda q: math.log2(1 + q.kept_count),
    "kept_share": lambda q: math.log2(0.002 + (q.kept_share if q.kept_count else 0.0)),
    "touched_bytes": lambda q: math.log2(16 + q.bytes * (q.filled_share + q.read_share) / 2),
    "temporary_bytes": lambda q: math.log2(32 + q.temporaries * q.temporary_bytes),
    "live_mb": lambda q: math.log2(2 + q.live_mb),
    "live_in_mb": lambda q: math.log2(4 + q.live_in_mb),
    "heap_over_live": lambda q: math.log2(min(_AMPLE, max(q.heap_mb, 1) / (q.live_in_mb + BASE_MB))),
}
"""Coordinates of the model, the same in `calculator.js`; C++ has no heap."""
GROUPS: dict[str, Callable[[Question], bool]] = {
    "all": lambda q: True,
    "many alive": lambda q: q.alive > 10_000,
    "small": lambda q: q.bytes <= 1024,
}
"""Workloads whose intervals have to hold what they say in each group alone: the widest counts where several apply
(Barber, Candes, Ramdas and Tibshirani 2021, section 4). The same in `calculator.js`."""
OF_CPP = tuple(name for name in FEATURES if name != "heap_over_live")


@dataclass(frozen=True)
class Neighbour:
    """A measured workload, with CPU a message of both sides, ns, and the share of it that the collector took."""

    question: Question
    alloc_ns: float
    pool_ns: float
    alloc_gc_share: float
    pool_gc_share: float
    likeness: float = 0.0

    @property
    def ratio(self) -> float:
        return self.alloc_ns / self.pool_ns


@dataclass(frozen=True)
class Turn:
    """The nearest value of a parameter at which the other side is expected to be cheaper."""

    parameter: str
    value: float
    answer: str


@dataclass(frozen=True)
class Answer:
    """``ratio``: allocation's CPU a message over the pool's, with the bounds of its 95% prediction interval.
    ``gc_shares``: the collector's share of the CPU allocating and with a pool, of the nearest by their likeness; None
    in C++. ``known_here``: pairs of this machine's own that moved it. ``outside``: what is beyond what was measured."""

    answer: str
    ratio: float
    low: float
    high: float
    nearest: tuple[Neighbour, ...]
    gc_shares: tuple[float, float] | None
    turns_at: tuple[Turn, ...]
    known_here: int
    outside: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Model:
    """The process of one configuration, by its parameters in the file: see `fit`."""

    label: str
    features: tuple[str, ...]
    lengths: tuple[float, ...]
    mean: float
    weights: tuple[float, ...]
    residuals: tuple[float, ...]
    quantiles: dict[str, float]
    workloads: tuple[Neighbour, ...]
    host_sd: float
    margin: float
    ranges: dict[str, tuple[float, float]]
    here: tuple[tuple[Question, float], ...] = field(default=())

    def _place(self, question: Question) -> list[float]:
        return [FEATURES[name](question) / length for name, length in zip(self.features, self.lengths, strict=True)]

    @cached_property
    def _places(self) -> list[list[float]]:
        return [self._place(each.question) for each in self.workloads]

    def likenesses(self, question: Question) -> list[float]:
        """Return the kernel between the question and every measured workload, 0 to 1."""
        place = self._place(question)
        return [matern(math.dist(place, other)) for other in self._places]

    def expected(self, question: Question) -> tuple[float, float]:
        """Return the expected logarithm of the ratio and half its prediction interval, for the host of the file."""
        likenesses = self.likenesses(question)
        mean = self.mean + math.fsum(a * k for a, k in zip(self.weights, likenesses, strict=True))
        quantile = max(self.quantiles[name] for name, holds in GROUPS.items() if holds(question))
        return mean, quantile * spread(likenesses, self.residuals)

    @cached_property
    def offset(self) -> float:
        """By how much this machine's own pairs lie above the file, shrunk to none; a logarithm."""
        if not self.here:
            return 0.0
        off = [ratio - self.expected(question)[0] for question, ratio in self.here]
        return math.fsum(off) / (len(off) + 1)

    def predicted(self, question: Question, of_file: bool = False) -> tuple[float, float, float]:
        """Return ratio, low and high; ``of_file``: on the very host of the file, where no host differs."""
        mean, half = self.expected(question)
        if not of_file:
            half = math.hypot(half, 1.96 * self.host_sd / math.sqrt(1 + len(self.here)))
            mean += self.offset
        return math.exp(mean), math.exp(mean - half), math.exp(mean + half)

    def side(self, low: float, high: float) -> str:
        if 1 / self.margin < low and high < self.margin:
            return EITHER
        return ALLOCATE if high < 1 else POOL if low > 1 else UNDECIDED

    def outside(self, question: Question) -> Iterator[str]:
        """Yield what is beyond the design, as a parameter with the bound that it passes."""
        for name, (least, most) in self.ranges.items():
            if not {"heap_over_live": question.heap_mb, "kept_share": question.kept_count}.get(name, 1):
                continue
            value = 2 ** FEATURES[name](question) if name == "heap_over_live" else float(getattr(question, name))
            if not least * 0.99 <= value <= most * 1.01:
                bound = most if value > most else least
                yield f"{name} {value:.3g}: measured {'up' if value > most else 'down'} to {bound:.3g}"

    def nearest(self, question: Question, most: int = 3) -> tuple[Neighbour, ...]:
        found = sorted(zip(self.likenesses(question), self.workloads, strict=True), key=lambda pair: -pair[0])
        return tuple(replace(workload, likeness=k) for k, workload in found[:most])

    def answer(self, question: Question) -> Answer:
        ratio, low, high = self.predicted(question)
        outside, near = tuple(self.outside(question)), self.nearest(question)
        return Answer(
            UNDECIDED if outside else self.side(low, high), ratio, low, high, near,
            _gc_shares(near) if question.heap_mb else None, tuple(self.turns(question)), len(self.here), outside,
        )  # fmt: skip

    def turns(self, question: Question) -> Iterator[Turn]:
        """Yield for each parameter the nearest value beyond which the expected side is the other one."""
        pool_now = self.predicted(question)[0] > 1
        for name in ("bytes", "in_flight", "kept_share", "temporaries", "live_mb", "heap_mb"):
            if value := self._turns_at(question, name, pool_now):
                yield Turn(name, value, ALLOCATE if pool_now else POOL)

    def _turns_at(self, question: Question, name: str, pool_now: bool) -> float | None:
        now = float(getattr(question, name))
        if now == 0 or (name == "kept_share" and not question.kept_count):
            return None  # nothing to go from in steps of a factor
        least, most = self.ranges.get(name, (0.0, 0.0)) if name != "heap_mb" else (now / 8, now * 8)
        for step in range(1, _STEPS + 1):
            for value in (now * 1.15**step, now / 1.15**step):
                changed: dict[str, Any] = {name: value if name in ("kept_share", "live_mb") else round(value)}
                tried = replace(question, **changed)
                if not least <= value <= most or not fits(tried) or any(self.outside(tried)):
                    continue
                if (self.predicted(tried)[0] > 1) != pool_now:
                    return float(getattr(tried, name))
        return None


def _gc_shares(near: Sequence[Neighbour]) -> tuple[float, float]:
    total = math.fsum(each.likeness + _FAR for each in near)
    alloc = math.fsum((each.likeness + _FAR) * each.alloc_gc_share for each in near)
    return alloc / total, math.fsum((each.likeness + _FAR) * each.pool_gc_share for each in near) / total


def matern(distance: float) -> float:
    """Return the Matern 5/2 kernel of a distance in length scales."""
    scaled = math.sqrt(5) * distance
    return (1 + scaled + scaled * scaled / 3) * math.exp(-scaled)


def spread(likenesses: Iterable[float], residuals: Sequence[float]) -> float:
    """Return the mean residual near a place, weighted by a power of likeness; the mean of all counts a little."""
    weights = [likeness**_NEAR for likeness in likenesses]
    near = math.fsum(weight * residual for weight, residual in zip(weights, residuals, strict=True))
    return (near + _OF_ALL * math.fsum(residuals) / len(residuals)) / (math.fsum(weights) + _OF_ALL)


def fits(question: Question) -> bool:
    """Whether what lives with either side fits into the heap."""
    return not question.heap_mb or question.pool_live_in_mb <= HEAP_USED * question.heap_mb


def path() -> Path:
    return home.home() / "data" / "ask" / "model.json"


def load(configuration: str, here: Iterable[tuple[Question, float]] = ()) -> Model:
    """Return the model of a configuration of the file: a collector, or ``cpp``."""
    stored = json.loads(path().read_text(encoding="utf-8"))
    own = dict(stored["configurations"][configuration])
    own = {**stored["configurations"].get(own.pop("as", None), {}), **own}
    width = len(stored["columns"])
    own["workloads"] = tuple(Neighbour(Question(*row[:width]), *row[width:]) for row in own["workloads"])
    for name in ("features", "lengths", "weights", "residuals"):
        own[name] = tuple(own[name])
    own["ranges"] = {name: tuple(bounds) for name, bounds in own["ranges"].items()}
    return Model(**own, margin=stored["margin"], here=tuple(here))
