"""A search for the shortest interval that loses nothing (NDR) or next to nothing (PDR).

MLRsearch (PyPI's MLRsearch 1.2.1, draft-ietf-bmwg-mlrsearch-05) decides which load to try and for how long: short
probes narrow the bracket, and a bound counts once trials of full length agree. Its loads are ticks per second, so its
lower bound is our shortest interval that passes, and its upper bound the largest that fails.

Short probes are taken in one warm process. Each trial of full length has its own, while the warm one is stopped. Tried
again are a probe that loses, once, as it may have paid for the garbage of a faster one (the better of the two counts),
and a trial of full length that loses with a source stall that alone could fill half of the input queue, once (the
second counts).

Then each end of MLRsearch's bracket is confirmed by as many trials of full length as asked for: the first that says
otherwise ends it, and the end moves outwards, in growing steps, until all agree. The passing end passed in each; the
failing end failed in each, while the machine ran at its full pace (``pace``) or losing more than a shared core can
explain: a program whose core a neighbour shares for a while fails at times far above the interval where it always does.
With one confirmation the two ends are those of MLRsearch.

Where no interval passes, the longest one has as many trials as confirm an end, whatever they lose; what another one
loses is measured instead.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

from MLRsearch import Config, MeasurementResult, MultipleLossRatioSearch, SearchGoal

from allocpool.studies.realtime.child import worker
from allocpool.studies.realtime.child.pace import SLOWED, FullPace
from allocpool.studies.realtime.child.worker import Answer
from allocpool.studies.realtime.measurement import Bracket, Figures, Probe, ProbeKind, SearchOutcome
from allocpool.trial.child.accounting import monotonic_ns
from allocpool.trial.child.process import PARENT
from allocpool.trial.measurement import Failure, OutOfMemory

_PRECEDING_TARGETS = 3
"""Coarser brackets on the way, by probes of growing length: cheaper in the warm process than a fresh one is."""
_NEVER_S = 1e9
_TRIES = 2
_COARSER = 1.5
"""So many times the resolution an end may lie beyond trials that disagreed: a soft edge is not known better."""
_OVERLOAD = 0.5
"""Who loses more than this share is too slow, whatever else happened: of a core that two share each has about half."""


class Ended(Exception):
    """A worker came to an end; holds the outcome of the search."""

    def __init__(self, outcome: Failure | OutOfMemory) -> None:
        super().__init__(outcome["reason"])
        self.outcome = outcome


class Worker:
    """A process that holds one set-up processor and measures one window after the other."""

    def __init__(
        self, spec: dict[str, Any], launch: dict[str, Any], folder: Path, module: str = worker.__name__
    ) -> None:
        """``module``: the entry of the process."""
        folder.mkdir()
        (folder / "spec.json").write_text(json.dumps({"spec": spec, "launch": launch}), encoding="utf-8")
        self._process = subprocess.Popen(
            [sys.executable, "-m", module],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=folder,
            env={**os.environ, PARENT: str(os.getpid())},
        )  # fmt: skip
        self._answer()

    def ask(self, question: dict[str, Any]) -> Answer:
        """Measure a window; the keys are the arguments of ``Windows.measure``."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        return cast(Answer, self._answer())

    @contextlib.contextmanager
    def stopped(self) -> Iterator[None]:
        """Take no CPU within, not even for a collection."""
        self._process.send_signal(signal.SIGSTOP)
        yield
        self._process.send_signal(signal.SIGCONT)

    def close(self) -> float:
        """End the process; return the most memory that it had resident, MiB."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        peak_rss_mb = float(self._answer()["peak_rss_mb"])
        self._process.wait()
        return peak_rss_mb

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            code = self._process.wait()
            raise Ended({"status": "crashed" if code < 0 else "failed", "reason": f"a worker ended with status {code}"})
        answer: dict[str, Any] = json.loads(line)
        if "status" in answer:
            raise Ended(cast(OutOfMemory, answer))
        if answer.get("fault"):
            raise Ended({"status": "failed", "reason": f"audit: {answer['fault']}"})
        return answer


class Measurer:
    """What MLRsearch asks: a load for a duration, answered from the right kind of process."""

    def __init__(
        self, spec: dict[str, Any], launch: dict[str, Any], folder: Path, module: str = worker.__name__
    ) -> None:
        """``module``: the entry of its workers."""
        self._spec, self._launch, self._folder, self._module = spec, launch, folder, module
        self.probes: list[Probe] = []
        self.peak_rss_mb = 0.0
        self.slowed_trials = 0
        self._patience_s = float(spec["patience_seconds"])
        # One confirmation takes any loss for a failure, so the pace is not asked for.
        self._full_pace = FullPace(launch) if self._patience_s and spec["confirmations"] > 1 else None
        self._waits = False
        self._fresh = 0
        self._warm = Worker(spec, launch, folder / "warm", module)

    def measure(self, intended_duration: float, intended_load: float) -> Any:
        """The signature is MLRsearch's: seconds, and ticks per second."""
        interval_ns = 1e9 / intended_load
        if intended_duration >= self._spec["full_seconds"]:
            figures = self.full(interval_ns, "full")
        else:
            figures = self._probe(interval_ns, intended_duration)
            if 0 < _loss_ratio(figures) < _OVERLOAD:
                figures = min(figures, self._probe(interval_ns, intended_duration), key=_loss_ratio)
        return MeasurementResult(
            intended_duration=intended_duration, intended_load=intended_load, offered_count=figures["generated"],
            loss_count=figures["lost"],
        )  # fmt: skip

    def full(self, interval_ns: float, kind: ProbeKind) -> Figures:
        """Return the figures of a trial of full length, again where the platform may have caused its losses."""
        with self._warm.stopped():
            for _ in range(_TRIES):
                figures = self._fresh_trial(interval_ns, kind)
                self.slowed_trials += bool(figures["lost"] and self.was_slowed)
                if not figures["lost"] or figures["slip_max_ns"] < self._spec["input_queue_ms"] * 1e6 / 2:
                    break
        return figures

    def wait_from_now_on(self) -> None:
        """Before each trial of full length, until the machine is at its full pace or patience is at its end."""
        self._waits = True

    @property
    def has_patience(self) -> bool:
        """Whether waiting for the machine's full pace, and trying again what lost without it, is still of use."""
        return self._patience_s > 0 and not self.is_restless

    @property
    def was_slowed(self) -> bool:
        """Whether the machine was not at its full pace just before or after the last trial."""
        pace = self.probes[-1]["pace"]
        return pace is not None and pace >= SLOWED

    @property
    def is_restless(self) -> bool:
        """Whether the machine is slowed so often that its pace around a trial shows little of that during one."""
        return self._full_pace is not None and self._full_pace.is_restless

    def _fresh_trial(self, interval_ns: float, kind: ProbeKind) -> Figures:
        begun_ns, spec = monotonic_ns(), self._spec
        fresh = Worker(spec, self._launch, self._folder / f"fresh-{self._fresh}", self._module)
        self._fresh += 1
        question = {
            "interval_ns": interval_ns, "seconds": spec["full_seconds"], "cap_seconds": spec["cap_seconds"],
            "warmup_seconds": spec["warmup_seconds"], "majors": spec["major_collections"],
        }  # fmt: skip
        if self._full_pace:
            # A part of it: waiting before one trial must leave some for the others.
            patience_s = self._patience_s / 4 if self._waits and self.has_patience else 0.0
            question["patience"] = {"full_ns": self._full_pace.ns, "patience_s": patience_s}
        answer = fresh.ask(question)
        self.peak_rss_mb = max(self.peak_rss_mb, fresh.close())
        return self._keep(answer, kind, begun_ns)

    def _probe(self, interval_ns: float, seconds: float) -> Figures:
        begun_ns = monotonic_ns()
        answer = self._warm.ask({
            "interval_ns": interval_ns, "seconds": seconds, "cap_seconds": seconds,
            "warmup_seconds": self._spec["probe_warmup_seconds"], "majors": 0,
        })  # fmt: skip
        return self._keep(answer, "probe", begun_ns)

    def _keep(self, answer: Answer, kind: ProbeKind, begun_ns: int) -> Figures:
        pace = None
        if self._full_pace and answer["paces_ns"]:
            for step_ns in answer["paces_ns"]:
                self._full_pace.look(step_ns)
            pace = max(answer["paces_ns"]) / self._full_pace.ns
        wall_s = (monotonic_ns() - begun_ns) / 1e9
        self.probes.append({
            "interval_ns": answer["interval_ns"], "figures": answer["figures"], "majors": answer["majors"],
            "cap_reached": answer["cap_reached"], "placement": answer["placement"], "waited_s": answer["waited_s"],
            "kind": kind, "pace": pace, "wall_s": wall_s,
        })  # fmt: skip
        if self._waits and answer["figures"]["lost"]:
            self._patience_s -= wall_s if self.was_slowed else answer["waited_s"]
        return answer["figures"]

    def close(self) -> None:
        """End the warm process and take its audit."""
        self.peak_rss_mb = max(self.peak_rss_mb, self._warm.close())


