"""The published figures, for comparison only: nothing measured is derived from them."""

from __future__ import annotations

import pandas as pd

from allocpool import home


def load(name: str) -> pd.DataFrame:
    """Return a published table, such as ``allocate_or_pool_gc``."""
    return pd.read_csv(home.reference_dir() / f"{name}.csv")
