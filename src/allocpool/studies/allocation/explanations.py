"""Why claims on allocation speed fail here: what is changed about comparisons that are the other way round."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from allocpool.evidence.ablation import Ablation, Asked, Changed, Sides, ablations, failed
from allocpool.evidence.claims import OTHER_WAY, Verdict
from allocpool.studies.allocation.claims import ALLOCATION_CLAIMS, cells_of

SMALL_IN_JAVA = "small-java"
GIVEN_BACK = "glibc gives free memory back to the kernel"
"""The thresholds of ``glibc_keeping`` (`allocpool.machine.allocators`) as they are by default."""
ZEROED = "the block is zeroed in C, too"
"""As Java does to every array that it makes."""


def of_claims(trials: pd.DataFrame, verdicts: Sequence[Verdict]) -> list[Ablation]:
    """Judge, of each allocator against which Java's small blocks are dearer, the same with zeroed blocks, and of glibc
    that keeps its memory one that does not."""
    asked = []
    for verdict in failed(verdicts):
        if verdict.claim.id != SMALL_IN_JAVA:
            continue
        cells, zeroed = (cells_of(trials, verdict.set_up, touch) for touch in ("none", "zero"))
        expected = ALLOCATION_CLAIMS.orderings(SMALL_IN_JAVA, cells)
        for item, shown in zip(expected, verdict.evidence["shown"], strict=True):
            if shown != OTHER_WAY:
                continue
            malloc, java = (side[0] for side in item.cells)
            words = (verdict.claim.text, verdict.set_up, f"{item.larger} over {item.smaller}")
            before = Sides(malloc.values, java.values)
            changes = [(ZEROED, zeroed.other(malloc, {}))]
            if malloc.facts["served_by"] == "glibc_keeping":
                changes.append((GIVEN_BACK, cells.other(malloc, {"served_by": "glibc"})))
            for what, cell in changes:
                after = cell.values if cell else pd.Series(dtype=float)
                asked.append(Asked(*words, what, before, Changed(after, None)))
    return ablations(asked)
