"""Make the files of ``tests/compare_data`` with the tools themselves, and check each tool against itself.

Versions used: JMH 1.37 on JDK 21, hyperfine 1.15.0 (Debian 12) and 2.0.0, Google Benchmark 1.7.1 (Debian 12), pyperf
2.11.0, Go 1.26. Each program sums numbers; that of the new side has eight times as much to sum.

    python benchmarks/make_compare_data.py data TOOL...      # BASE and NEW of each tool, into tests/compare_data
    python benchmarks/make_compare_data.py twins N TOOL...   # N times BASE against BASE: compare_twins.csv

Programs are found by these variables: HYPERFINE1, HYPERFINE2, PYPERF (a python that has it), GBENCH (a folder with
include and lib), JAVA and JMH (a class path).
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pandas as pd
from click.testing import CliRunner

from allocpool.cli import main
from allocpool.compare.command import EQUIVALENT, FASTER, INCONCLUSIVE, SLOWER

Maker = Callable[[str, Path, int], str]
"""Returns what so many processes of a side write; works in a folder."""
DATA = Path(__file__).resolve().parents[1] / "tests" / "compare_data"
PAGE = DATA.parents[1] / "docs" / "compare.md"
TWINS = DATA.parents[1] / "data" / "checked" / "compare_twins.csv"
SIZES = {"base": 3_000, "new": 24_000}
PROCESSES = 8

CPP = """
#include <benchmark/benchmark.h>
static void BM_Sum(benchmark::State& state) {
  for (auto _ : state) {
    long sum = 0;
    for (long k = 0; k < SIZE; k++) benchmark::DoNotOptimize(sum += k);
  }
}
BENCHMARK(BM_Sum);
BENCHMARK_MAIN();
"""
GO = """package sum
import "testing"
var sink int
func BenchmarkSum(b *testing.B) {
	for i := 0; i < b.N; i++ { for k := 0; k < SIZE; k++ { sink += k ^ i } }
	b.ReportMetric(float64(SIZE), "numbers")
}
"""


def run(*command: object, cwd: Path | None = None) -> str:
    """Return what a command prints."""
    return subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True, cwd=cwd).stdout


def hyperfine(which: str) -> Maker:
    """Make a maker that runs hyperfine of a version: a run is a process."""

    def make(side: str, built: Path, processes: int) -> str:
        out = built / "out.json"
        run(
            os.environ[which], "-N", "--runs", processes, "--warmup", 1, "--export-json", out,
            f"sh -c 'i=0; while [ $i -lt {3 * SIZES[side]} ]; do i=$((i+1)); done'",
        )  # fmt: skip
        return out.read_text(encoding="utf-8")

    return make


def google(side: str, built: Path, processes: int) -> str:
    """Run one process after the other; each prints a document."""
    program, home = built / side, os.environ["GBENCH"]
    if not program.exists():
        (built / f"{side}.cc").write_text(CPP, encoding="utf-8")
        run(
            "g++", "-O2", f"-DSIZE={SIZES[side]}", f"-I{home}/include", built / f"{side}.cc", "-o", program,
            f"-L{home}/lib", f"-Wl,-rpath,{home}/lib", "-lbenchmark", "-lpthread",
        )  # fmt: skip
    options = ("--benchmark_min_time=0.02", "--benchmark_repetitions=2", "--benchmark_format=json")
    return "".join(run(f"./{side}", *options, cwd=built) for _ in range(processes))


def pyperf(side: str, built: Path, processes: int) -> str:
    """Run pyperf, which starts the processes."""
    out = built / "out.json"
    out.unlink(missing_ok=True)
    run(
        os.environ["PYPERF"], "-m", "pyperf", "timeit", "-q", "-p", processes, "-n", 2, "-w", 1, "--min-time", 0.02,
        "--name", "sum", "-o", out, f"sum(range({SIZES[side]}))",
    )  # fmt: skip
    return re.sub(
        r'"(hostname|python_config_args|python_executable)":"[^"]*"', r'"\1":"here"', out.read_text(encoding="utf-8")
    )


def go(side: str, built: Path, processes: int) -> str:
    """Run one process after the other; each prints its own head."""
    program = built / f"{side}.test"
    if not program.exists():
        folder = built / f"go-{side}"
        folder.mkdir()
        (folder / "go.mod").write_text("module sum\n\ngo 1.21\n", encoding="utf-8")
        (folder / "sum_test.go").write_text(GO.replace("SIZE", str(SIZES[side])), encoding="utf-8")
        run("go", "test", "-c", "-o", program, ".", cwd=folder)
    options = ("-test.bench=.", "-test.benchtime=20ms", "-test.count=2", "-test.benchmem")
    return "Unit numbers better=lower\n" + "".join(run(program, *options) for _ in range(processes))


def jmh(side: str, built: Path, processes: int) -> str:
    """Run JMH, which starts the forks."""
    out = built / "out.json"
    run(
        os.environ["JAVA"], "-Xmx64m", "-cp", os.environ["JMH"], "org.openjdk.jmh.Main", "byteArray",
        "-p", f"bytes={SIZES[side]}", "-p", "slots=1024", "-f", processes, "-wi", 2, "-i", 2, "-w", "100ms", "-r",
        "100ms", "-rf", "json", "-rff", out,
    )  # fmt: skip
    text = out.read_text(encoding="utf-8").replace(f'"bytes" : "{SIZES[side]}"', '"bytes" : "of this side"')
    return text.replace(os.environ["JAVA"], "java")


MAKERS: dict[str, tuple[Maker, str]] = {
    "jmh": (jmh, "json"),
    "hyperfine-1": (hyperfine("HYPERFINE1"), "json"),
    "hyperfine-2": (hyperfine("HYPERFINE2"), "json"),
    "google": (google, "json"),
    "pyperf": (pyperf, "json"),
    "go": (go, "txt"),
}
ONE_PROCESS = ("google", "go")
"""Tools of which a run is one process: several are run in turns, and what they print is joined."""


def in_turns(maker: Maker, sides: tuple[str, str], built: Path) -> list[str]:
    """Return what both sides write, process by process; they take turns in being first."""
    texts = ["", ""]
    for k in range(PROCESSES):
        for which in (0, 1) if k % 2 else (1, 0):
            texts[which] += maker(sides[which], built, 1)
    return texts


VERSIONS: dict[str, Callable[[str], str]] = {
    "jmh": lambda text: _found(r'"jmhVersion" : "(.*?)"', text),
    "hyperfine-1": lambda _: run(os.environ["HYPERFINE1"], "--version").split()[1],
    "hyperfine-2": lambda _: run(os.environ["HYPERFINE2"], "--version").split()[1],
    "google": lambda _: _found(r"so\.([\d.]+)$", os.path.realpath(f"{os.environ['GBENCH']}/lib/libbenchmark.so")),
    "pyperf": lambda text: _found(r'"perf_version":"(.*?)"', text),
    "go": lambda _: _found(r"go([\d.]+) ", run("go", "version")),
}
"""The version of a tool, from what it wrote or by asking it."""


def _found(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    assert found is not None, pattern
    return found[1]


def twins(tool: str, times: int, built: Path) -> dict[str, str | int]:
    """Return a row of `TWINS`: how ``times`` comparisons of a program with itself ended.

    One is false where any of its benchmarks (Go has several units) is slower or faster, and equivalent where all are.
    """
    ended: Counter[str] = Counter()
    files = (built / "left", built / "right")
    for _ in range(times):
        texts = in_turns(MAKERS[tool][0], ("base", "base"), built)
        for file, text in zip(files, texts, strict=True):
            file.write_text(text, encoding="utf-8")
        ran = CliRunner().invoke(main, ["compare", *map(str, files), "--json"])
        verdicts = {row["verdict"] for row in json.loads(ran.stdout)["benchmarks"]}
        ended["false" if verdicts & {SLOWER, FASTER} else INCONCLUSIVE if INCONCLUSIVE in verdicts else EQUIVALENT] += 1
    return {
        "tool": tool, "version": VERSIONS[tool](texts[0]), "trials_a_side": PROCESSES, "repetitions": times,
        "false_verdicts": ended["false"], "inconclusive": ended[INCONCLUSIVE], "equivalent": ended[EQUIVALENT],
    }  # fmt: skip


def keep(row: dict[str, str | int]) -> None:
    """Write a row into `TWINS`, in place of an earlier one of its tool, and the table of all into `PAGE`."""
    rows = pd.read_csv(TWINS, dtype={"version": str}).to_dict("records") if TWINS.exists() else []
    others = [other for other in rows if other["tool"] != row["tool"]]
    kept = pd.DataFrame([*others, row]).sort_values("tool")
    kept.to_csv(TWINS, index=False)
    table = kept.rename(columns=lambda name: name.replace("_", " ")).to_markdown(index=False, disable_numparse=True)
    page = re.sub(r"(?m)^\| tool +\| version .*\n(\|.*\n)*", lambda _: f"{table}\n", PAGE.read_text(encoding="utf-8"))
    PAGE.write_text(page, encoding="utf-8")


def data(tool: str, built: Path) -> None:
    """Write the files of a tool."""
    maker, suffix = MAKERS[tool]
    base, new = SIZES
    texts = (
        in_turns(maker, (base, new), built)
        if tool in ONE_PROCESS
        else [maker(side, built, PROCESSES) for side in (base, new)]
    )
    for side, text in zip((base, new), texts, strict=True):
        (DATA / f"{tool}-{side}.{suffix}").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        if sys.argv[1] == "twins":
            for tool in sys.argv[3:]:
                keep(twins(tool, int(sys.argv[2]), Path(folder)))
        else:
            for tool in sys.argv[2:]:
                data(tool, Path(folder))
