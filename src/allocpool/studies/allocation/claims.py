"""The conclusions of "Memory allocation speed check" (bytearray.io, 2012-07), each as a test that fresh data can fail.

Each is put to what the source ran, CMS on the oldest release here, and to today's collectors; the published figures go
through the same tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from allocpool import decisions, stats
from allocpool.decisions import Comparison
from allocpool.evidence import claims, reference
from allocpool.evidence.claims import (
    AS_PUBLISHED,
    EQUIVALENT,
    NOT_MEASURED,
    OPEN,
    OTHER_WAY,
    Claim,
    Equality,
    Evidence,
    Missing,
    Ordering,
    Verdict,
    of_orderings,
)
from allocpool.evidence.figures import as_figures, no_figures
from allocpool.evidence.trials import NOT_PART, finished, newest_release
from allocpool.runtimes.collectors import FEATURES, collectors_that
from allocpool.studies.allocation.specs import CHURNED, SOURCES

SOURCE = "Memory allocation speed check, bytearray.io, 2012-07"
PUBLISHED_BYTES = (1024, 10_240, 102_400)
NOT_HUGELY = 2.0
"""Two speeds do not differ hugely when their ratio lies between this and its inverse."""
MUCH = 2.0
"""What is said to be much more is at least so many times as much."""
SMALL_IN_JAVA = "small-java"
"""The claim on small blocks, by its id."""
LEAST_COLLECTIONS = 3
"""So many collections a window must have seen, on average, before a claim about collections can rest on it."""
_CONTROLS = collectors_that(lambda row: row.is_control)
SMALL, MIDDLE, LARGE = PUBLISHED_BYTES
_OPERATIONS = {
    "malloc": ("malloc", "ns_per_alloc"),
    "free": ("malloc", "ns_per_free"),
    "java_heap": ("byte_array", "ns_per_alloc"),
    "java_direct": ("direct_buffer", "ns_per_alloc"),
}
_MEMORIES = {"c": "c", "java_heap": "heap", "java_direct": "direct"}
THEN, NOW, IN_CPP, _PUBLISHED = f"Java {FEATURES[0]}, CMS", "newest Java", "C++", "published"
"""What the source ran, as near as can be; today's collectors; C++ alone; the source's own figures."""


def published_as_trials() -> pd.DataFrame:
    """The published tables in the form of measured trials, one block."""
    rows = []
    for row in reference.load("allocation_speed").to_dict("records"):
        technique, column = _OPERATIONS[row["operation"]]
        rows.append(
            {"mode": "allocation", "technique": technique, "bytes": row["object_bytes"], column: row["cost_us"] * 1000}
        )
    for row in reference.load("access_speed_100kb").to_dict("records"):
        rows.append(
            {
                "mode": "access",
                "memory": _MEMORIES[row["memory"]],
                "operation": row["operation"],
                "bytes": LARGE,
                "ns_per_pass": row["cost_us"] * 1000,
            }
        )
    unmeasured = dict.fromkeys(["distribution", "collector", "runtime"])
    frame = pd.DataFrame(rows).assign(
        status="ok", block=0, served_by="2012", strategy="alloc", touch="none", resident_over_live_before=np.nan,
        resident_over_live_after=np.nan, **unmeasured,
    )  # fmt: skip
    frame["language"] = frame["technique"].map({"malloc": "cpp"}).fillna("java")
    frame.loc[frame["memory"] == "c", "language"] = "cpp"
    return frame


def young_collections(setup: pd.DataFrame, object_bytes: int) -> float:
    """Young collections that the published run of a size must have had: bytes allocated over the eden space.

    ``setup`` is the published one, by name. Eden is what two survivor spaces leave of the new generation, each a share
    ``1 / (survivor_ratio + 2)`` of it (Java SE HotSpot tuning guide, "Survivor Space Sizing"); 16 bytes are the header
    of an array.
    """
    value = setup.set_index("setting")["value"].astype(float)
    eden_bytes = value["new_size_mb"] * 2**20 * value["survivor_ratio"] / (value["survivor_ratio"] + 2)
    buffers = value["allocations_100kb" if object_bytes == LARGE else "allocations"]
    return float(buffers * (object_bytes + 16) // eden_bytes)


class Costs:
    """The finished trials of a set-up, looked up by what they measured; of those that allocate only the fresh ones,
    touched in this way."""

    def __init__(self, trials: pd.DataFrame, set_up: str = _PUBLISHED, touch: str = "none") -> None:
        plain = _of(set_up, finished(trials))
        self.set_up = set_up
        self.allocation = plain[
            (plain["mode"] == "allocation") & (plain["strategy"] == SOURCES[0]) & (plain["touch"] == touch)
        ]
        self.access = plain[plain["mode"] == "access"]
        self.fragmentation = plain[plain["mode"] == "fragmentation"]
        self._masks: dict[tuple[int, str, object], npt.NDArray[np.bool_]] = {}

    def served_by(self, **facts: object) -> list[str]:
        """What serves the memory in the trials with these facts."""
        rows = self._rows(facts)
        return sorted(rows["served_by"][self._with(rows, facts)].unique())

    def values(self, column: str, **facts: object) -> pd.Series:
        """A column indexed by block."""
        rows = self._rows(facts)
        keep = self._with(rows, facts)
        values = pd.Series(rows[column].to_numpy(float, na_value=np.nan)[keep], rows["block"][keep])
        return values.dropna()

    def _with(self, rows: pd.DataFrame, facts: Mapping[str, object]) -> npt.NDArray[np.bool_]:
        """Which of the rows have these facts; each fact is looked at once."""
        keep = np.ones(len(rows), dtype=bool)
        for name, value in facts.items():
            key = (id(rows), name, value)
            if key not in self._masks:
                self._masks[key] = (rows[name] == value).fillna(False).to_numpy(bool)
            keep &= self._masks[key]
        return keep

    def cost(self, technique: str, served_by: str, size: int) -> pd.Series:
        """Of obtaining a buffer, ns, indexed by block."""
        return self.values("ns_per_alloc", technique=technique, served_by=served_by, bytes=size)

    def collections(self, technique: str, served_by: str, size: int) -> float:
        """Collections in a window, mean over the trials; not counted where the figures are published."""
        if self.set_up == _PUBLISHED:
            return float("inf")
        counts = self.values("gc_pauses", technique=technique, served_by=served_by, bytes=size)
        return float(counts.mean()) if len(counts) else 0.0

    def _rows(self, facts: Mapping[str, object]) -> pd.DataFrame:
        if "memory" in facts:
            return self.access
        return self.fragmentation if "distribution" in facts else self.allocation


def _of(set_up: str, trials: pd.DataFrame) -> pd.DataFrame:
    """The trials of a set-up: C++ belongs to each."""
    if set_up == _PUBLISHED or trials.empty:
        return trials
    cpp = trials["language"] == "cpp"
    java = ~cpp & ~trials["collector"].isin(_CONTROLS)
    if set_up == IN_CPP:
        return trials[cpp]
    if set_up == THEN:
        return trials[cpp | (java & (trials["collector"] == "cms") & (trials["runtime"] == FEATURES[0]))]
    return trials[cpp | (java & (trials["runtime"] == newest_release(trials, FEATURES[0], FEATURES[-1])))]


_Side = tuple[str, pd.Series]
"""A name and its figures, indexed by block."""


def _ordering(larger: _Side, smaller: _Side) -> Ordering:
    """The expected ordering of two cells."""
    return Ordering(larger[0], smaller[0], decisions.compare(larger[1], smaller[1]))


def _within_trials(larger: _Side, smaller: _Side) -> Ordering:
    """The expected ordering of two figures of the same trials: each has a ratio of its own."""
    return Ordering(larger[0], smaller[0], decisions.compare_with(stats.block_ratios(larger[1], smaller[1]), 1.0))


def _pairs(costs: Costs, left: Mapping[str, object], right: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Each that serves the left, with each that serves the right; of one language only with itself."""
    for one in costs.served_by(**left):
        for other in costs.served_by(**right):
            same_language = left.get("technique") != "malloc" and right.get("technique") != "malloc"
            if one == other or not same_language:
                yield one, other