def _loss_ratio(figures: Figures) -> float:
    return figures["lost"] / figures["generated"]


def bracket(result: Any) -> Bracket:
    """The bracket of one goal's result."""
    fails, passes = (
        None if bound is None else 1e9 / float(bound)
        for bound in (result.relevant_upper_bound, result.relevant_lower_bound)
    )
    return fails, passes


class Remembering:
    """A measurer that knows what its trials of full length have lost."""

    def __init__(self, measurer: Any, full_seconds: float) -> None:
        self._measurer, self._full_seconds = measurer, full_seconds
        self._trials: dict[float, list[tuple[float, bool]]] = {}

    def measure(self, intended_duration: float, intended_load: float) -> Any:
        """The signature is MLRsearch's."""
        result = self._measurer.measure(intended_duration=intended_duration, intended_load=intended_load)
        if intended_duration >= self._full_seconds:
            ratio = result.loss_count / result.offered_count
            self._of(1e9 / intended_load).append((ratio, self._measurer.was_slowed))
        return result

    def wait_from_now_on(self) -> None:
        """For the machine's full pace."""
        self._measurer.wait_from_now_on()

    def always_loses(self, interval_ns: float, more_than: float, trials: int) -> bool:
        """Return whether each of so many trials of full length loses more than this share; measure those not had yet.

        Losses that a slowed machine explains show nothing: they are measured again while there is patience.
        """
        had = self._of(interval_ns)
        while all(ratio > more_than for ratio, _ in had):
            shown = sum(ratio >= _OVERLOAD or not (slowed or self._measurer.is_restless) for ratio, slowed in had)
            if shown >= trials:
                return True
            if shown < len(had) and not self._measurer.has_patience:
                return False
            self.measure(self._full_seconds, 1e9 / interval_ns)
        return False

    def never_loses(self, interval_ns: float, more_than: float, trials: int) -> bool:
        """Return whether none of so many trials of full length loses more than this share; measure those not had
        yet."""
        had = self._of(interval_ns)
        while all(ratio <= more_than for ratio, _ in had) and len(had) < trials:
            self.measure(self._full_seconds, 1e9 / interval_ns)
        return all(ratio <= more_than for ratio, _ in had)

    def complete(self, interval_ns: float, trials: int) -> None:
        """Have so many trials of full length there, whatever they lose."""
        while len(self._of(interval_ns)) < trials:
            self.measure(self._full_seconds, 1e9 / interval_ns)

    def _of(self, interval_ns: float) -> list[tuple[float, bool]]:
        return self._trials.setdefault(round(interval_ns, 6), [])


