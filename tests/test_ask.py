"""`ask`: the model's mathematics, what the shipped file says of itself, its answers in Python and in a browser."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from playwright.sync_api import sync_playwright
from test_site import CHROMIUM, in_a_browser

from allocpool import home
from allocpool.ask import command, fit, model, page, pairs
from allocpool.ask.model import ALLOCATE, EITHER, POOL, UNDECIDED, Neighbour, Question, load
from allocpool.campaign import profiles
from allocpool.campaign.study import Machine
from allocpool.cli import main
from allocpool.errors import UserError
from allocpool.studies.your_workload import design
from allocpool.studies.your_workload.specs import MessagesSpec, heap_live_mb
from allocpool.studies.your_workload.study import STUDY, YourProfile, plan_messages

USUAL = Question(512, 20_000, 0, 0.0, 1.0, 1.0, 3, 64, 16.0, 128)
WORDS = {"bytes": "512", "in_flight": "20000", "kept": "6%", "for": "1s", "rate": "1e6", "heap": "256m"}


def of_configuration(question: Question, name: str) -> Question:
    return replace(question, heap_mb=0 if name == "cpp" else question.heap_mb, direct=name == "direct")


def drawn(count: int) -> list[Question]:
    found = []
    for point in range(count):
        settings, over_live = design.workload_at(point, 256)
        stated = {name: settings[name] for name in Question.__dataclass_fields__ if name in settings}
        question = Question(bytes=float(settings["sizes"]), heap_mb=0, **stated)
        heap_mb = design.heap_mb_at(question.pool_live_in_mb, over_live, 16)
        found.append(replace(question, heap_mb=heap_mb))
    return found


@pytest.mark.parametrize("direct", [False, True])
@pytest.mark.parametrize("question", drawn(20))
def test_what_lives_is_what_the_trials_have(question: Question, direct: bool) -> None:
    question = replace(question, direct=direct)
    stated = {name: getattr(question, name) for name in vars(question) if name not in ("bytes", "direct")}
    spec = {"runtime": 25, "collector": "g1", "sizes": str(int(question.bytes)), "seconds": 1, **stated}
    spec |= {"layout": "native"} if direct else {}
    live_mb = [heap_live_mb(MessagesSpec(strategy=side, **spec).model_dump()) for side in ("alloc", "pool")]
    assert live_mb == pytest.approx([question.live_in_mb, question.pool_live_in_mb])


def test_the_design_fills_its_ranges_and_any_start_of_it_is_the_same() -> None:
    points = [design.workload_at(point, 256) for point in range(256)]
    assert points[:64] == [design.workload_at(point, 64) for point in range(64)]
    sizes = [int(settings["sizes"]) for settings, _ in points]
    assert min(sizes) < 2 * design.SMALLEST_BYTES
    assert max(sizes) > design.LARGEST_BYTES / 2
    for settings, over_live in points:
        alive_mb = int(settings["sizes"]) * (settings["in_flight"] + settings["kept_count"]) / 2**20
        assert alive_mb <= design.MOST_ALIVE_MB * 1.01
        assert 1.3 <= over_live <= 8
        assert (settings["kept_share"] > 0) == (settings["kept_count"] > 0)


def test_a_design_goes_on_from_a_point_and_repeats_all_of_them() -> None:
    usual = profiles.read(STUDY, "ask", {}).model_dump()

    def specs(first: int, blocks: int) -> list[Any]:
        part = {"first": first, "points": 4, "cpp": ["glibc"]}
        profile = YourProfile.model_validate(usual | {"blocks": blocks, "design": part})
        return [item.spec for item in plan_messages(profile, Machine(2))]

    twice, rest = specs(0, 2), specs(2, 1)
    assert len(twice) == 16 and len({spec.block for spec in twice}) == 8
    assert len({spec.model_copy(update={"block": 0}) for spec in twice}) == 8
    assert len(rest) == 4 and set(rest) < set(twice)
    with pytest.raises(ValueError, match="from 0 to 3"):
        specs(4, 1)


def test_what_measuring_leaves_is_the_standard_error_of_a_mean_over_repetitions() -> None:
    random = np.random.default_rng(1)
    about = {"status": "ok", "language": "java", "layout": "array", "collector": "g1", "runtime": 25, "allocator": None}
    trials = pd.DataFrame([
        {**about, "block": repetition * design.MOST_POINTS + point, "strategy": side,
         "cpu_ns_per_message": (1 + point) * math.exp(0.1 * random.normal())}
        for repetition in range(2) for point in range(400) for side in ("alloc", "pool")
    ])  # fmt: skip
    assert fit.of_measuring(trials)["g1"] == pytest.approx(0.1, rel=0.15)
    assert fit.of_measuring(trials[trials["block"] < design.MOST_POINTS]).empty


def test_a_small_pool_is_compared_on_workloads_that_have_all_three() -> None:
    about: dict[str, Any] = {"status": "ok", "language": "java", "layout": "array", "collector": "g1", "runtime": 25}
    about |= {"allocator": None, "host_id": "h", "prepared": 3}
    costs = {"alloc": (100.0, 100.0), "mix": (80.0, 50.0), "pool": (60.0, 100.0)}
    rows = [
        {**about, "block": point, "strategy": side, "cpu_ns_per_message": both[point % 2]}
        for side, both in costs.items() for point in range(10)
    ]  # fmt: skip
    rows += [{**rows[0], "block": 10}, {**rows[0], "block": 11, "status": "failed", "strategy": "mix"}]
    rows += [{**rows[0], "block": 12, "strategy": side, "prepared": 0} for side in costs]  # the small pool holds none
    rows += [{**row, "block": design.MOST_POINTS + row["block"]} for row in rows[:30]]  # again: no further workloads
    over_alloc, over_pool = fit.small_pool(pd.DataFrame(rows)).to_dict("records")
    assert (over_alloc["configuration"], over_alloc["over"], over_alloc["workloads"]) == ("g1", "alloc", 10)
    assert over_alloc["ratio"] == pytest.approx(math.sqrt(0.8 * 0.5)) and over_alloc["cheaper"] == 10
    assert over_pool["ratio"] == pytest.approx(math.sqrt(80 / 60 * 0.5)) and over_pool["cheaper"] == 5
    assert over_alloc["cheapest"] == over_pool["cheapest"] == 5
    for side in costs:
        assert fit.small_pool(pd.DataFrame([row for row in rows if row["strategy"] != side])).empty


def made_up(noise: float = 0.0) -> list[Neighbour]:
    """Workloads whose ratio follows from size and heap."""
    random = np.random.default_rng(3)
    found = []
    for question in drawn(100):
        log = 0.2 * (math.log2(question.bytes) - 12) - 0.3 * math.log2(question.heap_mb / (24 + question.live_in_mb))
        found.append(Neighbour(question, 100 * math.exp(log + noise * random.normal()), 100.0, 0.1, 0.1, 0.0))
    return found


def test_a_fit_predicts_what_it_never_saw_within_its_interval() -> None:
    workloads = made_up(0.05)
    fitted = fit.fit("g1", workloads[:80])
    inside, off = 0, []
    for each in workloads[80:]:
        ratio, low, high = fitted.predicted(each.question, of_file=True)
        inside += low <= each.ratio <= high
        off.append(math.log(each.ratio / ratio))
    assert inside >= 16
    assert np.sqrt(np.mean(np.square(off))) < 0.3 * np.std(np.log([each.ratio for each in workloads]))


def test_residuals_are_those_of_a_model_without_the_workload() -> None:
    """The closed form of Rasmussen and Williams, eq. 5.12, against leaving one out by hand."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    workloads = made_up(0.05)[:40]
    fitted = fit.fit("g1", workloads)
    places = np.array([fitted._place(each.question) for each in workloads])
    logs = np.log([each.ratio for each in workloads]) - fitted.mean
    gram = np.array([[model.matern(math.dist(a, b)) for b in places] for a in places])
    # weights = inv(gram + noise / amplitude) @ logs, so that quotient follows from any of them.
    noise = float(np.median((logs - gram @ np.array(fitted.weights)) / np.array(fitted.weights)))
    kernel = ConstantKernel(1.0, "fixed") * Matern(1.0, "fixed", nu=2.5) + WhiteKernel(noise, "fixed")
    others = np.arange(40) != 7
    alone = GaussianProcessRegressor(kernel, optimizer=None).fit(places[others], logs[others])
    assert abs(alone.predict(places[[7]])[0] - logs[7]) == pytest.approx(fitted.residuals[7], rel=0.02)


