"""Measure campaigns whose questions decide what is run, within a time that all of them share.

First every cell of a primary question, and of one that states its number, gets the trials without which nothing is
decided, in whole rounds over all studies, those whose trials are dear after the others. Then whatever else is planned
runs once. What is left goes to open questions, of all studies as one pool: primary ones first, those that are nearest
to a decision first of all, and last those that the time left can't decide (`allocpool.campaign.schedule`). The order
is random within a round, and the seed of the profile fixes it.

The time is that of trials on record, whoever ran them and when: so a campaign that was killed goes on with what is left
of it, a second one as long as the first measures nothing, and one with more time goes on from there.
"""

from __future__ import annotations

import math
import random
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from tqdm.auto import tqdm

from allocpool import stats
from allocpool.campaign.schedule import (
    Progress,
    Verdicts,
    decisions_of,
    first_round,
    next_round,
    verdicts_of,
)
from allocpool.errors import UserError
from allocpool.trial.runner import Task, shuffled_in_blocks
from allocpool.trial.spec import TrialSpec

if TYPE_CHECKING:
    from allocpool.campaign.campaign import Campaign

BETWEEN_TRIALS_S = 0.05
"""What a trial takes apart from its process: readings of the machine's pace, its record, the next one's choice."""
_GAP = 5
"""Trials of a cell from which on its time is known well enough."""


def measure(
    campaigns: Sequence[Campaign], seconds: float | None = None, clock: Callable[[], float] = time.monotonic
) -> list[float]:
    """Measure until all is decided, or trials have taken so many seconds in all; the first round where none are given.

    Preparing (builds, flags that are tried) is not counted. Returns what the trials of each campaign took now, seconds.

    Raises:
        UserError: a build failed, or another campaign is measuring.
    """
    took_s = [0.0 for _ in campaigns]
    for campaign in campaigns:
        campaign.prepare()
    work = Work(campaigns, seconds, clock)
    due = work.due() if campaigns else []
    if not due:
        return took_s
    meter = campaigns[0].pace_meter()
    with campaigns[0].alone(), work.bar() as bar:
        while due:
            bar.set_postfix_str(counts_in_words(*work.verdicts()), refresh=False)
            for place, next_task in due:
                campaign, task = campaigns[place], next_task()
                if task is None or not work.fits(task):
                    continue
                bar.set_description_str(
                    f"{campaign.where}{campaign.study.name} ({place + 1} of {len(campaigns)})", refresh=False
                )
                record = campaign.measure(task, meter, bar)
                work.add(record.wall_s, task)
                took_s[place] += record.wall_s
                bar.update(min(work.spent_s, bar.total) - bar.n)
            due = work.due()
        bar.set_postfix_str(counts_in_words(*work.verdicts()))
    return took_s


Due = tuple[int, Callable[[], Task | None]]
"""The number of a campaign, and which trial of it to run: chosen when its turn comes, so that no block is left out;
None where its cell was given up in that time."""


