"""Why claims on allocation speed fail here: what is changed about comparisons that are the other way round."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from allocpool.evidence.ablation import Ablation, Asked, Changed, Sides, ablations, failed
from allocpool.evidence.claims import OTHER_WAY, Verdict
from allocpool.studies.allocation.claims import SMALL, SMALL_IN_JAVA, Costs, small_pairs

GIVEN_BACK = "glibc gives free memory back to the kernel"
"""The thresholds of ``glibc_keeping`` (`allocpool.machine.allocators`) left as they are: nothing else differs."""
ZEROED = "the block is zeroed in C, too"
"""As Java does to every array that it makes."""


def of_claims(trials: pd.DataFrame, verdicts: Sequence[Verdict]) -> list[Ablation]:
    """Of each allocator against which Java's small blocks are dearer: the same with zeroed blocks, and of glibc that
    keeps its memory one that does not."""
    asked = []
    for verdict in failed(verdicts):
        if verdict.claim.id != SMALL_IN_JAVA:
            continue
        costs, zeroed = Costs(trials, verdict.set_up), Costs(trials, verdict.set_up, touch="zero")
        for (malloc, java), row in zip(small_pairs(costs), verdict.evidence.to_dict("records"), strict=True):
            if row["shown"] != OTHER_WAY:
                continue
            words = (verdict.claim.text, verdict.set_up, f"{row['larger']} over {row['smaller']}")
            before = Sides(costs.cost("malloc", malloc, SMALL), costs.cost("byte_array", java, SMALL))
            changes = [(ZEROED, zeroed.cost("malloc", malloc, SMALL))]
            if malloc == "glibc_keeping":
                changes.append((GIVEN_BACK, costs.cost("malloc", "glibc", SMALL)))
            asked += [Asked(*words, what, before, Changed(cost, None)) for what, cost in changes]
    return ablations(asked)
