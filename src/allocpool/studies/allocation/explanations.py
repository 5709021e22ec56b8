"""Why claims on allocation speed fail here: what is changed about comparisons that are the other way round."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from allocpool.evidence.ablation import Ablation, Asked, Changed, Sides, ablations, failed
from allocpool.evidence.claims import OTHER_WAY, Verdict
from allocpool.studies.allocation.claims import SMALL, SMALL_IN_JAVA, Costs, small_pairs

_CHANGED = "glibc gives free memory back to the kernel"
"""The thresholds of ``glibc_keeping`` (`allocpool.machine.allocators`) left as they are: nothing else differs."""


def of_claims(trials: pd.DataFrame, verdicts: Sequence[Verdict]) -> list[Ablation]:
    """Of glibc that keeps its memory: Java's small blocks beside it as it is."""
    asked = []
    for verdict in failed(verdicts):
        if verdict.claim.id != SMALL_IN_JAVA:
            continue
        costs = Costs(trials, verdict.set_up)
        for (malloc, java), row in zip(small_pairs(costs), verdict.evidence.to_dict("records"), strict=True):
            if row["shown"] != OTHER_WAY or malloc != "glibc_keeping":
                continue
            words = (verdict.claim.text, verdict.set_up, f"{row['larger']} over {row['smaller']}")
            kept, given_back = (costs.cost("malloc", name, SMALL) for name in (malloc, "glibc"))
            before = Sides(kept, costs.cost("byte_array", java, SMALL))
            asked.append(Asked(*words, _CHANGED, before, Changed(given_back, None)))
    return ablations(asked)
