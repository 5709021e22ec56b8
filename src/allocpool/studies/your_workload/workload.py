"""The reader's own workload, in the reader's units, and the trials that it becomes.

Every parameter is a row of `SETTINGS`: the command line, the notebook and errors are made of it. What can't be (a rate
beyond the source, more in flight than memory holds) is refused in one line with the nearest that can.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple, get_args

from annotated_types import Le
from pydantic import BaseModel, ConfigDict, ValidationError

from allocpool.errors import UserError, from_validation, unknown_choice
from allocpool.machine.allocators import ALLOCATORS
from allocpool.machine.memory import available_memory_mb
from allocpool.runtimes import COLLECTORS, FEATURES, check_release, collector_named, collectors_on
from allocpool.runtimes.flags import needed_mb
from allocpool.studies.your_workload.sizes import (
    LARGEST_BYTES,
    SMALLEST_BYTES,
    Sizes,
    checked_sizes,
    mean_bytes,
    parse_sizes,
)
from allocpool.studies.your_workload.specs import (
    MOST_MESSAGES,
    MOST_THREADS,
    Arrivals,
    Layout,
    MessagesSpec,
    Replacement,
    buffer_mb,
    heap_live_mb,
)

CHOOSE = "choose"
"""In place of a collector: compare those of the runtime."""
ALLOC, POOL, MIX, NETTY, REUSE = "alloc", "pool", "mix", "netty", "reuse"
VARIANTS = ("mix", "netty", "fitted", "zeroed")
"""What may be measured beside allocation and the pool: a small pool with overflow, Netty's, a pool whose size classes
are fitted, one that clears what it hands out."""
CHANGEABLE = ("in_flight", "bytes", "kept", "live", "garbage")
"""Parameters that robustness is asked of, one at a time."""

_HEAP_USED = 0.85
"""Of a heap, the most that may be alive: beyond it a collector does little else but collect."""
_LIMITS = MessagesSpec.model_fields["rate_per_s"].metadata
MOST_PER_S = next(float(str(limit.le)) for limit in _LIMITS if isinstance(limit, Le))
"""Messages a second that the source can be asked for."""
_DAY_S = 86_400.0


class Cell(NamedTuple):
    """One configuration of the reader's workload: what trials of it share.

    ``rate_per_s``: None for as fast as it goes. ``changed``: the parameter that is not the reader's, of `CHANGEABLE`,
    and its ``value``; bytes are a mean.
    """

    collector: str
    strategy: str
    rate_per_s: float | None = None
    changed: str = ""
    value: float = 0.0


class Workload(BaseModel):
    """The parameters as understood: numbers in the units of their names."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rate_per_s: float
    sizes: Sizes
    mean_bytes: float
    filled_share: float
    read_share: float
    arrivals: Arrivals
    burst_length: int
    delay_ms: float
    loss_ppm: float
    in_flight: int
    kept_share: float
    kept_for_s: float
    kept_count: int
    replacement: Replacement
    temporaries: int
    temporary_bytes: int
    live_mb: float
    changed_mb_per_s: float
    garbage_mb_per_s: float
    threads: int
    layout: Layout
    collector: str
    runtime: int
    heap_mb: int
    direct_mb: int
    direct_follows: bool
    jvm_flags: tuple[str, ...]
    allocator: str
    trace: str | None
    also: tuple[str, ...]
    trial_s: float
    warmup_s: float

    @property
    def held(self) -> int:
        """Messages alive at a time."""
        return self.in_flight + self.kept_count

    @property
    def pooled(self) -> str:
        """The strategy that stands against allocation: a pool, or one buffer where nothing is ever in flight."""
        return POOL if self.held else REUSE

    @property
    def sides(self) -> tuple[str, str]:
        """Allocation and what stands against it."""
        return ALLOC, self.pooled

    @property
    def strategies(self) -> tuple[str, ...]:
        """The two sides, then what is measured besides."""
        return (*self.sides, *(self.also if self.held else ()))

    @property
    def collectors(self) -> tuple[str, ...]:
        """The collector, or those to choose from: a control that never frees is no choice."""
        if self.layout == "malloc":
            return ("",)
        if self.collector != CHOOSE:
            return (self.collector,)
        return tuple(name for name in collectors_on(self.runtime) if not collector_named(name).is_control)

    def live_in_mb(self, strategy: str = POOL) -> tuple[float, float]:
        """What is alive at a time, MiB: in the heap, and in direct or native memory."""
        stated = {**self.model_dump(), **_stated_by(strategy)}
        buffers_mb = buffer_mb(stated)
        if self.layout == "malloc":
            return 0.0, self.live_mb + buffers_mb
        return heap_live_mb(stated), buffers_mb if self.layout == "native" else 0.0

    def changed_to(self, name: str, value: float) -> Workload:
        """The same with another value of one of `CHANGEABLE`.

        Raises:
            UserError: there is no room for it.
        """
        if not name:
            return self
        if name == "bytes" and self.trace:
            raise UserError("a capture has its own sizes")
        updates: dict[str, Any] = {}
        if name == "in_flight":
            updates = {"in_flight": round(value)}
        elif name == "bytes":
            factor = value / self.mean_bytes
            scaled = checked_sizes(
                (min(LARGEST_BYTES, max(SMALLEST_BYTES, round(size * factor))), weight) for size, weight in self.sizes
            )
            updates = {"sizes": scaled, "mean_bytes": mean_bytes(scaled)}
        elif name == "kept":
            kept_for_s = self.kept_for_s or _KEPT_FOR_S
            updates = {
                "kept_share": value, "kept_for_s": kept_for_s,
                "kept_count": max(1, round(self.rate_per_s * value * kept_for_s)),
            }  # fmt: skip
        elif name == "live":
            updates = {"live_mb": round(value)}
        else:
            updates = {"garbage_mb_per_s": value}
        changed = _with_direct_memory(self.model_copy(update=updates))
        return checked(changed) if self.layout == "malloc" else _roomy(changed)

    def value_of(self, name: str) -> float:
        """The reader's value of one of `CHANGEABLE`."""
        return float({
            "in_flight": self.in_flight, "bytes": self.mean_bytes, "kept": self.kept_share, "live": self.live_mb,
            "garbage": self.garbage_mb_per_s,
        }[name])  # fmt: skip

    def spec_of(self, cell: Cell, block: int) -> MessagesSpec:
        """The trial number ``block`` of a cell.

        Raises:
            UserError: no trial can state that.
        """
        own = self.changed_to(cell.changed, cell.value)
        java = own.layout != "malloc"
        # A trial that paces must be long against the delay that it tolerates.
        seconds = own.trial_s if cell.rate_per_s is None else max(own.trial_s, 20 * own.delay_ms / 1e3)
        stated: dict[str, Any] = {
            "language": "java" if java else "cpp", "layout": own.layout, **_stated_by(cell.strategy),
            "filled_share": own.filled_share, "read_share": own.read_share, "in_flight": own.in_flight,
            "kept_share": own.kept_share, "kept_count": own.kept_count, "replacement": own.replacement,
            "temporaries": own.temporaries, "temporary_bytes": own.temporary_bytes, "live_mb": own.live_mb,
            "changed_mb_per_s": own.changed_mb_per_s, "garbage_mb_per_s": own.garbage_mb_per_s,
            "threads": own.threads, "seconds": seconds, "warmup_seconds": own.warmup_s, "block": block,
            **({"sizes": own.sizes} if own.trace is None else {"trace": own.trace}),
        }  # fmt: skip
        if cell.rate_per_s is not None:  # as fast as it goes nothing is due, and nothing late
            stated |= {
                "rate_per_s": cell.rate_per_s, "arrivals": own.arrivals, "burst_length": own.burst_length,
                "delay_ms": own.delay_ms,
            }  # fmt: skip
        if java:
            stated |= {
                "runtime": own.runtime, "collector": cell.collector, "heap_mb": own.heap_mb,
                "direct_mb": own.direct_mb or None, "jvm_flags": own.jvm_flags,
            }  # fmt: skip
        else:
            stated |= {"allocator": own.allocator}
        try:
            return MessagesSpec(**stated)
        except ValidationError as error:
            raise from_validation("workload", error, MessagesSpec) from None


