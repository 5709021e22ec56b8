"""The processor's own counters, through the kernel: cycles, instructions and misses of one thread in user mode.

The system call has no wrapper in the C library; this speaks to it as perf_event_open(2) has it.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import platform
import struct
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Self

_SYSTEM_CALL = {"x86_64": 298, "aarch64": 241}
_ATTRIBUTE_BYTES = 112
_TIMES = 1 | 2  # PERF_FORMAT_TOTAL_TIME_ENABLED, PERF_FORMAT_TOTAL_TIME_RUNNING
_DISABLED, _INHERITED, _NO_KERNEL, _NO_HYPERVISOR = 1 << 0, 1 << 1, 1 << 5, 1 << 6
_ENABLE, _DISABLE, _RESET = 0x2400, 0x2401, 0x2403
_PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")


class Event(NamedTuple):
    """What is counted: its name here, and the kernel's type and number of it (linux/perf_event.h)."""

    name: str
    kind: int
    number: int


_HARDWARE, _CACHE = 0, 3
_READ_MISS = 1 << 16
HARDWARE_EVENTS = (
    Event("cycles", _HARDWARE, 0),
    Event("instructions", _HARDWARE, 1),
    Event("llc_misses", _CACHE, 2 | _READ_MISS),
    Event("dtlb_misses", _CACHE, 3 | _READ_MISS),
)
CREW_EVENTS = (*HARDWARE_EVENTS[:3], Event("l1d_misses", _CACHE, 0 | _READ_MISS))
"""Of threads that exchange lines: a line that another core has written to is missing in the nearest cache."""


class Counters:
    """Counts events of the calling thread between ``start`` and ``stop``; a context manager. ``inherited``: and of all
    threads that it starts after this object was made.

    Events that the machine lacks are in ``missing``, with the reason. Where the processor has fewer counters than
    events, the kernel lets them take turns, and counts are scaled to the whole window.
    """

    def __init__(self, events: Sequence[Event], inherited: bool = False) -> None:
        self._files: dict[str, int] = {}
        self.missing: dict[str, str] = {}
        for event in events:
            try:
                self._files[event.name] = _open(event, inherited)
            except OSError as error:
                self.missing[event.name] = os.strerror(error.errno or 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        for file in self._files.values():
            with suppress(OSError):
                os.close(file)

    def start(self) -> None:
        for command in (_RESET, _ENABLE):
            for file in self._files.values():
                fcntl.ioctl(file, command, 0)

    def stop(self) -> dict[str, float]:
        """Count no more, and return the counts since ``start`` by event, without those that never had their turn."""
        for file in self._files.values():
            fcntl.ioctl(file, _DISABLE, 0)
        counted = {}
        for name, file in self._files.items():
            count, enabled_ns, running_ns = struct.unpack("QQQ", os.read(file, 24))
            if running_ns:
                counted[name] = count * enabled_ns / running_ns
        return counted


def _open(event: Event, inherited: bool = False) -> int:
    number = _SYSTEM_CALL.get(platform.machine())
    if sys.platform != "linux" or number is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    flags = _DISABLED | _NO_KERNEL | _NO_HYPERVISOR | (_INHERITED if inherited else 0)
    attribute = struct.pack("IIQQQQQ", event.kind, _ATTRIBUTE_BYTES, event.number, 0, 0, _TIMES, flags)
    padded = ctypes.create_string_buffer(attribute, _ATTRIBUTE_BYTES)
    library = ctypes.CDLL(None, use_errno=True)
    this_thread, any_processor, no_group = 0, -1, -1
    file = int(library.syscall(number, padded, this_thread, any_processor, no_group, 0))
    if file < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return file


def why_no_hardware_counters() -> str | None:
    """Return in one line why the processor's counters can't be read here, and the remedy; None when they can."""
    try:
        os.close(_open(HARDWARE_EVENTS[0]))
        return None
    except OSError as error:
        code = error.errno or 0
    if code == errno.ENOSYS:
        return f"hardware counters: perf_event_open is not offered on {sys.platform} {platform.machine()}"
    if code in (errno.EACCES, errno.EPERM):
        level = _PARANOID.read_text(encoding="utf-8").strip() if _PARANOID.exists() else "unknown"
        remedy = f"sysctl kernel.perf_event_paranoid=2 (it is {level}), in a container also --cap-add PERFMON"
        return f"hardware counters: closed to users: {remedy}"
    why = f"the processor shows none, as in many virtual machines (perf_event_open: {os.strerror(code)})"
    return f"hardware counters: {why}; run on the bare machine"
