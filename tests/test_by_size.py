"""Allocate or pool by how much is alive: what a headline may say, on made campaigns and on all that is stored."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import synthetic

from allocpool.campaign import campaign as campaigns
from allocpool.campaign import hosts, store
from allocpool.evidence.claims import NOT_TESTED
from allocpool.packets import by_size
from allocpool.packets.comparisons import PUBLISHED, SET_UPS, set_up_of
from allocpool.packets.specs import case_of
from allocpool.studies.batch import claims, plots, story
from allocpool.studies.your_workload.specs import MessagesSpec, configuration_of

G1 = (("java", "heap", "g1", 25, None, "heap / G1 / 25"),)
ALIVE = {"A": 2_000, "B": 200_000, "C": 990_000}


def campaign(ratios: dict[str, float], host: str = "here", noise: float = 0.01, scale: float = 1.0) -> pd.DataFrame:
    """Six blocks in which allocating costs so many times what a pool does, by case."""

    def centre(row: dict[str, object]) -> float:
        return 100.0 * (ratios[str(row["case"])] if row["strategy"] == "alloc" else 1.0)

    trials = synthetic.trials(blocks=6, noise=noise, centre=centre, configurations=G1, cases=tuple(ratios))
    sizes = {case: round(alive * scale) // 2 for case, alive in ALIVE.items()}
    half = trials["case"].map(sizes)
    return trials.assign(host_id=host, scale=scale, queue_size=half, stored_count=half)


def kinds(own: pd.DataFrame, *others: pd.DataFrame) -> list[str]:
    """The kinds of the headlines of one campaign where these others are on record."""
    record = pd.concat([by_size.rungs(trials) for trials in (own, *others)], ignore_index=True)
    return [each.kind for each in by_size.headlines(by_size.rungs(own), record)]


@pytest.mark.parametrize(
    ("ratios", "noise", "kind"),
    [
        ({"A": 2.0, "B": 2.0, "C": 2.0}, 0.01, "pool"),
        ({"A": 0.5, "B": 0.5, "C": 0.5}, 0.01, "allocate"),
        ({"A": 2.0, "B": 0.5, "C": 0.5}, 0.01, "turns"),
        ({"A": 2.0, "B": 0.5, "C": 2.0}, 0.01, "turns"),
        ({"A": 1.0, "B": 1.0, "C": 1.0}, 0.01, "no difference"),
        ({"A": 1.0, "B": 1.0, "C": 1.2}, 0.8, "inconclusive"),
    ],
)
def test_the_kind_of_a_headline_follows_from_the_rungs(ratios: dict[str, float], noise: float, kind: str) -> None:
    assert kinds(campaign(ratios, noise=noise)) == [kind]


def test_no_side_is_named_where_another_machine_or_size_shows_the_other() -> None:
    own = campaign(dict.fromkeys("ABC", 0.5))
    assert kinds(own, campaign(dict.fromkeys("ABC", 0.4), host="there")) == ["allocate"]
    assert kinds(own, campaign(dict.fromkeys("ABC", 1.0), host="there")) == ["allocate"]
    assert kinds(own, campaign({"A": 0.5, "B": 2.0, "C": 0.5}, host="there")) == ["turns"]
    assert kinds(own, campaign(dict.fromkeys("ABC", 2.0), scale=0.1)) == ["turns"]


def test_a_size_at_which_another_machine_shows_the_other_side_is_named() -> None:
    """Also where the answer turns by itself; at other sizes there is nothing to say."""
    own = campaign({"A": 2.0, "B": 0.5, "C": 2.0})

    def text(**ratios: float) -> str:
        there = by_size.rungs(campaign(ratios, host="there"))
        return by_size.headline(by_size.rungs(own), pd.concat([by_size.rungs(own), there])).text

    alike = text(A=2.0, B=0.5, C=2.0)
    assert text(A=2.0, B=1.0, C=2.0) == alike == by_size.headlines(by_size.rungs(own), by_size.rungs(own))[0].text
    found = text(A=2.0, B=2.0, C=2.0).removeprefix(alike)
    assert "200,000" in found and "990,000" not in found and "2,000" not in found.replace("200,000", "")


def test_stored_campaigns_never_contradict_each_other() -> None:
    """Every machine and both profiles replayed: "turns" or "inconclusive", never one side here, the other there."""
    stored = [
        by_size.rungs(trials)
        for profile in ("standard", "article")
        for _, trials in hosts.tables_of_hosts("batch", profile)["trials"].groupby("host_id")
    ]
    record = pd.concat(stored, ignore_index=True)
    assert len(stored) >= 5 and record["verdict"].isin(by_size.SIDES).sum() > 100
    named: dict[str, set[str]] = {}
    for each in (headline for own in stored for headline in by_size.headlines(own, record)):
        if each.kind in by_size.SIDES:
            named.setdefault(each.configuration, set()).add(each.kind)
            decided = record[(record["configuration"] == each.configuration) & record["verdict"].isin(by_size.SIDES)]
            assert set(decided["verdict"]) == {each.kind}, each.configuration
    assert named and all(len(sides) == 1 for sides in named.values())


@pytest.mark.parametrize("wrong", ["D", "3", "-2", "1.5", True, "", "2e5", 0])
def test_any_other_case_is_refused_in_one_line(wrong: Any) -> None:
    with pytest.raises(ValueError, match="choose one of A, A10k, B, C") as refused:
        case_of(wrong)
    assert "\n" not in str(refused.value)


def of_today(pool_ns: dict[int, float], start_ns: dict[int, float]) -> pd.DataFrame:
    """G1 at case B on several releases; allocating costs 100 ns, a flat pool of the newest 20."""
    g1 = tuple(("java", "heap", "g1", release, None, f"heap / G1 / {release}") for release in pool_ns)
    newest = max(pool_ns)
    flat = ("java", "flat", "g1", newest, None, f"flat / G1 / {newest}")

    def centre(row: dict[str, object]) -> float:
        if row["layout"] == "flat":
            return 20.0
        return pool_ns[int(str(row["runtime"]))] if row["strategy"] == "pool" else 100.0

    trials = synthetic.trials(blocks=6, noise=0.01, centre=centre, configurations=(*g1, flat), cases=("B",))
    starts = [start_ns.get(release, 100.0) for release in trials["runtime"].astype(int)]
    return trials.assign(start_ns_per_packet=starts, window="whole", allocated_bytes=10**9)


@pytest.mark.parametrize(
    ("pool_ns", "start_ns", "outcomes"),
    [
        ({21: 300, 25: 400, 27: 400}, {25: 2000.0, 27: 450.0}, ["reproduced", "reproduced", "reproduced"]),
        ({21: 30, 25: 40, 27: 40}, {25: 45.0, 27: 450.0}, ["refuted", "refuted", "reproduced"]),
        ({21: 30, 25: 400, 27: 400}, {25: 2000.0, 27: 450.0}, ["mixed", "reproduced", "reproduced"]),
    ],
)
def test_our_own_claims_turn_with_the_data(
    pool_ns: dict[int, float], start_ns: dict[int, float], outcomes: list[str]
) -> None:
    verdicts = claims.of_today(of_today(pool_ns, start_ns))
    assert [verdict.claim.id for verdict in verdicts] == ["alloc-cheaper-today", "jep-522-start", "plain-memory-pool"]
    assert [verdict.outcome for verdict in verdicts] == outcomes


def test_the_release_figure_has_the_published_pause_target_on_a_new_release() -> None:
    trials = of_today({21: 300, 25: 400, 27: 400}, {})
    other = trials[trials["configuration"] == "heap / G1 / 25"].assign(pause_target=True, ns_per_packet=77.0)
    other = other.assign(configuration="heap / G1 / 25 / pause target")
    axis = plots.releases(pd.concat([trials, other], ignore_index=True)).axes[0]
    drawn = np.concatenate([np.asarray(points.get_offsets()) for points in axis.collections])
    assert np.isclose(drawn, (list(axis.get_xticks())[-2], 77.0)).all(axis=1).any()


def test_by_bytes_each_size_is_judged() -> None:
    rng = np.random.default_rng(1)
    rows = [
        {"configuration": name, "language": language, "collector": collector, "runtime": runtime,
        "allocator": allocator,
         "mean_bytes": float(size), "messages_in_flight": 2**20 // size, "kept_count": 2**20 // size,
         "strategy": strategy, "block": block, "status": "ok",
         "ns_per_message": 100 * (ratio if strategy == "alloc" else 1) * float(np.exp(rng.normal(0, 0.01)))}
        for name, language, collector, runtime, allocator in (
            ("array / G1 / 25", "java", "g1", 25, None), ("C++ malloc", "cpp", None, None, "glibc"),
        )
        for size, ratio in ((64, 0.5), (1024, 1.0), (65536, 3.0))
        for strategy in ("alloc", "pool")
        for block in range(8)
    ]  # fmt: skip
    trials = pd.DataFrame(rows)
    found = story.by_bytes(trials).set_index(["configuration", "bytes"])
    assert found.loc[("G1, JDK 25, array buffers", 64), "verdict"] == "allocate"
    assert found.loc[("G1, JDK 25, array buffers", 1024), "verdict"] == "no difference"
    assert found.loc[("C++ malloc", 65536), "verdict"] == "pool"
    assert found.loc[("C++ malloc", 65536), "alive"] == 32
    panels = {axis.get_title(): axis for axis in plots.by_bytes(trials).axes}
    assert {"G1, JDK 25, array buffers", "C++ malloc"} <= set(panels)
    assert not plots.by_bytes(trials.iloc[:0]).axes[0].lines
    assert story.by_bytes(trials.iloc[:0]).empty


def test_heaps_and_flags_stand_apart_from_bytes_a_message() -> None:
    specs = [item.spec for item in campaigns.open_study("batch", "standard").plan()]
    trials = pd.DataFrame([
        {**spec.model_dump(), "configuration": configuration_of(spec.model_dump()), "status": "ok",
         "sizes": f"{spec.sizes[0][0]}", "mean_bytes": spec.sizes[0][0], "messages_in_flight": spec.in_flight,
         "jvm_flags": " ".join(spec.jvm_flags), "ns_per_message": 100 + spec.block + 90 * (spec.strategy == "alloc")}
        for spec in specs if isinstance(spec, MessagesSpec)
    ])  # fmt: skip
    by_bytes, by_heap = story.by_what(trials)
    assert by_bytes["mean_bytes"].nunique() > 2 and by_bytes["heap_mb"].nunique() == 1
    found = story.by_heap(by_heap)
    assert {1.5, 2.0, 4.0, 8.0} <= set(found["heap_over_live"]) and set(found["verdict"]) == {"pool"}
    assert set(found.loc[found["jvm_flags"] != "", "heap_over_live"]) == {4.0}


def test_what_a_collector_takes_and_one_change_of_either_strategy() -> None:
    epsilon, huge = ("java", "heap", "epsilon", 25, None, "heap / Epsilon / 25"), (*G1[0][:5], "heap / G1 / 25 / huge")
    takes = {"dummy": 0, "alloc": 30, "mix": 0, "pool": 50}
    trials = synthetic.trials(
        6, 0.01, configurations=(*G1, epsilon, huge), cases=("B",),
        centre=lambda row: 100.0 + (takes[str(row["strategy"])] if row["collector"] == "g1" else 0),
    )  # fmt: skip
    trials = trials.assign(start_ns_per_packet=100.0, large_pages=trials["configuration"].map({huge[-1]: True}))
    found = story.beyond_epsilon(trials).set_index("strategy")
    assert found["beyond_epsilon_ns"].to_dict() == pytest.approx(takes, abs=3)
    assert story.beyond_epsilon(trials[trials["collector"] == "g1"])["low"].isna().all()
    assert {"allocate, huge pages", "pool, huge pages"} <= set(plots.one_change(trials)["change"])
    assert by_size.table(by_size.rungs(campaign({"A": 2.0}))[:0]).empty


def test_a_page_opens_with_the_configurations_of_most_sizes() -> None:
    rows = pd.DataFrame({"configuration": ["G1"] * 3 + ["ZGC"] * 3 + ["CMS"] * 2, "alive": [1, 2, 3, 1, 2, 3, 1, 2]})
    assert set(by_size.ladders(rows)["configuration"]) == {"G1", "ZGC"}
    longer = pd.concat([rows, pd.DataFrame({"configuration": ["G1"], "alive": [4]})])
    assert set(by_size.ladders(longer)["configuration"]) == {"G1", "ZGC"}


def test_every_set_up_is_judged_on_one_machine_that_ran_its_collectors() -> None:
    trials = store.read_tables("batch", "standard")[0]["trials"]
    for name in SET_UPS:
        rows = claims.judged_on(trials, name)
        assert rows["host_id"].nunique() == 1
        if SET_UPS[name].runtime:
            assert set_up_of(name, rows).runtime in set(rows["runtime"].dropna())
    assert claims.judged_on(trials, PUBLISHED) is trials
    outcomes = {(each.claim.id, each.set_up): each.outcome for each in claims.evaluate_stored(trials)}
    assert not [key for key, outcome in outcomes.items() if key[1].startswith("Java 8") and outcome == NOT_TESTED]


def test_java_8_joins_its_machine_once() -> None:
    trials = store.read_tables("batch", "standard")[0]["trials"]
    once = claims.of_java_8(trials)
    assert (once["runtime"] == 8).sum() > 0 and once["trial_id"].is_unique
    assert len(claims.of_java_8(once)) == len(once)
    elsewhere = claims.of_java_8(trials.assign(host_id="elsewhere"))
    assert not (elsewhere["runtime"] == 8).any()
