"""A live-set trial: a batch trial whose objects are counted in every block, because they are what is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from allocpool.packets.child import batch
from allocpool.packets.measurement import BatchOutcome
from allocpool.trial.measurement import OutOfMemory


def run(spec: dict[str, Any], launch: dict[str, Any], folder: Path) -> BatchOutcome | OutOfMemory:
    """Measure; an exhausted heap is an outcome and is returned as one."""
    return batch.run({**spec, "block": 0}, launch, folder)
