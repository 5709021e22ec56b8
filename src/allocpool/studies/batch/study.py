"""Study batch: what one packet costs when packets never stop coming.

A trial fills queue and store, warms up, then measures iterations for ``seconds``; or runs an exact number of packets,
which makes counts and checksums comparable.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field

from allocpool.campaign.schedule import Question
from allocpool.campaign.study import Machine, Mode, Planned, Study
from allocpool.packets import batch, columns
from allocpool.packets.labels import READABLE
from allocpool.packets.measurement import BatchMeasurement
from allocpool.packets.specs import BUFFER_BYTES, TCP_ONE_IN
from allocpool.studies.your_workload import study as your_workload
from allocpool.studies.your_workload import tables as messages
from allocpool.studies.your_workload.specs import MessagesSpec, heap_live_mb
from allocpool.trial.record import TrialRecord
from allocpool.trial.spec import TrialSpec

MESSAGES = "messages"


class ByBytes(BaseModel):
    """Trials of mode messages on each size of a message, ``alive_mb`` of them alive; and in Java, of packets of
    `BUFFER_BYTES`, on heaps of so many times what lives on them, and on one of these with other flags of G1."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    java: tuple[str, ...] = Field(default=(), description="LAYOUT/COLLECTOR/RUNTIME")
    cpp: tuple[str, ...] = Field(default=(), description="allocators")
    bytes: tuple[int, ...] = Field(min_length=2, description="of a message")
    alive_mb: int = Field(default=200, gt=0, description="bytes of all messages alive, MiB; half of them are kept")
    heap_mb: int = Field(default=2048, gt=0)
    heaps_over_live: tuple[Annotated[float, Field(gt=1, le=100)], ...] = ()
    g1_flags: tuple[str, ...] = Field(default=(), description="each tried on the heap `flags_over_live`")
    flags_over_live: float = Field(default=4.0, gt=1, le=100)
    seconds: float = Field(gt=0, le=3600)
    warmup_seconds: float = Field(ge=0, le=600)

    def _workload(self, size: int, over_live: float | None = None, **more: Any) -> dict[str, Any]:
        """Return messages of so many bytes with the life of a packet of case B, on a heap of ``over_live`` times what
        lives on it."""
        half = max(1, self.alive_mb * 2**20 // size // 2)
        stated = {
            "sizes": f"{size}", "filled_share": 0.1, "read_share": 0.1, "in_flight": half, "kept_count": half,
            "kept_share": 1 / TCP_ONE_IN, "temporaries": 5, "temporary_bytes": 32,
        }  # fmt: skip
        if over_live is None:
            return {**stated, "heap_mb": self.heap_mb}
        live_mb = heap_live_mb(MessagesSpec(**stated, strategy="pool", messages=1).model_dump())
        return {**stated, "heap_mb": math.ceil(over_live * live_mb), "java": self.java, **more}

    def workloads(self, profile: str, blocks: int) -> your_workload.YourProfile:
        """Return the trials as named workloads of the general program."""
        on_g1 = tuple(each for each in self.java if "/g1/" in each)
        return your_workload.YourProfile(
            profile=profile, blocks=blocks, seconds=self.seconds, warmup_seconds=self.warmup_seconds,
            java=self.java, cpp=self.cpp, strategies=("alloc", "pool"),
            workloads={f"{each} bytes": self._workload(each) for each in self.bytes}
            | {f"heap {each:g}": self._workload(BUFFER_BYTES, each) for each in self.heaps_over_live}
            | {
                flags: self._workload(BUFFER_BYTES, self.flags_over_live, java=on_g1, jvm_flags=flags)
                for flags in self.g1_flags
            },
        )  # fmt: skip


class BatchProfile(batch.Sizes, batch.Selection):
    """A batch campaign: every configuration x strategy x case, ``blocks`` times, and the cells of some groups."""

    groups: dict[str, batch.Selection] = Field(
        default_factory=dict, description="more cells, such as the text's case A or other settings"
    )
    by_bytes: ByBytes | None = Field(default=None, description="as many bytes alive in fewer and larger messages")


def plan_batch(profile: BatchProfile, machine: Machine) -> list[Planned]:
    """Return every configuration of the profile, block after block; rows that can't exist anywhere name the reason."""
    planned = batch.plan_groups(profile, (profile, *profile.groups.values()))
    if profile.by_bytes:
        planned += your_workload.plan_messages(profile.by_bytes.workloads(profile.profile, profile.blocks), machine)
    return planned


def questions(profile: BatchProfile, machine: Machine) -> list[Question[TrialSpec]]:
    """Return allocate or pool, for each configuration in each case, as primary; then the small pool against either, and
    allocate or pool by bytes a message."""
    specs = batch.timed(plan_batch(profile, machine))
    published = [spec for spec in specs if spec.layout in batch.PUBLISHED_LAYOUTS[spec.language]]
    by_bytes = profile.by_bytes.workloads(profile.profile, 1) if profile.by_bytes else None
    return [
        *batch.rivals(published, "alloc", "pool"),
        *batch.rivals(specs, "mix", "pool", primary=False),
        *batch.rivals(specs, "mix", "alloc", primary=False),
        *(your_workload.questions(by_bytes, machine) if by_bytes else ()),
    ]


def catalogue(profile: BatchProfile, planned: Sequence[Planned]) -> pd.DataFrame:
    """Return one row per configuration of the study, with what the profile runs of it and why the rest is left out."""
    every = (configuration.key for configuration in batch.every_configuration())
    return batch.catalogue_of(profile.profile, profile.configurations, every, planned)


def tidy(records: Sequence[TrialRecord]) -> dict[str, pd.DataFrame]:
    """Return the tables of packets, and table ``messages``: the trials by bytes a message."""
    packets = [record for record in records if record.spec["mode"] == "batch"]
    others = [record for record in records if record.spec["mode"] == "messages"]
    return {**columns.tidy_batch(packets), MESSAGES: messages.tidy_messages(others)["trials"]}


def cost(record: TrialRecord) -> float | None:
    """Return the cost that decides: wall time of a packet, or of a message, ns."""
    if record.spec["mode"] == "batch":
        return columns.cost_of(record)
    return messages.summarise_messages(record).get("ns_per_message")


STUDY = Study(
    name="batch",
    notebook="02_batch",
    question="What does a message cost when messages never stop coming?",
    modes=(
        Mode(
            batch.BatchSpec, BatchMeasurement, columns.summarise_batch,
            "mode=batch layout=heap runtime=11 collector=cms strategy=alloc case=A scale=0.1 seconds=5",
        ),
    ),
    profile_model=BatchProfile,
    plan=plan_batch,
    tidy=tidy,
    schemas={**columns.SCHEMAS, MESSAGES: messages.TRIALS},
    catalogue=catalogue,
    questions=questions,
    cost=cost,
    paced={"trials": "ns_per_packet", MESSAGES: "ns_per_message"},
    readable=READABLE,
)  # fmt: skip
