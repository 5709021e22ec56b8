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

from pandera.pandas import DataFrameSchema
from pydantic import Field, model_validator

from allocpool.campaign import tidy
from allocpool.campaign.study import Machine, Mode, Planned, Study
from allocpool.packets import columns
from allocpool.packets.batch import BatchSpec, plan_block
from allocpool.packets.labels import READABLE
from allocpool.packets.specs import Case, Configuration, ConfigurationKey, PacketsSpec, no_such_pair
from allocpool.packets.strategies import CHOICES, StrategyName
from allocpool.runtimes.collectors import never_frees
from allocpool.studies.batch.study import BatchProfile, catalogue
from allocpool.studies.instrument.measurement import BridgeMeasurement
from allocpool.studies.instrument.specs import SIDES, BridgeSpec
from allocpool.trial.record import TrialRecord
from allocpool.trial.spec import Frozen
from allocpool.trial.stops import stops_of


class Bridge(Frozen):
    """One Java trial on every side, ``blocks`` times."""

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
    def _contract_has_its_own_case_and_reaches_the_store(self) -> Self:
        timed = {*self.cases, *(case for cells in self.groups.values() for case in cells.cases)}
        if self.contract_case in timed:
            raise ValueError(
                f"contract_case {self.contract_case} is among the timed cases: the two are distinguished by it"
            )
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
    common: dict[str, Any] = {"strategy": "alloc", "scale": profile.scale, "packets": profile.bridge.packets}
    for text, side in product(profile.bridge.configurations, SIDES):
        settings = Configuration.parse(text).model_dump(exclude_none=True)
        yield Planned(BridgeSpec(**settings, **common, side=side, block=block))


def _contract(profile: InstrumentProfile) -> Iterator[Planned]:
    for configuration, strategy in product(map(Configuration.parse, profile.configurations), CHOICES):
        if not configuration.offers(strategy) or no_such_pair(configuration, strategy) is not None:
            continue
        settings: dict[str, Any] = configuration.model_dump(exclude_none=True) | {
            "timeout_s": profile.timeout_s, "strategy": strategy, "case": profile.contract_case,
            "scale": profile.scale, "packets": profile.contract_packets,
        }  # fmt: skip
        if never_frees(configuration.collector):
            settings["heap_mb"] = profile.epsilon_heap_mb
        yield Planned(BatchSpec(**settings))


_EXPLICIT = "System.gc()"
"""The cause that a log gives for a collection that somebody called for."""

_WITNESSES = DataFrameSchema(
    {
        **tidy.TRIAL_COLUMNS,
        **columns.PACKETS_COLUMNS,
        "side": tidy.choice(
            SIDES, "bridge: the JVM in a Python process; plain: java; recorded: java and Flight Recorder"
        ),
        "packets": tidy.whole("packets of the measured half"),
        "ns_per_packet": tidy.number("wall time per packet of the measured half, ns", tidy.POSITIVE),
        "checksum": tidy.text("hex, over what was parsed and stored", nullable=True),
        "counted": tidy.text("what happened since the start, as numbers of packets", nullable=True),
        "allocated_bytes": tidy.whole("bytes the measuring thread allocated on the Java heap in the measured half"),
        "jvm_thread_ms": tidy.number(
            "CPU of the measuring thread in the measured half, by the counters of the JVM, ms"
        ),
        "kernel_thread_ms": tidy.number("the same by the kernel's; side bridge only, ms"),
        "jvm_process_ms": tidy.number("CPU of the process in the measured half, by the counters of the JVM, ms"),
        "kernel_process_ms": tidy.number("the same by the kernel's; side bridge only, ms"),
        "explicit_collections": tidy.whole("collections that somebody called for, in the log"),
        "log_pauses": tidy.whole("pauses from the warm-up's start to the end of the measured half, by the log"),
        "log_pause_ms": tidy.number("their total, ms"),
        "recorder_pauses": tidy.whole("the same by Flight Recorder; side recorded only"),
        "recorder_pause_ms": tidy.number("their total, ms"),
    },
    strict=True,
    coerce=True,
)

SCHEMAS = {**columns.SCHEMAS, "witnesses": _WITNESSES}


def _bridge_row(record: TrialRecord) -> tidy.Row:
    row: tidy.Row = {**tidy.trial_row(record), **columns.packets_columns(record), "side": record.spec["side"]}
    measured = tidy.read_trial(record, BridgeMeasurement).measurement
    if measured is None:
        return row
    begin_ns, end_ns = measured["window"]
    if (stops := stops_of(record)) is not None:
        inside = [pause.duration_ns for pause in stops.pauses if begin_ns <= pause.start_ns < end_ns]
        row |= {
            "explicit_collections": len({pause.gc_id for pause in stops.pauses if pause.cause == _EXPLICIT}),
            "log_pauses": len(inside), "log_pause_ms": sum(inside) / 1e6,
        }  # fmt: skip
    count, total_ns = measured["recorder"] or (None, None)
    times: dict[str, Any] = {**measured, "recorder_pause_ns": total_ns}
    for name in ("recorder_pause", "jvm_thread", "kernel_thread", "jvm_process", "kernel_process"):
        ns = times[f"{name}_ns"]
        row[f"{name}_ms"] = None if ns is None else ns / 1e6
    return {
        **row, "packets": sum(packets for _, _, packets in measured["measured"]), "recorder_pauses": count,
        "ns_per_packet": tidy.ns_per_item(measured["measured"]), "checksum": measured["checksum"],
        "counted": " ".join(map(str, measured["counts"])), "allocated_bytes": measured["allocated_bytes"],
    }  # fmt: skip


def _rows_of(record: TrialRecord) -> tidy.Tables:
    return {"witnesses": [_bridge_row(record)]} if record.spec["mode"] == "bridge" else columns.batch_rows(record)


_EXAMPLE = "mode=bridge side=plain layout=heap runtime=25 collector=g1 strategy=alloc scale=0.02 packets=2000000"
STUDY = Study(
    name="instrument",
    notebook="01_instrument",
    question="Can the instrument be trusted?",
    modes=(Mode(BridgeSpec, BridgeMeasurement, _bridge_row, _EXAMPLE),),
    profile_model=InstrumentProfile,
    plan=plan_instrument,
    tidy=lambda records: tidy.frames(records, _rows_of, SCHEMAS),
    cost=columns.cost_of,
    paced={"trials": "ns_per_packet"},
    schemas=SCHEMAS,
    catalogue=catalogue,
    readable=READABLE,
)
