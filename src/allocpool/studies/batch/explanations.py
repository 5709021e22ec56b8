"""Why claims on batch fail here: the one thing that is changed about a comparison that is the other way round.

Most cells are those of the campaign; the group ``explanations`` of a profile adds the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType

import pandas as pd

from allocpool.evidence.ablation import Ablation, Asked, Changed, Sides, ablations, failed
from allocpool.evidence.claims import OTHER_WAY, Verdict
from allocpool.packets.cells import CONFIGURATION, costs_by_cell
from allocpool.packets.comparisons import Cell, Change, batch_cells, facts_of, on_both
from allocpool.studies.batch.claims import BATCH_CLAIMS, judged_on

EXPLANATIONS: Mapping[str, tuple[Change, ...]] = MappingProxyType(
    {
        "pool-everywhere-batch": (
            Change("the pool is small", smaller={"strategy": "mix"}),
            Change("the pool lies in the order in which it was made", smaller={"pool_order": "fresh"}),
            on_both("the collector has generations", {"collector": "shenandoah"}, collector="genshenandoah"),
            on_both("the collector is Serial", {"collector": "g1"}, collector="serial"),
            on_both("nothing is ever collected (Epsilon)", collector="epsilon"),
        ),
        "zgc-best-c": (on_both("the buffers are on the heap, too", {"layout": "native"}, layout="heap"),),
        "cpp-alloc-dear": (
            on_both("all of a packet is written and read", payload_touch=True),
            Change("the thread cache of glibc takes no buffer", larger={"allocator": "glibc_small_cache"}),
            Change("Java's memory is on huge pages", smaller={"large_pages": True}),
        ),
    }
)
"""By claim."""


def of_claims(trials: pd.DataFrame, verdicts: Sequence[Verdict]) -> list[Ablation]:
    """Return every change of every comparison that is the other way round, of the claims that these verdicts refute."""
    none, asked, of_set_up = pd.Series(dtype=float), list[Asked](), cache(lambda name: judged_on(trials, name))
    for verdict in failed(verdicts):
        if not (changes := EXPLANATIONS.get(verdict.claim.id)):
            continue
        rows = of_set_up(verdict.set_up)
        costs, facts = costs_by_cell(rows), facts_of(rows)
        expected = BATCH_CLAIMS.orderings(verdict.claim.id, batch_cells(rows, verdict.set_up))
        for item, shown in zip(expected, verdict.evidence["shown"], strict=False):
            if shown != OTHER_WAY:
                continue
            words = (verdict.claim.text, verdict.set_up, f"{item.larger} over {item.smaller}")
            larger, smaller = (side[0] for side in item.cells)
            pair = (Cell(*larger.at(CONFIGURATION)), Cell(*smaller.at(CONFIGURATION)))
            before = Sides(larger.values, item.factor * smaller.values)
            for change in changes:
                if (cells := change.cells(pair, facts)) is None:
                    continue
                to = [None if new == old else costs.get(new, none) for new, old in zip(cells, pair, strict=True)]
                after = Changed(to[0], None if to[1] is None else item.factor * to[1])
                asked.append(Asked(*words, change.words, before, after))
    return ablations(asked)
