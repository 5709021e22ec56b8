"""Tables of the page on batch that are about settings, flags and windows; and its answer."""

from __future__ import annotations

import numpy as np
import pandas as pd

from allocpool import stats
from allocpool.campaign import store
from allocpool.packets import by_size
from allocpool.packets import cells as cell_data
from allocpool.packets.batch import BatchSpec
from allocpool.packets.comparisons import PUBLISHED, Batch
from allocpool.packets.specs import SETTINGS, Configuration
from allocpool.packets.tables import options_grid, options_table
from allocpool.runtimes.flags import reason_of
from allocpool.studies.batch.claims import distances
from allocpool.studies.batch.study import STUDY, BatchProfile
from allocpool.trial.launch import flags_of


def case_a_table(trials: pd.DataFrame) -> pd.DataFrame:
    """Return case A as the published code has it and as the article's text has it, where both were measured."""
    cells = cell_data.cells(cell_data.as_set(trials))
    code, text = (cells[(cells["case"] == case) & cells["ns"].notna()] for case in ("A", "A10k"))
    both = code.merge(text, on=["configuration", "strategy"], suffixes=("", "_text"))
    figures = {
        "A, ns": both["ns"], "A10k, ns": both["ns_text"], "A10k over A": both["ns_text"] / both["ns"],
        "published, ns": both["published_ns"],
    }  # fmt: skip
    rounded = {name: values.map(stats.significant, na_action="ignore") for name, values in figures.items()}
    return both[["configuration", "strategy"]].assign(**rounded)


def settings_table(trials: pd.DataFrame) -> pd.DataFrame:
    """What a cell costs without a setting of ours, or with the pause target of G1, over what it costs as it is."""
    rows = options_table(trials, *SETTINGS)
    return options_grid(rows, "with", "without").assign(setting=rows["option"])


def flags_table(profile: BatchProfile) -> pd.DataFrame:
    """The flags of the profile's JVMs from the code that makes them: flag, whose it is, why, and who is given it."""
    given: dict[str, list[str]] = {}
    asked = [key for part in (profile, *profile.groups.values()) for key in part.configurations]
    configurations = [
        configuration
        for configuration in map(Configuration.parse, dict.fromkeys(asked))
        if configuration.language == "java"
    ]
    for configuration in configurations:
        settings = configuration.model_dump(exclude_none=True)
        spec = BatchSpec(**settings, strategy="pool", case="B", scale=profile.scale, packets=1)
        jvm = spec.needs().jvm
        flags = flags_of(jvm) if jvm else ()
        for flag in dict.fromkeys("-Xlog:..." if flag.startswith("-Xlog:") else flag for flag in flags):
            given.setdefault(flag, []).append(configuration.label)
    everyone = [configuration.label for configuration in configurations]
    rows = [
        {
            "flag": flag, "whose": reason_of(flag).whose, "why": reason_of(flag).why,
            "given to": _whom(labels, everyone),
        }
        for flag, labels in given.items()
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["flag", "whose", "why", "given to"]).sort_values("whose", kind="stable")


def _whom(labels: list[str], everyone: list[str]) -> str:
    """Some of all, or all but the others, whichever is the shorter list."""
    others = [label for label in everyone if label not in labels]
    if not others:
        return "all"
    return f"all but {'; '.join(others)}" if len(others) < len(labels) else "; ".join(labels)


def which_cms(trials: pd.DataFrame) -> pd.DataFrame:
    """Return how far Parallel and CMS of 11 lie from the published "CMS" in shape (log-ratio): with the article's flags
    and with the pause target of G1 as well; no rows where neither was measured in every cell."""
    batch = Batch(cell_data.with_cost(trials[trials["collector"].isin(["parallel", "cms"])]), PUBLISHED)
    result = {"the article's flags": "", "the pause target of G1 as well": "/pause_target"}
    rows = [
        {"with": words} | {name: stats.geometric_interval(distance).text(2) for name, distance in found.items()}
        for words, option in result.items()
        for _, found in distances(batch, option)
    ]
    return pd.DataFrame(rows)


def windows(trials: pd.DataFrame) -> pd.DataFrame:
    """Return, by configuration and strategy, how many trials ended their warm-up how, after how many messages and
    collections (medians), and what the first half minute costs over steady state (geometric mean)."""
    done = cell_data.with_cost(trials).fillna({"window": "no collector", "warm_up": "by time"})
    start = np.log((done["start_ns_per_packet"] / done["ns_per_packet"]).astype(float))
    cells = done.assign(start=start).groupby(["configuration", "strategy", "window", "warm_up"], observed=True)
    rows = cells.agg(
        trials=("trial_id", "size"),
        warmup_packets=("warmup_packets", "median"),
        warmup_collections=("warmup_collections", "median"),
        start_over_steady=("start", "mean"),
    ).reset_index()
    return rows.assign(start_over_steady=np.exp(rows["start_over_steady"]).round(2))


def take_home(profile: str) -> str:
    """Return the answer by what a campaign of this profile left; runs nothing."""
    rungs = by_size.rungs(store.stored(STUDY.name, profile)[0]["trials"])
    return " ".join(each.text for each in by_size.headlines(rungs, rungs)) or "Not measured."
