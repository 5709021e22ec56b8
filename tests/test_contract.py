"""Same work, or no comparison: every C++ layout, strategy and memory does the same to the bit."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path
from typing import Any

import pytest

from allocpool import home
from allocpool.api import trial
from allocpool.campaign import single
from allocpool.errors import UserError
from allocpool.machine.allocators import ALLOCATORS as PRELOADED
from allocpool.machine.allocators import find_allocator, find_boost
from allocpool.packets.specs import BOOST_POOL, RESOURCES, Configuration, no_such_pair
from allocpool.packets.strategies import LAYOUTS, STRATEGIES
from allocpool.runtimes.flags import check_huge_pages
from allocpool.studies.native.specs import CountersSpec
from allocpool.studies.native.study import optimisation_steps

SAME_IN_ALL = ("received", "parsed", "tcp", "evicted", "freed", "live")


def vectors() -> list[dict[str, str]]:
    """The known answers that the C++ and the Java unit tests read too."""
    path = home.workloads_dir() / "packets" / "src" / "test" / "resources" / "packets-vectors.csv"
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


VECTOR = max(vectors(), key=lambda row: int(row["evicted"]))


def sizes_of(vector: dict[str, str]) -> list[str]:
    """Settings of a batch trial whose answer the vector is."""
    sizes = [f"{name}={vector[name]}" for name in ("seed", "packets", "queue_size", "stored_count")]
    return ["mode=batch", "scale=0.05", *sizes]


def run(*settings: str) -> dict[str, Any]:
    """One trial with the sizes of the vector, as a user would run it."""
    spec = single.parse_spec([*sizes_of(VECTOR), *settings])
    record = single.run_single(spec)
    assert record.status == "ok", f"{record.status}: {record.reason}\n{record.log_tail}"
    return single.summary_of(record)


def assert_is_the_known_answer(
    summary: dict[str, Any], checksum: str = "checksum_hex", vector: dict[str, str] = VECTOR
) -> None:
    counts = summary["counts"]
    assert {name: counts[name] for name in SAME_IN_ALL} == {name: int(vector[name]) for name in SAME_IN_ALL}
    assert summary["checksum"] == vector[checksum]
    assert counts["allocated"] == counts["freed"] + counts["live"]
    assert counts["allocated"] == counts["received"]


CPP = [
    (layout, strategy)
    for layout in LAYOUTS["cpp"]
    for strategy in STRATEGIES
    if strategy != "dummy" and no_such_pair(Configuration.parse(f"cpp/{layout}"), strategy) is None
]


@pytest.mark.parametrize(("layout", "strategy"), CPP)
def test_cpp_does_the_known_work(data: Path, layout: str, strategy: str) -> None:
    assert_is_the_known_answer(run("language=cpp", f"layout={layout}", f"strategy={strategy}"))


def settings_of(key: str) -> list[str]:
    """A configuration as a user would ask for it."""
    return [f"{name}={value}" for name, value in Configuration.parse(key).model_dump(exclude_none=True).items()]


@pytest.mark.parametrize("key", [key for key in optimisation_steps("cpp").values() if "slab" in key])
def test_every_optimisation_step_does_the_known_work(data: Path, key: str) -> None:
    summary = run(*settings_of(key), "strategy=pool")
    assert_is_the_known_answer(summary)
    assert summary["configuration"] == Configuration.parse(key).label
    assert summary["region_mb"] > 0


@pytest.mark.parametrize(
    ("key", "strategy"),
    [
        ("cpp/allocating/glibc/inline/fresh", "alloc"), ("cpp/flat/glibc/inline+one_line+stride+prefetch", "pool"),
        ("cpp/flat/fresh", "mix"), ("cpp/slab/fifo", "pool"), ("cpp/flat/fifo", "mix"), ("cpp/allocating/fifo", "pool"),
    ],
)  # fmt: skip
def test_every_option_does_the_known_work(data: Path, key: str, strategy: str) -> None:
    summary = run(*settings_of(key), f"strategy={strategy}")
    assert_is_the_known_answer(summary)
    assert summary["configuration"] == Configuration.parse(key).label


@pytest.mark.parametrize("key", ["cpp/slab/payload", "cpp/flat/payload"])
def test_a_touched_payload_is_the_known_one(data: Path, key: str) -> None:
    summary = run(*settings_of(key), "strategy=pool")
    assert_is_the_known_answer(summary, "payload_checksum_hex")


@pytest.mark.parametrize("name", RESOURCES)
def test_every_memory_resource_does_the_known_work_or_says_how_to_get_it(data: Path, name: str) -> None:
    settings = ("language=cpp", "layout=flat", "strategy=alloc", f"allocator={name}")
    if name == BOOST_POOL and find_boost() is None:
        with pytest.raises(UserError, match=r"install .*\(Debian\) or .*\(conda-forge\)"):
            run(*settings)
        return
    summary = run(*settings)
    assert_is_the_known_answer(summary)
    assert bool(summary["allocator_version"]) == (name == BOOST_POOL)


@pytest.mark.parametrize("layout", LAYOUTS["cpp"])
def test_what_is_counted_is_the_known_work_or_says_how_to_count(data: Path, layout: str) -> None:
    sizes = [f"{name}={VECTOR[name]}" for name in ("seed", "queue_size", "stored_count")]
    whole = ["language=cpp", f"layout={layout}", "strategy=pool", "scale=0.05", *sizes]
    counted = single.parse_spec(["mode=counters", "counter=simulated", "packets=20000", *whole])
    if shutil.which("valgrind") is None:
        with pytest.raises(UserError, match=r"install valgrind"):
            single.run_single(counted)
        return
    summary = trial(counted)
    assert isinstance(counted, CountersSpec)
    received = counted.fill_packets + 2_000 + counted.packets
    same = trial(single.parse_spec(["mode=batch", f"packets={received}", *whole]))
    assert summary["checksum"] == same["checksum"]
    # A packet is written and read, in hundreds of instructions, thousands would be something else.
    assert 50 < summary["instructions_per_packet"] < 5_000
    assert 10 < summary["data_accesses_per_packet"] < summary["instructions_per_packet"]
    assert summary["l2_misses_per_packet"] <= summary["l1d_misses_per_packet"] < summary["data_accesses_per_packet"]


def is_missing(name: str) -> bool:
    try:
        find_allocator(name)
        if name == "glibc_huge_pages":
            check_huge_pages(name)
    except UserError:
        return True
    return False


@pytest.mark.parametrize("name", PRELOADED)
def test_every_allocator_does_the_known_work_or_says_how_to_get_it(data: Path, name: str) -> None:
    settings = ("language=cpp", "layout=flat", "strategy=alloc", f"allocator={name}")
    if is_missing(name):
        with pytest.raises(UserError, match=r"install .*\(Debian\) or .*\(conda-forge\)|not granted"):
            run(*settings)
        return
    summary = run(*settings)
    assert_is_the_known_answer(summary)
    assert any(character.isdigit() for character in summary["allocator_version"])
