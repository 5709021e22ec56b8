"""Specs and profiles: what follows from what, and one clear line for every mistake."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from click.testing import CliRunner

from allocpool import home
from allocpool.campaign import campaign, profiles, single
from allocpool.campaign.study import Machine
from allocpool.cli import main
from allocpool.errors import UserError
from allocpool.packets.batch import BatchSpec
from allocpool.packets.specs import SETTINGS, Configuration
from allocpool.packets.strategies import STEPS
from allocpool.runtimes.flags import OF_CONFIGURATION, OURS, PUBLISHED, explained_flags
from allocpool.studies.batch.study import BatchProfile, plan_batch
from allocpool.trial.launch import flags_of


def spec(text: str) -> BatchSpec:
    parsed = single.parse_spec(["mode=batch", *text.split()])
    assert isinstance(parsed, BatchSpec)
    return parsed


def test_sizes_are_the_published_ones_at_scale_one() -> None:
    pool = spec("layout=heap strategy=pool case=C packets=1")
    assert (pool.queue_size, pool.stored_count, pool.pool_size, pool.heap_mb) == (495_000, 495_000, 1_000_000, 2048)
    mix = spec("layout=native strategy=mix case=B packets=1")
    assert (mix.queue_size, mix.pool_size, mix.slot_count, mix.heap_mb, mix.direct_mb) == (
        100_000, 200_000, 1_000_000, 1024, 2048,
    )  # fmt: skip


@pytest.mark.parametrize("scale", [0.01, 0.1, 0.5])
def test_scale_keeps_the_ratio_of_live_set_to_heap(scale: float) -> None:
    full, small = (spec(f"layout=heap strategy=pool case=C packets=1 scale={s}") for s in (1, scale))
    assert full.heap_mb and small.heap_mb
    assert small.pool_size / small.heap_mb == pytest.approx(full.pool_size / full.heap_mb, rel=0.05)


def flags(text: str) -> tuple[str, ...]:
    jvm = spec(text).needs().jvm
    return flags_of(jvm) if jvm else ()


def test_a_setting_can_be_left_out_to_see_whether_it_matters() -> None:
    plain = "layout=heap runtime=11 collector=parallel strategy=pool packets=1"
    touched, no_calls, target = "-XX:+AlwaysPreTouch", "-XX:+DisableExplicitGC", "-XX:MaxGCPauseMillis=80"
    without = {word: {touched, no_calls, target} & set(flags(f"{plain} {word}=true")) for word in SETTINGS}
    assert without == {
        "lazy_heap": {no_calls}, "explicit_gc": {touched}, "pause_target": {touched, no_calls, target},
    }  # fmt: skip
    assert {spec(f"{plain} {word}=true").configuration.label for word in SETTINGS} == {
        f"heap / Parallel / 11 / {word.replace('_', ' ')}" for word in SETTINGS
    }


def test_every_flag_has_a_reason_and_an_owner() -> None:
    jvm = spec("layout=native runtime=11 collector=g1 strategy=pool packets=1").needs().jvm
    assert jvm
    owners = {flag.text: flag.whose for flag in explained_flags(jvm)}
    assert {"-XX:+AlwaysPreTouch", "-XX:+DisableExplicitGC", "-XX:-UsePerfData"} <= {
        flag for flag, whose in owners.items() if whose == OURS
    }
    assert {flag for flag, whose in owners.items() if whose == PUBLISHED} == {"-Xmx1024m", "-XX:MaxGCPauseMillis=80"}
    assert {flag for flag, whose in owners.items() if whose == OF_CONFIGURATION} == {"-XX:+UseG1GC"}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("layout=heap strategy=lake packets=1", "choose one of dummy, alloc, mix, pool"),
        ("strategy=pool packets=1", "layout is missing: choose one of heap, native, flat"),
        ("layout=flat strategy=pool packets=1", "add language=java|cpp"),
        ("layout=flat language=java strategy=mix packets=1 slot_count=10", "slot_count 10 is too small"),
        ("layout=flat_ffm runtime=21 strategy=pool packets=1", "flat_ffm needs runtime 25 or newer, not 21"),
        (
            "layout=netty_pooled strategy=pool packets=1",
            "netty_pooled has no strategy pool: choose one of dummy, alloc",
        ),
        ("layout=allocating large_pages=true strategy=pool packets=1", "choose one of host_cpu, fresh, fifo, payload"),
        ("layout=heap strategy=pool packets=1 collector=cms", "cms runs on 8 to 13"),
        ("layout=heap strategy=pool packets=1 runtime=8", "control=plain (in a profile /plain) takes 8"),
        ("layout=heap strategy=pool packets=1 runtime=7", "choose 8 or a newer release"),
        ("layout=flat language=java strategy=pool packets=2 control=plain", "plain belongs to layout heap or native"),
        ("layout=heap strategy=pool packets=2 control=plain collector=epsilon", "a collector that collects"),
        ("layout=heap strategy=pool seconds=1 control=plain", "38064 or more"),
        ("layout=heap strategy=pool packets=1 queue_size=big", "queue_size: a whole number"),
        ("layout=heap strategy=pool", "seconds=S or packets=N"),
        ("layout=heap strategy=pool packets=1 colour=red", "valid keys: allocator, block"),
        ("layout=allocating strategy=pool packets=1 collector=g1", "collector belong to Java"),
        ("layout=heap strategy=pool packets=1 allocator=glibc", "allocator belongs to C++"),
        ("layout=slab strategy=pool packets=1 steps=jump", "choose one of contiguous, one_line, stride, huge_pages"),
        ("layout=flat language=cpp strategy=pool packets=1 steps=prefetch", "rests on inline: add inline"),
        ("layout=flat language=cpp strategy=pool packets=1 steps=inline,stride", "rests on one_line: add one_line"),
        ("layout=heap strategy=pool packets=1 steps=stride", "layout heap has no steps to choose"),
        ("layout=flat language=java strategy=pool packets=1 lean_view=true", "lean_view belongs to layout heap or nat"),
        ("layout=flat language=cpp strategy=alloc seconds=1 allocator=pmr_monotonic", "never frees: give packets=N"),
        ("layout=allocating strategy=pool packets=1 pool_size=10", "is too small: queue, store and one more need"),
        ("layout=heap strategy=pool strategy=mix packets=1", "given twice"),
        ("layout=heap strategy pool", "is not KEY=VALUE"),
    ],
)
def test_a_mistake_is_one_line_that_names_the_valid_choices(text: str, names: str) -> None:
    with pytest.raises(UserError) as caught:
        spec(text)
    assert names in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("profile", profiles.names())
def test_every_profile_is_valid_and_plans_every_configuration_once_per_block(profile: str) -> None:
    opened = campaign.open_study("batch", profile)
    settings = opened.profile
    assert isinstance(settings, BatchProfile)
    planned = plan_batch(settings, Machine(cores=2))
    cells = {
        (configuration, strategy, case, part.window)
        for part in (settings, *settings.groups.values())
        for configuration, strategy, case in itertools.product(part.configurations, part.strategies, part.cases)
        if Configuration.parse(configuration).offers(strategy)
    }
    packets = [item for item in planned if isinstance(item.spec, BatchSpec)]
    by_bytes = settings.by_bytes
    messages = 2 * len(by_bytes.bytes) * len((*by_bytes.java, *by_bytes.cpp)) if by_bytes else 0
    messages += 2 * (len(by_bytes.heaps_over_live) * len(by_bytes.java) + len(by_bytes.g1_flags)) if by_bytes else 0
    assert len(packets) == len(cells) * settings.blocks
    assert len(planned) - len(packets) == messages * settings.blocks
    assert len({item.spec for item in planned}) == len(planned)
    assert planned == plan_batch(settings, Machine(cores=2))


@pytest.mark.parametrize(
    ("overrides", "names"),
    [
        ({"bogus": 1}, "valid keys: blocks, by_bytes, cases, configurations"),
        ({"cases": ["D"]}, "choose one of A, A10k, B, C"),
        ({"configurations": ["heap"]}, "java/LAYOUT/COLLECTOR/RUNTIME"),
        ({"configurations": ["java/heap/g1/17/compact_headers"]}, "compact_headers needs runtime 24 or newer, not 17"),
        ({"configurations": ["java/heap/parallel/25/no_refinement"]}, "choose one of g1"),
        ({"configurations": ["java/flat/g1/25/detached"]}, "detached belongs to layout heap or native or commons_pool"),
        (
            {"configurations": ["cpp/flat/glibc/jump"]},
            "choose one of host_cpu, fresh, fifo, payload, twin, fixed_addresses",
        ),
        ({"configurations": []}, "configurations is empty: give one or more"),
        ({"strategies": 7}, "strategies: a list in brackets, [A, B], not 7"),
        ({"blocks": 0}, "blocks: greater than or equal to 1"),
        ({"blocks": "1_0"}, "blocks: a number, not 1_0"),
        ({"groups": {1.5: {}, "a": {}}}, "a key is a word"),
    ],
)
def test_a_wrong_override_is_one_line(overrides: dict[str, object], names: str) -> None:
    with pytest.raises(UserError) as caught:
        campaign.open_study("batch", "quick", overrides)
    assert names in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "holds no settings"),
        (b"7: a\n", "line 1: a key is a word"),
        (b"profile: tiny\n\tblocks: 2\n", "line 2: found character"),
        (b"profile: [tiny\n", "line 2: "),
        (b"\x00\x01\x02", "can't be read"),
        ("profile: tiny\n".encode("utf-16"), "can't be read"),
        (b"profile: tiny\n---\nprofile: tiny\n", "but found another document"),
        (b"profile: tiny\nblocks: 2\nblocks: 3\n", "line 3: blocks is given twice"),
        (b"profile: !!python/object:os.system {}\n", "line 1: "),
    ],
    ids=["empty", "number", "tab", "bracket", "binary", "utf-16", "documents", "twice", "object"],
)
def test_a_bad_profile_file_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, complaint: str
) -> None:
    path = tmp_path / "papermill-configs" / "tiny" / "02_batch.yaml"
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    monkeypatch.setattr(home, "home", lambda: tmp_path)
    with pytest.raises(UserError) as refused:
        campaign.open_study("batch", "tiny")
    assert complaint in str(refused.value) and str(path) in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", "yes"), ("1:30", "1:30"), ("2026-01-01", "2026-01-01"), ("1_000", "1_000"), ("010", 10), ("0o17", 15),
        ("0x1f", 31), ("1e6", 1e6), (".5", 0.5), ("-3", -3), ("true", True), ("~", None), ("", None),
        ("[a, 'true']", ["a", "true"]), ("{a: {b: 1}}", {"a": {"b": 1}}),
    ],
)  # fmt: skip
def test_settings_are_yaml_of_the_core_schema(text: str, value: object) -> None:
    read = profiles.parsed(text)
    assert read == value and type(read) is type(value)


HOSTILE = {
    "number as key": "{a: 1, 1.5: 2}",
    "list as key": "{[a]: 1}", "mapping as key": "{{a: 1}: 1}", "set": "{? [a] : 1}", "deep": "[" * 2000 + "]" * 2000,
    "deep mapping": "{a: " * 2000 + "}" * 2000, "itself": "&a [*a]", "merge": "{<<: {blocks: 2}}", "tag": "!!int 3",
    "bomb": "[&a [x, x1], " + ", ".join(f"&{b} [*{a}, *{a}]" for a, b in itertools.pairwise("abcdefghijklmnopqrstuvw"))
    + "]", "twice": "[A, B, A]", "twice inside": "{a: [[1], [1]]}", "long": "[" + "1," * 200_000 + "]",
    "digits": "9" * 5000, "control": "\x1b[2J", "open": "[A",
}  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_settings_that_would_be_misread_or_never_end_are_refused_in_a_line(text: str) -> None:
    with pytest.raises(UserError) as refused:
        profiles.parsed(text)
    assert "\n" not in str(refused.value) and len(str(refused.value)) < 400
    ran = CliRunner().invoke(main, ["plan", "batch", "--set", f"blocks={text}"])
    assert ran.exit_code == 2 and ran.output.count("\n") == 1 and len(ran.output) < 600, ran.output


def test_an_unknown_profile_or_study_names_the_known_ones() -> None:
    with pytest.raises(UserError, match="choose one of smoke, quick, standard, article"):
        campaign.open_study("batch", "tiny")
    with pytest.raises(UserError, match="unknown study 'botch'"):
        campaign.open_study("botch")


def test_overrides_equal_to_the_profile_change_nothing_and_others_rename_the_campaign() -> None:
    same = campaign.open_study("batch", "quick", {"blocks": 1, "cases": ["B"], "seconds": None})
    assert same.profile.profile == "quick"
    assert campaign.open_study("batch", "quick", {"blocks": 3}).profile.profile.startswith("quick-")


def test_a_key_of_a_part_changes_that_key_and_leaves_the_others_as_the_profile_has_them() -> None:
    of_profile = campaign.open_study("realtime", "standard").profile.model_dump()
    changed = campaign.open_study(
        "realtime", "standard", {"sweeps.blocks": 2, "decision_map.trials": 9, "similar.cases": None}
    )
    assert changed.profile.profile.startswith("standard-")
    expected = of_profile | {"profile": changed.profile.profile}
    expected["sweeps"] = {**of_profile["sweeps"], "blocks": 2}
    expected["decision_map"] = {**of_profile["decision_map"], "trials": 9}
    assert changed.profile.model_dump() == expected
    same = {"sweeps.blocks": of_profile["sweeps"]["blocks"]}
    assert campaign.open_study("realtime", "standard", same).profile.profile == "standard"


def test_a_configuration_is_read_back_from_its_key() -> None:
    for text in (
        "java/heap/genzgc/25", "java/flat/g1/25/compact_headers/large_pages", "cpp/flat/glibc", "cpp/flat/pmr_pool",
        "cpp/slab/jemalloc", "cpp/slab/glibc/contiguous", "cpp/allocating/jemalloc/inline/host_cpu/fresh/payload/slp",
        "java/agrona/g1/25/contiguous+prefetch/fresh", "java/native/zgc/11/lean_view/payload",
        "java/heap/g1/25/no_refinement/large_young/detached/fresh", "java/heap/g1/25/no_compact_headers",
    ):  # fmt: skip
        assert Configuration.parse(text).key == text
    assert Configuration.parse("cpp/flat").key == "cpp/flat/glibc"
    built = spec("layout=flat language=cpp strategy=pool packets=1 host_cpu=true control=slp").needs().native
    assert built == "packets-host-slp"
    assert Configuration.parse("cpp/flat/payload/fresh").key == "cpp/flat/glibc/fresh/payload"
    assert Configuration.parse("cpp/slab/glibc/" + "+".join(STEPS[1:])) == Configuration.parse("cpp/slab")
    assert Configuration.parse("cpp/slab/glibc/stride").steps == "contiguous,stride"
    assert Configuration.parse("java/flat/g1/25/contiguous+one_line+stride+prefetch") == Configuration.parse(
        "java/flat/g1/25"
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("layout=slab strategy=alloc packets=1", "choose one of dummy, pool"),
        ("layout=allocating strategy=alloc allocator=pmr_pool packets=1", "choose layout flat and strategy alloc"),
        (
            "layout=flat language=cpp strategy=alloc allocator=boost_pool steps=inline,one_line packets=1",
            "does not align packets: choose steps inline, or none",
        ),
    ],
)
def test_what_makes_no_sense_on_any_machine_is_refused_in_one_line(text: str, reason: str) -> None:
    with pytest.raises(UserError, match=reason) as caught:
        single.run_single(spec(text))
    assert "\n" not in str(caught.value)
