"""Measured pairs, allocation and pool of one workload, out of rows of trials; those of this machine, for its offset."""

from __future__ import annotations

import json
import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from allocpool import home
from allocpool.ask.model import Neighbour, Question

CONFIGURATIONS = {
    "g1": "G1, JDK 25", "genzgc": "generational ZGC, JDK 25", "parallel": "Parallel, JDK 25",
    "direct": "G1, JDK 25, direct buffers", "cpp": "C++, glibc", "g1_27": "G1, JDK 27",
    "genzgc_27": "generational ZGC, JDK 27", "parallel_27": "Parallel, JDK 27",
}  # fmt: skip
SHIFTED_FROM = {"g1_27": "g1", "genzgc_27": "genzgc", "parallel_27": "parallel"}
"""Measured on another machine than the rest: its process is the other's, shifted by what differs on workloads that
both ran there."""
MEASURED = {
    ("array", "g1", 25): "g1", ("array", "genzgc", 25): "genzgc", ("array", "parallel", 25): "parallel",
    ("native", "g1", 25): "direct", ("malloc", "", 25): "cpp", ("array", "g1", 27): "g1_27",
    ("array", "genzgc", 27): "genzgc_27", ("array", "parallel", 27): "parallel_27",
}  # fmt: skip
"""Layout, collector and runtime of each, as `Workload` has them: in C++ no collector, and the default runtime."""
_STATED = (
    "mean_bytes", "messages_in_flight", "kept_count", "kept_share", "filled_share", "read_share", "temporaries",
    "temporary_bytes", "live_mb", "heap_mb", "layout",
)  # fmt: skip
"""Columns of table ``trials`` of your_workload, in the order of the fields of `Question`."""
_COSTS = ("cpu_ns_per_message", "gc_cpu_share")
_OTHERS = (
    "status", "host_id", "language", "runtime", "collector", "allocator", "strategy", "rate_per_s", "threads",
    "garbage_mb_per_s", "changed_mb_per_s", "jvm_flags", "trace", "classes", "zeroing",
)  # fmt: skip
COLUMNS = (*_STATED, *_COSTS, *_OTHERS)


def configuration_of(row: Mapping[str, Any]) -> str | None:
    """Return which of `CONFIGURATIONS` a trial is of, or None."""
    if row["language"] == "cpp":
        return "cpp" if row["allocator"] == "glibc" else None
    return MEASURED.get((row["layout"], row["collector"], row["runtime"]))


def _counts(row: Mapping[str, Any]) -> bool:
    """Whether a trial ended well and states nothing that the model has no number for."""
    alone = row["rate_per_s"] is None and row["threads"] == 1 and row["trace"] is None and not row["jvm_flags"]
    plain = row["classes"] == "power_of_two" and not row["zeroing"]
    quiet = not row["garbage_mb_per_s"] and not row["changed_mb_per_s"]
    return bool(row["status"] == "ok" and alone and plain and quiet and row["strategy"] in ("alloc", "pool"))


def question_of(values: Iterable[Any]) -> Question:
    """Return the workload of the values of `_STATED`."""
    size, in_flight, kept, share, filled, read, temporaries, each, live_mb, heap_mb, layout = values
    return Question(
        float(size), int(in_flight), int(kept), float(share), float(filled), float(read), int(temporaries), int(each),
        float(live_mb), 0 if layout == "malloc" else int(heap_mb or 0), layout == "native",
    )  # fmt: skip


def question_of_workload(workload: Any) -> Question:
    """Return a `Workload`, the reader's own, as the model has it."""
    names = ["in_flight" if name == "messages_in_flight" else name for name in _STATED]
    return question_of(getattr(workload, name) for name in names)


def pairs(rows: Iterable[Mapping[str, Any]]) -> list[tuple[str, str, Neighbour]]:
    """Return configuration, host and workload wherever both sides were measured, medians over their trials. ``rows``
    have `COLUMNS`, None where nothing is."""
    found: dict[Any, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if _counts(row) and (configuration := configuration_of(row)):
            cell = (configuration, row["host_id"], tuple(row[name] for name in _STATED))
            found[cell][row["strategy"]].append([row[name] for name in _COSTS])
    made = []
    for (configuration, host, stated), sides in found.items():
        if len(sides) == 2:
            costs, shares = (
                [statistics.median(float(each[place] or 0.0) for each in sides[side]) for side in ("alloc", "pool")]
                for place in (0, 1)
            )
            made.append((configuration, str(host), Neighbour(question_of(stated), *costs, *shares)))
    return made


def here(configuration: str) -> list[tuple[Question, float]]:
    """Return what this machine measured itself, workloads with the logarithm of their ratio: campaigns of
    your_workload, and the last advice."""
    found = []
    for path in sorted(home.tidy_dir().glob("*/your_workload/trials.parquet")):
        with suppress(OSError, ValueError):  # a damaged table is named where it is shown
            found += pairs(_rows_of(path))
    found += _of_advice(home.data_dir() / "advice.json")
    return [(pair.question, math.log(pair.ratio)) for name, _, pair in found if name == configuration]


def _rows_of(path: Path) -> list[dict[str, Any]]:
    import pyarrow.parquet as pq

    rows: list[dict[str, Any]] = pq.read_table(path, columns=list(COLUMNS)).to_pylist()
    return rows


def _of_advice(path: Path) -> list[tuple[str, str, Neighbour]]:
    try:
        saved = json.loads(path.read_text(encoding="utf-8"))
        work = saved["workload"]
        same = {"host_id": "", "messages_in_flight": work["in_flight"], "language": "java", "classes": "power_of_two"}
        rows = []
        for (collector, strategy, rate, changed, _), trials in saved["trials"]:
            if changed:
                continue
            own = {**work, **same, "collector": collector, "strategy": strategy, "rate_per_s": rate, "zeroing": False}
            if work["layout"] == "malloc":
                own |= {"language": "cpp", "heap_mb": None}
            rows += [own | {"status": one["status"], "cpu_ns_per_message": one["cpu_ns"], "gc_cpu_share": 0.0}
                     for one in trials if one["cpu_ns"]]  # fmt: skip
        return pairs(rows)
    except (OSError, ValueError, KeyError, TypeError):  # none yet, or of another version
        return []
