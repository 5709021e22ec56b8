"""What benchmark tools write is recognised and decided; a wrong file is refused in one line."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy
from click.testing import CliRunner, Result

from allocpool.cli import main
from allocpool.compare.command import EQUIVALENT, FASTER, INCONCLUSIVE, SLOWER
from allocpool.decisions import ALPHA, FEWEST, decide

DATA = Path(__file__).resolve().parent / "compare_data"


def run(*arguments: object) -> Result:
    """Run the command; nothing but an exit may end it."""
    ran = CliRunner().invoke(main, ["compare", *map(str, arguments)])
    assert ran.exception is None or isinstance(ran.exception, SystemExit), ran.exception
    return ran


def printed(*arguments: object) -> dict[str, Any]:
    """What ``--json`` prints."""
    found: dict[str, Any] = json.loads(run(*arguments, "--json").stdout)
    return found


def rows(*arguments: object) -> dict[str, dict[str, Any]]:
    """The benchmarks of ``--json`` by name."""
    return {row["benchmark"]: row for row in printed(*arguments)["benchmarks"]}


def refusal(*arguments: object) -> str:
    """The one line of a bad input."""
    ran = run(*arguments)
    assert ran.exit_code == 2
    assert len(ran.output.strip().splitlines()) == 1
    return ran.output


def costs(n: int, centre: float = 100.0, spread: float = 0.02, seed: int = 1) -> list[float]:
    """Costs of trials that differ by chance."""
    return [float(x) for x in centre * np.exp(spread * np.random.default_rng(seed).standard_normal(n))]


def written(path: Path, text: str | bytes) -> Path:
    """A file with this text."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def csv(path: Path, a: Sequence[float], b: Sequence[float], block: str = "{}") -> Path:
    """A file of two sides, block by block."""
    lines = [f"{block.format(k + 1)},{side},{value}" for k, pair in enumerate(zip(a, b, strict=True))
             for side, value in zip("ab", pair, strict=True)]  # fmt: skip
    return written(path, "\n".join(["block,side,value", *lines]))


# Each tool's own output


@pytest.mark.parametrize(
    ("tool", "kind", "name", "trials"),
    [
        ("jmh", "JMH JSON", None, 8),
        ("hyperfine-1", "hyperfine JSON", None, 8),
        ("hyperfine-2", "hyperfine JSON", None, 8),
        ("google", "Google Benchmark JSON", "BM_Sum", 8),
        ("pyperf", "pyperf JSON", "sum", 8),
        ("go", "Go benchmark text", "sum.BenchmarkSum-2 [s/op]", 8),
    ],
)
def test_what_each_tool_writes_is_compared(tool: str, kind: str, name: str | None, trials: int) -> None:
    base, new = (next(DATA.glob(f"{tool}-{side}.*")) for side in ("base", "new"))
    found = printed(base, new)
    assert found["format"] == kind
    row = next(row for row in found["benchmarks"] if name in (None, row["benchmark"]))
    assert (row["n_base"], row["n_new"]) == (trials, trials)
    assert row["low"] < row["ratio"] < row["high"]
    assert row["verdict"] == SLOWER
    assert row["ratio"] == pytest.approx(8, rel=0.6)
    # Turned round, the ratio turns round too; a file against itself never differs.
    assert next(iter(rows(new, base).values()))["ratio"] == pytest.approx(
        1 / next(iter(rows(base, new).values()))["ratio"]
    )
    assert all(row["verdict"] in (EQUIVALENT, INCONCLUSIVE) for row in rows(base, base).values())


def jmh(forks: Sequence[Sequence[float]], mode: str = "avgt", unit: str = "ns/op", **more: Any) -> str:
    """As JMH writes it."""
    metric = {"scoreUnit": unit, "rawData": forks}
    return json.dumps([{"benchmark": "x.Y.z", "mode": mode, "primaryMetric": metric, **more}])