def _stated_by(strategy: str) -> dict[str, Any]:
    """What a strategy or a variant of the pool says of a spec."""
    return {
        "strategy": {"fitted": POOL, "zeroed": POOL}.get(strategy, strategy),
        "classes": "fitted" if strategy == "fitted" else "power_of_two",
        "zeroing": strategy == "zeroed",
    }


def checked(workload: Workload) -> Workload:
    """The workload, if this machine and its heap have room for it.

    Raises:
        UserError: they don't; one line with the nearest that can.
    """
    if workload.layout == "malloc":
        _room_for(workload, available_memory_mb(), 1, "the machine's free memory", "", 0)
        return workload
    available_mb = available_memory_mb()
    direct_mb = workload.direct_mb if workload.layout == "native" else 0
    if needed_mb(workload.heap_mb, direct_mb) > available_mb:
        share = available_mb / needed_mb(workload.heap_mb, direct_mb)
        asked, most = (
            f"--heap {int(factor * workload.heap_mb)}m"
            + (f" with --direct {int(factor * direct_mb)}m" * (direct_mb > 0))
            for factor in (1.0, 0.95 * share)
        )
        raise UserError(f"{asked} is more than this machine's {available_mb} MiB of free memory: at most {most}")
    for name in workload.collectors:
        smallest_mb = collector_named(name).smallest_heap_mb
        if workload.heap_mb < smallest_mb:
            raise UserError(f"--heap {workload.heap_mb}m is too small for {name}: at least {smallest_mb}m")
    return _roomy(workload)


