"""Start the one JVM of this process, and distinguish an exhausted heap from other failures.

JPype is imported where it is called: half of all trials start no JVM.
"""

from __future__ import annotations

import sys
from typing import Any


def start(launch: dict[str, Any]) -> None:
    """Start the JVM that ``launch["jvm"]`` describes, inside this process."""
    # JPype imports numpy wherever it finds it, and no trial needs that: None says that it can't be imported.
    modules: dict[str, Any] = sys.modules
    modules.setdefault("numpy", None)
    import jpype

    jvm = launch["jvm"]
    jpype.startJVM(
        *jvm["flags"],
        jvmpath=jvm["libjvm"],
        classpath=list(jvm["classpath"]),
        convertStrings=False,
        interrupt=False,
    )


def java_class(name: str) -> Any:
    """Return a Java class by its binary name; package access through ``jpype.java`` fails on runtime 11."""
    import jpype

    return jpype.JClass(name)


def mark_end() -> None:
    """Stop the JVM's threads once, so that its log goes on beyond what was measured; nothing without a JVM."""
    import jpype

    if jpype.isJVMStarted():
        java_class("java.lang.Thread").getAllStackTraces()


def direct_buffer(memory: memoryview) -> Any:
    """Return native memory, which must outlive it, as a direct ``java.nio.ByteBuffer``."""
    import jpype.nio

    return jpype.nio.convertToDirectBuffer(memory)


def class_histogram() -> str:
    """Return what ``jcmd GC.class_histogram`` prints, after a full collection."""
    management = java_class("java.lang.management.ManagementFactory")
    commands = java_class("javax.management.ObjectName")("com.sun.management:type=DiagnosticCommand")
    strings = java_class("java.lang.String[]")
    arguments = java_class("java.lang.Object[]")([strings([])])
    signature = strings(["[Ljava.lang.String;"])
    return str(management.getPlatformMBeanServer().invoke(commands, "gcClassHistogram", arguments, signature))


def live_objects() -> int:
    """Return the number of objects on the heap after a full collection, by the class histogram."""
    label, objects, _bytes = class_histogram().strip().splitlines()[-1].split()
    if label != "Total":
        raise RuntimeError(f"a class histogram that ends in {label!r}")
    return int(objects)


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether a Java call ended because the heap, or direct memory, was exhausted."""
    import jpype

    # Libraries have kinds of their own, such as Netty's for direct memory.
    return isinstance(error, jpype.JException) and isinstance(error, java_class("java.lang.OutOfMemoryError"))
