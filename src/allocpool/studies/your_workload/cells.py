"""The trials of the study's own workloads, by set-up: all that is equal but the strategy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from allocpool.evidence.trials import counted, finished, gap_of

COST = "cpu_ns_per_message"
_SET_UP = [
    "configuration", "sizes", "filled_share", "read_share", "rate_per_s", "arrivals", "burst_length", "delay_ms",
    "messages_in_flight", "kept_share", "kept_count", "replacement", "temporaries", "temporary_bytes", "live_mb",
    "changed_mb_per_s", "garbage_mb_per_s", "threads", "heap_mb", "direct_mb", "jvm_flags", "trace",
]  # fmt: skip


class SetUp:
    """One workload on one configuration, with every strategy that was tried."""

    def __init__(self, trials: pd.DataFrame) -> None:
        self._trials = trials
        self.facts: dict[str, Any] = {str(key): value for key, value in trials.iloc[0].items()}

    @property
    def strategies(self) -> list[str]:
        """Those that were tried; pools with power-of-two classes that clear nothing."""
        return [str(name) for name in self._plain["strategy"].drop_duplicates()]

    @property
    def _plain(self) -> pd.DataFrame:
        return self._trials[(self._trials["classes"] == "power_of_two") & ~self._trials["zeroing"]]

    def trials(self, strategy: str) -> pd.DataFrame:
        """The trials of a strategy, however they ended."""
        return self._plain[self._plain["strategy"] == strategy]

    def costs(self, strategy: str) -> pd.Series:
        """CPU of the whole process, ns a message, in order of time."""
        done = finished(counted(self.trials(strategy))).sort_values("started_utc")
        return done[COST].dropna().astype(float)

    def why_not(self, strategy: str) -> str:
        """Why a strategy has no figure."""
        return gap_of(self.trials(strategy)).text

    @property
    def label(self) -> str:
        """How it is reported, apart from the strategy."""
        facts = self.facts
        sizes = str(facts["sizes"])
        shown = [
            str(facts["configuration"]),
            f"{sizes.partition(':')[0]} bytes" if "," not in sizes else f"{facts['mean_bytes']:,.0f} bytes in the mean",
            f"{facts['messages_in_flight']:,} in flight",
            f"{facts['kept_count']:,} kept" if facts["kept_count"] else "",
            f"{facts['live_mb']:,.0f} MiB besides" if facts["live_mb"] else "",
            f"{facts['garbage_mb_per_s']:,.0f} MiB/s of garbage besides" if facts["garbage_mb_per_s"] else "",
            f"{facts['rate_per_s']:,.0f}/s" if pd.notna(facts["rate_per_s"]) else "",
        ]
        return ", ".join(filter(None, shown))


class Campaign:
    """The trials of a campaign by set-up, in the order of the table."""

    def __init__(self, trials: pd.DataFrame) -> None:
        groups = trials.groupby(_SET_UP, sort=False, observed=True, dropna=False)
        self.set_ups = [SetUp(group) for _, group in groups]

    def with_both(self, one: str, other: str) -> list[SetUp]:
        """Set-ups that tried both strategies."""
        return [each for each in self.set_ups if {one, other} <= set(each.strategies)]

    def pairs(self, one: str, other: str) -> Iterator[tuple[pd.Series, pd.Series]]:
        """The costs of two strategies, where both have any."""
        for each in self.with_both(one, other):
            sides = each.costs(one), each.costs(other)
            if all(map(len, sides)):
                yield sides

    def alike_apart_from(self, name: str) -> Iterator[tuple[SetUp, SetUp]]:
        """Set-ups that differ in one column of numbers alone: where it is 0, and where it is more."""
        without = {self._rest(each, name): each for each in self.set_ups if not each.facts[name]}
        for each in self.set_ups:
            if each.facts[name] and (plain := without.get(self._rest(each, name))):
                yield plain, each

    @staticmethod
    def _rest(each: SetUp, name: str) -> str:
        # Live data may need a larger heap, or change at a rate: these go with it.
        apart = {name, "heap_mb", "changed_mb_per_s"}
        return "|".join(str(each.facts[key]) for key in _SET_UP if key not in apart)
