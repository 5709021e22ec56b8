"""The machine that a trial ran on: what may explain its numbers, and the part of it that distinguishes hosts.

Whatever a system does not report is None, never a guess. Linux reports most; macOS a little.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import psutil
from pydantic import BaseModel, ConfigDict

from allocpool import home
from allocpool.machine.memory import control_groups

NAME = "ALLOCPOOL_HOST"
"""Environment variable that names this machine where others are just like it, as the nodes of a cluster are."""
_MEMORY_STEP_MB = 4096


class Host(BaseModel):
    """One machine at one moment.

    Attributes:
        cpu_model: the processor's name.
        architecture: instruction set, for example ``x86_64``.
        physical_cores: cores, None when unknown.
        logical_cores: hardware threads.
        memory_mb: installed memory, megabytes.
        available_memory_mb: memory that a new process could get, megabytes.
        system: operating system, for example ``Linux``.
        kernel: its release.
        governor: frequency governor of the first core, None when the machine shows none.
        transparent_huge_pages: ``always``, ``madvise`` or ``never``.
        clock_source: the kernel's clock source, for example ``tsc``.
        tsc_invariant: whether the time-stamp counter ticks at one rate in every power state.
        tsc_flags: what the processor reports of its time-stamp counter.
        hypervisor: the virtual machine's kind, ``unknown`` for one that hides its name, None on bare metal.
        load_average: over 1, 5 and 15 minutes.
        python_version: of this process.
        git_commit: of the checkout, with ``-dirty`` if files differ from it; None without git.
        last_level_cache_mb: the largest cache that the first processor sees, MiB; None when the machine shows none, and
            in records of earlier versions.
        usable_cores: hardware threads that this process may use; None in records of earlier versions.
        cpu_quota: processors' worth of time that control groups allow, None without a limit and in earlier records.
        processor: vendor, family/model/stepping, microcode and cache sizes of the first processor, what it shows of
            them; distinguishes machines of one ``cpu_model``. None in records of earlier versions.
        boot: names the time since the machine started; the same in all its containers. None where the system shows
            none, and in records of earlier versions.
        name: what `NAME` calls it; None where it is not called, and in records of earlier versions.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    cpu_model: str
    architecture: str
    physical_cores: int | None
    logical_cores: int
    memory_mb: int
    available_memory_mb: int
    system: str
    kernel: str
    governor: str | None
    transparent_huge_pages: str | None
    clock_source: str | None
    tsc_invariant: bool | None
    tsc_flags: tuple[str, ...]
    hypervisor: str | None
    load_average: tuple[float, float, float]
    python_version: str
    git_commit: str | None
    last_level_cache_mb: float | None = None
    usable_cores: int | None = None
    cpu_quota: float | None = None
    processor: str | None = None
    boot: str | None = None
    name: str | None = None

    def fingerprint(self) -> str:
        """12 hexadecimal digits that name this machine as long as trials on it are comparable.

        Covers processor, whether it is virtual, cores, memory in steps of 4 GiB and kernel release, and where a process
        may not use all of them how many, and how much of their time; not what changes by the minute, and not the boot.
        Machines that are alike in these are one, unless they have names (`NAME`). Records of earlier versions, which
        have no boot, keep the name that they had without `processor`.
        """
        lasting = (
            self.cpu_model,
            self.architecture,
            self.physical_cores,
            self.logical_cores,
            # In wide steps, because a kernel keeps a share of its own that varies a little.
            round(self.memory_mb / _MEMORY_STEP_MB),
            self.system,
            self.kernel,
            *([self.processor, "bare" if self.hypervisor is None else "virtual"] if self.boot else []),
            *([self.name] if self.name else []),
            *(
                [f"{self.usable_cores} usable"]
                if (self.usable_cores or self.logical_cores) < self.logical_cores
                else []
            ),
            *([f"{self.cpu_quota:g} of a processor"] if self.cpu_quota is not None else []),
        )
        return _digest(lasting)


@cache
def _digest(lasting: tuple[object, ...]) -> str:
    return hashlib.sha256(json.dumps(lasting).encode()).hexdigest()[:12]


