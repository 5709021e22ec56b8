"""What is said of sums."""

from __future__ import annotations

import pandas as pd

from allocpool.campaign.store import read_tables
from allocpool.errors import UserError


def verdict(trials: pd.DataFrame) -> str:
    """The longest sum, in a sentence."""
    row = trials.loc[trials["terms"].idxmax()]
    return f"A sum of {row['terms']} terms is {row['total']}."


def take_home(profile: str) -> str:
    """The verdict on what is stored under a profile."""
    try:
        return verdict(read_tables("toy", profile)[0]["trials"])
    except UserError:
        return "Nothing was summed yet."