def _roomy(workload: Workload) -> Workload:
    """The workload, if its heap and its direct memory have room for what is alive; raises as `checked`."""
    direct_mb = workload.direct_mb if workload.layout == "native" else 0
    _room_for(workload, int(_HEAP_USED * workload.heap_mb), 0, "the heap", "heap", workload.heap_mb)
    if direct_mb:
        _room_for(workload, direct_mb, 1, "direct memory", "direct", workload.direct_mb)
    return workload


def _room_for(workload: Workload, room_mb: int, which: int, where: str, setting: str, given_mb: int) -> None:
    """Refuse what is alive beyond ``room_mb``; ``which`` is the place in `Workload.live_in_mb`."""
    live_mb = workload.live_in_mb(workload.pooled)[which]
    if live_mb <= room_mb:
        return
    fixed_mb = workload.live_mb if which == 0 else 0
    if fixed_mb > room_mb:
        raise UserError(
            f"--live {workload.live_mb:g}m does not fit into {where} ({given_mb} MiB): at most --live {room_mb}m, "
            f"or --heap {math.ceil(live_mb / _HEAP_USED)}m"
        )
    most = _down(workload.held * (room_mb - fixed_mb) / (live_mb - fixed_mb))
    larger = f", or --{setting} {math.ceil(live_mb / (_HEAP_USED if setting == 'heap' else 1))}m" if setting else ""
    if workload.kept_count > workload.in_flight:
        kept_for_s = max(0.0, workload.kept_for_s * (most - workload.in_flight) / workload.kept_count)
        nearest = f"--for {math.floor(kept_for_s * 1e3)}ms"
    else:
        nearest = f"--in-flight {max(0, most - workload.kept_count)}"
    raise UserError(
        f"{workload.held:,} messages of {workload.mean_bytes:,.0f} bytes alive at a time take {live_mb:,.0f} MiB, "
        f"beyond {where} ({room_mb:,} MiB to use): at most {nearest}{larger}"
    )


