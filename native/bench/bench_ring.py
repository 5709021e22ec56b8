"""How fast the ring is: ticks from the native source into Java and C++ against queues that move longs Java to Java.

Rounds are interleaved and their order turns, so that whatever else the machine does meets all contenders alike. What is
compared are ratios within a round, given with their spread: the median and its 95% interval over rounds (bootstrap).
Then a paced run shows whether ticks of a given interval get through without loss.

Needs cffi, JPype and NumPy, the library built by native/CMakeLists.txt and ``mvn package`` in workloads/.
"""

from __future__ import annotations

import argparse
import gc
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cffi
import jpype
import jpype.nio
import numpy as np

ROOT = Path(__file__).resolve().parents[2]
CAPACITY = 65_536
QUEUE_MS = 100.0
PACED_WARMUP_SECONDS = 2.0
WARMUP_ROUNDS = 3
STRESS_CAPACITY = 4_096
STRESS_INTERVALS_NS = (0.0, 20.0)


def load_library(path: Path) -> tuple[cffi.FFI, Any]:
    """The native library, declared by what its header keeps between the cffi markers."""
    header = (ROOT / "native/include/allocpool.h").read_text()
    ffi = cffi.FFI()
    ffi.cdef(header.split("/* cffi:begin */")[1].split("/* cffi:end */")[0])
    return ffi, ffi.dlopen(str(path))


class Ring:
    """The source and its ring, with a consumer in either language that only reads."""

    def __init__(self, ffi: cffi.FFI, lib: Any, max_capacity: int) -> None:
        self.ffi, self.lib = ffi, lib
        self.error = ffi.new("char[256]")
        self.handle = lib.ap_realtime_create(max_capacity, 1 << 16, 1 << 16, 1 << 16, self.error, 256)
        self._require(self.handle != ffi.NULL)
        memory = ffi.buffer(lib.ap_realtime_memory(self.handle), lib.ap_realtime_memory_bytes(self.handle))
        self.memory = jpype.nio.convertToDirectBuffer(memory)
        self.java = jpype.JClass("allocpool.ring.DrainConsumer")(self.memory)

    def run(self, consumer: Any, interval_ns: float, ticks: int, warmup_ticks: int, capacity: int) -> dict[str, Any]:
        """One run into a Java consumer, or into C++ when that is None; its counters are audited."""
        clock = self.ffi.new("char[]", b"auto")
        config = self.ffi.new("ap_source_config*")
        config.interval_ns, config.capacity = interval_ns, capacity
        config.ticks, config.warmup_ticks = ticks, warmup_ticks
        config.slip_threshold_ns, config.burst_gap_ns = 10_000, 1_000_000
        config.processor, config.clock = -1, clock
        self._require(self.lib.ap_realtime_start(self.handle, config, self.error, 256) == 0)
        seen = self.ffi.new("ap_consumption*")
        if consumer is not None:
            consumer.consume(0, 0, 0)
            for name, value in zip(consumer.accountNames(), consumer.account(), strict=True):
                setattr(seen, str(name), int(value))
        else:
            all_ticks = self.ffi.new("ap_consumer_config*")
            self._require(
                self.lib.ap_realtime_consume(self.handle, self.ffi.NULL, all_ticks, seen, self.error, 256) == 0
            )
        self.lib.ap_realtime_wait(self.handle)
        self._require(self.lib.ap_realtime_audit(self.handle, seen, self.error, 256) == 0)
        account = self.ffi.new("ap_source_account*")
        self.lib.ap_realtime_get_account(self.handle, account)
        measured = seen.received - seen.warmup_received
        return {
            "ns_per_tick": (seen.end_ns - seen.measured_start_ns) / max(1, measured),
            "generated": account.generated - account.warmup_generated,
            "lost": account.lost - account.warmup_lost,
            "slip_total_ms": account.slip_total_ns / 1e6,
        }

    def _require(self, succeeded: bool) -> None:
        if not succeeded:
            raise SystemExit(self.ffi.string(self.error).decode())


def median_with_interval(values: np.ndarray, rng: np.random.Generator) -> str:
    """Median and 95% bootstrap interval, with how many values there are."""
    medians = np.median(rng.choice(values, size=(2_000, len(values))), axis=1)
    low, high = np.percentile(medians, [2.5, 97.5])
    return f"{np.median(values):6.2f}  [{low:.2f}, {high:.2f}]  n={len(values)}"