@pytest.mark.parametrize(
    ("low", "high", "side"),
    [(0.5, 0.9, ALLOCATE), (1.2, 3.0, POOL), (0.95, 1.05, EITHER), (0.8, 1.5, UNDECIDED), (0.93, 0.99, EITHER)],
)
def test_a_side_is_named_only_if_the_interval_is_on_it(low: float, high: float, side: str) -> None:
    assert load("g1").side(low, high) == side


def test_pairs_of_this_machine_shift_the_answer_and_narrow_it() -> None:
    away = load("g1")
    expected = away.predicted(USUAL)
    here = load("g1", [(USUAL, math.log(2 * expected[0]))] * 9)
    ratio, low, high = here.predicted(USUAL)
    assert ratio == pytest.approx(expected[0] * 2**0.9)
    assert high / low < expected[2] / expected[1]


def test_a_turn_is_where_the_expected_side_changes() -> None:
    for name in pairs.CONFIGURATIONS:
        of = load(name)
        for question in drawn(12):
            asked = of_configuration(question, name)
            for turn in of.turns(asked):
                changed: dict[str, Any] = {turn.parameter: turn.value}
                after = replace(asked, **changed)
                assert (of.predicted(after)[0] > 1) != (of.predicted(asked)[0] > 1)
                assert turn.answer == (POOL if of.predicted(after)[0] > 1 else ALLOCATE)