def _down(value: float) -> int:
    """A little less, in three significant digits."""
    if value < 100:
        return max(0, math.floor(value) - 1)
    grain = int(10 ** (math.floor(math.log10(value)) - 2))
    return math.floor(value / grain) * grain - grain


# What a reader types.

_UNITS_S = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_UNITS_MB = {"k": 2.0**-10, "m": 1.0, "g": 2.0**10, "t": 2.0**20}
_THOUSANDS = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9}
_WITH_UNIT = re.compile(r"\s*([-+]?[0-9._]+(?:e[-+]?[0-9]+)?)\s*([a-z%]*)\s*", re.IGNORECASE)


def _parted(text: str) -> tuple[float, str]:
    """The number and the unit of a word; NaN where it has none."""
    found = _WITH_UNIT.fullmatch(text)
    try:
        return (float(found.group(1)), found.group(2).lower()) if found else (math.nan, "")
    except ValueError:
        return math.nan, ""


def _number(low: float, high: float, example: str, zero: bool = False) -> Callable[[str], float]:
    """A number from ``low`` to ``high``, or 0 where ``zero``; with k, m or g for powers of a thousand."""

    def read(text: str) -> float:
        value, unit = _parted(text)
        value *= _THOUSANDS.get(unit, math.nan)
        if not (low <= value <= high or (zero and value == 0)):
            raise ValueError(f"a number from {low:g} to {high:g}, for example {example}")
        return value

    return read


def _whole(low: int, high: int, example: str) -> Callable[[str], int]:
    def read(text: str) -> int:
        value, unit = _parted(text)
        value *= _THOUSANDS.get(unit, math.nan)
        if not (low <= value <= high) or value != int(value):
            raise ValueError(f"a whole number from {low} to {high}, for example {example}")
        return int(value)

    return read


def _share(text: str) -> float:
    value, unit = _parted(text)
    value = value / 100 if unit == "%" else value if not unit else math.nan
    if not 0 <= value <= 1:
        raise ValueError("a share from 0 to 1 or 0% to 100%, for example 6%")
    return value


def _seconds(low: float, high: float, example: str) -> Callable[[str], float]:
    def read(text: str) -> float:
        value, unit = _parted(text)
        value *= _UNITS_S.get(unit, 1.0 if value == 0 and not unit else math.nan)
        if not low <= value <= high:
            raise ValueError(f"a time with its unit (us, ms, s, m, h), {_time(low)} to {_time(high)}, as {example}")
        return value

    return read


def _time(seconds: float) -> str:
    return f"{seconds * 1e3:g}ms" if 0 < seconds < 1 else f"{seconds:g}s"


def _mb(low: int, example: str) -> Callable[[str], int]:
    def read(text: str) -> int:
        value, unit = _parted(text)
        value *= _UNITS_MB.get(unit.removesuffix("ib").removesuffix("b"), 0.0 if value == 0 and not unit else math.nan)
        if not (low <= value <= 2**26):
            raise ValueError(f"memory with its unit (k, m, g), {low}m or more, for example {example}")
        return math.ceil(value)

    return read


def _mb_per_s(text: str) -> float:
    value, unit = _parted(text.strip().removesuffix("/s"))
    value *= _UNITS_MB.get(unit.removesuffix("ib").removesuffix("b"), 0.0 if value == 0 and not unit else math.nan)
    if not 0 <= value <= 1e5:
        raise ValueError("memory a second with its unit (k, m, g), for example 200m")
    return value


def _word(what: str, valid: tuple[object, ...]) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in map(str, valid):
            raise ValueError(str(unknown_choice(what, text, valid)))
        return text

    return read


def _release(text: str) -> str:
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"a feature release of Java, {FEATURES[0]} or newer, for example {FEATURES[-1]}")
    return str(check_release(int(text)))


def _variants(text: str) -> tuple[str, ...]:
    words = tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))
    for word in words:
        _word("variant", VARIANTS)(word)
    return words


