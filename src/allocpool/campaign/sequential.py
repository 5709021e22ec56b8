"""Measure campaigns: fixed plans, and those whose questions decide what runs next within a time they share.

A fixed plan runs block by block, in random order inside blocks. Adaptive trials follow, each placed when its turn
comes. Last, what was disturbed runs once more: what disturbs a trial mostly lasts longer than it.

Of sequential campaigns, every cell of a primary question, and of one that states its number, first gets the trials
without which nothing is decided, in whole rounds over all studies, those whose trials are dear after the others. Then
whatever else is planned runs once. What is left goes to open questions, of all studies as one pool: primary ones first,
those that are nearest to a decision first of all, and last those that the time left can't decide
(`allocpool.campaign.schedule`). The order is random within a round, and the seed of the profile fixes it.

The time is that of trials on record, whoever ran them and when. So a campaign that was killed goes on with what is left
of it, a second run with the same time measures nothing, and one with more time goes on from there.
"""

from __future__ import annotations

import math
import random
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from tqdm.auto import tqdm

from allocpool import stats
from allocpool.campaign.schedule import Progress, Verdicts, decisions_of, first_round, next_round, verdicts_of
from allocpool.errors import UserError
from allocpool.trial.launch import cell_of
from allocpool.trial.runner import Task, shuffled_in_blocks
from allocpool.trial.spec import TrialSpec

if TYPE_CHECKING:
    from allocpool.campaign.campaign import Campaign

BETWEEN_TRIALS_S = 0.05
"""What a trial takes apart from its process: readings of the machine's pace, its record, the next one's choice."""
_GAP = 5
"""Latest trials of a cell whose median its time is expected to be."""