def test_beyond_the_design_nothing_is_claimed() -> None:
    answer = load("g1").answer(replace(USUAL, bytes=2**24, in_flight=3, heap_mb=400))
    assert answer.answer == UNDECIDED
    assert [words.partition(" ")[0] for words in answer.outside] == ["bytes"]


def test_the_shipped_file_is_what_the_shipped_design_makes() -> None:
    record = page.record()
    measured = pairs.pairs(fit.rows_of(record.trials))
    for name in pairs.CONFIGURATIONS.keys() - pairs.SHIFTED_FROM.keys():
        own = [found for configuration, _, found in measured if configuration == name]
        stored = load(name)
        assert [each.question for each in stored.workloads] == [each.question for each in own]
        assert [each.ratio for each in stored.workloads] == pytest.approx([each.ratio for each in own], rel=1e-4)
        held = record.predictions[record.predictions["configuration"] == name]
        assert (held["kind"] == fit.LEFT_OUT).sum() == len(own)


def test_a_newer_jdk_is_the_older_shifted_by_what_differs_on_the_same_workloads() -> None:
    table = fit.differing(fit.of_all_hosts(), page.record().provenance["host_id"])
    for name, of in pairs.SHIFTED_FROM.items():
        (row,) = table[table["configuration"] == name].to_dict("records")
        assert row["over"] == of and row["host_id"] == row["over_host_id"] and row["low"] < row["ratio"] < row["high"]
        assert load(name).mean == pytest.approx(load(of).mean + math.log(row["ratio"]), abs=1e-6)
        assert load(name).predicted(USUAL)[0] == pytest.approx(load(of).predicted(USUAL)[0] * row["ratio"], rel=1e-6)
        assert load(name).label != load(of).label


def test_two_hosts_differ_by_the_geometric_mean_over_what_both_measured() -> None:
    workloads = made_up()[:30]
    there = [replace(each, alloc_ns=each.alloc_ns * (1.5 if i % 2 else 1.1)) for i, each in enumerate(workloads[:20])]
    measured = [("g1", "ours", each) for each in workloads] + [("g1", "other", each) for each in there]
    (row,) = fit.differing(measured, "ours").to_dict("records")
    assert (row["host_id"], row["over_host_id"], row["workloads"]) == ("other", "ours", 20)
    assert row["ratio"] == pytest.approx(math.sqrt(1.5 * 1.1))
    assert row["spread"] == pytest.approx(math.exp(math.log(1.5 / 1.1) / 2 * math.sqrt(20 / 19)))
    ratios = [(each.ratio, ours.ratio) for each, ours in zip(there, workloads, strict=False)]
    assert row["contrary"] == sum(min(pair) < 1 / 1.1 and max(pair) > 1.1 for pair in ratios)
    assert fit.differing(measured[:35], "ours").empty


@pytest.mark.long
def test_the_record_is_made_again_from_the_shipped_design() -> None:
    record = page.record()
    workloads = [found for name, _, found in pairs.pairs(fit.rows_of(record.trials)) if name == "g1"]
    again = {found.question: of.predicted(found.question, True)[0] for found, of in fit.left_out("g1", workloads)}
    stored = record.predictions[
        (record.predictions["kind"] == fit.LEFT_OUT) & (record.predictions["configuration"] == "g1")
    ]
    rows = [Question(*(row[name] for name in Question.__dataclass_fields__)) for row in stored.to_dict("records")]
    np.testing.assert_allclose([again[each] for each in rows], stored["expected"], rtol=0.02)


