"""Reads what HotSpot's collectors write about themselves, of JDK 11 to 27, from CMS to generational Shenandoah."""

from allocpool.gclog.log import GcLog as GcLog
from allocpool.gclog.log import join_parts as join_parts
from allocpool.gclog.log import read_gc_log as read_gc_log
from allocpool.gclog.log import read_runs as read_runs
from allocpool.gclog.summary import minimum_mutator_utilisation as minimum_mutator_utilisation
from allocpool.gclog.summary import self_check as self_check
from allocpool.gclog.summary import summary_of as summary_of
