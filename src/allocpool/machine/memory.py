"""Memory that this machine can still give."""

from __future__ import annotations

from pathlib import Path

_MB = 1024 * 1024


def available_memory_mb() -> int:
    """Memory that a new process can get now, megabytes; a container's limit counts."""
    # Imported here because this package also serves before psutil is installed.
    import psutil

    available = psutil.virtual_memory().available
    for limit, used in (
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ):
        try:
            free = int(Path(limit).read_text()) - int(Path(used).read_text())
        except (OSError, ValueError):  # no such controller, or its limit is the word "max"
            continue
        available = min(available, max(free, 0))
    return available // _MB
