"""The table of collectors and runtimes, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from allocpool.errors import UserError
from allocpool.runtimes import flags
from allocpool.runtimes.collectors import COLLECTORS, FEATURES, collector_flags, collectors_on
from allocpool.runtimes.flags import check


def test_the_table_holds_what_openjdk_offers() -> None:
    assert {name: (min(row.flags), row.last) for name, row in COLLECTORS.items()} == {
        "serial": (8, None),
        "parallel": (8, None),
        "cms": (8, 13),
        "g1": (8, None),
        "zgc": (11, 23),
        "genzgc": (21, None),
        "shenandoah": (11, None),
        "genshenandoah": (24, None),
        "epsilon": (11, None),
    }
    for feature in range(11, 31):
        assert ("cms" in collectors_on(feature)) == (feature <= 13)
        assert ("zgc" in collectors_on(feature)) == (feature <= 23)
        assert ("genzgc" in collectors_on(feature)) == (feature >= 21)
        assert ("genshenandoah" in collectors_on(feature)) == (feature >= 24)


@pytest.mark.parametrize(
    ("collector", "feature", "chosen_by"),
    [
        ("zgc", 14, {"-XX:+UnlockExperimentalVMOptions", "-XX:+UseZGC"}),
        ("zgc", 15, {"-XX:+UseZGC"}),
        ("zgc", 23, {"-XX:+UseZGC", "-XX:-ZGenerational"}),
        ("genzgc", 22, {"-XX:+UseZGC", "-XX:+ZGenerational"}),
        ("genzgc", 23, {"-XX:+UseZGC"}),
        ("genzgc", 27, {"-XX:+UseZGC"}),
        ("shenandoah", 12, {"-XX:+UnlockExperimentalVMOptions", "-XX:+UseShenandoahGC"}),
        ("shenandoah", 27, {"-XX:+UseShenandoahGC"}),
        ("g1", 27, {"-XX:+UseG1GC"}),
    ],
)
def test_flags_are_those_of_the_release(collector: str, feature: int, chosen_by: set[str]) -> None:
    assert {*collector_flags(collector, feature)} == chosen_by


def test_only_what_is_experimental_unlocks_experiments() -> None:
    unlocked = {
        (name, feature)
        for name in COLLECTORS
        for feature in (*FEATURES, 24, 26, 27)
        if COLLECTORS[name].is_on(feature) and "-XX:+UnlockExperimentalVMOptions" in collector_flags(name, feature)
    }
    assert unlocked == {
        ("zgc", 11),
        ("genshenandoah", 24),
        *(("epsilon", feature) for feature in (*FEATURES, 24, 26, 27)),
    }


@pytest.mark.parametrize(
    ("collector", "feature", "names"),
    [("cms", 25, "8 to 13"), ("genzgc", 17, "21 and newer"), ("zgc", 25, "11 to 23"), ("G1", 17, "serial, parallel"),
     ("g1", 7, "8 or a newer")],
)  # fmt: skip
def test_an_impossible_combination_is_refused_with_what_is_possible(collector: str, feature: int, names: str) -> None:
    with pytest.raises(UserError, match=names):
        check(feature, collector, 64)


def test_a_heap_that_does_not_fit_is_refused_with_one_that_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flags, "available_memory_mb", lambda: 4000)
    with pytest.raises(UserError) as refused:
        check(17, "g1", 4096, direct_mb=512)
    assert "this machine has 4000 MB available: choose a heap of at most 3036 MB or a smaller scale" in str(
        refused.value
    )
    assert check(17, "g1", 3036, direct_mb=512).feature == 17


@pytest.mark.parametrize("word", flags.JVM_OPTIONS)
def test_a_word_of_the_jvm_stands_for_flags_from_a_release_on_and_for_some_collectors(word: str) -> None:
    option = flags.JVM_OPTIONS[word]
    for feature in (*FEATURES, 26):
        for row in COLLECTORS.values():
            if feature >= min(option.flags) and option.collectors(row):
                made = flags.option_flags(word, row.name, feature)
                assert made in option.flags.values()
                if row.is_on(feature):
                    explained = flags.explained_flags(flags.Jvm("", feature, row.name, 64, options=(word,)))
                    assert {(flag, flags.OF_CONFIGURATION, option.why) for flag in made} <= set(explained)
            else:
                with pytest.raises(UserError, match=word) as caught:
                    flags.option_flags(word, row.name, feature)
                assert "\n" not in str(caught.value)


def test_a_word_that_the_jvm_has_no_flags_for_is_refused_by_name() -> None:
    with pytest.raises(UserError, match=r"choose one of compact_headers, .*no_refinement, large_young"):
        flags.option_flags("tiny_young", "g1", 25)
    with pytest.raises(UserError, match=r"choose one of g1$"):
        flags.option_flags("no_refinement", "parallel", 25)
    with pytest.raises(UserError, match=r"choose one of serial, parallel, cms, g1$"):
        flags.option_flags("large_young", "zgc", 11)


@pytest.mark.parametrize(
    ("enabled", "shared", "refused"),
    [
        ("always [madvise] never", "always within_size advise [never] deny force", {"zgc", "genzgc"}),
        ("always [madvise] never", "always within_size [advise] never deny force", set()),
        ("always madvise [never]", "always within_size [advise] never deny force", {"g1", "glibc_huge_pages"}),
    ],
)
def test_huge_pages_are_refused_where_the_kernel_grants_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, enabled: str, shared: str, refused: set[str]
) -> None:
    (tmp_path / "enabled").write_text(enabled + "\n")
    (tmp_path / "shmem_enabled").write_text(shared + "\n")
    monkeypatch.setattr(flags, "_HUGE_PAGES", tmp_path)
    for collector in ("g1", "glibc_huge_pages", "zgc", "genzgc"):
        if collector in refused:
            with pytest.raises(UserError, match=f"large_pages: not granted to {collector} here, write .* as root"):
                flags.check_huge_pages(collector)
        else:
            flags.check_huge_pages(collector)
    (tmp_path / "enabled").unlink()
    with pytest.raises(UserError, match="offers no transparent huge pages"):
        flags.check_huge_pages("g1")