class Work:
    """What several campaigns have measured, and what they are to measure next.

    Attributes:
        spent_s: what the trials on record took, seconds.
    """

    def __init__(self, campaigns: Sequence[Campaign], seconds: float | None, clock: Callable[[], float]) -> None:
        self.campaigns = campaigns
        self.questions = [question for campaign in campaigns for question in campaign.questions]
        self._limit_s = math.inf if seconds is None else seconds
        self._only_first_round = seconds is None
        self._owner = {cell: place for place, each in reversed(list(enumerate(campaigns))) for cell in each.cells}
        self._walls_s: dict[TrialSpec, list[float]] = defaultdict(list)
        self._ran: set[str] = set()
        records = {
            record.trial_id: (spec, record.wall_s) for each in campaigns for spec, record in each.measured()
        }  # fmt: skip
        for spec, wall_s in records.values():
            self._walls_s[_cell(spec)].append(wall_s)
        self.spent_s = sum(wall_s + BETWEEN_TRIALS_S for _, wall_s in records.values())
        self._trials = len(records)
        self._clock = clock
        self._ends_s = clock() + self._limit_s - self.spent_s

    def add(self, wall_s: float, task: Task) -> None:
        """Count a trial that has just run."""
        self._walls_s[_cell(task.spec)].append(wall_s)
        self._ran.add(task.trial_id)
        self.spent_s += wall_s + BETWEEN_TRIALS_S
        self._trials += 1

    def seconds(self, spec: TrialSpec) -> float:
        """Return what a trial takes: the median of those like it, or what its spec expects."""
        walls_s = self._walls_s.get(_cell(spec))
        return (statistics.median(walls_s[-_GAP:]) if walls_s else spec.expected_seconds()) + BETWEEN_TRIALS_S

    @property
    def left_s(self) -> float:
        """Seconds that trials may still take: by their own time, and by the clock if that has gone on without them."""
        return max(0.0, min(self._limit_s - self.spent_s, self._ends_s - self._clock()))

    def fits(self, task: Task) -> bool:
        """Return whether there is time for the trial."""
        return self.seconds(task.spec) <= self.left_s

    def due(self) -> list[Due]:
        """Return the next round in its random order; empty when all is done or decided, or nothing fits."""
        left_s = self.left_s
        progress = self._progress()
        if first := first_round(self.questions, progress, self.seconds, left_s):
            return self._shuffled(first)
        if dear := first_round(self.questions, progress, self.seconds, left_s, dear=True):
            return self._shuffled(dear)
        if planned := self._planned():
            return planned
        if repeats := [
            (place, _just(task)) for place, each in enumerate(self.campaigns) for task in each.repeats()
            if task.trial_id not in self._ran and self.fits(task)
        ]:  # fmt: skip
            return repeats
        return [] if self._only_first_round else self._shuffled(
            next_round(self.questions, progress, self.seconds, left_s)
        )  # fmt: skip

    def verdicts(self) -> tuple[Verdicts, Verdicts]:
        """Return how many primary, and other, questions have ended how."""
        return verdicts_of(self.questions, decisions_of(self.questions, self._progress()))

    def bar(self) -> Any:
        """Return a bar over the time there is, or over what the first round takes."""
        specs = {spec for each in self.campaigns for spec in each.first_round_specs()}
        total_s = self._limit_s if math.isfinite(self._limit_s) else sum(map(self.seconds, specs))
        return tqdm(
            total=round(total_s), initial=min(round(self.spent_s), round(total_s)), dynamic_ncols=True,
            mininterval=0.1 if sys.stderr.isatty() else 10.0,
            bar_format="{desc}: {percentage:3.0f}%|{bar}| {n:.0f} of {total:.0f} s{postfix}",
        )  # fmt: skip

    def _progress(self) -> Progress[TrialSpec]:
        costs: dict[TrialSpec, Sequence[Any]] = {}
        failures: dict[TrialSpec, int] = {}
        for place, campaign in enumerate(self.campaigns):
            its = campaign.progress()
            for cell in campaign.cells:
                if self._owner[cell] == place:
                    costs[cell], failures[cell] = its.costs[cell], its.failures[cell]
                    coming = campaign.next_trial_of(cell)
                    if coming is None or coming.trial_id in self._ran:  # its record can't be read
                        failures[cell] = sys.maxsize
        return Progress(costs, failures)

    def _planned(self) -> list[Due]:
        waiting: dict[str, tuple[int, Task]] = {}
        for place, campaign in enumerate(self.campaigns):
            for task in campaign.tasks:
                if task.trial_id not in self._ran and not campaign.has_run(task) and self.fits(task):
                    waiting.setdefault(task.trial_id, (place, task))
        order = shuffled_in_blocks(((item[1].spec.block, item) for item in waiting.values()), self._seed)
        return [(place, _just(task)) for place, task in order]

    def _shuffled(self, wanted: dict[TrialSpec, int]) -> list[Due]:
        trials = [cell for cell, n in wanted.items() for _ in range(n)]
        random.Random(f"{self._seed}/{self._trials}").shuffle(trials)
        return [(self._owner[cell], self._next_of(cell)) for cell in trials]

    def _next_of(self, cell: TrialSpec) -> Callable[[], Task | None]:
        campaign = self.campaigns[self._owner[cell]]
        return lambda: campaign.next_trial_of(cell)

    @property
    def _seed(self) -> int:
        return self.campaigns[0].profile.order_seed


