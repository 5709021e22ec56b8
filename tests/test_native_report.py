"""What the native notebook concludes, on made-up campaigns whose answer is known."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
import synthetic
from matplotlib.figure import Figure
from matplotlib.text import Text

from allocpool import stats
from allocpool.campaign import campaign
from allocpool.packets import cells, tables
from allocpool.packets.specs import Solution
from allocpool.studies.native import plots
from allocpool.studies.native import story as native_report
from allocpool.studies.native.study import NativeProfile, ladder

JAVA = (
    "java/native/g1/25", "java/native/g1/25/large_pages", "java/flat/g1/25", "java/flat/genzgc/25",
    "java/netty_pooled/g1/25", "java/commons_pool/g1/25",
)  # fmt: skip
NS = {"flat": 80.0, "native": 400.0, "netty_pooled": 300.0, "commons_pool": 900.0}
RUNG_NS = dict(zip(ladder(), (80.0, 70.0, 60.0, 20.0, 15.0, 10.0), strict=True))


def centre(row: dict[str, object]) -> float:
    """Known costs: the ladder's, and Java flat at 20 ns, a tenth more under ZGC."""
    if row["language"] == "cpp":
        (key,) = [key for key in ladder() if Solution.parse(key).label == row["solution"]]
        return RUNG_NS[key] * (3.0 if row["strategy"] == "alloc" else 1.0)
    if row["layout"] == "flat":
        return 22.0 if row["collector"] == "genzgc" else 20.0
    return NS[str(row["layout"])] * (0.8 if "large" in str(row["solution"]) else 1.0)


def made_up(keys: tuple[str, ...], noise: float = 0.01) -> pd.DataFrame:
    parsed = [Solution.parse(key) for key in keys]
    rows = tuple((s.language, s.layout, s.collector, s.runtime, s.allocator, s.label) for s in parsed)
    made = synthetic.trials(blocks=5, noise=noise, centre=centre, solutions=rows, cases=("B", "C"))
    large = {s.label: s.large_pages for s in parsed}
    return made.assign(
        large_pages=made["solution"].map(large).astype("boolean"),
        compact_headers=pd.Series(pd.NA, index=made.index, dtype="boolean"),
        allocated_bytes=np.where(made["layout"] == "flat", 0, 1000),
        huge_pages_mb=np.where(made["solution"].map(large).fillna(False).astype(bool), 512.0, 0.0),
    )


def one(table: pd.DataFrame, **wanted: str) -> pd.Series:
    """The one row with these values."""
    for name, value in wanted.items():
        table = table[table[name] == value]
    assert len(table) == 1
    return table.iloc[0]


@pytest.fixture(scope="module")
def trials() -> pd.DataFrame:
    return made_up((*ladder(), *JAVA))


def test_the_ladder_tells_each_steps_gain_and_the_whole_way(trials: pd.DataFrame) -> None:
    table = native_report.ladder_table(trials)
    assert list(table["case"].unique()) == ["B", "C"]
    assert list(table.loc[table["case"] == "B", "rung"]) == [
        "flat", "+ contiguous", "+ one line", "+ stride", "+ huge pages", "+ prefetch",
    ]  # fmt: skip
    stride = one(table, case="B", rung="+ stride")
    assert stride["gain"] == pytest.approx(3.0, rel=0.03)
    assert "times" in stride["gain_text"]
    assert one(table, case="B", rung="+ prefetch")["of_flat"] == pytest.approx(10 / 80, rel=0.03)
    assert pd.isna(one(table, case="B", rung="flat")["gain"])


def test_a_missing_rung_leaves_the_others(trials: pd.DataFrame) -> None:
    (without, *_) = [Solution.parse(key).label for key in ladder() if key.endswith("+stride")]
    table = native_report.ladder_table(trials[trials["solution"] != without])
    assert "+ stride" not in set(table["rung"])
    assert one(table, case="B", rung="+ huge pages")["gain"] == pytest.approx(60 / 15, rel=0.03)


def test_noise_is_no_gain() -> None:
    noisy = made_up(tuple(ladder()), noise=1.0)
    texts = native_report.ladder_table(noisy)["gain_text"]
    assert texts.str.startswith("no difference shown").sum() >= 6


