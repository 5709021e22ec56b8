"""The first page on made campaigns: the words turn with the data, the grid can be read, claims have addresses."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import synthetic

from allocpool import findings, verdict_grid
from allocpool.advise import advise_command
from allocpool.campaign import hosts, profiles, store
from allocpool.campaign.registry import study_named
from allocpool.campaign.schedule import Progress, Question, decisions_of
from allocpool.campaign.store import effect_of
from allocpool.decisions import EFFECT, judged_by
from allocpool.errors import UserError, unknown_choice
from allocpool.evidence import style, tables
from allocpool.evidence.claims import AS_PUBLISHED, NOT_MEASURED, OPEN, OTHER_WAY, Claim, Evidence, evaluate
from allocpool.evidence.trials import records
from allocpool.packets.cells import costs_by_cell
from allocpool.packets.tables import comparison_table
from allocpool.studies.batch import story as batch_story
from allocpool.studies.your_workload.workload import SETTINGS, understood

Solutions = tuple[tuple[object, ...], ...]
SOLUTIONS: Solutions = (
    ("java", "heap", "g1", 17, None, "heap / G1 / 17"),
    ("java", "heap", "g1", 25, None, "heap / G1 / 25"),
    ("java", "native", "g1", 25, None, "native / G1 / 25"),
    ("cpp", "flat", None, None, "glibc", "C++ flat"),
)


def measured(
    factor: float, monkeypatch: pytest.MonkeyPatch, noise: float = 0.01, solutions: Solutions = SOLUTIONS
) -> findings.Measured:
    """A campaign in which allocating costs so many times what a pool does, and nothing else was measured."""

    def centre(row: dict[str, object]) -> float:
        return 100.0 * (factor if row["strategy"] == "alloc" else 1.0)

    trials = synthetic.trials(blocks=9, noise=noise, centre=centre, solutions=solutions)
    original = findings.Measured._table
    nothing = findings.Measured("nonesuch")

    def table(_measured: findings.Measured, study: str, name: str) -> pd.DataFrame:
        return trials if study == "batch" else original(nothing, study, name)

    monkeypatch.setattr(findings.Measured, "_table", table)
    return findings.Measured("made-up")


@pytest.mark.parametrize(
    ("factor", "who", "words"),
    [
        (2.0, "pool", r"pool\.\*\* Allocating costs 2\.\d+ times what a pool does \(1\.9\d to 2\.\d+, n = 9\)\."),
        (0.5, "allocate", r"allocate\.\*\* A pool costs (2\.\d+|1\.9\d) times what allocating does \(1\.9"),
        (1.0, "either", r"either\.\*\* No difference that matters: allocating costs"),
    ],
)
def test_the_answer_turns_with_the_data(factor: float, who: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    told = measured(factor, monkeypatch)
    assert set(told.grid["who"]) == {who}
    answer = findings.answer(told)
    assert re.search(rf"^\*\*JDK 25, G1, heap buffers, realistic load: {words}", answer)
    assert re.search(rf"\*\*Off the heap: {words}", answer)
    assert answer.endswith("**With a deadline**: not measured.")


@pytest.mark.parametrize(("slab_ns", "is_best"), [(50.0, True), (150.0, False)])
def test_the_cheapest_is_that_of_all_studies(slab_ns: float, is_best: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a layout that the batch study does not run, too."""
    slab: Solutions = (("cpp", "slab", None, None, "glibc", "C++ slab"),)
    of_batch = measured(2.0, monkeypatch).batch
    of_native = synthetic.trials(blocks=9, noise=0.01, centre=lambda _row: slab_ns, solutions=slab)
    of_native = of_native[of_native["strategy"] == "pool"].assign(trial_id="native " + of_native["trial_id"])
    original = findings.Measured._table

    def table(found: findings.Measured, study: str, name: str) -> pd.DataFrame:
        return {"batch": of_batch, "native": of_native}.get(study, original(found, study, name))

    monkeypatch.setattr(findings.Measured, "_table", table)
    said = findings.cheapest(findings.Measured("made-up"))
    assert said.startswith("At scale 0.1, cheapest of all 5 solutions, whatever the strategy:")
    assert said.count("best overall: C++ slab with pool, ") == (3 if is_best else 0)
    assert "in real time" not in said, "nothing was searched"


