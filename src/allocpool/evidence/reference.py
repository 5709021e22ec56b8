"""The published figures, loaded for comparison only: nothing measured here is ever derived from them.

How a published table reads in the words of a workload stands where the workload does.
"""

from __future__ import annotations

import pandas as pd

from allocpool import home
from allocpool.errors import UserError


def load(name: str) -> pd.DataFrame:
    """One published table, e.g. ``allocate_or_pool_gc``; the file names are listed by an unknown one."""
    folder = home.reference_dir()
    file = folder / f"{name}.csv"
    if not file.is_file():
        known = ", ".join(sorted(path.stem for path in folder.glob("*.csv")))
        raise UserError(f"no published table {name!r}: choose one of {known}")
    return pd.read_csv(file)