_MALLOC, _HEAP, _DIRECT = {"technique": "malloc"}, {"technique": "byte_array"}, {"technique": "direct_buffer"}
_NAMES = {"malloc": "malloc", "byte_array": "byte[]", "direct_buffer": "direct"}


def _costs_rise(costs: Costs) -> Iterator[Ordering]:
    operations = [("ns_per_alloc", technique, name) for technique, name in _NAMES.items()]
    for column, technique, name in [*operations, ("ns_per_free", "malloc", "free")]:
        for on in costs.served_by(technique=technique):
            by_size = [
                (f"{name} {on} {size}", costs.values(column, technique=technique, bytes=size, served_by=on))
                for size in PUBLISHED_BYTES
            ]
            for smaller, larger in pairwise(by_size):
                yield _ordering(larger, smaller)


def small_pairs(costs: Costs) -> Iterator[tuple[str, str]]:
    """Each allocator of C with each collector: what the claim on small blocks compares, in its order."""
    return _pairs(costs, _MALLOC, _HEAP)


def _small_are_faster_in_java(costs: Costs) -> Iterator[Ordering]:
    for malloc, java in small_pairs(costs):
        yield _ordering(
            (f"malloc {malloc}", costs.cost("malloc", malloc, SMALL)),
            (f"byte[] {java}", costs.cost("byte_array", java, SMALL)),
        )