def confirmed_end(
    agrees: Callable[[float], bool], start_ns: float, farthest_ns: float, resolution: float
) -> float | None:
    """The interval nearest to ``start_ns``, on the way to ``farthest_ns``, where all confirmations agree, to the
    resolution; None where those at ``farthest_ns`` don't."""
    outwards = 1.0 if farthest_ns > start_ns else -1.0
    agreeing_ns, at_times_ns, step = start_ns, None, -outwards * math.log1p(-resolution)
    while not agrees(agreeing_ns):
        if math.isclose(agreeing_ns, farthest_ns):
            return None
        at_times_ns = agreeing_ns
        further_ns = agreeing_ns * math.exp(step)
        agreeing_ns = min(further_ns, farthest_ns) if outwards > 0 else max(further_ns, farthest_ns)
        step = outwards * min(2 * abs(step), math.log(2))
    while at_times_ns and abs(math.log(agreeing_ns / at_times_ns)) > -_COARSER * math.log1p(-resolution):
        middle_ns = math.sqrt(agreeing_ns * at_times_ns)
        if agrees(middle_ns):
            agreeing_ns = middle_ns
        else:
            at_times_ns = middle_ns
    return agreeing_ns


def confirmed(spec: dict[str, Any], measurer: Remembering, bracket: Bracket, loss_ratio: float) -> Bracket:
    """A bracket whose ends are confirmed; None for an end that no interval between the bounds is."""
    low_ns, high_ns, trials, resolution = (spec[name] for name in ("low_ns", "high_ns", "confirmations", "resolution"))
    fails_ns, passes_ns = bracket

    def passes(interval_ns: float) -> bool:
        return measurer.never_loses(interval_ns, loss_ratio, trials)

    def fails(interval_ns: float) -> bool:
        return measurer.always_loses(interval_ns, loss_ratio, trials)

    passes_ns = confirmed_end(passes, high_ns if passes_ns is None else passes_ns, high_ns, resolution)
    if passes_ns is None:
        measurer.complete(high_ns, trials)
        return high_ns, None
    measurer.wait_from_now_on()
    return confirmed_end(fails, low_ns if fails_ns is None else fails_ns, low_ns, resolution), passes_ns