def test_a_fork_is_a_trial_and_more_operations_are_better(tmp_path: Path) -> None:
    forks = [[100.0 + k, 102.0 + k] for k in range(8)]
    base = written(tmp_path / "base", jmh(forks, "thrpt", "ops/s"))
    new = written(tmp_path / "new", jmh([[2 * value for value in fork] for fork in forks], "thrpt", "ops/s"))
    (row,) = rows(base, new).values()
    assert (row["verdict"], row["n_base"]) == (FASTER, 8)
    assert row["ratio"] == pytest.approx(0.5)


def hyperfine(*commands: tuple[str, Sequence[float]], codes: Sequence[int] = ()) -> str:
    """As hyperfine 1 writes it."""
    return json.dumps({"results": [{"command": name, "times": times, "exit_codes": codes} for name, times in commands]})


def test_commands_of_one_hyperfine_file_are_compared_with_the_first(tmp_path: Path) -> None:
    file = hyperfine(("a", costs(8)), ("b", costs(8, 150, seed=2)), ("a", costs(8, seed=3)), codes=[0, 1])
    found = printed(written(tmp_path / "x", file))
    verdicts = {row["benchmark"]: (row["verdict"] == SLOWER, row["control"]) for row in found["benchmarks"]}
    assert verdicts == {"b": (True, False), "a (again: 2)": (False, True)}
    assert any("interleaved" in warning for warning in found["warnings"])
    assert any("status 0" in warning for warning in found["warnings"])
    # Documents of one run each, taken in turns.
    turns = "\n".join(hyperfine(("a", [x]), ("b", [y])) for x, y in zip(costs(8), costs(8, 150), strict=True))
    found = printed(written(tmp_path / "turns", turns))
    assert found["benchmarks"][0]["n_new"] == 8
    assert not found["warnings"]


def google(values: Sequence[float], date: str = "2026-01-01T00:00:00+00:00", **more: Any) -> str:
    """As one process with Google Benchmark writes it."""
    listed = [
        {"name": "BM", "run_name": "BM", "run_type": "iteration", "real_time": v, "time_unit": "ns", **more}
        for v in values
    ]
    mean = {"name": "BM_mean", "run_name": "BM", "run_type": "aggregate", "real_time": 1e9, "time_unit": "ns"}
    return json.dumps({"context": {"date": date}, "benchmarks": [*listed, mean]})


@pytest.mark.parametrize(("minutes", "apart"), [((0, 30), True), ((0, 0), False)])
def test_sides_measured_one_after_the_other_are_named(tmp_path: Path, minutes: tuple[int, int], apart: bool) -> None:
    files = [
        written(
            tmp_path / f"{side}",
            "".join(
                google([value], f"2026-01-01T00:{minutes[side] + 2 * k + side:02}:00Z")
                for k, value in enumerate(costs(6))
            ),
        )
        for side in (0, 1)
    ]
    assert any("interleaved" in warning for warning in printed(*files)["warnings"]) is apart


GO = "goos: linux\npkg: p\nBenchmarkX-8 100 {} ns/op {} MB/s {} widgets\nPASS\n"


def test_go_units_have_a_direction_or_are_left_out(tmp_path: Path) -> None:
    base = written(tmp_path / "base", "".join(GO.format(x, 10, 5) for x in costs(8)))
    new = written(tmp_path / "new", "".join(GO.format(x, 20, 10) for x in costs(8)))
    found = rows(base, new)
    assert found["p.BenchmarkX-8 [MB/s]"]["verdict"] == FASTER
    assert found["p.BenchmarkX-8 [s/op]"]["verdict"] == EQUIVALENT
    assert len(found) == 2
    assert any("widgets" in warning for warning in printed(base, new)["warnings"])
    for better, verdict in (("lower", SLOWER), ("higher", FASTER)):
        for file in (base, new):
            written(
                file,
                f"Unit widgets better={better}\n"
                + file.read_text().split("\n", file.read_text().startswith("Unit"))[-1],
            )
        assert rows(base, new)["p.BenchmarkX-8 [widgets]"]["verdict"] == verdict


# CSV


