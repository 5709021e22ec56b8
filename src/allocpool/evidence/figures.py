"""What a source's own figures say of a claim: one of each, so that which side is larger is all that they show."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from allocpool.evidence.claims import NOT_MEASURED, SHOWN, Evidence


def as_figures(evidence: Evidence) -> Evidence:
    """Orderings of single published figures, shown by the side that is larger."""
    sides = np.sign(np.log(evidence.rows["ratio"].astype(float)).round(9))
    return replace(evidence, rows=evidence.rows.assign(shown=[SHOWN.get(side, NOT_MEASURED) for side in sides]))


def no_figures() -> Evidence:
    """Of a conclusion that the source gives no figures of."""
    return Evidence(pd.DataFrame(columns=["shown"]))
