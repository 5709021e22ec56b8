"""Reads what HotSpot's collectors write about themselves, of JDK 11 to 27, from CMS to generational Shenandoah."""

from allocpool.gclog.log import GcLog, join_parts, read_gc_log, read_runs
from allocpool.gclog.reader import UnreadLine
from allocpool.gclog.summary import (
    GcLogSummary,
    SelfCheck,
    minimum_mutator_utilisation,
    self_check,
    summarise,
    summary_of,
)

__all__ = [
    "GcLog",
    "GcLogSummary",
    "SelfCheck",
    "UnreadLine",
    "join_parts",
    "minimum_mutator_utilisation",
    "read_gc_log",
    "read_runs",
    "self_check",
    "summarise",
    "summary_of",
]
