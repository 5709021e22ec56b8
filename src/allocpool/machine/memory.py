"""Memory that this machine can still give, and what its kernel has counted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def available_memory_mb() -> int:
    """Return the memory that a new process can get now, MiB; the tightest control group around this process counts."""
    # Imported here because this package also serves before psutil is installed.
    import psutil

    available = psutil.virtual_memory().available
    return min([available, *(max(limit - used, 0) for limit, used in _limits_now())]) // 2**20


def usable_memory_mb() -> int:
    """Return the memory that this process and all others of its control groups may have, MiB."""
    import psutil

    return min([psutil.virtual_memory().total, *(limit for limit, _ in _limits_now())]) // 2**20


def _limits_now() -> Iterator[tuple[int, int]]:
    """Yield limit and use in bytes of every control group around this process that has a limit."""
    for limit, used in _limits():
        with suppress(OSError, ValueError):  # no such controller, or its limit is the word "max"
            yield int(limit.read_text()), int(used.read_text())


def _limits(root: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")) -> Iterator[tuple[Path, Path]]:
    """Yield the files of limit and use of every control group around this process, its own first (cgroups(7))."""
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
    lines += ["0::/", f"0:{controller}:/"]  # in a container the path may be the host's, and its own group the root
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        folder = root if controllers == "" else root / controller
        group = folder / path.lstrip("/")
        for level in (group, *group.parents):
            if level.is_relative_to(folder):
                yield controllers == "", level


def kernel_counters() -> dict[str, int]:
    """Return what the kernel has counted of memory since it started (``/proc/vmstat``); nothing where it does not."""
    try:
        lines = Path("/proc/vmstat").read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    return {name: int(value) for name, _, value in (line.partition(" ") for line in lines)}


def memory_kills() -> int:
    """Return how many processes the kernel has ended for want of memory since it started, in any control group."""
    return kernel_counters().get("oom_kill", 0)