def test_a_csv_of_two_sides_is_decided(tmp_path: Path) -> None:
    a, b = costs(8), costs(8, 150.0, seed=2)
    found = printed(csv(tmp_path / "x.csv", a, b))
    row, wanted = found["benchmarks"][0], decide(b, a)
    assert (row["verdict"], row["n_base"], row["more_trials"]) == (SLOWER, 8, 0)
    assert (row["ratio"], row["low"], row["high"]) == pytest.approx((wanted.ratio, wanted.low, wanted.high))
    # One side a file.
    for side, values in (("base", a), ("new", b)):
        written(tmp_path / side, "\n".join(["value", *map(str, values)]))
    assert rows(tmp_path / "base", tmp_path / "new")[""]["ratio"] == pytest.approx(row["ratio"])


def test_blocks_are_in_the_order_of_the_numbers_in_their_names(tmp_path: Path) -> None:
    a, b = (
        costs(13),
        [100.0 * 1.1**at for at in range(13)],
    )  # of 13 trials the look at the twelfth decides: order matters
    found = [rows(csv(tmp_path / "x.csv", a, b, block))[""] for block in ("{}", "run{}", "run {} of 13")]
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize(
    ("delimiter", "comma", "encoding"),
    [(";", True, "utf-8"), ("\t", True, "utf-8-sig"), (",", False, "utf-16"), ("|", False, "utf-8-sig")],
)
def test_delimiter_decimal_comma_and_byte_order_mark_are_recognised(
    tmp_path: Path, delimiter: str, comma: bool, encoding: str
) -> None:
    a, b = costs(6), costs(6, 150, seed=2)
    text = csv(tmp_path / "x.csv", a, b).read_text().replace(",", delimiter)
    text = (text.replace(".", ",") if comma else text).replace("\n", "\r\n")
    file = written(tmp_path / "x.csv", text.encode(encoding))
    assert rows(file)[""]["ratio"] == pytest.approx(decide(b, a).ratio)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("block,side,value\n1,a,1", "no trial of side b"),
        ("block,side,cost,value\n1,a,2,1", "unknown column 'cost': choose one of block, side, value, cell"),
        ("block,value\n1,2", "no column 'side'"),
        ("block,side,value\n1,c,2", "unknown side 'c': choose one of a, b, base, new"),
        ("block,side,value\n1,a,-2", "line 2: value -2 is not a positive number"),
        ("block,side,value\n1,a,1\n\n1,b,fast", "line 4: value fast is not a positive number"),
        ("block;side;value\n1;a;1.234,5", "line 2: value 1.234,5 is not"),
        ("block,side,value\n1,a", "line 2 has 2 fields"),
        ("value,value,side\n1,1,a", "column twice"),
        ("block,side,value\n", "has no trial"),
        ("", "is empty"),
        ("hello", "no known format"),
        (f"value,{'x' * 200_000}", "as CSV: field larger"),
        (b"\x00\xff\xff", "is no text"),
        ('{"results": [{"command": "a", "times": [1, 2', "no complete JSON"),
        ("[" * 100_000, "nested"),
        (google([1.0]) + jmh([[1.0]]), "mixes formats"),
        (google([1.0] * 6), "one side only"),
        (hyperfine(("a", [1, 2])), "one side only"),
        (hyperfine(("a", [1, 2]), ("b", [0, 1])), "b is left out: 0 is not a positive number"),
        (hyperfine(("a", [1, math.nan]), ("b", [1, 1])), "nan is not a positive number"),
        ('{"results": [{"command": "a", "times": [true, "x", null, 1' + "0" * 400 + "]}]}", "one side only"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_refused_in_one_line(tmp_path: Path, text: str | bytes, complaint: str) -> None:
    assert complaint in refusal(written(tmp_path / "x", text))


def test_wrong_arguments_are_refused_in_one_line(tmp_path: Path) -> None:
    file = csv(tmp_path / "x.csv", costs(6), costs(6))
    assert "can't be read" in refusal(tmp_path / "none")
    assert "can't be read" in refusal(tmp_path)
    assert "BASE and NEW" in refusal()
    assert "BASE and NEW" in refusal(file, file, file)
    assert "column 'side'" in refusal(file, file)
    assert "'slower', 'unproven'" in refusal(file, "--fail-on", "worse")
    assert "exclude" in refusal(file, "--json", "--markdown")
    for option in (["--margin", "0"], ["--margin", "x"], ["--margin", "-5%"], ["--margin", "nan"], ["--margin", "1.05"],
                   ["--alpha", "0"], ["--alpha", "5"], ["--alpha", "nan"]):  # fmt: skip
        assert "out of range" in refusal(file, *option)
    go, other = written(tmp_path / "go", GO.format(1, 1, 1)), written(tmp_path / "jmh", jmh([[1.0]]))
    assert "one format" in refusal(go, other)


# Verdicts, options and output


@pytest.mark.parametrize(
    ("centre", "spread", "fail_on", "status"),
    [
        (150.0, 0.02, [], 0),
        (150.0, 0.02, ["--fail-on", "slower"], 1),
        (66.0, 0.02, ["--fail-on", "unproven"], 0),
        (100.0, 0.02, ["--fail-on", "unproven"], 0),
        (100.0, 0.9, ["--fail-on", "slower"], 0),
        (100.0, 0.9, ["--fail-on", "unproven"], 1),
    ],
)
def test_the_status_says_whether_a_regression_is_shown(
    tmp_path: Path, centre: float, spread: float, fail_on: list[str], status: int
) -> None:
    file = csv(tmp_path / "x.csv", costs(15, spread=spread), costs(15, centre, spread, seed=2))
    for output in ([], ["--json"], ["--markdown"]):
        assert run(file, *fail_on, *output).exit_code == status


def test_the_margin_says_what_is_equivalent(tmp_path: Path) -> None:
    file = csv(tmp_path / "x.csv", costs(30, spread=0.01), costs(30, 104, 0.01, seed=2))
    assert rows(file, "--margin", "10%")[""]["verdict"] == EQUIVALENT
    for margin in ("2%", "0.02"):
        found = printed(file, "--margin", margin)
        assert found["margin"] == pytest.approx(0.02)
        assert found["benchmarks"][0]["verdict"] == SLOWER


def test_strangers_names_are_no_markup_and_no_command_of_a_terminal(tmp_path: Path) -> None:
    name = "a|b`<script>\x1b[2J\n# x\ud800"
    file = written(tmp_path / "x", hyperfine(("first", costs(6)), (name, costs(6)), ("other", costs(6))))
    for output in ([], ["--markdown"], ["--json"]):
        assert "\x1b" not in run(file, *output).output
    line = next(line for line in run(file, "--markdown").output.splitlines() if "script" in line)
    assert line.startswith("| `a\\|b'<script>\\x1b[2J\\n# x\\ud800`")


# Each tool against itself


def test_a_tool_against_itself_differs_no_more_often_than_stated() -> None:
    rows = pd.read_csv(DATA.parents[1] / "data" / "checked" / "compare_twins.csv", dtype={"version": str})
    assert {tool.split("-")[0] for tool in rows["tool"]} == {"jmh", "hyperfine", "pyperf", "google", "go"}
    assert (rows["trials_a_side"] >= FEWEST).all()
    assert (rows["repetitions"] >= 20).all()
    assert (rows[["false_verdicts", "inconclusive", "equivalent"]].sum(axis=1) == rows["repetitions"]).all()
    for false, of in zip(rows["false_verdicts"], rows["repetitions"], strict=True):
        # As many false ones as that come by chance in more than 1% where the rate is as stated.
        assert scipy.stats.binomtest(false, of, ALPHA, "greater").pvalue > 0.01
    page = (DATA.parents[1] / "docs" / "compare.md").read_text(encoding="utf-8")
    shown = {tuple(word.strip() for word in line.strip("|").split("|")) for line in page.splitlines() if "|" in line}
    assert shown >= {tuple(map(str, row)) for row in rows.itertuples(index=False)}


# What is printed for others to copy


def commands(page: str) -> str:
    """The shell commands of a page's section on comparing."""
    text = (DATA.parents[1] / page).read_text(encoding="utf-8")
    found = re.search(
        r"## (?:Your own workload, or two builds|In continuous integration)\n.*?```(?:sh)?\n(.*?)```", text, re.DOTALL
    )
    assert found is not None
    return found[1]
