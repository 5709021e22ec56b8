"""The study's claims (``claims.yaml``), judged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from allocpool.evidence import claims
from allocpool.evidence.claims import Verdict
from allocpool.evidence.declared import claims_of
from allocpool.studies.your_workload.cells import cells_of

CLAIMS = claims_of("your_workload")


def evaluate(trials: pd.DataFrame) -> list[Verdict]:
    """Judge every claim by a campaign's trials."""
    return claims.evaluate(CLAIMS, cells_of(trials))


def of_campaign(tables: Mapping[str, pd.DataFrame], _settings: Mapping[str, Any]) -> list[Verdict]:
    """Return the verdicts of a campaign, as its page and the first page show them."""
    return evaluate(tables["trials"])