def test_the_spread_over_collectors_is_a_factor_beside_the_noise(trials: pd.DataFrame) -> None:
    told = native_report.collector_spread(trials)
    assert "under 2 collectors" in told
    assert "(flat / G1 / 25) to" in told and "(flat / generational ZGC / 25), a factor of 1.1" in told
    assert "Two trials of one configuration stay within 1.0" in told
    assert "at most 0 bytes" in told
    assert "unknown" in native_report.collector_spread(trials[trials["collector"] != "genzgc"])


def test_an_option_is_set_beside_the_same_without_it(trials: pd.DataFrame) -> None:
    row = one(tables.options_table(trials), case="B", strategy="pool")
    assert row["solution"] == "native / G1 / 25 / large pages"
    assert float(row["cost with over without"].split()[0]) == pytest.approx(0.8, rel=0.03)
    assert row["on huge pages, MB"] == 512
    refused = synthetic.fail(trials, "native / G1 / 25 / large pages", "pool", "B", "unavailable", "no huge pages here")
    row = one(tables.options_table(refused), case="B", strategy="pool")
    assert (row["cost with over without"], row["why not"]) == ("not measured", "unavailable: no huge pages here")


def test_the_sentence_to_take_home_is_computed(trials: pd.DataFrame) -> None:
    told = native_report.verdict(trials)
    assert told.startswith("**Where packets lie pays on top of who keeps them.** ")
    assert "in case B" in told
    for gain in ("20", "3.0", "8.0"):
        assert any(word.startswith(gain[:3]) for word in told.replace(",", " ").split()), gain
    assert "netty pooled / G1 / 25 costs least (30" in told and "commons pool / G1 / 25 most (9" in told
    assert native_report.verdict(trials[:0]).startswith("**Undecided.**")


def test_what_is_compared_is_chosen_by_the_profiles_groups(trials: pd.DataFrame) -> None:
    profile = campaign.open_study("native", "smoke").profile
    assert isinstance(profile, NativeProfile)
    results = cells.cells(trials)
    some = native_report.in_groups(results, profile, "java", "nonsense")
    assert set(some["solution"]) == {"native / G1 / 25", "flat / G1 / 25", "flat / generational ZGC / 25"}
    assert set(some["strategy"]) == {"pool"}
    more = native_report.with_solutions(results, some, ["cpp/flat", "java/flat/g1/25"])
    assert len(more) == len(some) + 2
    assert "C++ flat" in set(more["solution"])


COUNTED = pd.DataFrame(
    [
        ("C++ flat", "B", "simulated", "instructions", 144.2, "ok", None, "cachegrind of valgrind-3"),
        ("C++ flat", "B", "simulated", "l1d_misses", 1.73, "ok", None, "cachegrind of valgrind-3"),
        ("C++ flat", "B", "hardware", None, np.nan, "unavailable", "the processor shows none", None),
    ],
    columns=["solution", "case", "counter", "event", "per_packet", "status", "reason", "how"],
)


def texts(figure: Figure) -> list[str]:
    figure.savefig(io.BytesIO(), format="png", dpi=40)
    return [text.get_text() for text in figure.findobj(Text)]


def test_events_are_told_with_what_counted_and_why_others_did_not() -> None:
    grid = native_report.events_grid(COUNTED)
    assert list(grid.columns) == ["solution", "case", "counted", "instructions", "l1d misses"]
    assert list(grid.iloc[0]) == ["C++ flat", "B", "simulated", "144", "1.73"]
    told = native_report.how_counted(COUNTED)
    assert "cachegrind of valgrind-3" in told and "neither prefetching nor pages" in told
    assert told.endswith("Not counted: the processor shows none.")
    nothing = COUNTED[COUNTED["event"].isna()]
    assert native_report.events_grid(nothing).empty
    assert native_report.how_counted(nothing).startswith("Nothing was counted.")


def test_figures_name_units_gains_and_simulation(trials: pd.DataFrame) -> None:
    table = native_report.ladder_table(trials)
    drawn = texts(plots.ladder_gains(table))
    assert "ns per packet (log scale)" in drawn
    stride = table[table["rung"] == "+ stride"].iloc[0]
    assert f"{stats.significant(stride['ns'])} ns  \u00f7 3.0" in drawn
    assert {"simulated", "per packet", "instructions"} <= set(texts(plots.events_per_packet(COUNTED)))
    for empty in (plots.ladder_gains(table[:0]), plots.events_per_packet(COUNTED[COUNTED["event"].isna()])):
        assert any(text.startswith("no ") for text in texts(empty))