def _free_is_cheaper(costs: Costs) -> Iterator[Ordering]:
    for name in costs.served_by(**_MALLOC):
        for size in PUBLISHED_BYTES:
            both = [
                costs.values(column, technique="malloc", bytes=size, served_by=name)
                for column in ("ns_per_alloc", "ns_per_free")
            ]
            if len(both[0]):
                yield _within_trials((f"malloc {name} {size}", both[0]), (f"free {name} {size}", both[1]))


def _heap_slows_down(costs: Costs) -> Iterator[Ordering]:
    for java, malloc in _pairs(costs, _HEAP, _MALLOC):
        seen = costs.collections("byte_array", java, LARGE)
        enough = seen >= LEAST_COLLECTIONS
        yield Ordering(
            f"growth of byte[] {java}",
            f"{MUCH:g} times that of malloc {malloc}",
            _growths(costs, java, malloc) if enough else decisions.compare([], []),
            "no figure for both"
            if enough
            else f"{seen:.1f} collections in a window, where {LEAST_COLLECTIONS} are asked for",
        )


def _growths(costs: Costs, java: str, malloc: str) -> Comparison:
    """How many times as much a buffer of the largest published size costs as one of the middle size, on Java's heap
    over `MUCH` times that of malloc."""
    cells = ("byte_array", java), ("malloc", malloc)
    ours, theirs = ([costs.cost(*cell, size) for size in (LARGE, MIDDLE)] for cell in cells)
    return decisions.compare_products([ours[0], theirs[1]], [ours[1], MUCH * theirs[0]])


def _direct_is_slower(costs: Costs) -> Iterator[Ordering]:
    for name in costs.served_by(**_DIRECT):
        for size in PUBLISHED_BYTES:
            both = [costs.cost(technique, name, size) for technique in ("direct_buffer", "byte_array")]
            if len(both[0]) and len(both[1]):
                yield _ordering((f"direct {name} {size}", both[0]), (f"byte[] {name} {size}", both[1]))


