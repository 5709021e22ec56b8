"""The kernel's counters: what can be counted is counted, what can't says why."""

from __future__ import annotations

import mmap

import pytest

from allocpool.api import trial
from allocpool.campaign.single import parse_spec
from allocpool.errors import UserError
from allocpool.machine import perf

PAGES = 200


def test_the_kernel_counts_this_threads_page_faults_in_the_window_only() -> None:
    with perf.Counters([perf.Event("page_faults", 1, 2)]) as counters:
        if counters.missing:  # a container may forbid the call as a whole
            assert set(counters.missing) == {"page_faults"}
            return
        counters.start()
        few = counters.stop()["page_faults"]
        counters.start()
        with mmap.mmap(-1, PAGES * mmap.PAGESIZE) as fresh:
            fresh.madvise(mmap.MADV_NOHUGEPAGE)
            for page in range(PAGES):
                fresh[page * mmap.PAGESIZE] = 1
        many = counters.stop()["page_faults"]
    assert many >= few + PAGES / 2  # the kernel may map some pages together


@pytest.mark.parametrize("configuration", ["layout=flat language=cpp", "layout=flat language=java", "layout=native"])
def test_the_processor_counts_packets_or_says_why_not(data: object, configuration: str) -> None:
    settings = f"mode=counters counter=hardware strategy=pool scale=0.01 packets=20000 {configuration}".split()
    if perf.why_no_hardware_counters():
        with pytest.raises(UserError, match="hardware counters: "):
            trial(parse_spec(settings))
        return
    summary = trial(parse_spec(settings))
    assert 20 < summary["instructions_per_packet"] < 20_000


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("counter=magic layout=slab strategy=pool", "choose one of hardware, simulated"),
        ("counter=simulated layout=heap strategy=pool", "choose counter=hardware for Java"),
        ("counter=simulated layout=slab strategy=pool packets=1", "packets"),
    ],
)
def test_a_wrong_setting_is_told_in_one_line(text: str, words: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_spec(["mode=counters", *text.split()])
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
