"""What the native notebook concludes, on made-up campaigns whose answer is known."""

from __future__ import annotations

import io
import re

import numpy as np
import pandas as pd
import pytest
import synthetic
from matplotlib.figure import Figure
from matplotlib.text import Text

from allocpool import stats
from allocpool.evidence import tables
from allocpool.evidence.claims import MIXED, OPEN, REFUTED, REPRODUCED, judge
from allocpool.packets.specs import OPTION_FIELDS, Configuration
from allocpool.studies.native import claims
from allocpool.studies.native import story as native_report
from allocpool.studies.native.study import optimisation_steps

JAVA = (
    "java/native/g1/25", "java/native/g1/25/large_pages", "java/flat/g1/25", "java/flat/genzgc/25",
    "java/netty_pooled/g1/25", "java/commons_pool/g1/25",
)  # fmt: skip
PLACED = ("cpp/flat/glibc_small_cache", "cpp/flat/glibc_small_cache/inline", "cpp/flat/fresh", "cpp/slab/fresh")
NS = {
    **dict(zip(optimisation_steps("cpp").values(), (80.0, 70.0, 75.0, 60.0, 20.0, 15.0, 10.0), strict=True)),
    **dict(zip(optimisation_steps("java").values(), (400.0, 100.0, 80.0, 40.0, 32.0, 16.0), strict=True)),
    "java/native/g1/25/large_pages": 320.0, "java/flat/g1/25": 20.0, "java/flat/genzgc/25": 22.0,
    "java/netty_pooled/g1/25": 300.0, "java/commons_pool/g1/25": 900.0, "cpp/flat/slp": 80.0,
    **dict(zip(PLACED, (120.0, 120.0, 40.0, 9.0), strict=True)),
}  # fmt: skip
BY_LABEL = {Configuration.parse(key).label: (key, ns) for key, ns in NS.items()}
ALLOC = {"cpp/flat/glibc": 3.0, "cpp/flat/glibc/inline": 6.0}
"""How many times as much as pooling alloc costs, where that is neither one nor three times."""


def centre(row: dict[str, object]) -> float:
    """Known costs."""
    key, ns = BY_LABEL[str(row["configuration"])]
    return ns * (ALLOC.get(key, 3.0) if row["language"] == "cpp" and row["strategy"] == "alloc" else 1.0)


def made_up(keys: tuple[str, ...], noise: float = 0.01) -> pd.DataFrame:
    parsed = {configuration.label: configuration for configuration in map(Configuration.parse, dict.fromkeys(keys))}
    rows = tuple((s.language, s.layout, s.collector, s.runtime, s.allocator, s.label) for s in parsed.values())
    made = synthetic.trials(blocks=5, noise=noise, centre=centre, configurations=rows, cases=("B", "C"))
    facts = {
        name: [getattr(parsed[label], name) for label in made["configuration"]] for name in ("steps", *OPTION_FIELDS)
    }
    large = made["configuration"].map(
        {label: bool(configuration.large_pages) for label, configuration in parsed.items()}
    )
    return made.assign(
        **facts,
        allocated_bytes=np.where(made["layout"] == "flat", 0, 1000),
        huge_pages_mb=np.where(large, 512.0, 0.0),
    )


def one(table: pd.DataFrame, **wanted: str) -> pd.Series:
    """The one row with these values."""
    for name, value in wanted.items():
        table = table[table[name] == value]
    assert len(table) == 1
    return table.iloc[0]


@pytest.fixture(scope="module")
def trials() -> pd.DataFrame:
    return made_up((*optimisation_steps("cpp").values(), *optimisation_steps("java").values(), *JAVA, *PLACED))


def test_the_steps_table_has_each_gain_and_the_ratio_to_the_first(trials: pd.DataFrame) -> None:
    table = native_report.steps_table(trials)
    assert list(table["case"].unique()) == ["B", "C"]
    steps = ["separate", "inline", "contiguous", "one line", "stride", "huge pages", "prefetch"]
    for language, rungs in (("C++", steps), ("Java", [step for step in steps if step != "inline"])):
        assert list(table.loc[(table["case"] == "B") & (table["language"] == language), "step"]) == rungs
    stride = one(table, language="C++", case="B", step="stride")
    assert stride["gain"] == pytest.approx(3.0, rel=0.03)
    assert "times" in stride["gain_text"]
    of_first = one(table, language="C++", case="B", step="prefetch")["of_first_text"]
    assert float(of_first.split()[0]) == pytest.approx(10 / 80, rel=0.03)
    assert one(table, language="Java", case="C", step="contiguous")["gain"] == pytest.approx(4.0, rel=0.03)
    assert pd.isna(one(table, language="C++", case="B", step="separate")["gain"])


