"""Runtimes are found, described as they describe themselves, and really start with the flags of the table."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from allocpool.compile import java_classpath
from allocpool.errors import UserError
from allocpool.runtimes import discovery
from allocpool.runtimes.collectors import COLLECTORS, FEATURES, collectors_on
from allocpool.runtimes.discovery import OBEYED, find_runtime, find_runtimes, known_releases, newest_runtime
from allocpool.runtimes.flags import Jvm, jvm_flags, verify_flags

CELLS = [(feature, name) for feature in FEATURES for name in collectors_on(feature)]
ABSENT = [
    *((feature, COLLECTORS["cms"].flags_on(11)) for feature in (17, 21, 25)),
    *((feature, COLLECTORS["genzgc"].flags_on(21)) for feature in (11, 17)),
    *((feature, COLLECTORS["genshenandoah"].flags_on(25)) for feature in (11, 17, 21)),
]
"""Runtimes with the flags of a collector that they do not have; on 25, ZGC's old flag is merely ignored."""


def fake_jdk(folder: Path, feature: int, *, javac: bool = False) -> Path:
    """A Java home whose launcher only says its version."""
    (folder / "bin").mkdir(parents=True)
    java = folder / "bin" / "java"
    java.write_text(
        "#!/bin/sh\n"
        f"echo '    java.runtime.version = {feature}.0.1+2' >&2\n"
        f"echo '    java.specification.version = {feature}' >&2\n"
        "echo '    java.vendor = Nobody' >&2\n"
    )
    java.chmod(0o755)
    if javac:
        (folder / "bin" / "javac").write_text("#!/bin/sh\n")
        (folder / "bin" / "javac").chmod(0o755)
    return folder


def test_every_runtime_is_here_and_says_its_version_itself() -> None:
    found = find_runtimes()
    assert set(FEATURES) <= set(found) and list(found) == sorted(found)
    for feature, runtime in found.items():
        said = subprocess.run([runtime.java, "-version"], capture_output=True, text=True, check=True).stderr
        assert f"(build {runtime.version})" in said
        assert runtime.feature == feature
        assert runtime.libjvm.is_file()


@pytest.mark.parametrize(("feature", "collector"), CELLS)
def test_every_cell_of_the_table_starts_and_logs(feature: int, collector: str, tmp_path: Path) -> None:
    log = tmp_path / "a folder: with signs" / "gc.log"
    log.parent.mkdir()
    flags = jvm_flags(Jvm("", feature, collector, heap_mb=64, direct_mb=16, pause_target_ms=80), log)
    runtime = find_runtime(feature)
    verify_flags(runtime, flags)
    assert not log.exists(), "trying the flags must not write the trial's log"
    done = subprocess.run([runtime.java, *flags, "-version"], capture_output=True, text=True, check=True)
    assert done.stdout == ""
    line = log.read_text().splitlines()[0]
    assert re.match(r"\[\d+ns\]\[\d+ns\]\[(info|debug) *\]\[gc[a-z,]* *\] ", line), line


@pytest.mark.parametrize(("feature", "flags"), ABSENT)
def test_what_the_table_leaves_out_does_not_start(feature: int, flags: tuple[str, ...]) -> None:
    with pytest.raises(UserError) as refused:
        verify_flags(find_runtime(feature), flags)
    assert "\n" not in str(refused.value)


def test_flags_that_would_end_the_process_are_refused_in_the_jvm_s_words() -> None:
    with pytest.raises(UserError, match=r"Java 17 .* does not start with .*: Multiple garbage collectors selected"):
        verify_flags(find_runtime(17), ("-XX:+UseG1GC", "-XX:+UseSerialGC"))
    with pytest.raises(UserError, match="Initial heap size"):
        verify_flags(find_runtime(17), ("-Xms64m", "-Xmx32m"))