def compare(contenders: dict[str, Callable[[], float]], rounds: int) -> dict[str, np.ndarray]:
    """Nanoseconds per item of each contender in each round, interleaved."""
    names = list(contenders)
    times: dict[str, list[float]] = {name: [] for name in names}
    for number in range(-WARMUP_ROUNDS, rounds):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            ns_per_item = contenders[name]()
            if number >= 0:
                times[name].append(ns_per_item)
    return {name: np.array(values) for name, values in times.items()}


def stress(ring: Ring, ticks: int) -> None:
    """Ticks into a Java consumer that stalls at random: in order, and with counters that agree, or this ends here."""
    for interval_ns in STRESS_INTERVALS_NS:
        consumer = jpype.JClass("allocpool.ring.StallingConsumer")(ring.memory)
        run = ring.run(consumer, interval_ns, ticks, 0, STRESS_CAPACITY)
        if consumer.disorders() != 0:
            raise SystemExit(f"{consumer.disorders()} ticks came out of order")
        print(f"stress into Java at {interval_ns:g} ns: counters agree, {run['generated']} ticks, {run['lost']} lost")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", type=Path, default=ROOT / "native/build/release/liballocpool_native.so")
    parser.add_argument("--jvm", default=None, help="path of a libjvm; default: the one that JPype finds")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--items", type=int, default=20_000_000, help="ticks or longs per round")
    parser.add_argument("--interval-ns", type=float, default=10.0, help="interval of the paced run")
    parser.add_argument("--seconds", type=float, default=60.0, help="length of the paced run, 0 for none")
    parser.add_argument("--stress-ticks", type=int, default=0, help="instead: this many into a stalling consumer")
    parser.add_argument("--json", type=Path, default=None, help="file for the raw numbers")
    arguments = parser.parse_args()

    gc.disable()  # JPype may answer a collection of Python's with one of Java's
    ffi, lib = load_library(arguments.library)
    target = ROOT / "workloads/ring/target"
    jars = [
        target / "ring.jar",
        target / "test-classes",
        *target.glob("lib/*.jar"),
        *target.glob("bench-lib/*.jar"),
    ]
    flags = ["-Xmx512m", "-XX:+DisableExplicitGC", "-XX:+IgnoreUnrecognizedVMOptions"]
    flags += ["--enable-native-access=ALL-UNNAMED", "-Dagrona.disable.bounds.checks=true"]
    jpype.startJVM(arguments.jvm or jpype.getDefaultJVMPath(), *flags, classpath=[str(jar) for jar in jars])
    paced_capacity = lib.ap_realtime_capacity(QUEUE_MS, arguments.interval_ns, ffi.NULL, 0)
    ring = Ring(ffi, lib, max(CAPACITY, paced_capacity))
    if arguments.stress_ticks > 0:
        return stress(ring, arguments.stress_ticks)
    queue = jpype.JClass("allocpool.ring.QueueBenchmark")
    jctools, agrona = queue("jctools", CAPACITY), queue("agrona", CAPACITY)

    items, warmup = arguments.items, arguments.items // 10
    times = compare(
        {
            "ring, source to Java": lambda: ring.run(ring.java, 0, items, warmup, CAPACITY)["ns_per_tick"],
            "ring, source to C++": lambda: ring.run(None, 0, items, warmup, CAPACITY)["ns_per_tick"],
            "JCTools SpscArrayQueue": lambda: float(jctools.measure(items)),
            "Agrona OneToOneRingBuffer": lambda: float(agrona.measure(items)),
        },
        arguments.rounds,
    )
    rng = np.random.default_rng(1)
    print(f"ns per item, {items} items a round, saturated         median  [95% interval]")
    for name, values in times.items():
        print(f"  {name:<50}{median_with_interval(values, rng)}")
    print("time of the ring into Java / time of the other")
    for name in ("JCTools SpscArrayQueue", "Agrona OneToOneRingBuffer"):
        print(f"  {name:<50}{median_with_interval(times['ring, source to Java'] / times[name], rng)}")
    report: dict[str, Any] = {"ns_per_item": {name: values.tolist() for name, values in times.items()}}

    if arguments.seconds > 0:
        warmup = round(PACED_WARMUP_SECONDS * 1e9 / arguments.interval_ns)
        ticks = warmup + round(arguments.seconds * 1e9 / arguments.interval_ns)
        paced = ring.run(ring.java, arguments.interval_ns, ticks, warmup, paced_capacity)
        paced["interval_ns"] = arguments.interval_ns
        percentiles = (50.0, 99.0, 99.9, 99.99, 100.0)
        paced["delay_us"] = {f"p{p:g}": ring.java.delayAtPercentileNs(p) / 1e3 for p in percentiles}
        report["paced"] = paced
        print(f"ticks every {arguments.interval_ns:g} ns into Java for {arguments.seconds:g} s: {json.dumps(paced)}")
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
