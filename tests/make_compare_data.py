"""Make the files of ``tests/compare_data`` with the tools themselves, and check each tool against itself.

Versions used: JMH 1.37 on JDK 21, hyperfine 1.15.0 (Debian 12) and 2.0.0, Google Benchmark 1.7.1 (Debian 12), pyperf
2.11.0, Go 1.26. Each program sums numbers; that of the new side has eight times as much to sum.

    python tests/make_compare_data.py data TOOL...      # BASE and NEW of each tool, into tests/compare_data
    python tests/make_compare_data.py twins TOOL N      # N times BASE against BASE: how often a difference is shown

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

from click.testing import CliRunner

from allocpool.cli import main

Maker = Callable[[str, Path, int], str]
"""Returns what so many processes of a side write; works in a folder."""
DATA = Path(__file__).resolve().parent / "compare_data"
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


def twins(tool: str, times: int, built: Path) -> Counter[str]:
    """Count the verdicts of a program against itself, of which all but ``equivalent`` and ``inconclusive`` are
    false."""
    counted: Counter[str] = Counter()
    files = (built / "left", built / "right")
    for _ in range(times):
        for file, text in zip(files, in_turns(MAKERS[tool][0], ("base", "base"), built), strict=True):
            file.write_text(text, encoding="utf-8")
        ran = CliRunner().invoke(main, ["compare", *map(str, files), "--json"])
        counted.update(row["verdict"] for row in json.loads(ran.stdout)["benchmarks"])
    return counted


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
            print(sys.argv[2], dict(twins(sys.argv[2], int(sys.argv[3]), Path(folder))))
        else:
            for tool in sys.argv[2:]:
                data(tool, Path(folder))
