"""What a source's own figures say of a claim, where it gives none."""

from __future__ import annotations

import pandas as pd

from allocpool.evidence.claims import Evidence


def no_figures() -> Evidence:
    """Of a conclusion that the source gives no figures of."""
    return Evidence(pd.DataFrame(columns=["shown"]))