def read_host() -> Host:
    """Look at the machine as it is now; takes a few milliseconds, and one call of git."""
    memory = psutil.virtual_memory()
    cpu = _cpu_info()
    tsc_flags = tuple(f for f in cpu.get("flags", "").split() if "tsc" in f)
    x86 = platform.machine() in ("x86_64", "AMD64", "i686")
    return Host(
        cpu_model=_cpu_model(cpu),
        architecture=platform.machine(),
        physical_cores=psutil.cpu_count(logical=False),
        logical_cores=psutil.cpu_count() or os.cpu_count() or 1,
        memory_mb=memory.total // (1024 * 1024),
        available_memory_mb=memory.available // (1024 * 1024),
        system=platform.system(),
        kernel=platform.release(),
        governor=_first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        transparent_huge_pages=transparent_huge_pages(),
        clock_source=_first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        # "constant" is one rate at every frequency, "nonstop" is running on in deep sleep: invariant is both.
        tsc_invariant={"constant_tsc", "nonstop_tsc"} <= set(tsc_flags) if x86 and cpu else None,
        tsc_flags=tsc_flags,
        hypervisor=_hypervisor(cpu),
        load_average=psutil.getloadavg(),
        python_version=platform.python_version(),
        git_commit=_git_commit(),
        last_level_cache_mb=_last_level_cache_mb(),
        usable_cores=usable_cores(),
        cpu_quota=cpu_quota(),
        processor=_processor(cpu),
        boot=_boot(),
        name=os.environ.get(NAME) or None,
    )


def usable_cores() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cpu_quota(root: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")) -> float | None:
    """Return how many processors' worth of time the tightest control group allows; None without a limit below what
    there is."""
    quotas = [float(os.cpu_count() or 1)]
    for unified, level in control_groups("cpu", root, own):
        names = ("cpu.max",) if unified else ("cpu.cfs_quota_us", "cpu.cfs_period_us")
        words = " ".join(_first_line(str(level / name)) or "" for name in names).split()
        if len(words) == 2 and all(word.isdecimal() for word in words) and int(words[1]):
            quotas.append(int(words[0]) / int(words[1]))
    tightest = min(quotas)
    return tightest if tightest < quotas[0] else None


def transparent_huge_pages() -> str | None:
    """Return the kernel's setting: ``always``, ``madvise`` or ``never``; None where there is none."""
    chosen = re.search(r"\[(\w+)\]", _first_line("/sys/kernel/mm/transparent_hugepage/enabled") or "")
    return chosen.group(1) if chosen else None


def _first_line(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()[0].strip()
    except (OSError, IndexError):
        return None


def _cache_sizes() -> list[str]:
    paths = sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"))
    return [size for path in paths if (size := _first_line(str(path)))]


def _processor(cpu: dict[str, str]) -> str | None:
    stepping = "/".join(cpu[key] for key in ("cpu family", "model", "stepping") if key in cpu)
    microcode, caches = cpu.get("microcode"), " ".join(_cache_sizes())
    parts = (cpu.get("vendor_id"), stepping, microcode and f"microcode {microcode}", caches and f"caches {caches}")
    return ", ".join(part for part in parts if part) or None


def _boot() -> str | None:
    boot_id = _first_line("/proc/sys/kernel/random/boot_id")
    return hashlib.sha256(boot_id.encode()).hexdigest()[:8] if boot_id else None


def _last_level_cache_mb() -> float | None:
    sizes = _cache_sizes()
    kib = [int(size[:-1]) * {"K": 1, "M": 1024}[size[-1]] for size in sizes if size[-1] in "KM"]
    return max(kib) / 1024 if kib else None


def _cpu_info() -> dict[str, str]:
    """Return the first processor of ``/proc/cpuinfo``."""
    try:
        first = Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n\n")[0]
    except OSError:
        return {}
    pairs = (line.split(":", 1) for line in first.splitlines() if ":" in line)
    return {key.strip(): value.strip() for key, value in pairs}


def _cpu_model(cpu: dict[str, str]) -> str:
    if sys.platform == "darwin":
        return _output(["sysctl", "-n", "machdep.cpu.brand_string"]) or platform.processor()
    if "model name" in cpu:
        return cpu["model name"]
    # Arm kernels give numbers in place of a name.
    parts = (f"{key} {cpu[key]}" for key in ("CPU implementer", "CPU part", "CPU variant") if key in cpu)
    return ", ".join(parts) or platform.processor() or "unknown"


def _hypervisor(cpu: dict[str, str]) -> str | None:
    named = _first_line("/sys/hypervisor/type") or _output(["systemd-detect-virt", "--vm"])
    if named and named != "none":
        return named
    return "unknown" if "hypervisor" in cpu.get("flags", "").split() else None


def _git_commit() -> str | None:
    folder = str(home.home())
    commit = _output(["git", "-C", folder, "rev-parse", "HEAD"])
    if not commit:
        return None
    return f"{commit}-dirty" if _output(["git", "-C", folder, "status", "--porcelain"]) else commit


def _output(command: list[str]) -> str:
    """Return what a command prints, or nothing if it is not there or fails."""
    try:
        done = subprocess.run(
            command, check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
