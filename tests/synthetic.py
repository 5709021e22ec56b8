"""Made-up campaigns with the columns of the real tables, for tests of what is drawn and concluded from them.

The centres are the published figures over a machine factor, so every claim has a known answer; a test that
wants the opposite answer passes its own ``centre``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache

import numpy as np
import pandas as pd

from allocpool.evidence.trials import records
from allocpool.packets.published import family, published_batch
from allocpool.packets.specs import Configuration

CONFIGURATIONS = (
    ("java", "heap", "parallel", 11, None, "heap / Parallel / 11"),
    ("java", "heap", "cms", 11, None, "heap / CMS / 11"),
    ("java", "heap", "g1", 25, None, "heap / G1 / 25"),
    ("java", "heap", "zgc", 11, None, "heap / ZGC / 11"),
    ("java", "native", "g1", 25, None, "native / G1 / 25"),
    ("java", "native", "zgc", 11, None, "native / ZGC / 11"),
    ("cpp", "allocating", None, None, "glibc", "C++ allocating"),
    ("cpp", "flat", None, None, "glibc", "C++ flat"),
)
STRATEGIES = ("dummy", "alloc", "mix", "pool")
CASES = ("A", "B", "C")
CMS_FACTOR = {"dummy": 1.0, "alloc": 0.6, "mix": 2.5, "pool": 0.4}
QUEUE = {"A": 1_000, "A10k": 10_000, "B": 100_000, "C": 495_000}

Centre = Callable[[dict[str, object]], float]


@cache
def _published() -> dict[tuple[str, ...], float]:
    table = published_batch()
    return {
        (row.language, row.layout, row.family or "", row.strategy, row.case): float(row.published_ns)
        for row in records(table.assign(family=table["family"].fillna("")))
    }


def published_centre(row: dict[str, object]) -> float:
    """A third of the published figure; real CMS is given another shape than the article's "CMS" rows."""
    kind = family(str(row["language"]), row["collector"]) or ""
    key = (str(row["language"]), str(row["layout"]), kind, str(row["strategy"]), str(row["case"]))
    factor = CMS_FACTOR[str(row["strategy"])] if row["collector"] == "cms" else 1.0
    return _published()[key] * factor / 3


def trials(
    blocks: int = 2,
    noise: float = 0.03,
    seed: int = 1,
    centre: Centre = published_centre,
    configurations: tuple[tuple[object, ...], ...] = CONFIGURATIONS,
    cases: tuple[str, ...] = CASES,
) -> pd.DataFrame:
    """A finished campaign: one row per trial, log-normal noise of ``noise`` around ``centre``."""
    rng = np.random.default_rng(seed)
    rows = []
    for block in range(blocks):
        for language, layout, collector, runtime, allocator, configuration in configurations:
            for case in cases:
                for strategy in STRATEGIES:
                    row: dict[str, object] = {
                        "study": "batch",
                        "mode": "batch",
                        "profile": "quick",
                        "block": block,
                        "status": "ok",
                        "reason": None,
                        "language": language,
                        "layout": layout,
                        "runtime": runtime,
                        "collector": collector,
                        "allocator": allocator,
                        "steps": None,
                        "compact_headers": None,
                        "large_pages": None,
                        "lean_view": False,
                        "detached": False,
                        "host_cpu": False,
                        "pool_order": "aged",
                        "pool_reuse": "lifo",
                        "payload_touch": False,
                        "lazy_heap": None,
                        "explicit_gc": None,
                        "pause_target": None,
                        "no_refinement": None,
                        "large_young": None,
                        "control": None,
                        "configuration": configuration,
                        "strategy": strategy,
                        "case": case,
                        "scale": 0.1,
                        "heap_mb": 204,
                        "direct_mb": 102,
                        "pool_size": 100_000,
                        "queue_size": QUEUE[case] // 10,
                        "stored_count": QUEUE[case] // 10,
                        "seed": 1,
                    }
                    ns = centre(row) * float(np.exp(rng.normal(0, noise)))
                    row["trial_id"] = hashlib.sha256(repr(sorted(row.items(), key=str)).encode()).hexdigest()[:16]
                    rows.append(row | _outcome(row, ns, rng))
    frame = pd.DataFrame(rows)
    frame["runtime"] = frame["runtime"].astype("Int64")
    return frame


