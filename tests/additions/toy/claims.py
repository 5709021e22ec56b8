"""What is claimed of sums, as a test."""

from __future__ import annotations

import pandas as pd

from allocpool.evidence import claims
from allocpool.evidence.claims import AS_PUBLISHED, OTHER_WAY, Claim, Evidence, Verdict


def _totals(trials: pd.DataFrame) -> Evidence:
    right = trials["total"] == trials["terms"] * (trials["terms"] - 1) // 2
    shown = [AS_PUBLISHED if is_right else OTHER_WAY for is_right in right]
    return Evidence(pd.DataFrame({"terms": trials["terms"], "total": trials["total"], "shown": shown}))


CLAIMS = (Claim("gauss", "n numbers from 0 sum up to n (n - 1) / 2", "Gauss, 1786", _totals, lambda _: "As he said."),)


def evaluate(trials: pd.DataFrame) -> list[Verdict]:
    """Every claim, judged."""
    return claims.evaluate(CLAIMS, trials)
