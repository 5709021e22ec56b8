"""Study 0, the instrument: do all configurations do the same work, what does the harness cost, how noisy is it?

Most of its trials are batch trials. *Contract* trials run an exact number of packets, so that equal work must end in
equal checksums and counts. *Timed* trials repeat a few configurations in every block: ``dummy`` is the harness
baseline. *A/A controls* are the same configurations under a second name, between which every difference is false; in
others one cause of noise is held fixed. Trials of mode ``bridge`` run one Java trial on several sides.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from allocpool.campaign.study import Machine, Mode, Planned, Study
from allocpool.packets.batch import BatchSpec, plan_block
from allocpool.packets.columns import cost_of
from allocpool.packets.labels import READABLE
from allocpool.packets.specs import Case, Configuration, ConfigurationKey, PacketsSpec, no_such_pair
from allocpool.packets.strategies import CHOICES, StrategyName
from allocpool.runtimes.collectors import never_frees
from allocpool.studies.batch.study import BatchProfile, catalogue
from allocpool.studies.instrument.measurement import BridgeMeasurement
from allocpool.studies.instrument.specs import SIDES, BridgeSpec
from allocpool.studies.instrument.tables import SCHEMAS, summarise_bridge, tidy_instrument


class Bridge(BaseModel):
    """One Java trial on every side, ``blocks`` times."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    configurations: tuple[ConfigurationKey, ...] = ()
    packets: int = Field(default=2_000_000, gt=1, le=10**10, description="the second half is measured")
    blocks: int = Field(default=1, ge=1, le=1000)


class InstrumentProfile(BatchProfile):
    """``strategies`` and ``cases`` are those of the timed trials; the contract has its own case and its packets.

    ``groups`` name cells whose configurations have a ``control``: A/A controls, and those with a cause held fixed.
    """

    strategies: tuple[StrategyName, ...] = ("dummy", "alloc")
    cases: tuple[Case, ...] = ("A",)
    contract_case: Case = "B"
    contract_packets: int = Field(gt=0, le=10**9, description="packets of a contract trial, from the first to the last")
    bridge: Bridge = Bridge()

    @model_validator(mode="after")
    def _contract_has_its_own_case(self) -> Self:
        timed = {*self.cases, *(case for cells in self.groups.values() for case in cells.cases)}
        if self.contract_case in timed:
            raise ValueError(
                f"contract_case {self.contract_case} is among the timed cases: the two are distinguished by it"
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
    """Plan contract trials once, in block 0, and timed trials in every block; what never frees has only the former."""
    planned: list[Planned] = []
    for block in range(max(profile.blocks, profile.bridge.blocks)):
        if block < profile.bridge.blocks:
            planned += _bridge(profile, block)
        if block == 0:
            planned += _contract(profile)
        if block < profile.blocks:
            selections = (profile, *profile.groups.values())
            timed = {item.spec: item for cells in selections for item in plan_block(profile, cells, block)}
            planned += [item for spec, item in timed.items() if not never_frees(getattr(spec, "collector", None))]
    return planned


def _bridge(profile: InstrumentProfile, block: int) -> Iterator[Planned]:
    for text, side in product(profile.bridge.configurations, SIDES):
        settings = Configuration.parse(text).model_dump(exclude_none=True)
        yield Planned(
            BridgeSpec(
                **settings, side=side, strategy="alloc", scale=profile.scale, block=block,
                packets=profile.bridge.packets,
            )
        )  # fmt: skip


def _contract(profile: InstrumentProfile) -> Iterator[Planned]:
    for configuration, strategy in product(map(Configuration.parse, profile.configurations), CHOICES):
        if not configuration.offers(strategy) or no_such_pair(configuration, strategy) is not None:
            continue
        settings: dict[str, Any] = {**configuration.model_dump(exclude_none=True), "timeout_s": profile.timeout_s}
        if never_frees(configuration.collector):
            settings["heap_mb"] = profile.epsilon_heap_mb
        yield Planned(
            BatchSpec(
                **settings, strategy=strategy, case=profile.contract_case, scale=profile.scale,
                packets=profile.contract_packets,
            )
        )  # fmt: skip


STUDY = Study(
    name="instrument",
    notebook="01_instrument",
    question="Can the instrument be trusted?",
    modes=(
        Mode(
            BridgeSpec,
            BridgeMeasurement,
            summarise_bridge,
            "mode=bridge side=plain layout=heap runtime=25 collector=g1 strategy=alloc scale=0.02 packets=2000000",
        ),
    ),
    profile_model=InstrumentProfile,
    plan=plan_instrument,
    tidy=tidy_instrument,
    cost=cost_of,
    paced={"trials": "ns_per_packet"},
    schemas=SCHEMAS,
    catalogue=catalogue,
    readable=READABLE,
)
