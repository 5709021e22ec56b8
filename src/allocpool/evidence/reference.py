"""The published figures, for comparison only: nothing measured is derived from them."""

from __future__ import annotations

import pandas as pd

from allocpool import home
from allocpool.errors import UserError


def load(name: str) -> pd.DataFrame:
    """Return a published table, such as ``allocate_or_pool_gc``; raises `UserError`, which lists them, for another."""
    folder = home.reference_dir()
    file = folder / f"{name}.csv"
    if not file.is_file():
        known = ", ".join(sorted(path.stem for path in folder.glob("*.csv")))
        raise UserError(f"no published table {name!r}: choose one of {known}")
    return pd.read_csv(file)
