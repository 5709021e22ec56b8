"""The command line: help that teaches, one line for a mistake, examples that work."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from allocpool import home
from allocpool.campaign import registry, single
from allocpool.cli import main


def allocpool(*words: str) -> Result:
    return CliRunner().invoke(main, list(words))


def test_the_list_of_commands_imports_none_of_them() -> None:
    program = "import sys; from allocpool.cli import main; main(['--help'], standalone_mode=False); "
    program += "sys.exit('pandas' in sys.modules or 'pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False, stdout=subprocess.DEVNULL).returncode == 0


@pytest.mark.parametrize("command", sorted({*main.list_commands(click.Context(main))} - {"gclog"}))
def test_the_help_of_a_command_is_one_screen_without_markup_and_with_an_example_that_parses(command: str) -> None:
    ran = allocpool(command, "--help")
    assert ran.exit_code == 0
    assert len(ran.output.splitlines()) <= 40
    assert not re.search("`|\\*\\*", ran.output)
    example = re.search(r"^\s*(?:Example: )?allocpool (.+(?:\n .+)?)", ran.output, re.M)
    assert example and example[1].split()[0] == command
    found = main.get_command(click.Context(main), command)
    assert found
    found.make_context(command, shlex.split(example[1])[1:])


@pytest.mark.parametrize("mode", registry.modes())
def test_the_example_of_every_mode_is_a_valid_trial(mode: str) -> None:
    assert single.parse_spec(registry.mode_named(mode).example.split()).mode == mode


SIZES = "case=A scale=0.001 seconds=0.01 warmup_seconds=0.01"
SPECS = [f"mode=batch language=cpp layout={layout} strategy=pool {SIZES}" for layout in ("flat", "slab")]


def test_the_benchmark_of_ratios_has_a_line_per_spec_and_a_ratio_to_the_first(data: Path) -> None:
    ran = allocpool("bench", "ratio", "--rounds", "1", *SPECS)
    assert ran.exit_code == 0, ran.output
    first, second = ran.output.splitlines()
    assert re.fullmatch(r"[\d.,]+", first.removeprefix(f"{SPECS[0]}: "))
    assert re.fullmatch(r"[\d.,]+; over the first [\d.]+", second.removeprefix(f"{SPECS[1]}: "))


def test_the_benchmark_of_trials_has_a_line_per_spec(data: Path) -> None:
    ran = allocpool("bench", "trial", "--rounds", "1", *SPECS)
    assert ran.exit_code == 0, ran.output
    assert [line.split(":")[0] for line in ran.output.splitlines()] == SPECS


@pytest.mark.long
def test_the_benchmark_of_the_store_makes_records_of_hosts_and_tidies_all_of_them(
    data: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    ran = allocpool("bench", "store", "--hosts", "2", "--trials", "8")
    assert ran.exit_code == 0, ran.output
    written, tidied = capfd.readouterr().out.splitlines()
    assert re.fullmatch(r"16 records of 2 hosts: \d+ bytes each, \d+ written a s", written)
    assert re.fullmatch(r"16 trials tidied in [\d.]+ s, \d+ a s, by [\d.]+ s of CPU; [\d.]+ MB of tables", tidied)
    assert not list(data.glob("*")), "its records are its own"


def test_plans_and_states_tell_questions_and_how_they_ended(data: Path) -> None:
    plan = json.loads(allocpool("plan", "batch", "--json").output)
    assert plan["schedule"] == "sequential" and plan["first_round_expected_s"] > plan["expected_s"]
    primary = [question for question in plan["questions"] if question["primary"]]
    assert {"a": "C++ flat alloc B", "b": "C++ flat pool B", "primary": True} in primary
    ran = allocpool("plan", "batch").output
    assert "primary   C++ flat alloc B against C++ flat pool B" in ran
    assert f"{len(primary)} primary and {len(plan['questions']) - len(primary)} secondary questions" in ran
    state = json.loads(allocpool("status", "--profile", "quick", "--questions", "--json").output)["quick"]["batch"]
    assert state["primary"] == {"decided": 0, "equivalent": 0, "open": len(primary)}
    assert {question["verdict"] for question in state["questions"]} == {"open"}
    shown = allocpool("status", "--profile", "quick", "--questions").output
    assert len(re.findall(r" True +inconclusive ", shown)) == len(primary)
    assert f"0 decided, 0 equivalent, {len(primary)} inconclusive (secondary: 0, 0, 0)" in shown


def test_plans_and_states_of_campaigns_start_nothing(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    allocpool("plan", "batch", "--profile", "smoke")  # what the machine says of itself is asked for once and remembered

    def refuse(*words: object, **_: object) -> None:
        raise AssertionError(f"started {words[0]}")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    monkeypatch.setattr("allocpool.machine.host._output", lambda _command: "")  # git, systemd-detect-virt
    for words in (["plan", "batch"], ["plan", "stream"], ["plan", "buffered_io"], ["status"]):
        shown = allocpool(*words, "--profile", "smoke")
        assert shown.exit_code == 0, shown.output


def test_a_trial_prints_its_figures_and_one_json_object_when_asked(data: Path) -> None:
    words = ["trial", "mode=batch", "layout=flat", "language=cpp", "strategy=pool", "scale=0.01", "packets=100000"]
    plain, as_json = allocpool(*words), allocpool(*words, "--json")
    assert plain.exit_code == as_json.exit_code == 0
    keys = [line.split()[0] for line in plain.output.splitlines()]
    assert keys[:2] == ["status", "ns_per_packet"], "first how it ended and what a packet costs"
    assert keys.index("peak_rss_mb") < keys.index("trial_id") < len(keys), "what was measured, then what it is"
    ran = json.loads(as_json.output)
    assert ran["status"] == "ok" and ran["ns_per_packet"] > 0 and ran["cpu_ns_per_packet"] > 0
    assert ran["peak_rss_mb"] > 0 and len(ran["checksum"]) == 16
    assert ran["counts"]["received"] == 100_000


def test_a_trial_that_did_not_end_well_is_reported_with_its_reason(data: Path) -> None:
    ran = allocpool(
        "trial", "mode=batch", "layout=heap", "strategy=pool", "scale=0.1", "heap_mb=20", "packets=9", "--json"
    )
    assert ran.exit_code == 1
    assert '"status": "out_of_memory"' in ran.output
    assert "the trial ended as out_of_memory" in ran.output


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["trial"], "mode is missing: choose one of bridge, batch"),
        (["trial", "mode="], "choose one of bridge, batch"),
        (["plan", "batch", "--set", "cases='[B]'"], "give a list with -y"),
        (["run", "everything"], "unknown study 'everything'"),
        (["run", "batch", "--set", "blocks"], "is not KEY=VALUE"),
        (["run", "all", "--set", "blocks=3"], "--set changes one study"),
        (["site", "--profile", "tiny"], "choose one of smoke, quick, standard, article"),
        (["site", "--profile", "../.."], "choose one of smoke, quick, standard, article"),
        (["run", "batch", "--set", "blocks=2", "--set", "blocks=3"], "blocks is given twice"),
        (["run", "batch", "--set", "blocks="], "blocks has no value"),
        (
            ["plan", "realtime", "--set", "sweeps.bloks=3"],
            "unknown key 'sweeps.bloks' (did you mean blocks? valid keys: blocks, cases, configurations, ",
        ),
        (["plan", "realtime", "--set", "sweps.blocks=3"], "unknown key 'sweps' (did you mean sweeps? valid keys: "),
        (
            ["plan", "realtime", "--profile", "article", "--set", "long_trials.cap_seconds={C: 1}"],
            "long_trials.cap_seconds.C 1 is below full_seconds 10: give at least that",
        ),
        (["plan", "realtime", "--set", "blocks.more=3"], "blocks: a whole number, not {'more': 3}"),
        (
            ["plan", "realtime", "--set", "sweeps.blocks=3", "--set", "sweeps={cases: [A]}"],
            "sweeps is given whole, and sweeps.blocks too: give one of them",
        ),
        (["plan"], "Missing argument 'STUDY'; see allocpool plan --help"),
        (["trial", "mode=batch", "laiout=heap"], "trial: unknown key 'laiout' (did you mean layout? valid keys: "),
        (["findings", "--minutes", "soon"], "minutes are a number above 0, for example 20, not 'soon'"),
        (["findings", "--minutes", "0.01"], "the pages alone take about"),
        (["findings", "--profile", "smoke", "--minutes", "9"], "runs a fixed plan: leave the minutes out"),
    ],
)
def test_a_mistake_is_one_line_and_status_2(data: Path, words: list[str], names: str) -> None:
    ran = allocpool(*words)
    assert ran.exit_code == 2
    assert names in ran.output
    assert len(ran.output.strip().splitlines()) == 1


def test_a_place_that_takes_no_file_is_one_line_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").write_text("a file", encoding="utf-8")
    monkeypatch.setenv("ALLOCPOOL_DATA", str(tmp_path / "data"))
    ran = allocpool("trial", "mode=batch", "layout=allocating", "strategy=pool", "scale=0.01", "seconds=0.01")
    assert ran.exit_code == 2
    assert ran.output.count("\n") == 1 and "set ALLOCPOOL_DATA to a folder that takes files" in ran.output


def test_a_file_that_is_no_gc_log_is_one_line_and_the_other_files_are_read() -> None:
    log = sorted((home.home() / "tests" / "golden" / "logs").glob("25-g1-*.gz"))[0]
    ran = allocpool("gclog", str(home.home() / "pyproject.toml"), str(log))
    assert ran.exit_code != 0
    assert "pyproject.toml is not a garbage collection log" in ran.output
    assert "collector    g1" in ran.output


def test_an_ended_command_ends_its_child_even_where_interrupts_are_ignored(data: Path) -> None:
    """A shell's background job starts with SIGINT ignored; SIGTERM must still end it in good order."""
    words = ["trial", "mode=batch", "layout=flat", "language=cpp", "strategy=pool", "scale=0.01", "seconds=60"]
    program = f"import signal, runpy, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); sys.argv[1:] = {words!r}; "
    program += "runpy.run_module('allocpool.cli', run_name='__main__')"
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    while not list((data / "raw" / "single").glob("*/stderr.txt")):
        assert process.poll() is None, process.communicate()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=300)
    assert process.returncode != 0
    assert not list((data / "raw" / "single").glob("*/result.json"))


def test_every_documented_trial_is_valid() -> None:
    joined = re.sub(r"\\\s*\n\s*", " ", (home.home() / "docs" / "campaigns.md").read_text(encoding="utf-8"))
    lines = [line.split("allocpool trial", 1)[1].split("#")[0] for line in joined.splitlines() if "trial mode=" in line]
    parsed = [single.parse_spec([word for word in line.split() if word != "--json"]) for line in lines]
    assert parsed
