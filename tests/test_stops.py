"""What stopped a trial is parsed once per log, kept next to it, and parsed anew when that holds no more."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import Any

import pytest

from allocpool import gclog
from allocpool.errors import UserError
from allocpool.machine.host import read_host
from allocpool.packets.batch import BatchSpec
from allocpool.trial import stops
from allocpool.trial.record import GC_LOG, TrialRecord, unavailable_record

GOLDEN = Path(__file__).parent / "golden" / "logs"


def write_log(folder: Path, golden: str) -> None:
    (folder / GC_LOG).write_bytes(gzip.decompress((GOLDEN / f"{golden}.log.gz").read_bytes()))


@pytest.fixture
def record(tmp_path: Path) -> TrialRecord:
    """The record of a trial that left a log of ZGC with stalls."""
    write_log(tmp_path, "17-zgc-stalls")
    settings: dict[str, Any] = {"mode": "batch", "layout": "heap", "strategy": "pool", "seconds": 1}
    made_up = unavailable_record(BatchSpec(**settings), "made up", read_host())
    return made_up.model_copy(update={"directory": str(tmp_path)})


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Grows by every log that is parsed."""
    logs: list[Path] = []
    read = gclog.read_gc_log

    def counting(path: Path) -> gclog.GcLog:
        logs.append(path)
        return read(path)

    monkeypatch.setattr(gclog, "read_gc_log", counting)
    return logs


def test_a_log_is_parsed_once_whoever_asks(record: TrialRecord, parsed: list[Path]) -> None:
    first = stops.stops_of(record)
    assert first is not None and first.pauses and first.stalls
    assert stops.stops_of(record) == first
    assert len(parsed) == 1


@pytest.mark.parametrize("content", ["", "{", "{}", '{"stops": 1}', "\0"])
def test_a_kept_file_that_cannot_be_read_is_made_anew(record: TrialRecord, parsed: list[Path], content: str) -> None:
    first = stops.stops_of(record)
    kept = Path(record.directory) / stops.KEPT
    whole = kept.read_text(encoding="utf-8")
    kept.write_text(content, encoding="utf-8")
    assert stops.stops_of(record) == first
    assert len(parsed) == 2
    assert kept.read_text(encoding="utf-8") == whole


def test_a_log_that_changed_is_parsed_again(record: TrialRecord, parsed: list[Path]) -> None:
    first = stops.stops_of(record)
    write_log(Path(record.directory), "11-cms-promotion-failure")
    other = stops.stops_of(record)
    assert other is not None and other != first
    log = Path(record.directory) / GC_LOG
    os.utime(log, ns=(0, log.stat().st_mtime_ns + 1))
    assert stops.stops_of(record) == other
    assert len(parsed) == 3


def test_no_log_and_an_empty_one_have_no_stops(record: TrialRecord) -> None:
    (Path(record.directory) / GC_LOG).write_text("", encoding="utf-8")
    assert stops.stops_of(record) is None
    (Path(record.directory) / GC_LOG).unlink()
    assert stops.stops_of(record) is None
    assert stops.stops_of(record.model_copy(update={"directory": ""})) is None


def test_a_log_without_times_is_refused_in_one_line(record: TrialRecord) -> None:
    log = Path(record.directory) / GC_LOG
    log.write_text("GC(0) Pause Young (Allocation Failure) 10M->2M(20M) 1.000ms\n" * 3, encoding="utf-8")
    with pytest.raises(UserError, match=r"gc\.log") as caught:
        stops.stops_of(record)
    assert "\n" not in str(caught.value)
