"""The conclusions of "Memory allocation speed check" (bytearray.io, 2012-07), each as a test that fresh data can fail.

Orderings are ratios paired within blocks, as for the other claims. The published figures go through the same tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import pandas as pd

from allocpool import stats
from allocpool.evidence import claims, reference
from allocpool.evidence.claims import (
    AS_PUBLISHED,
    NO_DIFFERENCE,
    NOT_MEASURED,
    OTHER_WAY,
    Claim,
    Evidence,
    Missing,
    Ordering,
    Verdict,
    of_orderings,
)
from allocpool.evidence.trials import NOT_PART, finished
from allocpool.runtimes.collectors import collectors_that

SOURCE = "Memory allocation speed check, bytearray.io, 2012-07"
PUBLISHED_BYTES = (1024, 10_240, 102_400)
EQUAL_WITHIN = 1.1
"""Two speeds are called equal when the interval of their ratio lies between this and its inverse."""
_BLOCKS_OF_AN_INTERVAL = 3
_CONTROLS = collectors_that(lambda row: row.is_control)
SMALL, LARGE = PUBLISHED_BYTES[0], PUBLISHED_BYTES[-1]
_OPERATIONS = {
    "malloc": ("malloc", "ns_per_alloc"),
    "free": ("malloc", "ns_per_free"),
    "java_heap": ("byte_array", "ns_per_alloc"),
    "java_direct": ("direct_buffer", "ns_per_alloc"),
}
_MEMORIES = {"c": "c", "java_heap": "heap", "java_direct": "direct"}


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
    frame = pd.DataFrame(rows).assign(status="ok", block=0, served_by="2012", strategy="alloc", touch="none")
    frame["language"] = frame["technique"].map({"malloc": "cpp"}).fillna("java")
    frame.loc[frame["memory"] == "c", "language"] = "cpp"
    return frame


class Costs:
    """The finished trials of a campaign, looked up by what they measured; only the plain ones: fresh, untouched."""

    def __init__(self, trials: pd.DataFrame) -> None:
        plain = finished(trials[~trials["collector"].isin(_CONTROLS)] if "collector" in trials else trials)
        self.allocation = plain[
            (plain["mode"] == "allocation") & (plain["strategy"] == "alloc") & (plain["touch"] == "none")
        ]
        self.access = plain[plain["mode"] == "access"]
        self.noise = stats.noise_band(self.allocation, ["technique", "bytes", "served_by"], "ns_per_alloc")

    def served_by(self, **facts: object) -> list[str]:
        """What serves the memory in the trials with these facts."""
        rows = self.access if "memory" in facts else self.allocation
        return sorted(_with(rows, facts)["served_by"].unique())

    def values(self, column: str, **facts: object) -> pd.Series:
        """A column indexed by block."""
        rows = _with(self.access if "memory" in facts else self.allocation, facts)
        return rows.set_index("block")[column].astype(float).dropna()

    def ordering(self, larger: tuple[str, pd.Series], smaller: tuple[str, pd.Series]) -> Ordering:
        """The expected ordering of two named series."""
        return Ordering(larger[0], smaller[0], stats.compare(larger[1], smaller[1], self.noise))


def _with(rows: pd.DataFrame, facts: dict[str, object]) -> pd.DataFrame:
    for name, value in facts.items():
        rows = rows[rows[name] == value]
    return rows


def _pairs(costs: Costs, left: dict[str, object], right: dict[str, object]) -> Iterator[tuple[str, str]]:
    """Each that serves the left, with each that serves the right; of one language only with itself."""
    for one in costs.served_by(**left):
        for other in costs.served_by(**right):
            same_language = left.get("technique") != "malloc" and right.get("technique") != "malloc"
            if one == other or not same_language:
                yield one, other


def _small_are_faster_in_java(costs: Costs) -> Iterator[Ordering]:
    for malloc, java in _pairs(costs, {"technique": "malloc"}, {"technique": "byte_array"}):
        yield costs.ordering(
            (f"malloc {malloc}", costs.values("ns_per_alloc", technique="malloc", bytes=SMALL, served_by=malloc)),
            (f"byte[] {java}", costs.values("ns_per_alloc", technique="byte_array", bytes=SMALL, served_by=java)),
        )


def _free_is_cheaper(costs: Costs) -> Iterator[Ordering]:
    for name in costs.served_by(technique="malloc"):
        for size in PUBLISHED_BYTES:
            both = [
                costs.values(column, technique="malloc", bytes=size, served_by=name)
                for column in ("ns_per_alloc", "ns_per_free")
            ]
            if len(both[0]):
                yield costs.ordering((f"malloc {name} {size}", both[0]), (f"free {name} {size}", both[1]))


def _direct_is_slower(costs: Costs) -> Iterator[Ordering]:
    for name in costs.served_by(technique="direct_buffer"):
        for size in PUBLISHED_BYTES:
            both = [
                costs.values("ns_per_alloc", technique=technique, bytes=size, served_by=name)
                for technique in ("direct_buffer", "byte_array")
            ]
            if len(both[0]) and len(both[1]):
                yield costs.ordering((f"direct {name} {size}", both[0]), (f"byte[] {name} {size}", both[1]))


def _large_are_slower_in_java(costs: Costs) -> Iterator[Ordering]:
    for java, malloc in _pairs(costs, {"technique": "byte_array"}, {"technique": "malloc"}):
        yield costs.ordering(
            (f"byte[] {java}", costs.values("ns_per_alloc", technique="byte_array", bytes=LARGE, served_by=java)),
            (f"malloc {malloc}", costs.values("ns_per_alloc", technique="malloc", bytes=LARGE, served_by=malloc)),
        )


def _write_is_fastest_in_c(costs: Costs) -> Iterator[Ordering]:
    for memory in ("heap", "direct"):
        for java in costs.served_by(memory=memory, operation="write"):
            for c in costs.served_by(memory="c", operation="write"):
                yield costs.ordering(
                    (f"{memory} {java}", costs.values("ns_per_pass", memory=memory, operation="write", served_by=java)),
                    (f"C {c}", costs.values("ns_per_pass", memory="c", operation="write", served_by=c)),
                )


Rule = Callable[[Costs], Iterator[Ordering]]
_MALLOC, _HEAP, _DIRECT = {"technique": "malloc"}, {"technique": "byte_array"}, {"technique": "direct_buffer"}


def _claim(id: str, text: str, rule: Rule, *speaks_of: Mapping[str, object]) -> Claim[Costs]:
    """A claim made of expected orderings; what it speaks of is missing where nothing was measured of it."""

    def evidence(costs: Costs) -> Evidence:
        return of_orderings(list(rule(costs)), _unmeasured(costs, *speaks_of))

    def published_ratios() -> pd.Series:
        return of_orderings(list(rule(Costs(published_as_trials())))).rows["ratio"]

    return Claim(id, text, SOURCE, evidence, _sentence, published_ratios)


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
    shown, against = evidence.count(AS_PUBLISHED), evidence.count(OTHER_WAY)
    span = f"; ratios {stats.span(ratios)}" if len(ratios) else ""
    return f"Shown in {shown} of {total} comparisons, the other way round in {against}{span}."


def _equal_copies(costs: Costs) -> Evidence:
    """Heap and direct copy at the same speed: equivalence by two one-sided tests (Schuirmann 1987), here an interval of
    95% that lies within the margin. A difference that is shown and not within it is one the other way round."""
    compared = [
        costs.ordering(
            (f"copy heap {name}", costs.values("ns_per_pass", memory="heap", operation="copy", served_by=name)),
            (f"copy direct {name}", costs.values("ns_per_pass", memory="direct", operation="copy", served_by=name)),
        )
        for name in costs.served_by(memory="heap", operation="copy")
    ]
    every = of_orderings(compared)
    rows = every.rows
    few = (rows["blocks"] < _BLOCKS_OF_AN_INTERVAL) & (rows["shown"] != NOT_MEASURED)
    without = [
        Missing(f"{row['larger']} over {row['smaller']}", f"an interval takes {_BLOCKS_OF_AN_INTERVAL} blocks")
        for _, row in rows[few].iterrows()
    ]
    rows = rows[rows["blocks"] >= _BLOCKS_OF_AN_INTERVAL].reset_index(drop=True)
    equal = (rows["low"] >= 1 / EQUAL_WITHIN) & (rows["high"] <= EQUAL_WITHIN)
    shown = rows["shown"].where(rows["shown"] == NO_DIFFERENCE, OTHER_WAY).where(~equal, AS_PUBLISHED)
    both = [{"memory": memory, "operation": "copy"} for memory in ("heap", "direct")]
    return Evidence(rows.assign(shown=shown), (*_unmeasured(costs, *both), *without, *every.missing))


def _equal_sentence(evidence: Evidence) -> str:
    if evidence.rows.empty:
        return "Nothing to compare: no cell with enough blocks for an interval."
    return (
        f"Of {len(evidence.rows)} comparisons {evidence.count(AS_PUBLISHED)} are equal within {EQUAL_WITHIN - 1:.0%}, "
        f"and {evidence.count(OTHER_WAY)} differ by more than that may be; ratios {stats.span(evidence.rows['ratio'])}."
    )


ALLOCATION_CLAIMS: tuple[Claim[Costs], ...] = (
    _claim(
        "small-java",
        "Small objects are allocated faster in Java than by malloc.",
        _small_are_faster_in_java,
        _MALLOC,
        _HEAP,
    ),
    _claim("free-cheaper", "free is cheaper than malloc.", _free_is_cheaper, _MALLOC),
    _claim(
        "direct-slower",
        "A direct buffer always costs more than one on the heap.",
        _direct_is_slower,
        _DIRECT,
        _HEAP,
    ),
    _claim(
        "large-java",
        "Java's heap is slower than malloc on large objects.",
        _large_are_slower_in_java,
        _HEAP,
        _MALLOC,
    ),
    _claim(
        "write-c",
        "Writing is fastest in C.",
        _write_is_fastest_in_c,
        *({"memory": memory, "operation": "write"} for memory in ("c", "heap", "direct")),
    ),
    Claim(
        "copies-equal",
        "Copies are equally fast on Java's heap and in direct memory.",
        SOURCE,
        _equal_copies,
        _equal_sentence,
    ),
)


def evaluate(trials: pd.DataFrame) -> list[Verdict]:
    """Put every claim to a campaign's trials."""
    return claims.evaluate(ALLOCATION_CLAIMS, Costs(trials))