def test_the_record_covers_what_it_says() -> None:
    table = page.coverage(page.record().predictions)
    assert table.iloc[0]["in interval"] >= 0.90
    assert table.iloc[0]["right"] >= 0.90


def test_ask_answers_in_json(data: Path) -> None:
    words = [word for key, value in WORDS.items() for word in (f"--{key.replace('_', '-')}", value)]
    done = CliRunner().invoke(main, ["ask", *words, "--json"])
    found = json.loads(done.output)
    assert {"answer", "ratio", "low", "high", "nearest", "gc_shares", "turns_at", "known_here"} <= found.keys()
    allocating = [near["alloc_gc_share"] for near in found["nearest"]]
    assert min(allocating) - 1e-9 <= found["gc_shares"][0] <= max(allocating) + 1e-9
    assert found["low"] <= found["ratio"] <= found["high"]
    assert found["known_here"] == 0
    assert found["nearest"][0]["question"]["bytes"] >= design.SMALLEST_BYTES


def test_ask_has_an_answer_for_cpp(data: Path) -> None:
    _, label, answer = command.asked({"language": "cpp", "bytes": "64k", "in_flight": "100"})
    assert label == pairs.CONFIGURATIONS["cpp"]
    assert not answer.nearest[0].question.heap_mb
    assert answer.gc_shares is None


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"collector": "serial"}, "g1, genzgc, parallel"),
        ({"collector": "genzgc", "layout": "native"}, "g1 with --layout native"),
        ({"language": "rust"}, "java, cpp"),
        ({"language": "cpp", "layout": "array"}, "--language cpp"),
        ({"layout": "heap", "language": "java"}, "array, native, malloc"),
        ({"runtime": "17"}, "ask knows 25, 27"),
        ({"runtime": "27", "layout": "native"}, "ask knows 25 with --layout native with --collector g1"),
        ({"bytes": "much"}, "--bytes 'much'"),
        ({"in_flight": "1m", "bytes": "4096", "heap": "1g"}, "--heap"),
    ],
)
def test_what_can_not_be_asked_is_one_line_with_the_choices(given: dict[str, str], named: str, data: Path) -> None:
    with pytest.raises(UserError, match=f"^[^\n]*{named}[^\n]*$"):
        command.asked(given)


def test_an_answer_imports_nothing_heavy() -> None:
    code = (
        "import sys; from allocpool.ask.command import asked; asked({'bytes': '512'}); "
        "print({'scipy', 'sklearn', 'matplotlib', 'IPython'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_debates_are_ten_with_a_source_and_a_row_each(data: Path) -> None:
    found = page.debates()
    assert len({each["source"] for each in found}) == len(found) == 10
    assert {each["side"] for each in found} <= {"allocate", "pool", "neither"}
    assert all(set(each["assumed"]) <= set(each["given"]) for each in found)
    assert "can't run" not in set(page.debated(found)["ask"])


@in_a_browser
def test_a_browser_gives_the_figures_of_python(tmp_path: Path) -> None:
    file = tmp_path / "ask.html"
    script = (home.home() / "src" / "allocpool" / "ask" / "calculator.js").read_text(encoding="utf-8")
    stored = model.path().read_text(encoding="utf-8")
    file.write_text(f"<script>{script}</script><script>const FILE = {stored};</script>", encoding="utf-8")
    asked = [*drawn(10), USUAL, replace(USUAL, bytes=2**24)]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        tab = browser.new_page()
        tab.goto(file.as_uri())
        for name in pairs.CONFIGURATIONS:
            own = [of_configuration(each, name) for each in asked]
            call = (
                "([name, all]) => { const m = new allocpoolAsk.Model(FILE, name); return all.map((q) => m.answer(q)); }"
            )
            found = tab.evaluate(call, [name, [vars(each) for each in own]])
            for question, theirs in zip(own, found, strict=True):
                ours = load(name).answer(question)
                assert theirs["answer"] == ours.answer
                assert [theirs[key] for key in ("ratio", "low", "high")] == pytest.approx(
                    [ours.ratio, ours.low, ours.high], rel=1e-9
                )
                assert [(turn["parameter"], turn["value"]) for turn in theirs["turns_at"]] == [
                    (turn.parameter, pytest.approx(turn.value)) for turn in ours.turns_at
                ]
                assert (theirs["gc_shares"] or []) == pytest.approx(list(ours.gc_shares or ()))
                assert [near["question"] for near in theirs["nearest"]] == [
                    vars(near.question) for near in ours.nearest
                ]
        browser.close()