@pytest.mark.parametrize(("alloc", "same"), [(3.0, "yes"), (0.3, "no")])
def test_whether_a_side_hangs_on_the_compiler_s_flags_is_shown(alloc: float, same: str) -> None:
    made = made_up(("cpp/flat/glibc", "cpp/flat/glibc/inline", "cpp/flat/slp"))
    build = made["configuration"] == "C++ flat / slp"
    made.loc[build & (made["strategy"] == "alloc"), "ns_per_packet"] *= alloc / 3.0
    found = native_report.by_build(made, "host_cpu", "slp")
    assert found[["option", "configuration", "case"]].values.tolist() == [["slp", "C++ flat", case] for case in "BC"]
    assert set(found["same_side"]) == {same} and set(found["verdict"]) == {"pool"}
    assert native_report.by_build(made[~build], "host_cpu", "slp").empty


def test_optimisation_steps_are_judged(trials: pd.DataFrame) -> None:
    gains = native_report.steps_table(trials).query("case == 'B' and language == 'C++'")
    pays, costs = native_report.PAYS, native_report.COSTS
    assert list(gains["gain"])[1:] == pytest.approx([80 / 70, 70 / 75, 75 / 60, 3.0, 20 / 15, 1.5], rel=0.03)
    assert gains["verdict"].tolist()[1:] == [pays, native_report.NO_GAIN, pays, pays, pays, pays]
    cpp, java, _ = native_report.verdict(trials).split("  \n")
    for line, costs_ns in ((cpp, (80, 10)), (java, (400, 16))):
        assert [float(ns) for ns in re.findall(r"([\d.]+) ns", line)] == pytest.approx(costs_ns, rel=0.03)
    reverse = native_report.steps_table(trials.assign(ns_per_packet=1e4 / trials["ns_per_packet"]))
    assert {pays, costs} & set(reverse.query("step == 'stride'")["verdict"]) == {costs}
    assert "not measured" in native_report.verdict(trials[:0])


def counted_trials(counter: str, work: float, misses: float, blocks: int) -> pd.DataFrame:
    """Events of a C++ pool without allocation: of the fuller cases so many times those of A."""
    facts = {
        "configuration": "C++ slab", "language": "cpp", "layout": "slab", "strategy": "pool", "counter": counter,
        "counted_packets": 1_000_000,
    }  # fmt: skip
    return pd.DataFrame([
        facts | {"case": case, "event": event, "block": block, "per_packet": figure * (1 + 0.002 * block)}
        for block in range(blocks)
        for case, (more_work, more_misses) in {"A": (1, 1), "B": (work, misses), "C": (work**2, misses**2)}.items()
        for event, figure in (("instructions", 150.0 * more_work), ("llc_misses", 0.3 * more_misses))
    ])  # fmt: skip


@pytest.mark.parametrize(
    ("counter", "work", "misses", "blocks", "outcome"),
    [
        ("simulated", 1.005, 2.0, 1, REPRODUCED), ("simulated", 1.5, 1.0, 1, REFUTED),
        ("simulated", 1.5, 2.0, 1, MIXED), ("hardware", 1.005, 2.0, 5, REPRODUCED),
        ("hardware", 1.5, 0.5, 5, REFUTED), ("hardware", 1.5, 2.0, 1, OPEN), ("hardware", 1.01, 2.0, 4, OPEN),
    ],
)  # fmt: skip
def test_simulated_events_are_exact_and_counted_ones_are_judged_by_trials(
    counter: str, work: float, misses: float, blocks: int, outcome: str
) -> None:
    (claim,) = claims.NATIVE_CLAIMS
    assert judge(claim, counted_trials(counter, work, misses, blocks)).outcome == outcome


def test_what_fits_the_caches_misses_none_and_what_exceeds_them_twice_misses_as_often() -> None:
    (claim,) = claims.NATIVE_CLAIMS
    trials = counted_trials("simulated", 1.0, 1.0, 1)
    inner = trials[trials["event"] == "llc_misses"].assign(event="l1d_misses")
    few = (trials["event"] == "llc_misses") & (trials["case"] == "A")
    found = judge(claim, pd.concat([trials.assign(per_packet=trials["per_packet"].mask(few, 0.0)), inner]))
    assert found.outcome == REPRODUCED
    misses = found.evidence[~found.evidence["event"].isin(["instructions"])]
    assert set(misses["event"]) == {"llc_misses"} and misses["ratio"].tolist() == pytest.approx([3e5, 3e5])
    (row,) = tables.claim_rows([tables.Judged([found])]).to_dict("records")
    assert row["effect"] == 1.0 and np.isnan(row["from"]) and row["n"] == 1


def texts(figure: Figure) -> list[str]:
    figure.savefig(io.BytesIO(), format="png", dpi=40)
    return [text.get_text() for text in figure.findobj(Text)]


def test_the_figure_of_steps_names_units_and_gains(trials: pd.DataFrame) -> None:
    table = native_report.steps_table(trials)
    drawn = texts(native_report.step_gains(table))
    assert {"C++, case B", "Java, case C", "one line"} <= set(drawn)
    assert any(text.startswith("ns per packet (log scale)") for text in drawn)
    stride = table[table["step"] == "stride"].iloc[0]
    assert f"{stats.significant(stride['ns'])} \u00f7 3.0" in drawn
    assert any(text.startswith("no ") for text in texts(native_report.step_gains(table[:0])))
