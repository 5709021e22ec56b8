"""What the native study shows: the ladder's gains, the spread over collectors, what options change, and the sentence to
take home. Everything is a ratio of costs over trials; what stands in one table or sentence is decided together.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import pandas as pd

from allocpool import decisions, stats
from allocpool.campaign import store
from allocpool.decisions import Comparison
from allocpool.packets import cells as cell_data
from allocpool.packets.comparisons import UNDECIDED, decided_in_words, headline, sentence
from allocpool.packets.specs import CASES, Configuration
from allocpool.packets.strategies import Language
from allocpool.packets.tables import comparison_table
from allocpool.studies.native.specs import EVENTS
from allocpool.studies.native.study import STUDY, NativeProfile, ladder

POOLED = "pool"
LANGUAGES: dict[Language, str] = {"cpp": "C++", "java": "Java"}
_REALISTIC = "B"
PAYLOAD_BYTES = (50, 113)
"""The shortest and the longest payload of a published packet, as the generators of both languages draw it."""


class _Step(NamedTuple):
    """A comparison that is one step of an argument: what costs more, and what costs less."""

    larger: str
    larger_strategy: str
    smaller: str
    smaller_strategy: str = POOLED


def in_groups(rows: pd.DataFrame, profile: NativeProfile, *groups: str) -> pd.DataFrame:
    """The rows (with configuration and strategy) that belong to these groups of the profile; a group it lacks has
    none."""
    wanted = {
        (Configuration.parse(key).label, strategy)
        for name in groups
        if name in profile.groups
        for key in profile.groups[name].configurations
        for strategy in profile.groups[name].strategies
    }
    pairs = zip(rows["configuration"], rows["strategy"], strict=True)
    return rows[pd.Series([pair in wanted for pair in pairs], index=rows.index, dtype=bool)]


def with_configurations(
    rows: pd.DataFrame, chosen: pd.DataFrame, keys: Sequence[str], strategy: str = POOLED
) -> pd.DataFrame:
    """``chosen`` and, for comparison, the rows of these configurations with one strategy."""
    labels = [Configuration.parse(key).label for key in keys]
    added = rows[rows["configuration"].isin(labels) & (rows["strategy"] == strategy)]
    return pd.concat([chosen, added]).drop_duplicates(["configuration", "strategy", "case", *_trial_id(rows)])


def _trial_id(rows: pd.DataFrame) -> list[str]:
    return ["trial_id"] if "trial_id" in rows else []


LADDER_NOTE = (
    "Ratios of costs over trials, all decided together. Beware: what an average would hide (a: the rung before, b: "
    "this one), and the ratio without the largest and the smallest fifth."
)


def ladder_table(trials: pd.DataFrame) -> pd.DataFrame:
    """Per language, case and rung, pooled: language, case, rung, ns, low, high, n, method; gain (cost of the rung
    before over its own), gain_low, gain_high, gain_text; of_foot (its cost over that of ``separate``) and of_foot_text;
    beware (what the average hides of the gain).

    All gains and all ratios to the foot are decided together. A rung without a finished trial has no row; the next one
    is compared with the last that has.
    """
    rows: list[dict[str, object]] = []
    pairs: list[tuple[pd.Series, pd.Series]] = []
    for language, case in product(LANGUAGES, CASES):
        climbed: list[pd.Series] = []
        for step, key in ladder(language).items():
            own = cell_data.by_block(trials, Configuration.parse(key).label, POOLED, case)
            if own.empty:
                continue
            cost = stats.geometric_interval(own)
            rows.append({
                "language": LANGUAGES[language], "case": case, "rung": step.replace("_", " "), "ns": cost.estimate,
                "low": cost.low, "high": cost.high, "n": cost.trials, "method": cost.method, "gain_text": "-",
                "of_foot_text": "-", "beware": "", "pair": len(pairs) if climbed else None,
            })  # fmt: skip
            if climbed:
                pairs += [(climbed[-1], own), (own, climbed[0])]
            climbed.append(own)
    compared = decisions.compare_together(pairs)
    for row in rows:
        if (place := row.pop("pair")) is not None:
            gain, whole = compared[int(str(place))], compared[int(str(place)) + 1]
            row |= {
                "gain": gain.decision.ratio, "gain_low": gain.decision.low, "gain_high": gain.decision.high,
                "gain_text": gain.text(), "of_foot": whole.decision.ratio, "of_foot_text": whole.text(),
                "beware": beware(gain),
            }  # fmt: skip
    names = ["language", "case", "rung", "ns", "low", "high", "n", "method", "gain", "gain_low", "gain_high"]
    return pd.DataFrame(rows, columns=[*names, "gain_text", "of_foot", "of_foot_text", "beware"])


def _by_side(remark: str) -> str:
    return remark.replace("a: ", "before: ").replace("b: ", "after: ")


def beware(compared: Comparison) -> str:
    """What an average would hide of a comparison, with the trimmed ratio beside; empty where nothing is seen."""
    told = compared.decision
    return f"{told.remark}; trimmed {stats.significant(told.trimmed_ratio)}" if told.remark else ""


def ladder_grid(table: pd.DataFrame) -> pd.DataFrame:
    """`ladder_table` for a reader: both languages side by side, a row for each case and step."""
    values = ["gain_text", "of_foot_text", "beware"]
    grid = table.pivot(index=["case", "rung"], columns="language", values=values)
    order = [
        (case, step.replace("_", " "))
        for case in CASES
        for step in ladder("cpp")
        if (case, step.replace("_", " ")) in grid.index
    ]
    names = {"gain_text": "gain", "of_foot_text": "cost over separate", "beware": "beware"}
    grid = grid.reindex(order).fillna("")
    present = [language for language in LANGUAGES.values() if language in set(table["language"])]
    shown = {
        f"{language}: {names[value]}": grid[value, language]
        for language in present
        for value in values
        if grid[value, language].any()
    }
    return pd.DataFrame(shown).reset_index()


def events_grid(counters: pd.DataFrame) -> pd.DataFrame:
    """Events per packet: one row per configuration, case and way of counting, one column per event that was counted."""
    counted = counters[counters["per_packet"].notna()]
    if counted.empty:
        return pd.DataFrame(columns=["configuration", "case", "counted"])
    grid = counted.pivot_table(
        index=["configuration", "case", "counter"], columns="event", values="per_packet", aggfunc="mean", observed=True
    )
    grid = grid[[event for event in EVENTS if event in grid]].map(stats.significant)
    grid.columns = [str(name).replace("_", " ") for name in grid.columns]
    return grid.reset_index().rename(columns={"counter": "counted"})


def how_counted(counters: pd.DataFrame) -> str:
    """What counted, for a caption, and why the rest was not counted."""
    how = sorted(set(counters.loc[counters["per_packet"].notna(), "how"].dropna()))
    why = sorted(set(counters.loc[counters["status"] != "ok", "reason"].dropna()))
    by_whom = f"Counted by {'; '.join(how)}. " if how else "Nothing was counted. "
    simulated = (counters["counter"] == "simulated") & counters["per_packet"].notna()
    model = "Simulated caches are a model that knows neither prefetching nor pages. " if simulated.any() else ""
    return by_whom + model + (f"Not counted: {'; '.join(why)}." if why else "")


_POOLING = "pooling in place of new and delete in flat C++"
_ARGUMENT = {
    _POOLING: _Step("cpp/flat", "alloc", "cpp/flat"),
    "laying pooled C++ packets out in one region": _Step("cpp/flat", POOLED, "cpp/slab/glibc/contiguous"),
    "laying that region out for the caches": _Step("cpp/slab/glibc/contiguous", POOLED, "cpp/slab"),
    "what one region has over C++ packets that are aligned and fetched ahead as well": _Step(
        "cpp/flat/glibc/inline+one_line+stride+prefetch", POOLED, "cpp/slab"
    ),
    "giving up objects for one region in Java": _Step("java/native/g1/25", POOLED, "java/flat/g1/25/contiguous"),
    "laying Java's region out for the caches": _Step("java/flat/g1/25/contiguous", POOLED, "java/flat/g1/25"),
}


def gains_table(trials: pd.DataFrame) -> pd.DataFrame:
    """The steps of the argument by case, all decided together: what it is, from and to in ns, and the gain in words;
    direction and equivalent as in `allocpool.decisions.Comparison`; beware, what an average would hide."""
    names, pairs = [], []
    for case, (what, step) in product(CASES, _ARGUMENT.items()):
        larger, smaller = Configuration.parse(step.larger).label, Configuration.parse(step.smaller).label
        top = cell_data.by_block(trials, larger, step.larger_strategy, case)
        bottom = cell_data.by_block(trials, smaller, step.smaller_strategy, case)
        if len(top) and len(bottom):
            names.append([case, what, f"{larger}, {step.larger_strategy}", f"{smaller}, {step.smaller_strategy}"])
            pairs.append((top, bottom))
    rows = [
        [
            *name, *map(stats.geometric_mean, pair), item.text(), item.direction, item.equivalent,
            _by_side(beware(item)),
        ]
        for name, pair, item in zip(names, pairs, decisions.compare_together(pairs), strict=True)
    ]  # fmt: skip
    columns = ["case", "step", "from", "to", "from ns", "to ns", "gain", "direction", "equivalent", "beware"]
    return pd.DataFrame(rows, columns=columns)


def best_library(trials: pd.DataFrame, case: str) -> str:
    """How the cheapest library pool stands beside our own flat layout, in words; empty when none has finished."""
    done = cell_data.with_cost(
        trials[["configuration", "strategy", "case", "layout", "block", "status", "ns_per_packet"]]
    )
    pools = done[(done["strategy"] == done["layout"].map(LIBRARY_LAYOUTS)) & (done["case"] == case)]
    own = cell_data.by_block(trials, Configuration.parse("java/flat/g1/25").label, POOLED, case)
    if pools.empty or own.empty:
        return ""
    costs = {str(name): part.set_index("block")["ns_per_packet"] for name, part in pools.groupby("configuration")}
    means = {name: stats.geometric_mean(values) for name, values in costs.items()}
    best, worst = min(means, key=lambda name: means[name]), max(means, key=lambda name: means[name])
    beside = f"{stats.significant(stats.geometric_mean(own))} ns of our own flat layout"
    if len(costs) == 1:
        return f"Of the libraries, {best} was measured ({stats.significant(means[best])} ns), beside {beside}."
    rivals = {name: values for name, values in costs.items() if name != best}
    chance = min(1.0, len(costs) * decisions.p_cheapest({best: costs[best]}, rivals))
    shown = "shown to be the cheapest" if chance <= decisions.ALPHA else "not shown to be the cheapest"
    return (
        f"Of the library pools and buffers, {best} costs least ({stats.significant(means[best])} ns; {shown}) and "
        f"{worst} most ({stats.significant(means[worst])} ns), beside {beside}."
    )


LIBRARY_LAYOUTS = {
    "netty_pooled": "alloc", "netty_unpooled": "alloc", "netty_adaptive": "alloc", "commons_pool": "pool",
    "agrona": "pool",
}  # fmt: skip
"""Layouts of libraries, each with the strategy that uses it as it is meant: Netty's pools are in its allocators."""