def test_what_was_measured_on_another_machine_is_ranked_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    slab: Solutions = (("cpp", "slab", None, None, "glibc", "C++ slab"),)
    pace = {"compute_before_ns": 1.0, "compute_after_ns": 1.0, "other_cpu_share": 0.0}
    of_batch = measured(2.0, monkeypatch).batch.assign(steal_share=0.0, **pace)
    elsewhere = synthetic.trials(blocks=9, noise=0.01, centre=lambda _row: 50.0, solutions=(*SOLUTIONS, *slab))
    elsewhere = elsewhere.assign(trial_id="there " + elsewhere["trial_id"], host_id="there")
    elsewhere = elsewhere.assign(steal_share=0.5, **pace)
    found = {"batch": of_batch, "native": elsewhere}
    original = findings.Measured._table
    monkeypatch.setattr(
        findings.Measured, "_table", lambda of, study, name: found.get(study, original(of, study, name))
    )  # fmt: skip
    told = findings.Measured("made-up")
    here, there = findings.cheapest(told).split("At scale 0.1, on another machine, ther, ")
    assert here.startswith("At scale 0.1, cheapest of all 4 solutions") and "slab" not in here
    assert there.startswith("cheapest of all 5 solutions") and "C++ slab" in there
    assert set(told.of_its_host["steal_share"]) == {0.0}, "the other machine's noise is its own"


def test_the_smallest_interval_is_that_of_all_solutions_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    facts = {"strategy": "pool", "case": "B", "collector": None, "n": 3}
    rows = [
        {**facts, "solution": name, "language": language, "pdr_ns": ns}
        for name, language, ns in (
            ("C++ flat", "cpp", 40.0), ("C++ slab", "cpp", 20.0), ("flat / G1 / 25", "java", 700.0),
            ("heap / G1 / 25", "java", float("nan")),
        )
    ]  # fmt: skip
    found = measured(2.0, monkeypatch)
    monkeypatch.setattr(findings.Measured, "realtime", pd.DataFrame(rows))
    said = findings.cheapest(found)
    assert "of all 4 solutions tried in real time" in said
    assert "**Case B**, best overall: C++ slab with pool, 20.0 ns; best Java: flat / G1 / 25 with pool, 700 ns." in said


def test_the_way_to_the_readers_own_workload_is_a_command_that_is_understood(monkeypatch: pytest.MonkeyPatch) -> None:
    told = findings.your_own(measured(2.0, monkeypatch))
    command = re.search(r"`allocpool advise (.*?)`", told)
    assert command
    assert "09_your_workload.ipynb" in told
    given = advise_command.make_context("advise", shlex.split(command.group(1))).params
    own = {key: value for key, value in given.items() if key in SETTINGS and value not in (None, ())}
    workload = understood(own)
    assert (workload.collector, workload.runtime, workload.layout) == ("g1", 25, "heap")
    assert workload.in_flight > 0