def _direct_is_a_bottleneck(costs: Costs) -> Iterator[Ordering]:
    for name in costs.served_by(**_DIRECT):
        direct = (f"direct {name} {LARGE}", costs.cost("direct_buffer", name, LARGE))
        yield _ordering(direct, (f"byte[] {name} {LARGE}", costs.cost("byte_array", name, LARGE)))
        for malloc in costs.served_by(**_MALLOC):
            yield _ordering(direct, (f"malloc {malloc} {LARGE}", costs.cost("malloc", malloc, LARGE)))
        copied = costs.values("ns_per_pass", memory="direct", operation="copy", served_by=name, bytes=LARGE)
        yield _ordering(direct, (f"a copy of as many bytes {name}", copied))


class _Kind(NamedTuple):
    """Memory that is written to, by its name in figures."""

    memory: str
    name: str


_C, _ON_HEAP, _BESIDE = _Kind("c", "C"), _Kind("heap", "heap"), _Kind("direct", "direct")


def _single_bytes(costs: Costs) -> Iterator[Ordering]:
    for slower, faster in ((_ON_HEAP, _C), (_BESIDE, _C), (_BESIDE, _ON_HEAP)):
        for one in costs.served_by(memory=slower.memory, operation="write"):
            for other in costs.served_by(memory=faster.memory, operation="write"):
                if one != other and faster is not _C:
                    continue
                sides = [
                    (
                        f"{kind.name} {on}",
                        costs.values("ns_per_pass", memory=kind.memory, operation="write", served_by=on, bytes=LARGE),
                    )
                    for kind, on in ((slower, one), (faster, other))
                ]
                yield _ordering(sides[0], sides[1])


def _old_sizes_leave_holes(costs: Costs) -> Iterator[Ordering]:
    """Memory that is not moved; the slab's blocks are ours and nobody's claim."""
    for technique in (name for name in CHURNED if name not in ("slab", "byte_array")):
        for on in costs.served_by(technique=technique, distribution="phases"):
            rows = {"technique": technique, "distribution": "phases", "served_by": on}
            before, after = (costs.values(f"resident_over_live_{when}", **rows) for when in ("before", "after"))
            label = CHURNED[technique].label
            shifted = (f"{label} {on} after the shift", after)
            yield _within_trials(shifted, (f"{label} {on} before it", before))


Rule = Callable[[Costs], Iterator[Ordering]]


@cache
def _published() -> Costs:
    return Costs(published_as_trials())


def _claim(
    id: str, text: str, rule: Rule, *speaks_of: Mapping[str, object], set_ups: tuple[str, ...] = (THEN, NOW)
) -> Claim[Costs]:
    """A claim made of expected orderings; what it speaks of is missing where nothing was measured of it, and keeps it
    open."""

    def evidence(costs: Costs) -> Evidence:
        return of_orderings(list(rule(costs)), _unmeasured(costs, *speaks_of))

    @cache
    def published() -> Evidence:
        return as_figures(of_orderings(list(rule(_published()))))

    return Claim(
        id, text, SOURCE, evidence, _sentence, lambda: published().rows["ratio"], needs_all=True, published=published,
        set_ups=set_ups,
    )  # fmt: skip


def _unmeasured(costs: Costs, *speaks_of: Mapping[str, object]) -> list[Missing]:
    return [
        Missing(" ".join(str(word) for word in facts.values()), NOT_PART.word)
        for facts in speaks_of
        if not costs.served_by(**facts)
    ]


def _sentence(evidence: Evidence) -> str:
    total, ratios = len(evidence.rows), evidence.measured["ratio"]
    if not total:
        return "Nothing to compare: not part of this campaign."
    span = f"; {stats.ratios(ratios)}" if len(ratios) else ""
    counts = [
        f"{shown} in {count}"
        for shown in (AS_PUBLISHED, OTHER_WAY, EQUIVALENT, OPEN, NOT_MEASURED)
        if (count := evidence.count(shown))
    ]
    return f"Of {stats.plural(total, 'comparison')}: {', '.join(counts)}{span}."


