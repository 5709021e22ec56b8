"""A JMH trial: one fork of the chosen runtime with the chosen flags, which is a process and so the sampling unit."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from allocpool.studies.allocation.measurement import JmhFigures, JmhOutcome
from allocpool.trial.measurement import Failure

_RESULT = "jmh.json"
_BENCHMARKS = {"byte_array": "byteArray", "heap_buffer": "heapBuffer", "direct_buffer": "directBuffer"}
_ITERATIONS = 5


def run(spec: dict[str, Any], launch: dict[str, Any], folder: Path) -> JmhOutcome | Failure:
    """Run JMH to its end in this process's group, so that it ends with the trial."""
    done = subprocess.run(command(spec, launch), cwd=folder, check=False)
    if done.returncode != 0 or not (folder / _RESULT).exists():
        return {"status": "failed", "reason": f"JMH ended with exit status {done.returncode}"}
    results = json.loads((folder / _RESULT).read_text(encoding="utf-8"))
    if len(results) != 1:
        # JMH exits with 0 also when its fork died, and then leaves no result.
        return {"status": "failed", "reason": "JMH has no result: its fork did not end well"}
    return {"status": "ok", "reason": None, "jmh": read(results[0])}


def command(spec: dict[str, Any], launch: dict[str, Any]) -> list[str]:
    """Return the command line of JMH; the flags are those of the fork, not of JMH's process."""
    jvm = launch["jvm"]
    java = str(Path(jvm["libjvm"]).parents[2] / "bin" / "java")
    each_ms = max(1, round(spec["seconds"] * 1000 / _ITERATIONS))
    return [
        java, "-Djmh.ignoreLock=true", "-cp", ":".join(jvm["classpath"]), "org.openjdk.jmh.Main",
        f"AllocationBenchmark.{_BENCHMARKS[spec['technique']]}$", "-f", "1", "-jvm", java,
        "-jvmArgs", " ".join(jvm["flags"]), "-wi", "1", "-w", f"{max(1, round(spec['warmup_seconds'] * 1000))}ms",
        "-i", str(_ITERATIONS), "-r", f"{each_ms}ms", "-p", f"bytes={spec['bytes']}", "-p", f"slots={spec['slots']}",
        "-prof", "gc", "-rf", "json", "-rff", _RESULT,
    ]  # fmt: skip


def read(result: dict[str, Any]) -> JmhFigures:
    """Return score and iterations, ns, and bytes per call by the GC profiler, of an entry of JMH's JSON."""
    metric = result["primaryMetric"]
    if metric["scoreUnit"] != "ns/op":
        raise ValueError(f"JMH measured in {metric['scoreUnit']}")
    names = result["secondaryMetrics"]
    norm = next((value["score"] for name, value in names.items() if name.endswith("gc.alloc.rate.norm")), None)
    return {
        "score_ns": metric["score"],
        "iterations_ns": metric["rawData"][0],
        "allocated_bytes": norm,
        "jmh_version": result["jmhVersion"],
        "vm_version": result["vmVersion"],
    }
