"""Study 7, buffered I/O: what a connection costs an echo server, and where each of its bytes sits.

Each variant runs at several numbers of connections, so that the bytes of one connection are the slope of a regression
and what a server costs without any is its intercept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

import pandas as pd
from pydantic import Field, field_validator

from allocpool.campaign.schedule import Question
from allocpool.campaign.study import Machine, Mode, Planned, Readable, Study, StudyProfile, spelled
from allocpool.errors import UserError
from allocpool.studies.buffered_io.measurement import EchoMeasurement
from allocpool.studies.buffered_io.specs import MOST_CONNECTIONS, EchoSpec, Variant
from allocpool.studies.buffered_io.tables import SCHEMAS, cost_of, summarise_echo, tidy_buffered_io
from allocpool.trial.spec import Frozen, TrialSpec

_READERS = tuple(f"java/buffered_reader:{size}" for size in (256, 512, 4096, 8192, 16384))
_STREAMS = ("java/buffered_stream:512", "java/buffered_stream:8192", "java/stream")
EVERY_KEY = (
    *(f"{way}/platform/{runtime}" for runtime in (25, 11) for way in (*_READERS, *_STREAMS)),
    *(f"{way}/virtual/{runtime}" for runtime in (21, 25) for way in (*_READERS, *_STREAMS)),
    *(f"java/observed_reader/platform/{runtime}" for runtime in (25, 11)),
    *(f"java/{io}/25" for io in ("nio_buffer_per_connection", "nio_pooled", "netty_pooled", "netty_unpooled")),
    "cpp/threads",
    "cpp/epoll",
)
"""The variants of the study."""


class Connections(Frozen):
    """Variants, each at every one of these numbers of connections."""

    variants: tuple[str, ...] = Field(min_length=1, description="java/IO[:BUFFER]/[THREADS/]RUNTIME or cpp/IO")
    connections: tuple[Annotated[int, Field(ge=1, le=MOST_CONNECTIONS)], ...] = Field(min_length=1)
    message_bytes: int | None = Field(default=None, ge=2, le=65_536, description="of this group, where it is another")
    profiled: bool = Field(default=False, description="where processor time goes; such trials have no other figures")

    @field_validator("variants")
    @classmethod
    def _are_variants(cls, keys: tuple[str, ...]) -> tuple[str, ...]:
        for key in keys:
            try:
                EchoSpec(connections=1, seconds=1, **Variant.parse(key).settings())
            except UserError as error:
                raise ValueError(str(error)) from error
        return keys


class BufferedIoProfile(StudyProfile):
    """Named groups of variants, all planned in every block; a configuration of two groups runs once."""

    groups: dict[str, Connections] = Field(min_length=1)
    rate_per_connection: float = Field(gt=0, le=1000, description="messages per second on each connection")
    seconds: float = Field(gt=0, le=3600)
    warmup_seconds: float = Field(ge=0, le=600)
    message_bytes: int = Field(default=512, ge=2, le=65_536)
    heap_mb: int = Field(default=1024, ge=64, description="-Xmx")


def plan_buffered_io(profile: BufferedIoProfile, _machine: Machine) -> list[Planned]:
    """Return every variant at every number of connections, block after block."""
    return [Planned(spec) for block in range(profile.blocks) for spec in dict.fromkeys(_specs(profile, block))]


def _specs(profile: BufferedIoProfile, block: int) -> Iterator[EchoSpec]:
    for group in profile.groups.values():
        for key in group.variants:
            variant = Variant.parse(key)
            heap = {"heap_mb": profile.heap_mb} if variant.server == "java" else {}
            for connections in group.connections:
                yield EchoSpec(
                    block=block, connections=connections, rate=profile.rate_per_connection * connections,
                    seconds=profile.seconds, warmup_seconds=profile.warmup_seconds,
                    message_bytes=group.message_bytes or profile.message_bytes, profiled=group.profiled,
                    **variant.settings(), **heap,
                )  # fmt: skip


_RIVALS = {"nio_buffer_per_connection": "nio_pooled", "netty_unpooled": "netty_pooled"}
"""Ways of I/O that differ in whether a buffer comes from a pool."""


def questions(profile: BufferedIoProfile, _machine: Machine) -> list[Question[TrialSpec]]:
    """Return whether a buffer for each connection or read, or one of a pool, takes less processor time a message. Bytes
    of a connection are a slope over several trials, which no single one reports."""
    specs = dict.fromkeys(_specs(profile, 0))
    return [
        Question(spec, other, primary=False)
        for spec in specs
        if spec.io in _RIVALS and (other := spec.model_copy(update={"io": _RIVALS[spec.io]})) in specs
    ]


def catalogue(profile: BufferedIoProfile, planned: Sequence[Planned]) -> pd.DataFrame:
    """Return one row per variant of the study, with what the profile runs of it and why the rest is left out."""
    asked = [key for group in profile.groups.values() for key in group.variants]
    rows = []
    for key in dict.fromkeys([*EVERY_KEY, *asked]):
        variant = Variant.parse(key)
        items = [
            (item.spec.connections, item.unavailable)
            for item in planned
            if isinstance(item.spec, EchoSpec) and item.spec.variant == variant
        ]
        runs = sorted({connections for connections, unavailable in items if not unavailable})
        gaps = sorted({unavailable for _, unavailable in items if unavailable})
        left_out = "; ".join(gaps) if items else f"not in profile {profile.profile}"
        rows.append({
            "key": key, "variant": variant.label, "planned": bool(runs), "connections": ", ".join(map(str, runs)),
            "left_out_because": left_out or None,
        })  # fmt: skip
    return pd.DataFrame(rows)


def labelled(table: pd.DataFrame) -> pd.DataFrame:
    """Return rows of trials with labels that a stranger reads."""
    return table.assign(variant=table["variant"].map(spelled)) if "variant" in table else table


STUDY = Study(
    name="buffered_io",
    notebook="07_buffered_io",
    question="What does a connection cost, and which buffer holds it?",
    modes=(
        Mode(
            EchoSpec,
            EchoMeasurement,
            summarise_echo,
            "mode=echo server=java io=buffered_reader buffer=8192 threads=platform connections=1000 seconds=5",
        ),
    ),
    profile_model=BufferedIoProfile,
    plan=plan_buffered_io,
    tidy=tidy_buffered_io,
    schemas=SCHEMAS,
    catalogue=catalogue,
    questions=questions,
    cost=cost_of,
    paced={"trials": "cpu_us_per_message"},
    readable=Readable(cost="cpu_us_per_message", columns={"variant": "configuration"}, label=labelled),
)
