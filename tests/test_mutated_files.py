"""Files of others with bytes changed at random: each reader reads them or refuses them in a line, within seconds.

``ALLOCPOOL_MUTATIONS`` sets how many changed files a reader gets; any other exception than `UserError` fails.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import random
import struct
import tarfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from allocpool import cli, home
from allocpool.campaign import archive, profiles
from allocpool.campaign.campaign import open_study
from allocpool.compare import readers
from allocpool.errors import UserError
from allocpool.machine.host import read_host
from allocpool.packets.batch import BatchSpec
from allocpool.studies.your_workload import jfr, replay
from allocpool.trial.record import RESULT, checked_record, unavailable_record

MUTATIONS = int(os.environ.get("ALLOCPOOL_MUTATIONS", "40"))
LONGEST_S = 5.0
WORDS = [
    b"\0", b"\xff" * 4, b"\xff" * 8, b"\x7f\xff\xff\xff", b"NaN", b"-1", b"1e999", b"null", b"[", b"{", b'"',
    b"\n", b": ", b"- ", b"&a [*a]", b"\xc3\x28", b"9" * 400,
]  # fmt: skip


def mutated(seed: bytes, dice: random.Random) -> bytes:
    """Return ``seed`` with one to four changes: a bit, a word put in or over, a part left out, twice or cut off."""
    data = bytearray(seed)
    for _ in range(dice.randint(1, 4)):
        at = dice.randrange(len(data) + 1)
        until = min(len(data), at + dice.choice((1, 4, 30, 300)))
        word = dice.choice(WORDS)
        how = dice.randrange(6)
        if how == 0 and at < len(data):
            data[at] ^= 1 << dice.randrange(8)
        elif how == 1:
            data[at : at + len(word)] = word
        elif how == 2:
            data[at:at] = word
        elif how == 3:
            del data[at:until]
        elif how == 4:
            data[at:at] = data[at:until]
        elif dice.randrange(4) == 0:
            del data[at:]
    return bytes(data)


def attack(seed: bytes, path: Path, reads: Callable[[Path], object], times: int = MUTATIONS) -> None:
    """Have ``reads`` read the seed and mutations of it."""
    path.write_bytes(seed)
    reads(path)
    for number in range(times):
        path.write_bytes(mutated(seed, random.Random(f"{path.name} {number}")))
        began, lines = time.process_time(), [""]
        try:
            reads(path)
        except UserError as error:
            lines = str(error).splitlines()
        except Exception as error:
            raise AssertionError(f"mutation {number} of {path.name}") from error
        assert len(lines) == 1, number
        assert time.process_time() - began < LONGEST_S, number


def pcap() -> bytes:
    packets = [struct.pack("<IIII", 1, 1000 * each, 60, 60) + bytes(60) for each in range(20)]
    return struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1) + b"".join(packets)


def pcapng() -> bytes:
    def block(kind: int, body: bytes) -> bytes:
        body += bytes(-len(body) % 4)
        return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)

    section = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    options = struct.pack("<HHB3x", 9, 1, 6) + struct.pack("<HHq", 14, 8, 5) + struct.pack("<HH", 0, 0)
    interface = block(1, struct.pack("<HHI", 1, 0, 65535) + options)
    packets = [block(6, struct.pack("<IIIII", 0, 0, 1000 * each, 60, 60) + bytes(60)) for each in range(20)]
    return section + interface + b"".join(packets)


@pytest.mark.parametrize("seed", [pcap, pcapng])
def test_captures(seed: Callable[[], bytes], tmp_path: Path) -> None:
    def reads(path: Path) -> None:
        for trace in (tmp_path / "traces").glob("*"):
            trace.unlink()
        replay.read_trace(replay.prepare(path, tmp_path / "traces").path)

    (tmp_path / "traces").mkdir()
    attack(seed(), tmp_path / seed.__name__, reads)


@pytest.mark.parametrize("profile", profiles.names())
def test_settings(profile: str, tmp_path: Path) -> None:
    def reads(path: Path) -> None:
        settings = profiles._read_settings(path)
        settings.pop("profile", None)
        open_study("batch", profile, settings)

    attack((home.home() / "papermill-configs" / profile / "02_batch.yaml").read_bytes(), tmp_path / profile, reads)


def test_settings_of_a_command_line(tmp_path: Path) -> None:
    def reads(path: Path) -> None:
        open_study("batch", "quick", cli._overrides(tuple(path.read_text("utf-8", "replace").splitlines())))

    words = ["blocks=3", "cases=[A, 5000]", "configurations=[java/heap/g1/25, cpp/flat]",
             'groups.alive={"configurations": [cpp/flat], "strategies": [pool], "cases": [1000]}']  # fmt: skip
    attack("\n".join(words).encode(), tmp_path / "words", reads)


CSV = "block,side,value,cell\n" + "".join(
    f"{each},{side},1.{each},x\n" for each in range(9) for side in ("base", "new")
)
SMALL = sorted((home.home() / "tests" / "compare_data").glob("*"), key=lambda path: path.stat().st_size)[:6]


@pytest.mark.parametrize("seed", [None, *SMALL], ids=lambda path: path.name if path else "csv")
def test_results_of_benchmarks(seed: Path | None, tmp_path: Path) -> None:
    name = seed.name if seed else "some.csv"
    attack(
        seed.read_bytes() if seed else CSV.encode(), tmp_path / name, lambda path: readers.read(path, seed is not None)
    )


def test_records(tmp_path: Path) -> None:
    spec = BatchSpec(language="java", layout="heap", runtime=25, collector="g1", strategy="pool", case="B", seconds=1)
    record = unavailable_record(spec, "no such JDK", read_host())
    record = record.model_copy(update={"measurement": {"ns_per_packet": 1.5, "counts": {"a": 1}, "list": [1.0, 2.0]}})
    folder = tmp_path / record.trial_id
    folder.mkdir()
    attack(record.model_dump_json().encode(), folder / RESULT, lambda path: checked_record(path.parent), 5 * MUTATIONS)


def packed(files: dict[str, bytes], host_id: str) -> bytes:
    """An archive of another host with these files, uncompressed, and their true sums."""
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    about = {"kind": archive._KIND, "format": 1, "host_id": host_id, "profile": "standard", "files": sums}
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as tar:
        for name, content in {archive._MANIFEST: json.dumps(about).encode(), **files}.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return whole.getvalue()


@pytest.fixture
def files(data: Path) -> dict[str, bytes]:
    """Those of a shipped campaign of another host: an archive of this one is refused before it is read."""
    campaigns = home.shipped_dir().glob("**/standard/stream")
    every = [{f"stream/{path.name}": path.read_bytes() for path in folder.iterdir()} for folder in campaigns]
    return next(one for one in every if host_of(one) != read_host().fingerprint())


def host_of(files: dict[str, bytes]) -> str:
    told: str = json.loads(files["stream/provenance.json"])["host_id"]
    return told


def test_archives(files: dict[str, bytes], tmp_path: Path) -> None:
    attack(packed(files, host_of(files)), tmp_path / "whole.tar", archive.take_in)


@pytest.mark.long
@pytest.mark.parametrize("name", ["stream/trials.parquet", "stream/provenance.json"])
def test_archives_of_changed_files(name: str, files: dict[str, bytes], tmp_path: Path) -> None:
    """Their sums are right: whoever makes an archive makes these, too."""
    host_id = host_of(files)

    def reads(path: Path) -> None:
        whole = tmp_path / "whole.tar"
        whole.write_bytes(packed({**files, name: path.read_bytes()}, host_id))
        archive.take_in(whole)

    attack(files[name], tmp_path / Path(name).name, reads)


EVENTS = [
    ("jdk.JVMInformation", {"jvmVersion": "OpenJDK 64-Bit Server VM (25+36-LTS)", "jvmArguments": "-Xmx64m"}),
    ("jdk.GCConfiguration", {"youngCollector": "G1New", "oldCollector": "G1Old"}),
    ("jdk.GCHeapConfiguration", {"maxSize": 67108864}),
    ("jdk.GarbageCollection", {"gcId": 1, "name": "G1Old"}),
    ("jdk.GCHeapSummary", {"gcId": 1, "when": "After GC", "heapUsed": 1234567}),
    ("jdk.ObjectAllocationInNewTLAB", {
        "startTime": "2026-01-05T10:00:01.123456789Z", "objectClass": {"name": "[B"}, "allocationSize": 1016,
        "tlabSize": 524288, "eventThread": {"javaName": "main"}, "stackTrace": {"frames": [
            {"method": {"type": {"name": "Program"}, "name": "main"}, "lineNumber": 4}]}}),
]  # fmt: skip


def test_recordings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The header is read here, the events as the JDK's tool prints them."""
    chunk = struct.pack(">4sHHqqqqq", b"FLR\0", 2, 1, 100, 0, 0, 0, 20 * 10**9).ljust(100, b"\0")
    events = json.dumps({"recording": {"events": [{"type": kind, "values": values} for kind, values in EVENTS]}})
    printed, tool = tmp_path / "events.json", tmp_path / "jfr"
    tool.write_text(f"#!/bin/sh\ncat '{printed}'\n", encoding="utf-8")
    tool.chmod(0o755)
    monkeypatch.setattr(jfr, "_tool", lambda: tool)
    printed.write_text(events, encoding="utf-8")
    attack(chunk * 2, tmp_path / "some.jfr", jfr.read_recording)
    (tmp_path / "some.jfr").write_bytes(chunk * 2)

    def reads(_: Path) -> None:
        jfr.read_recording(tmp_path / "some.jfr").sentences()

    attack(events.encode(), printed, reads, 3 * MUTATIONS)
