"""Java runtimes and their collectors: what exists, what this machine has, and the flags to start it."""

from allocpool.runtimes.collectors import (
    COLLECTORS,
    FEATURES,
    Collector,
    check_combination,
    check_release,
    collector_flags,
    collector_named,
    collectors_on,
)
from allocpool.runtimes.discovery import OBEYED, Runtime, find_runtime, find_runtimes, known_releases, newest_runtime
from allocpool.runtimes.embedded import provision
from allocpool.runtimes.flags import Jvm, check, jvm_flags, log_flags, remembered_refusal, try_flags, verify_flags
from allocpool.runtimes.javac import Javac, find_javac

__all__ = [
    "COLLECTORS",
    "FEATURES",
    "OBEYED",
    "Collector",
    "Javac",
    "Jvm",
    "Runtime",
    "check",
    "check_combination",
    "check_release",
    "collector_flags",
    "collector_named",
    "collectors_on",
    "find_javac",
    "find_runtime",
    "find_runtimes",
    "jvm_flags",
    "known_releases",
    "log_flags",
    "newest_runtime",
    "provision",
    "remembered_refusal",
    "try_flags",
    "verify_flags",
]
