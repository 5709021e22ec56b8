"""Study 0, the instrument itself: do all solutions do the same work, what does the harness cost, how does noise look?

Two kinds of trials, both of mode batch. *Contract* trials run an exact number of packets, so that equal work must end
in equal checksums and counts. *Timed* trials repeat a few configurations in every block: ``dummy`` is the cost of the
harness, and trials of one configuration set against each other (A/A) show what differences mean nothing.
"""

from __future__ import annotations

from typing import Any, Self

from pydantic import Field, model_validator

from allocpool.campaign.study import Machine, Planned, Study
from allocpool.packets.batch import BatchSpec
from allocpool.packets.columns import SCHEMAS, tidy_batch, with_newer_columns
from allocpool.packets.specs import Case, PacketsSpec, Solution, no_such_pair
from allocpool.packets.strategies import CHOICES, StrategyName
from allocpool.runtimes.collectors import never_frees
from allocpool.studies.batch.study import BatchProfile, catalogue


class InstrumentProfile(BatchProfile):
    """``strategies`` and ``cases`` are those of the timed trials; the contract has its own case and its packets."""

    strategies: tuple[StrategyName, ...] = ("dummy", "alloc")
    cases: tuple[Case, ...] = ("A",)
    contract_case: Case = "B"
    contract_packets: int = Field(gt=0, le=10**9, description="packets of a contract trial, from the first to the last")

    @model_validator(mode="after")
    def _contract_has_its_own_case(self) -> Self:
        if self.contract_case in self.cases:
            raise ValueError(
                f"contract_case {self.contract_case} is among the timed cases: the two are told apart by it"
            )
        return self

    @model_validator(mode="after")
    def _contract_reaches_the_store(self) -> Self:
        settings: dict[str, Any] = {"language": "cpp", "layout": "flat", "strategy": "alloc"}
        sizes = PacketsSpec(**settings, mode="batch", case=self.contract_case, scale=self.scale)
        if self.contract_packets <= sizes.fill_packets:
            raise ValueError(
                f"contract_packets {self.contract_packets} never fill the store of case {self.contract_case} "
                f"at scale {self.scale:g}: give more than {sizes.fill_packets}"
            )
        return self


def plan_instrument(profile: InstrumentProfile, _machine: Machine) -> list[Planned]:
    """Contract trials once, in block 0; timed trials in every block; what never frees has only the former."""
    planned = []
    for block in range(profile.blocks):
        for text in profile.solutions:
            solution = Solution.parse(text)
            if block == 0:
                planned += [
                    _contract(profile, solution, name)
                    for name in CHOICES
                    if solution.offers(name) and no_such_pair(solution, name) is None
                ]
            if not never_frees(solution.collector):
                planned += [
                    _timed(profile, solution, strategy, case, block)
                    for strategy in profile.strategies
                    for case in profile.cases
                ]
    return planned


def _contract(profile: InstrumentProfile, solution: Solution, strategy: StrategyName) -> Planned:
    settings: dict[str, Any] = {**solution.model_dump(exclude_none=True), "timeout_s": profile.timeout_s}
    if never_frees(solution.collector):
        settings["heap_mb"] = profile.epsilon_heap_mb
    return Planned(
        BatchSpec(
            **settings,
            strategy=strategy,
            case=profile.contract_case,
            scale=profile.scale,
            packets=profile.contract_packets,
        )
    )


def _timed(profile: InstrumentProfile, solution: Solution, strategy: StrategyName, case: Case, block: int) -> Planned:
    return Planned(
        BatchSpec(
            **solution.model_dump(exclude_none=True),
            strategy=strategy,
            case=case,
            scale=profile.scale,
            block=block,
            seconds=profile.seconds,
            warmup_seconds=profile.warmup_seconds,
            iteration_ms=profile.iteration_ms,
            timeout_s=profile.timeout_s,
        )
    )


STUDY = Study(
    name="instrument",
    notebook="01_instrument",
    question="Can the instrument be trusted?",
    modes=(),
    profile_model=InstrumentProfile,
    plan=plan_instrument,
    tidy=tidy_batch,
    schemas=SCHEMAS,
    catalogue=catalogue,
    with_newer_columns=with_newer_columns,
)
