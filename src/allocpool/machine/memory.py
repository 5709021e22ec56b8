"""Memory that this machine can still give."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

_MB = 1024 * 1024


def available_memory_mb() -> int:
    """Memory that a new process can get now, megabytes; the tightest control group around this process counts."""
    # Imported here because this package also serves before psutil is installed.
    import psutil

    available = psutil.virtual_memory().available
    for limit, used in _limits():
        try:
            free = int(limit.read_text()) - int(used.read_text())
        except (OSError, ValueError):  # no such controller, or its limit is the word "max"
            continue
        available = min(available, max(free, 0))
    return available // _MB


def _limits(root: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")) -> Iterator[tuple[Path, Path]]:
    """The files of limit and use of every control group around this process, its own first (cgroups(7)).

    A job's limit may stand on any level: its own group, a scope's, a container's.
    """
    for unified, level in control_groups("memory", root, own):
        names = ("memory.max", "memory.current") if unified else ("memory.limit_in_bytes", "memory.usage_in_bytes")
        yield level / names[0], level / names[1]


def control_groups(
    controller: str, root: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")
) -> Iterator[tuple[bool, Path]]:
    """Yield the folders of every control group around this process, its own first, and whether each is of version 2."""
    try:
        lines = own.read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    lines += [
        "0::/",
        f"0:{controller}:/",
    ]  # in a container the path may be that of the host, and its own group the root
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        folder = root if controllers == "" else root / controller
        group = folder / path.lstrip("/")
        for level in (group, *group.parents):
            if level.is_relative_to(folder):
                yield controllers == "", level


def memory_kills() -> int:
    """How many processes the kernel has ended for want of memory since it started, in any control group; 0 where it
    does not report it."""
    try:
        lines = Path("/proc/vmstat").read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))