def _flags(text: str) -> tuple[str, ...]:
    flags = tuple(text.split())
    for flag in flags:
        if not flag.startswith("-"):
            raise ValueError(f"a flag starts with -, for example -XX:MaxGCPauseMillis=20, {flag!r} does not")
        if re.match(r"-XX:\+Use\w+GC$|-Xm[sx]|-Xlog|-XX:MaxDirectMemorySize", flag):
            raise ValueError(f"{flag} is not yours to give: use --collector, --heap and --direct; the log is ours")
    return flags


def _file(text: str) -> str:
    path = Path(text).expanduser()
    if not path.is_file():
        raise ValueError(f"there is no file {path}")
    return str(path.resolve())


@dataclass(frozen=True)
class Setting:
    """One parameter: ``name`` as in the shell without dashes, its ``group`` in the help, ``read`` from a word (raises
    ValueError that says what is valid), its ``default`` as a word, None where it has none."""

    name: str
    group: str
    read: Callable[[str], Any]
    default: str | None
    metavar: str
    help: str

    @property
    def key(self) -> str:
        """In Python and JSON."""
        return self.name.replace("-", "_")


MESSAGES, REST, JVM, PROGRAM, TRIALS = (
    "Messages", "The rest of the program", "Runtime", "Taken from your program", "What is measured",
)  # fmt: skip
_KEPT_FOR_S = 10.0
_ARRIVALS = tuple(word for word in get_args(Arrivals) if word != "captured")
_ROWS = (
    Setting("rate", MESSAGES, _number(1, MOST_PER_S, "1e6"), "100000", "N", "messages a second"),
    Setting("bytes", MESSAGES, str, "1024", "SIZES",
            "size: 512, or 64:0.7,1500:0.3 (weights), lognormal:MEDIAN:SIGMA, histogram:FILE.csv"),
    Setting("in-flight", MESSAGES, _whole(0, MOST_MESSAGES, "20000"), "10000", "N", "messages held until handled"),
    Setting("kept", MESSAGES, _share, "0%", "SHARE", "of the messages, the share that is kept for longer"),
    Setting("for", MESSAGES, _seconds(0, _DAY_S, "30s"), None, "TIME", f"how long (default {_KEPT_FOR_S:g}s)"),
    Setting("kept-count", MESSAGES, _whole(0, MOST_MESSAGES, "500000"), None, "N", "or how many are kept at a time"),
    Setting("replacement", MESSAGES, _word("replacement", get_args(Replacement)), "random", "WORD",
            "which kept message goes when one comes: random or oldest"),
    Setting("delay", MESSAGES, _seconds(1e-4, 60.0, "50ms"), "100ms", "TIME", "tolerated; later a message is lost"),
    Setting("loss-ppm", MESSAGES, _number(1e-3, 1e6, "200", zero=True), "0", "N", "tolerated losses, of a million"),
    Setting("touch-filled", MESSAGES, _share, "100%", "SHARE", "of a message's bytes written when it is filled"),
    Setting("touch-read", MESSAGES, _share, "100%", "SHARE", "of a message's bytes read when it is handled"),
    Setting("arrivals", MESSAGES, _word("arrivals", _ARRIVALS), "steady", "WORD", "steady, poisson or on_off"),
    Setting("burst", MESSAGES, _whole(1, 10**8, "100"), "1", "N", "messages that arrive together"),
    Setting("temporaries", MESSAGES, _whole(0, 1000, "3"), "0", "N", "short-lived objects besides, for each message"),
    Setting("temporary-bytes", MESSAGES, _whole(16, 2**20, "48"), "32", "N", "bytes of each"),
    Setting("live", REST, _mb(0, "500m"), "0", "SIZE", "linked objects that live besides"),
    Setting("changed", REST, _mb_per_s, "0", "SIZE", "of these, what changes a second"),
    Setting("garbage", REST, _mb_per_s, "0", "SIZE", "garbage that the rest makes a second"),
    Setting("threads", REST, _whole(1, MOST_THREADS, "4"), "1", "N", "that handle messages, each its share of them"),
    Setting("collector", JVM, _word("collector", (*COLLECTORS, CHOOSE)), "g1", "NAME",
            f"{', '.join(COLLECTORS)}; or {CHOOSE}: compare those of the runtime"),
    Setting("runtime", JVM, _release, str(max(FEATURES)), "N",
            f"Java feature release: {FEATURES[0]} or newer, of those that `allocpool doctor` finds"),
    Setting("heap", JVM, _mb(1, "4g"), "1g", "SIZE", "of Java"),
    Setting("direct", JVM, _mb(0, "1g"), None, "SIZE", "direct memory (default: twice what is alive, layout native)"),
    Setting("jvm-flag", JVM, _flags, "", "FLAG", "your own; may be repeated"),
    Setting("layout", JVM, _word("layout", get_args(Layout)), "array", "WORD",
            "array (byte[]), heap or native ByteBuffer, malloc (C++)"),
    Setting("allocator", JVM, _word("allocator", tuple(ALLOCATORS)), "glibc", "NAME", "of layout malloc"),
    Setting("also", TRIALS, _variants, "", "WORDS", f"besides allocation and the pool: {', '.join(VARIANTS)}"),
    Setting("trial", TRIALS, _seconds(0.1, 600.0, "2s"), "2s", "TIME", "measured in each trial"),
)  # fmt: skip
SETTINGS: dict[str, Setting] = {row.key: row for row in _ROWS}


