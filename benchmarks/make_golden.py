"""Makes the golden logs: real runs of every runtime and collector, each with an independent record of its pauses.

    python benchmarks/make_golden.py --runtimes DIR [--javac JAVAC] [NAME ...]

``DIR`` holds one Java runtime per folder: 11, 17, 21, 25, 26 and 27. Every run writes a log and, by the hand of Flight
Recorder in the same process, what the collector did. The log is stored as ``logs/NAME.log.gz``, the record as
``expected/NAME.json``; nothing in the record comes from reading the log, but for ``signs``: how often a plain byte
search finds the words of the trouble that the run was to provoke. A run that did not get into its trouble is
repeated under more pressure.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import socket
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parents[1] / "tests" / "golden"
EXPERIMENTAL = "-XX:+UnlockExperimentalVMOptions"
COLLECTORS = {
    "serial": ["-XX:+UseSerialGC"],
    "parallel": ["-XX:+UseParallelGC"],
    "cms": ["-XX:+UseConcMarkSweepGC"],
    "g1": ["-XX:+UseG1GC"],
    "zgc": [EXPERIMENTAL, "-XX:+UseZGC"],
    "genzgc": ["-XX:+UseZGC"],
    "shenandoah": [EXPERIMENTAL, "-XX:+UseShenandoahGC"],
    "genshenandoah": [EXPERIMENTAL, "-XX:+UseShenandoahGC", "-XX:ShenandoahGCMode=generational"],
    "epsilon": [EXPERIMENTAL, "-XX:+UseEpsilonGC"],
}
RUNS_ON = {
    11: ["serial", "parallel", "cms", "g1", "zgc", "shenandoah", "epsilon"],
    17: ["serial", "parallel", "g1", "zgc", "shenandoah", "epsilon"],
    21: ["serial", "parallel", "g1", "zgc", "genzgc", "shenandoah", "epsilon"],
    25: ["serial", "parallel", "g1", "genzgc", "shenandoah", "genshenandoah", "epsilon"],
    26: ["serial", "parallel", "g1", "genzgc", "shenandoah", "genshenandoah", "epsilon"],
    27: ["serial", "parallel", "g1", "genzgc", "shenandoah", "genshenandoah", "epsilon"],
}
EVACUATION_FAILURE = r"To-space exhausted$|\(Evacuation Failure[^)]*\) .*ms$"
DECORATIONS = {
    "default-gc-star": "gc*:file={}",
    "default-gc": "gc:file={}",
    "time": "gc*:file={}:time,level,tags",
    "utctime-pid-tid": "gc*:file={}:utctime,pid,tid,level,tags",
    "timemillis": "gc*:file={}:timemillis,level,tags",
    "uptimemillis-tags": "gc*:file={}:uptimemillis,tags",
    "uptimenanos": "gc*:file={}:uptimenanos,level,tags",
    "timenanos": "gc*:file={}:timenanos,level,tags",
    "uptime-only": "gc*:file={}:uptime",
    "hostname": "gc*:file={}:uptime,hostname,level,tags",
    "everything": "gc*,safepoint:file={}:time,utctime,uptime,timemillis,uptimemillis,timenanos,uptimenanos,"
    "hostname,pid,tid,level,tags",
    "none": "gc*:file={}:none",
    "debug": "gc*=debug:file={}:uptimenanos,level,tags",
}
LEVELS = ("default-gc", "default-gc-star", "debug")
"""What people log: little, much, and all that the releases differ in most."""


@dataclass(frozen=True)
class Run:
    """One golden log: a collector on a runtime, put under a pressure that should show ``signs`` in the log."""

    runtime: int
    collector: str
    variant: str
    heap_mib: int
    live_mib: int
    shape: str
    explicit_gcs: int
    mib_per_second: int
    flags: tuple[str, ...] = ()
    signs: str = ""
    seconds: float = 2.0
    threads: int = 2
    outputs: tuple[str, ...] = field(default=())

    @property
    def name(self) -> str:
        return f"{self.runtime}-{self.collector}-{self.variant}"

    def under_more_pressure(self, attempt: int) -> Run:
        """The same run with less room and more haste."""
        values = dict(self.__dict__)
        values["live_mib"] = int(self.live_mib * 1.04**attempt)
        values["mib_per_second"] = int(self.mib_per_second * 1.3**attempt)
        return Run(**values)


def runs() -> list[Run]:
    """All golden logs."""
    wanted: list[Run] = []
    for runtime, collectors in RUNS_ON.items():
        for collector in collectors:
            if collector == "epsilon":
                wanted.append(Run(runtime, collector, "steady", 1400, 40, "steady", 1, 300))
            else:
                wanted.append(Run(runtime, collector, "steady", 256, 80, "steady", 1, 400, signs=r"System\.gc\(\)"))
        wanted.append(
            Run(
                runtime,
                "g1",
                "evacuation-failure",
                128,
                90,
                "surge",
                0,
                300,
                ("-Xmn40m",),
                EVACUATION_FAILURE,
            )
        )
        wanted.append(Run(runtime, "serial", "full", 128, 100, "surge", 0, 300, signs=r"Pause Full .*ms$"))
        wanted.append(_promotion_failure(runtime, "serial"))
        wanted.append(Run(runtime, "parallel", "full", 128, 100, "surge", 0, 300, signs=r"Pause Full .*ms$"))
        wanted.append(
            Run(
                runtime, "shenandoah", "degenerated", 128, 80, "surge", 0, 900, _no_pacing(runtime),
                r"Pause Degenerated GC .*ms$",
            )
        )  # fmt: skip
        wanted.append(
            Run(
                runtime, "shenandoah", "full", 128, 60, "steady", 3, 300, ("-XX:-ExplicitGCInvokesConcurrent",),
                r"Pause Full .*ms$",
            )
        )  # fmt: skip
        for collector in {"zgc", "genzgc"} & set(collectors):
            wanted.append(Run(runtime, collector, "stalls", 96, 24, "burst", 0, 3000, signs=r"Allocation Stall \("))
    for runtime in (25, 26, 27):
        pacing, explicit = _no_pacing(runtime), ("-XX:-ExplicitGCInvokesConcurrent",)
        degenerated = r"Pause Degenerated GC .*ms$"
        wanted.append(Run(runtime, "genshenandoah", "degenerated", 128, 80, "surge", 0, 900, pacing, degenerated))
        wanted.append(Run(runtime, "genshenandoah", "full", 128, 60, "steady", 3, 300, explicit, r"Pause Full .*ms$"))
    for runtime in (26, 27):
        for collector in RUNS_ON[runtime]:
            heap_mib = {"serial": 64, "parallel": 64, "epsilon": 1400}.get(collector, 128)
            wanted.append(
                Run(runtime, collector, "levels", heap_mib, 20, "steady", 1, 150, seconds=1.0, outputs=LEVELS)
            )
    wanted.append(_promotion_failure(11, "cms"))
    wanted.append(
        Run(11, "cms", "concurrent-mode-failure", 128, 92, "surge", 0, 400, signs=r"Concurrent mode failure$")
    )
    for runtime, collector in ((17, "g1"), (11, "serial"), (25, "genzgc")):
        outputs = (
            tuple(name for name in DECORATIONS if name != "debug")
            if collector == "g1"
            else ("default-gc-star", "default-gc", "everything")
        )
        live, shape = (100, "surge") if collector == "serial" else (40, "steady")
        wanted.append(Run(runtime, collector, "decorations", 128, live, shape, 1, 200, outputs=outputs))
    return wanted


def _no_pacing(runtime: int) -> tuple[str, ...]:
    """What keeps Shenandoah from slowing allocation down; 27 has no such pacing."""
    return ("-XX:-ShenandoahPacing",) if runtime < 27 else ()


def _promotion_failure(runtime: int, collector: str) -> Run:
    """A young generation that suddenly survives whole and does not fit the old one."""
    signs = r"Promotion failed$"
    return Run(runtime, collector, "promotion-failure", 128, 24, "burst", 0, 0, ("-Xmn64m",), signs, threads=1)


def make(run: Run, runtimes: Path, classes: Path) -> None:
    """Runs until the signs show, then stores log and record."""
    for attempt in range(12):
        tried = run.under_more_pressure(attempt)
        with tempfile.TemporaryDirectory() as scratch:
            log = _execute(tried, runtimes, classes, Path(scratch))
            signs = len(re.findall(run.signs.encode(), log, re.M)) if run.signs else 0
            if run.signs and not signs:
                continue
            _store(tried, runtimes, classes, Path(scratch), log, signs)
            return
    raise SystemExit(f"{run.name}: the collector never got into the trouble it was to get into")


def _execute(run: Run, runtimes: Path, classes: Path, scratch: Path) -> bytes:
    debug = ",gc=debug" if run.collector == "cms" else ""  # the only place where CMS tells of a concurrent mode failure
    asked = f"gc*=info,gc+phases=debug{debug},safepoint=info:file={scratch / 'gc.log'}:timenanos,uptimenanos,level,tags"
    outputs = [f"-Xlog:{DECORATIONS[name].format(scratch / f'{name}.log')}:filecount=0" for name in run.outputs]
    outputs = [one if one.count(":") == 4 else one.replace(":filecount", "::filecount") for one in outputs]
    heap = [f"-Xms{run.heap_mib}m", f"-Xmx{run.heap_mib}m"]
    command = [
        _java(run, runtimes),
        "-Xlog:disable",
        "-Xlog:all=warning:stderr",
        f"-Xlog:{asked}:filecount=0",
        *outputs,
    ]
    command += [
        *COLLECTORS[run.collector],
        *_generational_on_21(run),
        *run.flags,
        *heap,
        "-cp",
        str(classes),
        "Pressure",
    ]
    command += [
        str(scratch / "recording.jfr"),
        str(run.seconds),
        str(run.threads),
        str(run.live_mib),
        run.shape,
        str(run.explicit_gcs),
    ]
    command += [str(run.mib_per_second)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{run.name}: {done.stderr.strip()}")
    (scratch / "bounds").write_text(done.stdout.splitlines()[-1])
    return (scratch / "gc.log").read_bytes()


def _store(run: Run, runtimes: Path, classes: Path, scratch: Path, log: bytes, signs: int) -> None:
    from_ns, to_ns, from_epoch_ns = map(int, (scratch / "bounds").read_text().split())
    command = [_java(run, runtimes), "-cp", str(classes), "Recorded", str(scratch / "recording.jfr")]
    recorded = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    events: dict[str, list[tuple[int, int, int, str]]] = {}
    for line in recorded.splitlines():
        kind, identity, begin, value, words = line.split("\t")
        events.setdefault(kind, []).append((int(identity), int(begin) - from_epoch_ns + from_ns, int(value), words))

    def within(kind: str) -> list[tuple[int, int, int, str]]:
        return [event for event in events.get(kind, []) if from_ns <= event[1] and event[1] + event[2] <= to_ns]

    ends = {identity: start + duration for identity, start, duration, _ in events.get("safepoint_end", [])}
    used: dict[int, dict[str, int]] = {}
    for gc_id, start, size, when in events.get("heap", []):
        if from_ns <= start <= to_ns:
            used.setdefault(gc_id, {})[when] = size
    pauses = within("pause")
    record = {
        "name": run.name,
        "runtime": run.runtime,
        "collector": run.collector,
        "variant": run.variant,
        "signs": {"expression": run.signs, "count": signs},
        "within_ns": [from_ns, to_ns],
        "pauses": pauses,
        "heap": [[i, used[i]["Before GC"], used[i]["After GC"]] for i in used if len(used[i]) == 2],
        "stalls": [[start, duration, thread] for _, start, duration, thread in within("stall")],
        "safepoints": [
            [start, ends[identity] - start] for identity, start, _, _ in within("safepoint_begin") if identity in ends
        ],
        "outputs": list(run.outputs),
    }
    text = json.dumps(record, separators=(",", ":")).replace('],"', '],\n"').replace("},", "},\n")
    (HERE / "expected" / f"{run.name}.json").write_text(text + "\n")
    _pack(HERE / "logs" / f"{run.name}.log.gz", log)
    for output in run.outputs:
        _pack(HERE / "logs" / f"{run.name}.{output}.log.gz", (scratch / f"{output}.log").read_bytes())
    print(f"{run.name}: {len(pauses)} pauses recorded, signs {signs}, log {len(log) >> 10} KiB", flush=True)


def _pack(path: Path, log: bytes) -> None:
    log = log.replace(socket.gethostname().encode(), b"hostname")
    path.write_bytes(gzip.compress(log, mtime=0))


def _java(run: Run, runtimes: Path) -> str:
    return str(runtimes / str(run.runtime) / "bin" / "java")


def _generational_on_21(run: Run) -> list[str]:
    return ["-XX:+ZGenerational"] if run.collector == "genzgc" and run.runtime == 21 else []


def main() -> None:
    parser = argparse.ArgumentParser(description="Makes the golden garbage collection logs.")
    parser.add_argument("--runtimes", type=Path, required=True, help="folder with the runtimes 11, 17, 21, 25, 26, 27")
    parser.add_argument("--javac", default="javac", help="a Java compiler of 17 or later")
    parser.add_argument("names", nargs="*", metavar="NAME", help="make only these")
    options = parser.parse_args()
    chosen = [run for run in runs() if not options.names or run.name in options.names]
    if not chosen:
        sys.exit(f"choose of {', '.join(run.name for run in runs())}")
    for folder in ("logs", "expected"):
        (HERE / folder).mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as classes:
        sources = [str(path) for path in sorted((HERE / "java").glob("*.java"))]
        subprocess.run([options.javac, "--release", "11", "-Xlint:all", "-Werror", "-d", classes, *sources], check=True)
        for run in chosen:
            make(run, options.runtimes, Path(classes))


if __name__ == "__main__":
    main()