def test_a_study_of_lasting_pools_hides_no_older_one_of_fresh_pools(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first study is told of by fresh pools where it has no others; those of later ones add nothing to it."""
    of_batch, of_native = (
        synthetic.trials(blocks=5, noise=0.01, solutions=SOLUTIONS[:1]).assign(mode="batch", pool_order="fresh"),
        synthetic.trials(blocks=5, noise=0.01, solutions=SOLUTIONS[3:]).assign(mode="batch", pool_order="aged"),
    )
    of_native["trial_id"] = "native " + of_native["trial_id"].astype(str)
    both = {"batch": of_batch, "native": of_native}
    monkeypatch.setattr(
        findings.Measured, "_table", lambda _self, study, _name: both.get(study, of_batch.iloc[:0])
    )  # fmt: skip
    told = findings.Measured("made-up").every_batch
    assert dict(told.groupby("solution")["pool_order"].unique().str[0]) == {
        "heap / G1 / 17": "fresh", "C++ flat": "aged",
    }  # fmt: skip
    both["batch"], both["native"] = of_native, of_batch
    assert set(findings.Measured("made-up").every_batch["solution"]) == {"C++ flat"}


def test_case_a_is_shown_in_one_size(monkeypatch: pytest.MonkeyPatch) -> None:
    found = measured(2.0, monkeypatch)
    text = found.batch[found.batch["case"] == "A"].assign(case="A10k")
    text["trial_id"] = "text " + text["trial_id"].astype(str)
    wider = pd.concat([found.batch, text])
    monkeypatch.setattr(
        findings.Measured, "_table", lambda _self, study, _name: wider if study == "batch" else wider.iloc[:0]
    )
    told = findings.Measured("made-up")
    assert {"A10k"} <= set(told.every_batch["case"])
    assert set(told.compared["case"]) == set(found.compared["case"]) and "A10k" not in set(told.compared["case"])
    cheapest = batch_story.cheapest(told.every_batch)
    assert "Case A**" in cheapest and "A10k" not in cheapest


@pytest.mark.parametrize(
    ("apart", "words"),
    [({"scale": 1.0}, "at scale 1"), ({"host_id": "there"}, "at scale 0.1, on another machine, ther")],
)
def test_solutions_of_one_layout_have_a_row_each_and_those_of_another_scale_or_machine_a_mark(
    apart: dict[str, Any], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = measured(2.0, monkeypatch, solutions=SOLUTIONS[-1:]).batch
    native = plain.assign(solution="C++ flat / host cpu", host_cpu=True)
    native = native.assign(trial_id="native " + native["trial_id"].astype(str))
    both = pd.concat([plain, native], ignore_index=True)
    assert set(verdict_grid.costs(comparison_table(both), both)["label"]) == {"C++, flat", "C++, flat, host cpu"}
    tables = {("batch", "trials"): plain, ("native", "trials"): native.assign(**apart)}
    monkeypatch.setattr(findings.Measured, "_table", lambda _self, *which: tables.get(which, both.iloc[:0]))
    monkeypatch.setattr(verdict_grid, "with_deadline", lambda table, *_rest: table)
    monkeypatch.setattr(findings.Measured, "realtime", both.iloc[:0])
    grid = findings.Measured("made-up").grid
    assert list(grid["label"].unique()) == ["C++, flat", "C++, flat†"]
    assert verdict_grid.caption(grid).endswith(f" † {words}.")
    assert "*" not in verdict_grid.caption(grid), "it is shown in italics, which an asterisk ends"


def test_a_campaign_of_cpp_alone_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = findings.answer(measured(2.0, monkeypatch, solutions=SOLUTIONS[-1:]))
    assert answer.startswith("**C++, flat, little alive: pool.** Allocating costs ")
    assert answer.endswith("Java was not measured both ways.")


def test_what_is_not_shown_is_open_and_hatched(monkeypatch: pytest.MonkeyPatch) -> None:
    told = measured(1.2, monkeypatch, noise=0.9)
    assert set(told.grid["who"]) == {"open"}
    assert "realistic load: open.** As far as it was measured, " in findings.answer(told)
    drawing = verdict_grid.figure(told.grid)
    assert sum(patch.get_hatch() == "///" for patch in drawing.axes[0].patches) == len(told.grid)


def test_the_answer_turns_with_the_effect_that_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the same trials, open where a tenth matters, and either where only a quarter does; it says which."""
    told = {}
    of_two = {"host": {"logical_cores": 2}}
    for effect in (EFFECT, 1.25):
        found = measured(1.0, monkeypatch, noise=0.09)
        monkeypatch.setattr(findings.Measured, "effect", effect)
        with judged_by(effect):
            told[effect] = f"{findings.answer(found)} {findings.certainty(found, of_two)}"
    assert "realistic load: open.**" in told[EFFECT] and "A difference matters from 10% on." in told[EFFECT]
    assert "realistic load: either.** No difference that matters" in told[1.25]
    longer = r"from 25% on\. Smaller ones take longer: `allocpool findings --profile (\w+)` plans about [\d.]+ hours "
    assert (profile := re.search(longer, told[1.25]))
    assert profiles.read(study_named("batch"), profile[1], {}).effect_that_matters < 1.25
    assert "Smaller ones" not in told[EFFECT]


def test_the_grid_decides_as_the_campaign_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """Java and C++ are questions of one study, decided together: with few decided, a lone one takes more."""
    found = measured(1.12, monkeypatch, noise=0.06)
    cells = costs_by_cell(found.batch)
    questions = [
        Question((solution, "alloc", case), (solution, "pool", case))
        for solution, strategy, case in cells if strategy == "pool"
    ]  # fmt: skip
    told = decisions_of(questions, Progress({cell: list(costs) for cell, costs in cells.items()}, {}))
    who = {"a_cheaper": "allocate", "b_cheaper": "pool", "equivalent": "either", "open": "open"}
    asked = {(q.a[0], q.a[2]): (who[one.verdict], one.low, one.high) for q, one in zip(questions, told, strict=True)}
    grid = {(row.solution, row.column): (row.who, row.low, row.high) for row in records(found.grid)}
    assert grid == asked
    assert len({one[0] for one in grid.values()}) > 1, "some are decided, others open"


@pytest.mark.parametrize(
    ("batch", "realtime", "effects"),
    [
        ({"effect_that_matters": 1.25}, None, (1.25, 1.25)),
        ({"effect_that_matters": 1.25}, {"effect_that_matters": 1.5}, (1.25, 1.5)),
        ({}, {"effect_that_matters": 1.5}, (EFFECT, 1.5)),  # a campaign of before
        (None, None, (EFFECT, EFFECT)),
    ],
)
def test_each_study_is_judged_by_the_effect_of_its_own_campaign(
    batch: dict[str, float] | None, realtime: dict[str, float] | None, effects: tuple[float, float], data: Path
) -> None:
    for study, profile in (("batch", batch), ("realtime", realtime)):
        if profile is not None:
            folder = data / "tidy" / "made-up" / study
            folder.mkdir(parents=True)
            (folder / "provenance.json").write_text(json.dumps({"profile": profile}), encoding="utf-8")
    found = findings.Measured("made-up")
    assert (found.effect, found.realtime_effect) == effects


def test_a_damaged_provenance_tells_no_effect_but_what_to_do(data: Path) -> None:
    folder = data / "tidy" / "made-up" / "batch"
    folder.mkdir(parents=True)
    (folder / "provenance.json").write_text("{", encoding="utf-8")
    with pytest.raises(UserError, match=r"`allocpool run batch --profile made-up` makes it anew"):
        effect_of("made-up", "batch")


def test_the_grid_can_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    grid = measured(2.0, monkeypatch).grid
    drawing = verdict_grid.figure(grid)
    assert list(grid["label"].unique()) == ["heap, G1, 17", "heap, G1, 25", "native, G1, 25", "C++, flat"]
    assert [text.get_text()[:5] for text in drawing.axes[0].texts] == ["pool "] * len(grid)
    assert style.smallest_text_px(drawing) >= style.LEAST_PX
    assert style.alt(drawing).startswith("Of 12 pairs of allocating and pooling, a pool wins in 12. Most: ")


def test_a_grid_of_nothing_says_so() -> None:
    empty = pd.DataFrame(columns=verdict_grid.COLUMNS)
    assert "nothing was measured" in style.alt(verdict_grid.figure(empty))


def test_smoke_says_that_it_means_nothing() -> None:
    host = {"cpu_model": "Abacus", "logical_cores": 2, "memory_mb": 2048}
    about = {"host": host, "first_trial_utc": "2026-01-01T00", "last_trial_utc": "2026-01-02T00"}
    words = {name: findings.where_and_when(findings.Measured(name), about) for name in ("smoke", "nonesuch")}
    assert words["smoke"].startswith("**These figures mean nothing**")
    assert words["nonesuch"].startswith("Measured on Abacus, 2 hardware threads, 2 GiB, 2026-01-01 to 2026-01-02.")


def test_a_deadline_that_was_measured_on_another_machine_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    host = {"cpu_model": "Abacus", "logical_cores": 2, "memory_mb": 2048}
    about = {"host": host, "host_id": "here", "first_trial_utc": "2026-01-01T00", "last_trial_utc": "2026-01-02T00"}
    other = about | {"host": host | {"cpu_model": "Slide rule"}, "host_id": "there"}
    found = findings.Measured("nonesuch")
    assert "another machine" not in findings.where_and_when(found, about)
    monkeypatch.setattr(store, "stored", lambda *_which: ({}, about))
    assert "another machine" not in findings.where_and_when(found, about)
    monkeypatch.setattr(store, "stored", lambda *_which: ({}, other))
    told = findings.where_and_when(found, about)
    assert told.endswith("What has a deadline was measured on another machine, Slide rule, 2026-01-01 to 2026-01-02.")


@pytest.mark.parametrize(("factor", "words"), [(3.0, "pool"), (0.3, "allocate"), (1.0, "no difference that matters")])
def test_what_the_articles_own_sizes_say_stands_beside_the_answer(
    factor: float, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = measured(2.0, monkeypatch).batch.assign(scale=0.2, host_id="here")
    full = measured(factor, monkeypatch).batch.assign(scale=1.0, host_id="there")
    left: dict[str, pd.DataFrame] = {}
    monkeypatch.setattr(hosts, "tables_of_hosts", lambda study, _profile: left if study == "batch" else {})
    monkeypatch.setattr(findings.Measured, "batch", small)
    assert findings.as_published(findings.Measured("made-up")) == ""
    left["trials"] = full
    told = findings.as_published(findings.Measured("made-up"))
    assert re.match(
        rf"\*\*At the article's own sizes, a heap of 2,0\d\d MB, on Java 17, Java 25 and C\+\+: {words}\.\*\* ", told
    )
    assert "Of 12 comparisons of allocating with a pool, 12 are decided: " in told
    assert told.endswith(" It was measured on another machine.")
    left["trials"] = full.assign(host_id="here")
    assert "another machine" not in findings.as_published(findings.Measured("made-up"))
    monkeypatch.setattr(findings.Measured, "batch", full)
    assert findings.as_published(findings.Measured("made-up")) == "", "the answer itself is of these sizes"


def claim(name: str, shown: str, ratio: float = 2.0) -> Claim[float]:
    """One whose only comparison is shown so."""
    ends = {"ratio": ratio, "low": ratio / 1.1, "high": ratio * 1.1, "trials": 5, "remark": ""}
    chances = {AS_PUBLISHED: (0.0, 1.0), OTHER_WAY: (1.0, 0.0)}.get(shown, (1.0, 1.0))
    row = {"larger": "alloc", "smaller": "pool", **ends, "p": chances[0], "p_against": chances[1], "shown": shown}
    return Claim(
        name, f"Text of {name}.", "a source", lambda _data: Evidence(pd.DataFrame([row])), lambda _rows: "Told."
    )


def test_claims_have_addresses_and_not_tested_is_not_open() -> None:
    claims = [claim("d", NOT_MEASURED), claim("a", AS_PUBLISHED), claim("c", OPEN), claim("b", OTHER_WAY, 0.5)]
    part = tables.Judged(evaluate(claims, 0.0), "02_batch", "Batch?")
    rows = tables.claim_rows([part])
    assert rows["verdict"].tolist() == [tables.NOT_TESTED, "reproduced", "open", "refuted"]
    assert rows["effect"].tolist()[1::2] == [2.0, 0.5]
    first_page = tables.claims_table([part], "Claims", whole=False).html
    own_page = tables.verdicts_table(part.verdicts).html
    for page, order in ((first_page, "abcd"), (own_page, "dacb")):  # what is decided first, or as the source tells
        assert re.findall(r'<tr id="claim-([^"]*)"', page) == list(order)
    assert 'href="02_batch.ipynb#claim-b"' in first_page and "<details>" not in first_page
    assert "alloc over pool: 0.500" in own_page


def test_the_largest_surprise_comes_first() -> None:
    claims = [claim("mild", OTHER_WAY, 0.8), claim("strong", OTHER_WAY, 0.1), claim("none", AS_PUBLISHED)]
    part = tables.Judged(evaluate(claims, 0.0), "02_batch", "Batch?")
    found = findings.surprises([part], findings.Measured("nonesuch"))
    assert [round(each.factor, 2) for each in found] == [9.09, 1.14]
    told = findings.surprise([part], findings.Measured("nonesuch"))
    assert "Text of strong." in told and "[More](02_batch.ipynb)" in told and "Of 2 findings" in told


def test_a_refusal_renders_itself_in_one_line() -> None:
    error: UserError = unknown_choice("profile", "enormous", ["smoke", "quick"])
    assert error._render_traceback_() == ["UserError: unknown profile 'enormous': choose one of smoke, quick"]
