"""Where this process's memory is: resident, proportional and unique size, stacks, C heap, Java heap by class.

Each part is measured, none is what the others leave over: their sum against resident memory is a test.
"""

from __future__ import annotations

import ctypes
import re
import resource
import time
from pathlib import Path
from typing import Any

from allocpool.trial.child import jvm

_MAPPING = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ (\d+)\s*(.*)")
_HISTOGRAM_LINE = re.compile(r"\s*\d+:\s+\d+\s+(\d+)\s+(\S+)")
_DEFAULT_STACK_BYTES = 8 << 20
_STEADY_MB, _LOOK_S = 0.5, 0.02
_KINDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("char_buffer", ("[C", "java.io.BufferedReader", "java.io.BufferedWriter")),
    # Each thread that does socket I/O keeps a table of direct buffers (sun.nio.ch.Util).
    ("socket", ("[Ljava.nio.ByteBuffer;", "sun.nio.ch.")),
    ("codec", (
        "sun.nio.cs.", "java.nio.HeapByteBuffer", "java.nio.HeapCharBuffer",
        "java.io.InputStreamReader", "java.io.OutputStreamWriter",
    )),
    ("byte_buffer", ("java.io.BufferedInputStream", "java.io.BufferedOutputStream", "java.nio.", "io.netty.buffer.")),
    ("stack", ("jdk.internal.vm.StackChunk",)),
    ("thread", (
        "java.lang.Thread", "[Ljava.lang.Thread", "java.lang.VirtualThread", "java.util.concurrent.ThreadPool",
        "java.util.concurrent.ThreadPerTask", "java.util.concurrent.FutureTask", "jdk.internal.vm.",
    )),
    ("socket", (
        "java.net.", "sun.net.", "java.io.FileDescriptor", "io.netty.channel.", "io.netty.handler.", "allocpool.echo.",
    )),
)  # fmt: skip
"""What a class of objects is part of, by the start of its name; the first match counts."""


def rollup() -> dict[str, float]:
    """Return resident, proportional and unique set size of this process, MiB (``/proc/self/smaps_rollup``, proc(5))."""
    sizes_kb: dict[str, int] = {}
    for line in Path("/proc/self/smaps_rollup").read_text(encoding="utf-8").splitlines()[1:]:
        name, _, value = line.partition(":")
        sizes_kb[name] = int(value.split()[0])
    unique_kb = sizes_kb["Private_Clean"] + sizes_kb["Private_Dirty"]
    return {"rss_mb": sizes_kb["Rss"] / 1024, "pss_mb": sizes_kb["Pss"] / 1024, "uss_mb": unique_kb / 1024}


def settle(sign: int, patience_s: float, steady_s: float) -> float:
    """Wait until resident memory has stopped to grow (``sign`` 1) or to shrink (-1), and return it, MiB.

    Threads that have started touch their stacks first. G1 gives regions back in steps, the first of them 100 ms after
    the collection that freed them (JDK-8236926, JDK-8257974).
    """
    give_up_s = time.monotonic() + patience_s
    furthest_mb = now_mb = rollup()["rss_mb"]
    since_s = time.monotonic()
    while time.monotonic() < give_up_s and time.monotonic() - since_s < steady_s:
        time.sleep(_LOOK_S)
        now_mb = rollup()["rss_mb"]
        if sign * (now_mb - furthest_mb) > _STEADY_MB:
            furthest_mb, since_s = now_mb, time.monotonic()
    return now_mb


def stacks_bytes(stack_bytes: int) -> int:
    """Return resident bytes of the thread stacks: anonymous mappings of a stack's size, with or without guard pages."""
    resident_bytes, is_stack = 0, False
    with Path("/proc/self/smaps").open(encoding="utf-8") as lines:
        for line in lines:
            if mapping := _MAPPING.match(line):
                size = int(mapping[2], 16) - int(mapping[1], 16)
                of_size = stack_bytes - (96 << 10) <= size <= stack_bytes + (16 << 10)
                is_stack = of_size and mapping[3] == "rw-p" and not mapping[5]
            elif is_stack and line.startswith("Rss:"):
                resident_bytes += int(line.split()[1]) * 1024
    return resident_bytes


class _Mallinfo2(ctypes.Structure):
    """Ten sizes; the fifth (``hblkhd``) are mapped blocks, the eighth (``uordblks``) is in use in arenas."""

    _fields_ = (("sizes", ctypes.c_size_t * 10),)


def c_heap_bytes() -> int | None:
    """Return bytes in use of the C library's heap, all arenas and mapped blocks (``mallinfo2``); None before glibc
    2.33."""
    try:
        mallinfo2 = ctypes.CDLL(None).mallinfo2
    except AttributeError:
        return None
    mallinfo2.restype = _Mallinfo2
    sizes = mallinfo2().sizes
    return int(sizes[7]) + int(sizes[4])


def trim_c_heap() -> None:
    """Give the pages of the C library's heap that hold no block in use back to the kernel (``malloc_trim(3)``), as a
    full collection does with the Java heap; nothing where the C library can't."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def native_stack_bytes() -> int:
    """Return the size of a C++ thread's stack: the soft limit at the start of the process, as glibc takes it."""
    soft, _ = resource.getrlimit(resource.RLIMIT_STACK)
    return _DEFAULT_STACK_BYTES if soft == resource.RLIM_INFINITY else soft


def _management() -> Any:
    return jvm.java_class("java.lang.management.ManagementFactory")


def _diagnostics() -> Any:
    return _management().getPlatformMXBean(jvm.java_class("com.sun.management.HotSpotDiagnosticMXBean"))


def java_stack_bytes() -> int:
    """Return the size of a platform thread's stack, as a flag set it or the JVM chose."""
    return int(str(_diagnostics().getVMOption("ThreadStackSize").getValue())) * 1024


def java_heap() -> dict[str, float]:
    """Return used and committed Java heap, MiB, garbage included."""
    usage = _management().getMemoryMXBean().getHeapMemoryUsage()
    return {"heap_used_mb": int(usage.getUsed()) / 2**20, "heap_committed_mb": int(usage.getCommitted()) / 2**20}


def code_and_metadata_bytes() -> int:
    """Return what the JVM uses besides heap and C library: compiled code and metadata of classes."""
    return int(_management().getMemoryMXBean().getNonHeapMemoryUsage().getUsed())


def let_heap_shrink() -> None:
    """Let the next full collection give back what it frees: under load the JVM keeps its own proportions."""
    for option, value in (("MinHeapFreeRatio", "0"), ("MaxHeapFreeRatio", "1")):
        _diagnostics().setVMOption(option, value)


def heap_by_kind(histogram: str, byte_arrays: str) -> dict[str, int]:
    """Return live bytes of a class histogram (``jcmd GC.class_histogram``) by what they are part of.

    Args:
        histogram: the table, as ``jcmd`` prints it.
        byte_arrays: the kind of arrays of bytes, which depends on the way of I/O.
    """
    kinds = dict.fromkeys([name for name, _ in _KINDS] + ["other"], 0)
    for line in histogram.splitlines():
        if row := _HISTOGRAM_LINE.match(line):
            kinds[byte_arrays if row[2] == "[B" else _kind(row[2])] += int(row[1])
    return kinds


def _kind(class_name: str) -> str:
    return next((kind for kind, starts in _KINDS if class_name.startswith(starts)), "other")