def _cell(spec: TrialSpec) -> TrialSpec:
    return spec.model_copy(update={"block": 0})


def _just(task: Task) -> Callable[[], Task | None]:
    return lambda: task


def seconds_on_record(campaign: Campaign) -> float:
    """Return what the trials of a campaign have taken, whenever they ran."""
    return sum(record.wall_s + BETWEEN_TRIALS_S for _, record in campaign.measured())


def announcement(campaigns: Sequence[Campaign]) -> list[str]:
    """Return what is about to be run: of several studies first their sum, then a line a study with its place."""
    if len(campaigns) == 1:
        return [plan_in_words(campaigns[0])]
    trials, seconds = (
        sum(len(each.first_round_specs()) for each in campaigns),
        sum(expected_seconds(each.first_round_specs()) for each in campaigns),
    )
    studies = (f"study {place} of {len(campaigns)}: {plan_in_words(each)}" for place, each in enumerate(campaigns, 1))
    return [f"{len(campaigns)} studies, {trials} trials planned, about {duration(seconds)}", *studies]


def plan_in_words(campaign: Campaign) -> str:
    """Return how many trials the plan has, or the first round, with its time; what can't run; and how many
    questions."""
    specs = campaign.first_round_specs()
    which = "in the first round" if campaign.is_sequential else "in all"
    unavailable = sum(item.unavailable is not None for item in campaign.planned)
    primary = sum(question.primary for question in campaign.questions)
    return (
        f"{campaign.study.name} ({campaign.profile.profile}), {len(specs)} trials {which}, about "
        f"{duration(expected_seconds(specs))}{f' ({unavailable} more can not run here)' if unavailable else ''}; "
        f"{primary} primary and {len(campaign.questions) - primary} secondary questions"
    )


def duration(seconds: float) -> str:
    """Return a time as a reader takes it in: seconds, minutes or hours."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"


def outcome(campaigns: Sequence[Campaign]) -> str:
    """Return how the questions of these campaigns ended so far, each study's decided together, and from where on a
    difference matters to them."""
    counts = [campaign.verdicts() for campaign in campaigns]
    primary, secondary = (sum(which, Verdicts()) for which in zip(*counts, strict=True))
    studies: dict[float, list[str]] = defaultdict(list)
    for campaign in campaigns:
        studies[campaign.profile.effect_that_matters].append(campaign.study.name)
    found = [
        f"{', '.join(names)}: {stats.matters_from(effect)}" if len(studies) > 1 else stats.matters_from(effect)
        for effect, names in sorted(studies.items())
    ]
    return " ".join((f"Primary questions: {counts_in_words(primary, secondary)}.", *found))


def minutes_from(text: str | None) -> float | None:
    """Return minutes as a user writes them.

    Raises:
        UserError: that is no number above 0.
    """
    if text is None:
        return None
    try:
        minutes = float(text)
    except ValueError:
        minutes = math.nan
    if not 0 < minutes < math.inf:
        raise UserError(f"minutes are a number above 0, for example 20, not {text!r}")
    return minutes


def require_sequential(campaigns: Sequence[Campaign]) -> None:
    """Minutes mean nothing where all plans are fixed: UserError in one line."""
    if not any(campaign.is_sequential for campaign in campaigns):
        raise UserError(
            f"profile {campaigns[0].profile.profile} runs a fixed plan: leave the minutes out, "
            "or choose a profile whose schedule is sequential, such as quick"
        )


def counts_in_words(primary: Verdicts, secondary: Verdicts) -> str:
    """Return the numbers of questions by how they ended."""
    found = f"{primary.decided} decided, {primary.equivalent} equivalent, {primary.open} inconclusive"
    return f"{found} (secondary: {secondary.decided}, {secondary.equivalent}, {secondary.open})"


def expected_seconds(specs: Iterable[TrialSpec]) -> float:
    """Return about how long these trials take, each once."""
    return sum(spec.expected_seconds() + BETWEEN_TRIALS_S for spec in set(specs))