def understood(given: Mapping[str, object], guessed: Mapping[str, str] | None = None, trace: Any = None) -> Workload:
    """The workload that these parameters say, each a word as in the shell; ``guessed``: what a recording of the
    program says, where nothing is given; ``trace``: a prepared capture, which replaces rate and sizes.

    Raises:
        UserError: a parameter that there is not, a word that is none, or what can't be; one line.
    """
    for key in given:
        if key not in SETTINGS:
            near = get_close_matches(key, SETTINGS, 1)
            hint = f"did you mean {near[0]}? " if near else ""
            raise UserError(f"unknown parameter {key!r}: {hint}choose one of {', '.join(SETTINGS)}")
    words = {key: _as_word(value) for key, value in given.items() if value is not None}
    words = {**{row.key: row.default for row in _ROWS if row.default is not None}, **(guessed or {}), **words}
    values: dict[str, Any] = {}
    for key, word in words.items():
        try:
            values[key] = SETTINGS[key].read(word)
        except ValueError as error:
            name = SETTINGS[key].name
            found = str(error)
            raise UserError(
                f"--{name}: {found}" if found.startswith("unknown") else f"--{name} {word!r}: {found}"
            ) from None
    if trace is not None and (stated := [f"--{key}" for key in ("bytes", "arrivals", "burst") if given.get(key)]):
        raise UserError(f"{', '.join(stated)} and --pcap exclude each other: a capture has its own")
    workload = checked(_workload(values, given, trace))
    for strategy in workload.strategies:
        if reason := workload.spec_of(Cell(workload.collectors[0], strategy, workload.rate_per_s), 0).impossible():
            raise UserError(reason)
    return workload


