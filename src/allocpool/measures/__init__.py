"""What collection costs, and what it does to deadlines: the measures behind the notebook on pauses.

Pure functions over tidy tables and intervals; the records of trials enter through `stops` alone.
"""

from allocpool.measures.attribution import CAUSES, Attribution, attribute
from allocpool.measures.live_set import Fit, fit_live_set
from allocpool.measures.overhead import lower_bound_overhead
from allocpool.measures.stops import Stops, stops_of

__all__ = [
    "CAUSES",
    "Attribution",
    "Fit",
    "Stops",
    "attribute",
    "fit_live_set",
    "lower_bound_overhead",
    "stops_of",
]
