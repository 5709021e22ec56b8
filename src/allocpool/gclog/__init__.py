"""Reads what HotSpot's collectors write about themselves, of JDK 11 to 27, from CMS to generational Shenandoah."""

from allocpool.gclog.checks import SelfCheck, self_check
from allocpool.gclog.log import GcLog, read_gc_log
from allocpool.gclog.reader import UnreadLine
from allocpool.gclog.summary import GcLogSummary, summarise, summary_of
from allocpool.gclog.utilisation import minimum_mutator_utilisation

__all__ = [
    "GcLog",
    "GcLogSummary",
    "SelfCheck",
    "UnreadLine",
    "minimum_mutator_utilisation",
    "read_gc_log",
    "self_check",
    "summarise",
    "summary_of",
]
