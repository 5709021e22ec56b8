"""A trial that sums."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from allocpool.studies.toy.measurement import ToyOutcome

from allocpool.trial.child.accounting import monotonic_ns


def run(spec: dict[str, Any], _launch: dict[str, Any], _folder: Path) -> ToyOutcome:
    """Sum the numbers below ``terms``."""
    start_ns = monotonic_ns()
    total = sum(range(spec["terms"]))
    return {"status": "ok", "reason": None, "total": total, "sum_ns": monotonic_ns() - start_ns}