def verdict(trials: pd.DataFrame) -> str:
    """What a practitioner takes home, in the realistic case or else the first that was measured."""
    rows = gains_table(trials)
    if rows.empty:
        return "**Undecided.** None of the steps has been measured on both of its sides yet."
    cases = list(dict.fromkeys(rows["case"]))
    case = _REALISTIC if _REALISTIC in cases else cases[0]
    here = rows[rows["case"] == case].sort_values("to ns")
    pays = int((here["direction"] == 1).sum())
    useless = int((here["direction"] == -1).sum() + here["equivalent"].sum())
    if pays == len(here):
        places = set(here["step"]) - {_POOLING}
        head = "Where packets lie pays on top of who keeps them" if places else "Pooling pays in flat C++"
    elif useless:
        head = "Not every step pays here" if pays else "No step is shown to pay here"
    else:
        head = "Some steps are shown to pay, the others are open" if pays else "Open whether any step pays"
    ended = (here["direction"] != 0) | here["equivalent"]
    steps = "; ".join(
        f"{row['step']}, {row['gain']}{' (beware: ' + row['beware'] + ')' if row['beware'] else ''}"
        for _, row in here[ended].iterrows()
    )
    gains = f" What a packet cost before over what it costs after, in case {case}: {steps}." if steps else ""
    waiting = (
        f" {'Open' if ended.any() else 'Asked of'}: {'; '.join(here.loc[~ended, 'step'])}." if not ended.all() else ""
    )
    return f"**{head}.**{gains}{waiting} {best_library(trials, case)}".rstrip()


def take_home(profile: str) -> str:
    """The verdict on what a campaign of this profile left; runs nothing."""
    tables, _ = store.stored(STUDY.name, profile)
    return verdict(tables["trials"])


def pooling_in_cpp(trials: pd.DataFrame) -> str:
    """What C++ pays for new and delete, in one sentence."""
    cpp = trials[trials["language"] == "cpp"]
    if cell_data.with_cost(cpp).empty:
        return f"**{UNDECIDED}.** No C++ trial has finished on this machine yet."
    rows = comparison_table(trials)
    rows = rows[(rows["n"] > 0) & rows["configuration"].isin(set(cpp["configuration"]))]
    if rows.empty:
        return f"**{UNDECIDED}.** No C++ configuration was measured with both alloc and pool."
    return f"**In C++: {headline(rows).lower()}.** {sentence(decided_in_words(rows))}"
