"""What the claims of ``claims.yaml`` are put to: the published collectors, those of today, and C++, each apart."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import pandas as pd

from allocpool.evidence import claims, declared
from allocpool.evidence.claims import Verdict
from allocpool.evidence.declared import Cells, claims_of
from allocpool.packets.comparisons import IN_CPP, set_up_of
from allocpool.studies.threads.cells import KEYS, Campaign, Cell
from allocpool.studies.threads.strategies import STRATEGIES

THREADS = 2


def cells_of(campaign: Campaign) -> Cells:
    """Return the cells of a campaign with the facts of their configuration and of their strategy."""
    return Cells([_cell(campaign, cell) for cell in campaign.started], tuple(KEYS))


def _cell(campaign: Campaign, cell: Cell) -> declared.Cell:
    configuration, strategy = campaign.facts[cell.configuration], STRATEGIES[cell.strategy]
    facts = {name: getattr(configuration, name) for name in ("language", "layout", "collector", "allocator")}
    facts |= {name: getattr(strategy, name) for name in ("shared", "library", "prepares")}
    return declared.Cell({**facts, **cell._asdict()}, cell.label, campaign.costs(cell), campaign.why_not(cell))


CLAIMS = claims_of("threads", cells_of)


def evaluate(trials: pd.DataFrame) -> list[Verdict]:
    """Judge every claim on each of its set-ups."""
    return claims.evaluate_apart(CLAIMS, partial(on_set_up, trials))


def on_set_up(trials: pd.DataFrame, set_up: str) -> Campaign:
    """Return the trials that a claim is put to on a set-up."""
    if set_up == IN_CPP:
        return Campaign(trials[trials["language"] == "cpp"])
    runtime = trials["runtime"].astype("Int64")
    return Campaign(trials[(runtime == set_up_of(set_up, trials).runtime).fillna(False).astype(bool)])


def of_campaign(tables: Mapping[str, pd.DataFrame], _settings: Mapping[str, Any]) -> list[Verdict]:
    """Judge the claims on what a campaign left."""
    return evaluate(tables["trials"])