def search(spec: dict[str, Any], measurer: Any) -> list[Bracket]:
    """The brackets of NDR and PDR."""
    measurer = Remembering(measurer, spec["full_seconds"])
    ndr = SearchGoal(
        loss_ratio=0.0, exceed_ratio=0.0, relative_width=spec["resolution"],
        initial_trial_duration=spec["probe_seconds"], final_trial_duration=spec["full_seconds"],
        duration_sum=spec["full_seconds"], preceding_targets=_PRECEDING_TARGETS, fail_fast=False,
    )  # fmt: skip
    goals = [ndr, dataclasses.replace(ndr, loss_ratio=spec["pdr_loss_ratio"])]
    config = Config(
        goals=goals, min_load=1e9 / spec["high_ns"], max_load=1e9 / spec["low_ns"], search_duration_max=_NEVER_S,
        warmup_duration=None,
    )  # fmt: skip
    results = MultipleLossRatioSearch(config=config).search(measurer=measurer, debug=lambda _: None)
    brackets = [bracket(results[goal]) for goal in goals]
    if spec["confirmations"] == 1:
        return brackets
    return [confirmed(spec, measurer, found, goal.loss_ratio) for goal, found in zip(goals, brackets, strict=True)]


def run(
    spec: dict[str, Any], launch: dict[str, Any], folder: Path, module: str = worker.__name__
) -> SearchOutcome | Failure | OutOfMemory:
    """Search; a worker's exhausted heap or crash is an outcome and is returned as one. ``module``: entry of workers."""
    begun_ns = monotonic_ns()
    try:
        measurer = Measurer(spec, launch, folder, module)
        ndr, pdr = search(spec, measurer)
        search_ns = monotonic_ns() - begun_ns
        if pdr[1] is None:
            measurer.full(spec["compared_ns"], "compared")
        measurer.close()
    except Ended as ended:
        return ended.outcome
    return {
        "status": "ok", "reason": None, "ndr_bracket": ndr, "pdr_bracket": pdr, "probes": measurer.probes,
        "slowed_trials": measurer.slowed_trials, "seconds": search_ns / 1e9, "peak_rss_mb": measurer.peak_rss_mb,
    }  # fmt: skip
