"""A search for the minimum sustainable inter-arrival time on many threads, as in the real-time study."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from allocpool.studies.realtime.child import search
from allocpool.studies.realtime.measurement import SearchOutcome
from allocpool.studies.threads.child import worker
from allocpool.trial.measurement import Failure, OutOfMemory


def run(spec: dict[str, Any], launch: dict[str, Any], folder: Path) -> SearchOutcome | Failure | OutOfMemory:
    """Search between ``low_ns`` and ``interval_ns``, by trials of ``seconds``."""
    full_s = spec["seconds"]
    asked = {
        **spec, "high_ns": spec["interval_ns"], "compared_ns": spec["interval_ns"], "full_seconds": full_s,
        "cap_seconds": full_s, "probe_warmup_seconds": spec["warmup_seconds"], "major_collections": 0,
    }  # fmt: skip
    return search.run(asked, launch, folder, worker.__name__)
