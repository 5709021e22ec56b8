"""Reads what HotSpot's collectors write about themselves, of JDK 11 to 27, from CMS to generational Shenandoah."""

from allocpool.gclog.checks import SelfCheck, self_check
from allocpool.gclog.log import GcLog, join_parts, read_gc_log, read_runs
from allocpool.gclog.reader import UnreadLine
from allocpool.gclog.summary import GcLogSummary, summarise, summary_of
from allocpool.gclog.utilisation import minimum_mutator_utilisation

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