def _copies(costs: Costs) -> Sequence[Equality]:
    """Heap and direct copy at speeds that do not differ hugely."""
    copies = {"operation": "copy", "bytes": LARGE}
    compared = []
    for name in costs.served_by(memory="heap", **copies):
        heap, direct = (
            costs.values("ns_per_pass", memory=memory, served_by=name, **copies) for memory in ("heap", "direct")
        )
        alike = decisions.compare(heap, direct, NOT_HUGELY)
        compared.append(Equality(f"copy heap {name}", f"copy direct {name}", alike))
    return compared


def _alike_copies(costs: Costs) -> Evidence:
    both = [{"memory": memory, "operation": "copy"} for memory in ("heap", "direct")]
    return of_orderings(_copies(costs), _unmeasured(costs, *both))


def _published_copies() -> Evidence:
    rows = of_orderings(_copies(_published())).rows
    alike = rows["ratio"].between(1 / NOT_HUGELY, NOT_HUGELY)
    return Evidence(rows.assign(shown=np.where(alike, AS_PUBLISHED, OTHER_WAY)))


def _holes(costs: Costs) -> Evidence:
    beside = {"distribution": "phases"}
    speaks_of = [{"technique": technique, **beside} for technique in ("malloc", "direct_buffer", "arena_confined")]
    return of_orderings(list(_old_sizes_leave_holes(costs)), _unmeasured(costs, *speaks_of))


ALLOCATION_CLAIMS: tuple[Claim[Costs], ...] = (
    _claim("costs-rise", "Every cost rises with the size: malloc, free, Java's heap, direct memory.", _costs_rise,
           _MALLOC, _HEAP, _DIRECT),
    _claim(SMALL_IN_JAVA, "Small blocks are allocated faster in Java than by malloc.", _small_are_faster_in_java,
           _MALLOC, _HEAP),
    _claim("free-cheaper", "free is cheaper than malloc.", _free_is_cheaper, _MALLOC, set_ups=(IN_CPP,)),
    _claim(
        "heap-slows-down",
        f"From 10 to 100 kB Java's heap, with its collections, slows down much more than malloc "
        f"(here: at least {MUCH:g} times as much).",
        _heap_slows_down, _HEAP, _MALLOC,
    ),
    _claim("direct-slower", "A buffer on Java's heap always costs less than a direct one.", _direct_is_slower,
           *({**technique, "bytes": size} for technique in (_DIRECT, _HEAP) for size in PUBLISHED_BYTES)),
    _claim(
        "direct-bottleneck",
        "At 100 kB direct memory is a bottleneck: obtaining it costs more than from malloc or the heap, and more than "
        "copying as many bytes.",
        _direct_is_a_bottleneck, _DIRECT, _HEAP, _MALLOC, {"memory": "direct", "operation": "copy"},
    ),
    _claim(
        "single-bytes",
        "Writing single bytes is fastest in C and slowest in direct buffers.",
        _single_bytes, *({"memory": memory, "operation": "write"} for memory in ("c", "heap", "direct")),
    ),
    Claim(
        "copies-alike",
        f"Copies on Java's heap and in direct memory do not differ hugely (here: by a factor of {NOT_HUGELY:g}).",
        SOURCE, _alike_copies, _sentence, needs_all=True, published=_published_copies, set_ups=(THEN, NOW),
    ),
    Claim(
        "fragmentation",
        "Mixed sizes that come and go at random fragment memory that is not moved: when sizes shift, more of it is "
        "resident for as many bytes alive. (The test was announced and never published.)",
        SOURCE, _holes, _sentence, needs_all=True, published=no_figures, set_ups=(NOW,),
    ),
)  # fmt: skip


def evaluate(trials: pd.DataFrame) -> list[Verdict]:
    """Put every claim to a campaign's trials, set-up by set-up."""
    return claims.evaluate_apart(ALLOCATION_CLAIMS, lambda set_up: Costs(trials, set_up))


def of_campaign(tables: Mapping[str, pd.DataFrame], _settings: Mapping[str, Any]) -> list[Verdict]:
    """The verdicts of a campaign, on what it left, as its page and the first page show them."""
    return evaluate(tables["trials"])