def _as_word(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _workload(values: Mapping[str, Any], given: Mapping[str, object], trace: Any) -> Workload:
    sizes = _sizes(str(values["bytes"])) if trace is None else trace.sizes
    captured = None if trace is None else trace.rate_per_s
    rate = values["rate"]
    if trace is not None and given.get("rate") is None:
        if captured is None:
            raise UserError("the capture has no rate, as no time passes in it: give --rate")
        rate = captured
    if trace is not None and rate > MOST_PER_S:
        raise UserError(
            f"the capture has {rate:,.0f} messages a second: the source sends at most {MOST_PER_S:,.0f}; give --rate"
        )
    kept_for_s, kept_count = _kept(values, given, rate)
    layout = values["layout"]
    runtime, collector = int(values["runtime"]), values["collector"]
    if collector != CHOOSE and not collector_named(collector).is_on(runtime):
        raise UserError(
            f"Java {runtime} has no collector {collector}: choose one of {', '.join(collectors_on(runtime))}"
        )
    if layout == "malloc" and collector == CHOOSE:
        raise UserError("--collector choose: C++ (layout malloc) has none; choose layout array, heap or native")
    if layout == "malloc" and "netty" in values["also"]:
        raise UserError("--also netty: a library of Java; choose layout array, heap or native")
    if values["changed"] > 0 and values["live"] == 0:
        raise UserError("--changed needs --live: nothing lives besides that could change")
    if values["arrivals"] == "on_off" and values["burst"] < 2:
        raise UserError("--arrivals on_off needs --burst: how many messages come together, for example --burst 1000")
    if 0 < values["in_flight"] < values["threads"] or 0 < kept_count < values["threads"]:
        few = "in-flight" if 0 < values["in_flight"] < values["threads"] else "kept-count"
        raise UserError(f"--{few} is 0 or at least one for each of --threads {values['threads']}")
    if values["trial"] * rate < 100:
        raise UserError(
            f"--trial {values['trial']:g}s at --rate {rate:g} has {values['trial'] * rate:.0f} messages, too few to "
            f"measure: at least --trial {math.ceil(100 / rate)}s"
        )
    workload = Workload(
        rate_per_s=rate, sizes=sizes, mean_bytes=mean_bytes(sizes), filled_share=values["touch_filled"],
        read_share=values["touch_read"], arrivals=values["arrivals"] if captured is None else "captured",
        burst_length=values["burst"],
        delay_ms=values["delay"] * 1e3, loss_ppm=values["loss_ppm"], in_flight=values["in_flight"],
        kept_share=values["kept"], kept_for_s=kept_for_s, kept_count=kept_count, replacement=values["replacement"],
        temporaries=values["temporaries"], temporary_bytes=values["temporary_bytes"], live_mb=values["live"],
        changed_mb_per_s=values["changed"], garbage_mb_per_s=values["garbage"], threads=values["threads"],
        layout=layout, collector="" if layout == "malloc" else collector, runtime=runtime, heap_mb=values["heap"],
        direct_mb=values.get("direct", 0), direct_follows=layout == "native" and "direct" not in values,
        jvm_flags=values["jvm_flag"], allocator=values["allocator"],
        trace=None if trace is None else str(trace.path), also=values["also"], trial_s=values["trial"],
        warmup_s=values["trial"] / 2,
    )  # fmt: skip
    return _with_direct_memory(workload)


def _with_direct_memory(workload: Workload) -> Workload:
    """With direct memory for twice what is alive, where the reader gives no limit."""
    if not workload.direct_follows:
        return workload
    return workload.model_copy(update={"direct_mb": 64 + math.ceil(2 * workload.live_in_mb(workload.pooled)[1])})


def _sizes(text: str) -> Sizes:
    try:
        return parse_sizes(text)
    except UserError as error:
        raise UserError(f"--bytes: {error}") from None


def _kept(values: Mapping[str, Any], given: Mapping[str, object], rate: float) -> tuple[float, int]:
    """For how long a message is kept, seconds, and how many are at a time."""
    share = values["kept"]
    if "kept_count" in values and "for" in values:
        raise UserError("--for and --kept-count exclude each other: how many are kept follows from how long")
    if share == 0:
        for key in ("for", "kept_count"):
            if values.get(key):
                raise UserError(f"--{SETTINGS[key].name} needs --kept: the share of messages that is kept, such as 6%")
        return 0.0, 0
    if "kept_count" in values:
        if not values["kept_count"]:
            raise UserError("--kept-count 0 with --kept: nothing could be kept; leave out --kept")
        return values["kept_count"] / (rate * share), int(values["kept_count"])
    kept_for_s = float(values.get("for", _KEPT_FOR_S))
    if kept_for_s == 0:
        raise UserError("--for 0s with --kept: nothing could be kept; leave out --kept")
    return kept_for_s, max(1, round(rate * share * kept_for_s))
