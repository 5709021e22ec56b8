"""Whether the work took place: what the JVM counted against what was asked for. An allocation that escape analysis
removed is missing from the JVM's counter of a thread's allocated bytes."""

from __future__ import annotations

_HEADER = (12, 40)
"""Least and most bytes of an array in addition to its content: header, length, alignment."""
_BUFFER = (32, 120)
"""The same of the object in front of a heap array."""
_NATIVE = (40, 1024)
"""What stands on the heap for memory off it: the buffer or segment, its cleaner, its arena."""
_SLICE = (16, 200)
_POOLED = (0, 1)


def bytes_per_buffer(technique: str, strategy: str, size: int) -> tuple[float, float]:
    """Return the least and most bytes that one buffer of ``size`` bytes can take on the Java heap."""
    if strategy == "pool":
        return _POOLED
    if technique == "byte_array":
        return size + _HEADER[0], size + _HEADER[1]
    if technique == "heap_buffer":
        return size + _HEADER[0] + _BUFFER[0], size + _HEADER[1] + _BUFFER[1]
    return _SLICE if technique == "arena_slicing" else _NATIVE


def heap_fault(technique: str, strategy: str, size: int, buffers: int, allocated_bytes: int) -> str | None:
    """Return one line where the JVM's counter contradicts the arithmetic; None where both agree."""
    low, high = bytes_per_buffer(technique, strategy, size)
    mean_bytes = allocated_bytes / buffers
    if low <= mean_bytes <= high:
        return None
    return (
        f"{mean_bytes:.1f} bytes of heap per buffer were counted by the JVM, where {low} to {high} are possible: "
        "the allocation was skipped, or something else allocates"
    )


def direct_fault(size: int, buffers: int, direct_buffers: int, direct_bytes: int) -> str | None:
    """Return one line where the JVM's counters of direct memory contradict a round that is alive, or None."""
    if direct_buffers >= buffers and direct_bytes >= buffers * size:
        return None
    return (
        f"{direct_buffers} direct buffers of {direct_bytes} bytes in all were counted by the JVM, "
        f"where {buffers} of {size} bytes are alive: the allocation was skipped"
    )