def _outcome(row: dict[str, object], ns: float, rng: np.random.Generator) -> dict[str, object]:
    packets = 1_000_000
    tcp = packets // 16
    checksum = hashlib.sha256(f"{row['case']} {packets}".encode()).hexdigest()[:16]
    return {
        "packets": packets,
        "seconds": 2.0,
        "iterations": 6,
        "ns_per_packet": ns,
        "cpu_ns_per_packet": ns * (1.0 if row["language"] == "cpp" else 1.4),
        "warmup_ns_per_packet": ns * 1.8,
        "fill_packets": 20_000,
        "drift_percent": float(rng.normal(0, 1)),
        "received": packets, "parsed": packets, "tcp": tcp, "evicted": 0,
        "allocated": packets, "freed": packets - 2_000, "live": 2_000, "constructed": 0, "discarded": 0,
        "checksum": checksum if row["strategy"] != "dummy" else "0000000000000000",
        "peak_rss_mb": 300.0,
        "gc_pauses": 10, "gc_pause_total_ms": 50.0, "gc_pause_max_ms": 9.0,
        "wall_s": 4.0, "cpu_s": 5.0, "load_before": 0.1, "started_utc": "2026-01-01T00:00:00Z",
        "git_commit": "abcdef0", "code_hash": "0123456789abcdef", "host_id": "synthetic",
    }  # fmt: skip


def iterations(trials_frame: pd.DataFrame) -> pd.DataFrame:
    """Iterations of every finished trial: two of warm-up at 1.8 times the trial's figure, four measured."""
    rows = []
    for trial in records(trials_frame[trials_frame["status"] == "ok"]):
        clock = 0
        for index in range(6):
            ns = trial.ns_per_packet * ((1.8, 1.2)[index] if index < 2 else 1 + 0.01 * (index - 3.5))
            packets = 100_000
            rows.append(
                {
                    "trial_id": trial.trial_id,
                    "iteration": index,
                    "phase": "warmup" if index < 2 else "measured",
                    "start_ns": clock,
                    "end_ns": clock + int(ns * packets),
                    "packets": packets,
                    "ns_per_packet": ns,
                }
            )
            clock += int(ns * packets)
    names = ["trial_id", "iteration", "phase", "start_ns", "end_ns", "packets", "ns_per_packet"]
    return pd.DataFrame(rows, columns=names)


def plan(left_out: tuple[str, ...] = ("java/heap/serial/25",)) -> pd.DataFrame:
    """A plan summary: every synthetic configuration planned, those of ``left_out`` not."""
    keys = [
        f"cpp/{row[1]}/{row[4]}" if row[0] == "cpp" else f"java/{row[1]}/{row[2]}/{row[3]}" for row in CONFIGURATIONS
    ]
    return pd.DataFrame(
        [
            {
                "configuration": Configuration.parse(key).label,
                "key": key,
                "planned": key in keys,
                "left_out_because": None if key in keys else "profile quick leaves it out",
                "unavailable_because": None,
            }
            for key in [*keys, *left_out]
        ]
    )


def fail(
    frame: pd.DataFrame,
    configuration: str,
    strategy: str,
    case: str,
    status: str = "out_of_memory",
    reason: str = "Java heap space",
) -> pd.DataFrame:
    """The same campaign with one cell's trials failed."""
    frame = frame.copy()
    hit = (frame["configuration"] == configuration) & (frame["strategy"] == strategy) & (frame["case"] == case)
    frame.loc[hit, "status"] = status
    frame.loc[hit, "reason"] = reason
    frame.loc[hit, ["ns_per_packet", "cpu_ns_per_packet"]] = np.nan
    return frame
