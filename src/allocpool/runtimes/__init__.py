"""Java runtimes and their collectors: what exists, what this machine has, and the flags to start it."""

from allocpool.runtimes.collectors import (
    COLLECTORS,
    FEATURES,
    PRESETS,
    Collector,
    Preset,
    check_combination,
    collector_flags,
    collectors_on,
)
from allocpool.runtimes.discovery import Runtime, find_runtime, find_runtimes
from allocpool.runtimes.embedded import provision
from allocpool.runtimes.flags import available_memory_mb, check, jvm_flags, log_flags, verify_flags
from allocpool.runtimes.javac import Javac, find_javac

__all__ = [
    "COLLECTORS",
    "FEATURES",
    "PRESETS",
    "Collector",
    "Javac",
    "Preset",
    "Runtime",
    "available_memory_mb",
    "check",
    "check_combination",
    "collector_flags",
    "collectors_on",
    "find_javac",
    "find_runtime",
    "find_runtimes",
    "jvm_flags",
    "log_flags",
    "provision",
    "verify_flags",
]