def test_a_user_s_own_jdk_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = fake_jdk(tmp_path / "mine", 21)
    monkeypatch.setenv("ALLOCPOOL_JDK_21", str(mine))
    runtime = find_runtimes()[21]
    assert (runtime.home, runtime.origin, runtime.version, runtime.vendor) == (mine, "user", "21.0.1+2", "Nobody")


@pytest.mark.parametrize("content", [None, "#!/bin/sh\necho broken >&2\nexit 3\n", "#!/bin/sh\necho hello\n"])
def test_a_user_s_jdk_that_does_not_work_is_refused(
    content: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if content is not None:
        fake_jdk(tmp_path, 17)
        (tmp_path / "bin" / "java").write_text(content)
    monkeypatch.setenv("ALLOCPOOL_JDK_17", str(tmp_path))
    with pytest.raises(UserError, match=r"^ALLOCPOOL_JDK_17=.* is no Java home: ") as refused:
        find_runtimes()
    assert "\n" not in str(refused.value)


def test_a_missing_runtime_is_told_with_its_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALLOCPOOL_RUNTIMES", str(tmp_path))
    monkeypatch.setattr(discovery, "system_homes", lambda: iter(()))
    assert find_runtimes() == {}
    with pytest.raises(UserError, match=r"no Java 11 here: run `make setup` .* or set ALLOCPOOL_JDK_11"):
        find_runtime(11)


def test_what_may_not_be_looked_at_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = f"/{'x' * 300}"  # its name is too long: refused to root, too, unlike a folder without permission
    own = fake_jdk(tmp_path / "11", 11)
    monkeypatch.setenv("JAVA_HOME", refused)
    monkeypatch.setenv("PATH", os.pathsep.join([refused, str(own / "bin")]))
    assert next(discovery.system_homes()) == own.resolve()


def test_a_jdk_of_any_release_is_found_in_the_user_s_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    homes = [fake_jdk(tmp_path / str(feature), feature) for feature in (28, 26, 9)]
    monkeypatch.setenv("ALLOCPOOL_JDKS", os.pathsep.join(map(str, homes)))
    assert {26, 28, *FEATURES} <= set(known_releases()) and 9 not in known_releases()
    found = find_runtimes()
    assert (found[28].home, found[28].origin, found[28].version) == (homes[0], "user", "28.0.1+2")
    assert newest_runtime() == find_runtime(28) == found[28]
    assert find_runtime(26).home == homes[1]


@pytest.mark.parametrize("name", OBEYED)
def test_options_that_every_jvm_obeys_change_neither_what_is_found_nor_what_is_said_of_flags(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("ALLOCPOOL_BUILD", str(tmp_path))  # nothing is remembered there yet
    monkeypatch.setenv(name, "-XX:+Nonsense")
    verify_flags(find_runtime(25), ("-Xmx32m",))


def test_parse_results_that_no_packet_keeps_are_made_even_where_the_compiler_sees_all_of_the_loop() -> None:
    """What is inlined decides whether the compiler can leave objects out: here it is all of a parse."""
    java, classpath = find_runtime(FEATURES[-1]).java, ":".join(map(str, java_classpath("packets").classpath))
    sizes = ("10000", "0", "1000", "1000", "1", "true", "false", "false", "false")
    allocated, checksum = set(), set()
    for detached in ("false", "true"):
        words = ("heap", "pool", "-", *sizes, detached, "3000000", "1000000", "4", "-")
        done = subprocess.run(
            [java, "-XX:InlineSmallCode=100000", "-Xmx256m", "-cp", classpath, "allocpool.packets.BatchMain", *words],
            check=True, capture_output=True, text=True,
        )  # fmt: skip
        told = dict(line.split(" ", 1) for line in done.stdout.splitlines())
        allocated.add(int(told["allocated"]) // 1_000_000)
        checksum.add(told["checksum"])
    assert len(allocated) == len(checksum) == 1
    assert allocated.pop() > 100
