"""What a campaign can decide on this machine, as noisy as it is now."""

from __future__ import annotations

import math

import scipy

from allocpool import stats
from allocpool.campaign import campaign, profiles, sequential, store
from allocpool.campaign.campaign import Campaign
from allocpool.decisions import ALPHA, FEWEST, look_at, nominal_level
from allocpool.packets import cells
from allocpool.studies.batch.study import STUDY as BATCH
from allocpool.trial.launch import Launcher
from allocpool.trial.noise import DISTURBED_BEYOND, Calm, look
from allocpool.trial.spec import Frozen

LOOK_S = 2.0
MINUTES = 20.0
_NAMES = {"compute_ns": "computing", "latency_ns": "latency of memory", "bandwidth_gbs": "bandwidth of memory"}


class Outlook(Frozen):
    """The noise of now, and what follows for a campaign.

    Attributes:
        trials: of each cell in ``minutes``, all studies sharing them: of primary questions' cells where the profile is
            sequential, of all cells where its plan is fixed.
        spread: standard deviation of the logarithm of the costs of one cell's trials, the median over ``cells``; None
            where no campaign has been measured.
        smallest_effect: see there; None where nothing can be shown, or is known.
        effect_that_matters: the smallest ratio that questions of the profile ask for.
    """

    calm: Calm
    profile: str
    minutes: float
    trials: int
    spread: float | None
    cells: int
    smallest_effect: float | None
    effect_that_matters: float

    @property
    def noisy(self) -> bool:
        """Whether a trial would be marked as disturbed now, or the core's pace varies by as much."""
        return self.calm.disturbed is not None or self.calm.spread.get("compute_ns", 0.0) > DISTURBED_BEYOND

    def sentences(self) -> str:
        """Return how noisy the machine is, and what that means."""
        calm, time = self.calm, f"{self.minutes:.0f} minutes of profile {self.profile}"
        shares: dict[str, float | None] = {_NAMES[name]: spread for name, spread in calm.spread.items()}
        pace = [] if shares else ["its pace is not known before the build"]
        shares |= {"the hypervisor": calm.steal_share, "other processes": calm.other_cpu_share}
        seen = ", ".join([*pace, *(f"{what} {share:.1%}" for what, share in shares.items() if share is not None)])
        shown = (
            "how far trials differ was never measured" if self.spread is None
            else "everything will stay inconclusive" if self.smallest_effect is None
            else f"effects under {self.smallest_effect:.0%} will stay inconclusive"
        )  # fmt: skip
        return (
            f"This machine is {'noisy' if self.noisy else 'quiet'} now, by {calm.seconds:.1f} s: {seen}. In {time}, "
            f"{self.trials} trials a cell: {shown}. {stats.matters_from(self.effect_that_matters)}"
        )


def outlook(profile: str, minutes: float | None = None) -> Outlook:
    """Observe the machine for `LOOK_S` and return what a campaign of so many minutes can decide; as many as the profile
    plans where none are given. UserError where there is no such profile."""
    campaigns = campaign.all_of_profile(profile)
    specs = {spec for each in campaigns for spec in each.first_round_specs()}
    planned = sequential.expected_seconds(specs) / 60
    minutes = planned if minutes is None else minutes
    trials = _trials(campaigns, minutes, planned)
    calm = look(Launcher().pace_meter(), LOOK_S)
    spread, counted = _spread_within_cells(profile)
    # A reading is as short as an iteration, so that what it strays by is no less than what trials do.
    together = None if spread is None else math.hypot(spread, calm.spread.get("compute_ns", 0.0))
    return Outlook(
        calm=calm, profile=profile, minutes=minutes, trials=trials, spread=spread, cells=counted,
        smallest_effect=None if together is None else smallest_effect(together, trials),
        effect_that_matters=min(each.profile.effect_that_matters for each in campaigns),
    )  # fmt: skip


def smallest_effect(spread: float, trials: int) -> float | None:
    """Return the share by which the costs of two configurations must differ so that 80% of such comparisons show it, at
    the latest look at so many trials of each; None where there is no look yet.

    Source: the approximation by quantiles of Student's t in Montgomery, "Design and Analysis of Experiments", on the
    choice of a sample size.
    """
    look = look_at(trials)
    if look is None:
        return None
    freedom = 2 * look - 2
    quantiles = scipy.special.stdtrit(freedom, 1 - nominal_level(ALPHA, look) / 2) + scipy.special.stdtrit(freedom, 0.8)
    return math.expm1(float(quantiles) * spread * math.sqrt(2 / look))


def _trials(campaigns: list[Campaign], minutes: float, planned: float) -> int:
    """Return the trials of a cell of a primary question in so many minutes, where the first round is planned to take
    ``planned``; its first trials come before all else, those beyond `FEWEST` after it."""
    if not any(each.is_sequential for each in campaigns):
        profile = campaign.open_study(BATCH.name, campaigns[0].profile.profile).profile
        return round(profile.blocks * minutes / planned)
    asked = {cell for each in campaigns for question in each.questions if question.primary for cell in question.cells}
    if not asked:
        return FEWEST
    each_s = sequential.expected_seconds(asked)
    first = min(FEWEST, math.floor(60 * minutes / each_s))
    return first + max(0, math.floor(60 * (minutes - planned) / each_s))


def _spread_within_cells(profile: str) -> tuple[float | None, int]:
    """Return the median over cells of batch campaigns, of this profile where there is one, and their number."""
    for name in dict.fromkeys((profile, *profiles.names())):
        tables, _ = store.stored(BATCH.name, name)
        costs = cells.with_cost(tables["trials"])
        logs = costs["ns_per_packet"].astype(float).map(math.log)
        groups = logs.groupby([costs[column] for column in cells.CONFIGURATION], observed=True)
        spreads = groups.std()[groups.count() >= 3]
        if len(spreads):
            return float(spreads.median()), len(spreads)
    return None, 0