def measure(
    campaigns: Sequence[Campaign], seconds: float | None = None, clock: Callable[[], float] = time.monotonic
) -> dict[str, float]:
    """Measure one fixed plan, or sequential campaigns until all is decided or their trials have taken so many seconds
    in all; without ``seconds`` the first round.

    Preparing (builds, flags that are tried) is not counted. Returns by study what its trials took now, seconds.

    Raises:
        UserError: a build failed, or another campaign is measuring.
    """
    took_s = {campaign.study.name: 0.0 for campaign in campaigns}
    for campaign in campaigns:
        campaign.prepare()
    work = Work(campaigns, seconds, clock)
    due = work.due() if campaigns else []
    if not due:
        return took_s
    meter = campaigns[0].pace_meter()
    with campaigns[0].alone(), work.bar() as bar:
        for campaign in campaigns:
            campaign.tidy_folder.mkdir(parents=True, exist_ok=True)  # shows that it was begun
        while due:
            bar.set_postfix_str(counts_in_words(*work.verdicts()), refresh=False)
            for place, next_task in due:
                campaign, task = campaigns[place], next_task()
                if task is None or not work.fits(task):
                    continue
                title = f"{campaign.where}{campaign.study.name} ({place + 1} of {len(campaigns)})"
                bar.set_description_str(title, refresh=False)
                record = campaign.measure(task, meter, bar)
                work.add(record.wall_s, task)
                took_s[campaign.study.name] += record.wall_s
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
        self._owner = {cell: place for place, each in reversed(list(enumerate(campaigns))) for cell in each.cells}
        self._walls_s: dict[TrialSpec, list[float]] = defaultdict(list)
        self._ran: set[str] = set()
        records = {
            record.trial_id: (spec, record.wall_s) for each in campaigns for spec, record in each.measured()
        }  # fmt: skip
        self.spent_s = 0.0
        self._trials = 0
        for spec, wall_s in records.values():
            self._count(spec, wall_s)
        self._clock = clock
        self._ends_s = clock() + self._limit_s - self.spent_s

    def _count(self, spec: TrialSpec, wall_s: float) -> None:
        self._walls_s[cell_of(spec)].append(wall_s)
        self.spent_s += wall_s + BETWEEN_TRIALS_S
        self._trials += 1

    def add(self, wall_s: float, task: Task) -> None:
        """Count a trial that has just run."""
        self._count(task.spec, wall_s)
        self._ran.add(task.trial_id)

    def seconds(self, spec: TrialSpec) -> float:
        """Return what a trial takes: the median of those like it, or what its spec expects."""
        walls_s = self._walls_s.get(cell_of(spec))
        return (statistics.median(walls_s[-_GAP:]) if walls_s else spec.expected_seconds()) + BETWEEN_TRIALS_S

    @property
    def left_s(self) -> float:
        """Seconds that trials may still take: by their own time, and by the clock if that has gone on without them."""
        return max(0.0, min(self._limit_s - self.spent_s, self._ends_s - self._clock()))

    def fits(self, task: Task) -> bool:
        """Return whether there is time for the trial."""
        return self.seconds(task.spec) <= self.left_s

    def due(self) -> list[Due]:
        """Return the next round in its order; empty when all is done or decided, or nothing fits."""
        left_s = self.left_s
        if not self.campaigns[0].is_sequential:
            return self._planned() or self._behind() or self._repeats()
        progress = self._progress()
        for dear in (False, True):
            if first := first_round(self.questions, progress, self.seconds, left_s, dear):
                return self._shuffled(first)
        if further := self._planned() or self._repeats():
            return further
        further_cells = next_round(self.questions, progress, self.seconds, left_s) if self._limit_s < math.inf else {}
        return self._shuffled(further_cells)

    def verdicts(self) -> tuple[Verdicts, Verdicts]:
        """Return how many primary, and other, questions have ended how."""
        return verdicts_of(self.questions, decisions_of(self.questions, self._progress()))

    def bar(self) -> Any:
        """Return a bar over the time there is, or over what the plan, or the first round, takes."""
        specs = {spec for each in self.campaigns for spec in each.first_round_specs()}
        total_s = self._limit_s if math.isfinite(self._limit_s) else sum(map(self.seconds, specs))
        return tqdm(
            total=round(total_s), initial=min(round(self.spent_s), round(total_s)), dynamic_ncols=True,
            # A terminal is redrawn; a log file gets a line now and then.
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
        """Return the planned trials of the first block that has any to run."""
        waiting: dict[str, tuple[int, Task]] = {}
        for place, campaign in enumerate(self.campaigns):
            for task in campaign.tasks:
                waiting.setdefault(task.trial_id, (place, task))
        ordered = shuffled_in_blocks(((item[1].spec.block, item) for item in waiting.values()), self._seed)
        due = [
            (place, task) for place, task in ordered
            if task.trial_id not in self._ran and not self.campaigns[place].has_run(task) and self.fits(task)
        ]  # fmt: skip
        return [(place, partial(_same, task)) for place, task in due if task.spec.block == due[0][1].spec.block]

    def _behind(self) -> list[Due]:
        """Return one more adaptive trial of each cell of a fixed plan that has the fewest, up to what is asked for."""
        (campaign,) = self.campaigns
        few: dict[TrialSpec, int] = {}
        if campaign.study.adaptive is not None:
            for cell, fewest in {cell: q.fewest for q in self.questions for cell in q.cells}.items():
                coming, n = campaign.next_trial_of(cell), len(campaign.trials_of(cell))
                if coming is not None and coming.trial_id not in self._ran and n < fewest:
                    few[cell] = n
        return self._shuffled({cell: 1 for cell, n in few.items() if n == min(few.values())})

    def _repeats(self) -> list[Due]:
        return [
            (place, partial(_same, task)) for place, each in enumerate(self.campaigns) for task in each.repeats()
            if task.trial_id not in self._ran and self.fits(task)
        ]  # fmt: skip

    def _shuffled(self, wanted: dict[TrialSpec, int]) -> list[Due]:
        trials = [cell for cell, n in wanted.items() for _ in range(n)]
        random.Random(f"{self._seed}/{self._trials}").shuffle(trials)
        return [(self._owner[cell], partial(self.campaigns[self._owner[cell]].next_trial_of, cell)) for cell in trials]

    @property
    def _seed(self) -> int:
        return self.campaigns[0].profile.order_seed


def _same(task: Task) -> Task:
    return task


def seconds_on_record(campaign: Campaign) -> float:
    """Return what the trials of a campaign have taken, whenever they ran."""
    return sum(record.wall_s + BETWEEN_TRIALS_S for _, record in campaign.measured())


def announcement(campaigns: Sequence[Campaign]) -> list[str]:
    """Return what is about to be run: of several studies first their sum, then a line for each."""
    if len(campaigns) == 1:
        return [plan_in_words(campaigns[0])]
    every = [each.first_round_specs() for each in campaigns]
    trials, seconds = sum(map(len, every)), sum(map(expected_seconds, every))
    studies = (f"study {place} of {len(campaigns)}: {plan_in_words(each)}" for place, each in enumerate(campaigns, 1))
    return [f"{len(campaigns)} studies, {trials} trials planned, about {duration(seconds)}", *studies]


def plan_in_words(campaign: Campaign) -> str:
    """Return how many trials the plan, or the first round, has, their time, what can't run, and how many questions."""
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
    """Return a time in seconds, minutes or hours."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"


def outcome(campaigns: Sequence[Campaign]) -> str:
    """Return how the questions of these campaigns ended so far, and their equivalence margins."""
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
    """Return minutes as a user writes them; UserError for what is no number above 0."""
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
    """Check that some plan is not fixed: minutes mean nothing to one that is; UserError otherwise."""
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
