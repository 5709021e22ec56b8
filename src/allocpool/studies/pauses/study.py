"""Study 2, pauses: what stops a program, for how long, and what collecting costs?

Most of its trials are those of other studies: a spec that the batch or the real-time study has run as well is the same
trial and is not run again. Its own are the same workload on more runtimes (*years*), live sets of given sizes, and
real-time trials that a known cause stops.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Annotated, Any, Literal

import pandas as pd
from pydantic import Field

from allocpool.campaign.schedule import Question
from allocpool.campaign.study import Machine, Mode, Planned, Study
from allocpool.packets.batch import Selection, Sizes, catalogue_of, every_configuration, plan_block, rivals, timed
from allocpool.packets.columns import cost_of, summarise_batch
from allocpool.packets.labels import READABLE
from allocpool.packets.measurement import BatchMeasurement
from allocpool.packets.specs import BUFFER_BYTES, Configuration, ConfigurationKey
from allocpool.studies.pauses import specs
from allocpool.studies.pauses.measurement import DisturbedMeasurement
from allocpool.studies.pauses.specs import DISTURBANCES, Disturbance, DisturbedSpec, LiveSetSpec, live_set_sizes
from allocpool.studies.pauses.tables import SCHEMAS, summarise_disturbed, tidy_pauses
from allocpool.studies.realtime.study import RealtimeProfile, Sweeps, plan_sweeps
from allocpool.trial.spec import Frozen, TrialSpec


class _Part(Frozen):
    """A part of the profile, with the Java configurations that it runs."""

    configurations: tuple[ConfigurationKey, ...] = ()


class LiveSet(_Part):
    """Live sets by size, in batch, each trial with a heap of ``heap_factor`` times what is alive on it; and pools
    ``off_heap`` by the number of their buffers, of 1,024 bytes where the machine has ``full_buffers_from_mb``."""

    live_millions: tuple[Annotated[float, Field(ge=0.01, le=12)], ...] = ()
    strategies: tuple[Literal["alloc", "pool"], ...] = ("pool",)
    off_heap: tuple[ConfigurationKey, ...] = ()
    buffers_millions: tuple[Annotated[float, Field(ge=0.01, le=12)], ...] = ()
    full_buffers_from_mb: int = Field(
        default=22_000, ge=0, description="memory; with less, buffers are as large as a packet"
    )
    heap_factor: float = Field(default=2.5, gt=1, le=20)
    blocks: int = Field(default=1, ge=1, le=1000)


class Losses(Sweeps):
    """Real-time trials at one interval: sweeps of the real-time study; times follow ``scale``."""

    scale: float = Field(default=0.1, gt=0, le=4)
    interval_ns: float = Field(default=1000.0, gt=0)


class KnownCauses(_Part):
    """Real-time trials that a known cause stops, each once."""

    disturbances: tuple[Disturbance, ...] = DISTURBANCES
    scale: float = Field(default=0.1, gt=0, le=4)
    interval_ns: float = Field(default=1000.0, gt=0)
    seconds: float = Field(default=0.8, gt=0)
    warmup_seconds: float = Field(default=0.2, ge=0)
    input_queue_ms: float = Field(default=5.0, gt=0)


class PausesProfile(Sizes):
    """Named selections of batch trials, of which those of other studies are not run again, and three parts more."""

    groups: dict[str, Selection] = Field(min_length=1)
    live_set: LiveSet = LiveSet()
    losses: Losses = Losses()
    known_causes: KnownCauses = KnownCauses()


def plan_pauses(profile: PausesProfile, machine: Machine) -> list[Planned]:
    """Return every configuration of every part, block after block; one of two groups runs once."""
    planned: list[Planned] = []
    losses = profile.losses
    of_losses = RealtimeProfile(
        profile="losses", blocks=1, configurations=losses.configurations, scale=losses.scale, sweeps=losses
    )
    for block in range(profile.blocks):
        once = {item.spec: item for group in profile.groups.values() for item in plan_block(profile, group, block)}
        planned += once.values()
        if block < profile.live_set.blocks:
            planned += _live_sets(profile, block, machine.memory_mb)
        if block < losses.blocks and losses.configurations:
            planned += plan_sweeps(of_losses, block)
    return [*planned, *_known_causes(profile.known_causes)]


def _live_sets(profile: PausesProfile, block: int, memory_mb: int) -> list[Planned]:
    part = profile.live_set
    buffer_bytes = BUFFER_BYTES if memory_mb >= part.full_buffers_from_mb else specs.LEAST_BUFFER_BYTES
    cells = [
        *product(part.configurations, part.strategies, part.live_millions),
        *product(part.off_heap, ("pool",), part.buffers_millions),
    ]
    shared = profile.model_dump(
        include={"seconds", "iteration_ms", "warmup_seconds", "min_laps", "min_collections"}
    ) | {"case": "A", "block": block, "timeout_s": max(300.0, profile.timeout_s)}
    return [
        Planned(
            LiveSetSpec(
                **configuration.model_dump(exclude_none=True), **shared, strategy=strategy,
                **live_set_sizes(strategy, millions * 1e6, part.heap_factor, configuration.layout, buffer_bytes),
            )
        )
        for text, strategy, millions in cells
        for configuration in [Configuration.parse(text)]
    ]  # fmt: skip


def _known_causes(part: KnownCauses) -> list[Planned]:
    settings = part.model_dump(exclude={"configurations", "disturbances"}) | {"disturb_at_s": part.seconds / 2}
    return [
        Planned(
            DisturbedSpec(
                **Configuration.parse(text).model_dump(exclude_none=True), **settings,
                strategy="pool", case="A", disturbance=disturbance,
            )
        )
        for text in part.configurations
        for disturbance in part.disturbances
    ]  # fmt: skip


def questions(profile: PausesProfile, machine: Machine) -> list[Question[TrialSpec]]:
    """Return whether allocating or pooling is cheaper, where both are planned. Most are primary questions of the batch
    study, whose further trials are seen here."""
    return rivals(timed(plan_pauses(profile, machine)), "alloc", "pool", primary=False)


def catalogue(profile: PausesProfile, planned: Sequence[Planned]) -> pd.DataFrame:
    """Return one row per Java configuration, with what the profile runs of it and why the rest is left out."""
    parts: tuple[Any, ...] = (*profile.groups.values(), profile.live_set, profile.losses, profile.known_causes)
    asked = list(dict.fromkeys([*(key for part in parts for key in part.configurations), *profile.live_set.off_heap]))
    return catalogue_of(
        profile.profile, asked, (one.key for one in every_configuration() if one.language == "java"), planned
    )


STUDY = Study(
    name="pauses",
    notebook="03_pauses",
    question="What stops a program, for how long, and what does collecting cost?",
    modes=(
        Mode(
            LiveSetSpec,
            BatchMeasurement,
            summarise_batch,
            "mode=live_set layout=heap runtime=25 collector=g1 strategy=pool pool_size=300000 heap_mb=1024 seconds=0.5",
        ),
        Mode(
            DisturbedSpec,
            DisturbedMeasurement,
            summarise_disturbed,
            "mode=disturbed layout=heap runtime=25 collector=parallel strategy=pool scale=0.1 "
            "interval_ns=1000 seconds=1 disturbance=full_collection",
        ),
    ),
    profile_model=PausesProfile,
    plan=plan_pauses,
    tidy=tidy_pauses,
    schemas=SCHEMAS,
    catalogue=catalogue,
    questions=questions,
    cost=cost_of,
    paced={"trials": "ns_per_packet"},
    readable=READABLE,
)
