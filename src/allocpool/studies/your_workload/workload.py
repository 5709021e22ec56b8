"""The reader's own workload, in the reader's units, and the trials that it becomes.

Every parameter is a field of `Workload` with its `Setting`: the command line, the notebook and errors are made of it.
What can't be (a rate beyond the source, more in flight than memory holds) is refused in one line with the nearest that
can.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Annotated, Any, NamedTuple, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from allocpool.errors import UserError, from_validation, unknown_choice
from allocpool.machine.allocators import ALLOCATORS
from allocpool.machine.memory import available_memory_mb
from allocpool.runtimes.collectors import COLLECTORS, FEATURES, check_release, collector_named, collectors_on
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
    MOST_PER_S,
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
"""Measured on request: a small pool with overflow, Netty's, a pool with fitted size classes, one that clears."""
CHANGEABLE = {
    "in_flight": "in_flight", "bytes": "mean_bytes", "kept": "kept_share", "live": "live_mb",
    "garbage": "garbage_mb_per_s",
}  # fmt: skip
"""Parameters that robustness is asked of, one at a time, with their field."""

_HEAP_USED = 0.85
"""Of a heap, the most that may be alive: beyond it a collector does little else but collect."""
_KEPT_FOR_S = 10.0
_DAY_MS = 86_400_000.0
_PACED = ("rate_per_s", "arrivals", "burst_length", "delay_ms")
_JAVA = ("runtime", "collector", "heap_mb", "direct_mb", "jvm_flags")


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


@dataclass(frozen=True)
class Setting:
    """What a reader types for a field: ``name`` as in the shell without dashes, ``read`` from a word (raises ValueError
    with what is valid), its ``default`` as a word or None."""

    name: str
    read: Callable[[str], Any]
    default: str | None
    metavar: str
    help: str

    @property
    def key(self) -> str:
        """In Python and JSON."""
        return self.name.replace("-", "_")


_MILLISECONDS = {"us": 1e-3, "ms": 1.0, "s": 1e3, "m": 6e4, "min": 6e4, "h": 3.6e6}
_SECONDS = {unit: factor / 1e3 for unit, factor in _MILLISECONDS.items()}
_MB = {
    f"{power}{suffix}": 2.0 ** (10 * k) for k, power in enumerate("kmgt", start=-1) for suffix in ("", "b", "ib")
}  # fmt: skip
_THOUSANDS = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9}
_WITH_UNIT = re.compile(r"\s*([-+]?[0-9._]+(?:e[-+]?[0-9]+)?)\s*([a-z%]*)(?:/s)?\s*", re.IGNORECASE)


def _quantity(
    low: float, high: float, units: Mapping[str, float], valid: str, kind: Callable[[float], Any] = float,
    zero: bool = False,
) -> Callable[[str], Any]:  # fmt: skip
    """A number with one of ``units``, from ``low`` to ``high``, or 0 where ``zero``; 0 needs no unit."""

    def read(text: str) -> Any:
        found = _WITH_UNIT.fullmatch(text)
        try:
            number, unit = (float(found.group(1)), found.group(2).lower()) if found else (math.nan, "")
        except ValueError:
            number, unit = math.nan, ""
        value = number * units.get(unit, math.nan if number or unit else 0.0)
        if not (low <= value <= high or (zero and value == 0)) or (kind is int and value != int(value)):
            raise ValueError(valid)
        return kind(value)

    return read


def _number(low: float, high: float, example: str, zero: bool = False) -> Callable[[str], Any]:
    return _quantity(
        low, high, _THOUSANDS, f"a number from {low:g} to {high:g}, for example {example}", zero=zero
    )  # fmt: skip


def _whole(low: int, high: int, example: str) -> Callable[[str], Any]:
    return _quantity(low, high, _THOUSANDS, f"a whole number from {low} to {high}, for example {example}", int)


def _time(low: float, high: float, units: Mapping[str, float], example: str) -> Callable[[str], Any]:
    span = f"{low / units['ms']:g}ms to {high / units['s']:g}s"
    return _quantity(low, high, units, f"a time with its unit (us, ms, s, m, h), {span}, as {example}")


def _memory(low: int, example: str) -> Callable[[str], Any]:
    valid = f"memory with its unit (k, m, g), {low}m or more, for example {example}"
    return _quantity(low, 2**26, _MB, valid, math.ceil)


_share = _quantity(0, 1, {"": 1.0, "%": 0.01}, "a share from 0 to 1 or 0% to 100%, for example 6%")
_mb_per_s = _quantity(0, 1e5, _MB, "memory a second with its unit (k, m, g), for example 200m")


def _word(what: str, valid: tuple[object, ...]) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in map(str, valid):
            raise ValueError(str(unknown_choice(what, text, valid)))
        return text

    return read


def _release(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"a feature release of Java, {FEATURES[0]} or newer, for example {FEATURES[-1]}")
    return check_release(int(text))


def _variants(text: str) -> tuple[str, ...]:
    words = tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))
    return tuple(map(_word("variant", VARIANTS), words))


def _flags(text: str) -> tuple[str, ...]:
    flags = tuple(text.split())
    for flag in flags:
        if not flag.startswith("-"):
            raise ValueError(f"a flag starts with -, for example -XX:MaxGCPauseMillis=20, {flag!r} does not")
        if re.match(r"-XX:\+Use\w+GC$|-Xm[sx]|-Xlog|-XX:MaxDirectMemorySize", flag):
            raise ValueError(f"{flag} is not yours to give: use --collector, --heap and --direct; the log is ours")
    return flags


_ARRIVALS = tuple(word for word in get_args(Arrivals) if word != "captured")


class Workload(BaseModel):
    """The parameters as understood, in the units of their names, with what a reader types for each."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rate_per_s: Annotated[float, Setting("rate", _number(1, MOST_PER_S, "1e6"), "100000", "N", "messages a second")]
    sizes: Annotated[
        Sizes, Setting("bytes", parse_sizes, "1024", "SIZES",
                       "size: 512, or 64:0.7,1500:0.3 (weights), lognormal:MEDIAN:SIGMA, histogram:FILE.csv")
    ]  # fmt: skip
    mean_bytes: float
    in_flight: Annotated[
        int, Setting("in-flight", _whole(0, MOST_MESSAGES, "20000"), "10000", "N", "messages held until handled")
    ]
    kept_share: Annotated[
        float, Setting("kept", _share, "0%", "SHARE", "of the messages, the share that is kept for longer")
    ]
    kept_for_s: Annotated[
        float, Setting("for", _time(0, _DAY_MS / 1e3, _SECONDS, "30s"), None, "TIME",
                       f"how long (default {_KEPT_FOR_S:g}s)")
    ]  # fmt: skip
    kept_count: Annotated[
        int, Setting("kept-count", _whole(0, MOST_MESSAGES, "500000"), None, "N", "or how many are kept at a time")
    ]
    replacement: Annotated[
        Replacement, Setting("replacement", _word("replacement", get_args(Replacement)), "random", "WORD",
                             "which kept message goes when one comes: random or oldest")
    ]  # fmt: skip
    delay_ms: Annotated[
        float, Setting("delay", _time(0.1, 6e4, _MILLISECONDS, "50ms"), "100ms", "TIME",
                       "tolerated; later a message is lost")
    ]  # fmt: skip
    loss_ppm: Annotated[
        float, Setting("loss-ppm", _number(1e-3, 1e6, "200", zero=True), "0", "N", "tolerated losses, of a million")
    ]
    filled_share: Annotated[
        float, Setting("touch-filled", _share, "100%", "SHARE", "of a message's bytes written when it is filled")
    ]
    read_share: Annotated[
        float, Setting("touch-read", _share, "100%", "SHARE", "of a message's bytes read when it is handled")
    ]
    arrivals: Annotated[
        Arrivals, Setting("arrivals", _word("arrivals", _ARRIVALS), "steady", "WORD", "steady, poisson or on_off")
    ]
    burst_length: Annotated[int, Setting("burst", _whole(1, 10**8, "100"), "1", "N", "messages that arrive together")]
    temporaries: Annotated[
        int, Setting("temporaries", _whole(0, 1000, "3"), "0", "N", "other short-lived objects a message")
    ]
    temporary_bytes: Annotated[int, Setting("temporary-bytes", _whole(16, 2**20, "48"), "32", "N", "bytes of each")]
    live_mb: Annotated[float, Setting("live", _memory(0, "500m"), "0", "SIZE", "other linked objects alive")]
    changed_mb_per_s: Annotated[float, Setting("changed", _mb_per_s, "0", "SIZE", "of these, changed a second")]
    garbage_mb_per_s: Annotated[
        float, Setting("garbage", _mb_per_s, "0", "SIZE", "garbage that the rest makes a second")
    ]
    threads: Annotated[
        int, Setting("threads", _whole(1, MOST_THREADS, "4"), "1", "N", "that handle messages, each its share of them")
    ]
    collector: Annotated[
        str, Setting("collector", _word("collector", (*COLLECTORS, CHOOSE)), "g1", "NAME",
                     f"{', '.join(COLLECTORS)}; or {CHOOSE}: compare those of the runtime")
    ]  # fmt: skip
    runtime: Annotated[
        int, Setting("runtime", _release, str(max(FEATURES)), "N",
                     f"Java feature release: {FEATURES[0]} or newer, of those that `allocpool doctor` finds")
    ]  # fmt: skip
    heap_mb: Annotated[int, Setting("heap", _memory(1, "4g"), "1g", "SIZE", "of Java")]
    direct_mb: Annotated[
        int, Setting("direct", _memory(0, "1g"), None, "SIZE",
                     "direct memory (default: twice what is alive, layout native)")
    ]  # fmt: skip
    direct_follows: bool
    jvm_flags: Annotated[tuple[str, ...], Setting("jvm-flag", _flags, "", "FLAG", "your own; may be repeated")]
    layout: Annotated[
        Layout, Setting("layout", _word("layout", get_args(Layout)), "array", "WORD",
                        "array (byte[]), heap or native ByteBuffer, malloc (C++)")
    ]  # fmt: skip
    allocator: Annotated[
        str, Setting("allocator", _word("allocator", tuple(ALLOCATORS)), "glibc", "NAME", "of layout malloc")
    ]
    trace: str | None
    also: Annotated[
        tuple[str, ...], Setting("also", _variants, "", "WORDS",
                                 f"more than allocation and the pool: {', '.join(VARIANTS)}")
    ]  # fmt: skip
    trial_s: Annotated[float, Setting("trial", _time(0.1, 600, _SECONDS, "2s"), "2s", "TIME", "measured in each trial")]
    warmup_s: float

    @property
    def held(self) -> int:
        """Messages alive at a time."""
        return self.in_flight + self.kept_count

    @property
    def pooled(self) -> str:
        """The strategy compared with allocation: a pool, or one buffer where nothing is ever in flight."""
        return POOL if self.held else REUSE

    @property
    def sides(self) -> tuple[str, str]:
        """Allocation and what is compared with it."""
        return ALLOC, self.pooled

    @property
    def strategies(self) -> tuple[str, ...]:
        """The two sides, then what else is measured."""
        return (*self.sides, *(self.also if self.held else ()))

    @property
    def collectors(self) -> tuple[str, ...]:
        """The collector, or those to choose from: a control that never frees is no choice."""
        if self.layout == "malloc":
            return ("",)
        if self.collector != CHOOSE:
            return (self.collector,)
        return tuple(name for name in collectors_on(self.runtime) if not collector_named(name).never_frees)

    def live_in_mb(self, strategy: str = POOL) -> tuple[float, float]:
        """Return what is alive at a time, MiB: in the heap, and in direct or native memory."""
        stated = {**self.model_dump(), **_stated_by(strategy)}
        buffers_mb = buffer_mb(stated)
        if self.layout == "malloc":
            return 0.0, self.live_mb + buffers_mb
        return heap_live_mb(stated), buffers_mb if self.layout == "native" else 0.0

    def changed_to(self, name: str, value: float) -> Workload:
        """Return the same with another value of one of `CHANGEABLE`.

        Raises:
            UserError: there is no room for it.
        """
        if not name:
            return self
        updates: dict[str, Any] = {CHANGEABLE[name]: round(value) if name in ("in_flight", "live") else value}
        if name == "bytes":
            if self.trace:
                raise UserError("a capture has its own sizes")
            factor = value / self.mean_bytes
            sizes = checked_sizes(
                (min(LARGEST_BYTES, max(SMALLEST_BYTES, round(size * factor))), weight) for size, weight in self.sizes
            )
            updates = {"sizes": sizes, "mean_bytes": mean_bytes(sizes)}
        if name == "kept":
            updates["kept_for_s"] = self.kept_for_s or _KEPT_FOR_S
            updates["kept_count"] = max(1, round(self.rate_per_s * value * updates["kept_for_s"]))
        changed = _with_direct_memory(self.model_copy(update=updates))
        return checked(changed) if self.layout == "malloc" else _roomy(changed)

    def value_of(self, name: str) -> float:
        """Return the reader's value of one of `CHANGEABLE`."""
        return float(getattr(self, CHANGEABLE[name]))

    def spec_of(self, cell: Cell, block: int) -> MessagesSpec:
        """Return the trial number ``block`` of a cell.

        Raises:
            UserError: no trial can state that.
        """
        own = self.changed_to(cell.changed, cell.value)
        java, paced = own.layout != "malloc", cell.rate_per_s is not None
        others = {"sizes" if own.trace else "trace", *(("allocator",) if java else _JAVA)}
        others |= set() if paced else set(_PACED)  # as fast as it goes nothing is due, and nothing late
        stated = own.model_dump(include=set(MessagesSpec.model_fields) - others)
        # A trial that paces must be long against the delay that it tolerates.
        seconds = max(own.trial_s, 20 * own.delay_ms / 1e3) if paced else own.trial_s
        stated |= {"language": "java" if java else "cpp", **_stated_by(cell.strategy), "block": block,
                   "seconds": seconds, "warmup_seconds": own.warmup_s}  # fmt: skip
        stated |= {"rate_per_s": cell.rate_per_s} if paced else {}
        stated |= {"collector": cell.collector, "direct_mb": own.direct_mb or None} if java else {}
        try:
            return MessagesSpec(**stated)
        except ValidationError as error:
            raise from_validation("workload", error, MessagesSpec) from None


_SETTING_OF = {
    name: one for name, field in Workload.model_fields.items() for one in field.metadata if isinstance(one, Setting)
}
SETTINGS: dict[str, Setting] = {one.key: one for one in _SETTING_OF.values()}


def _stated_by(strategy: str) -> dict[str, Any]:
    """What a strategy or a variant of the pool states of a spec."""
    return {
        "strategy": {"fitted": POOL, "zeroed": POOL}.get(strategy, strategy),
        "classes": "fitted" if strategy == "fitted" else "power_of_two",
        "zeroing": strategy == "zeroed",
    }


def checked(workload: Workload) -> Workload:
    """Return the workload, if this machine and its heap have room for it.

    Raises:
        UserError: they don't; one line with the nearest that can.
    """
    if workload.layout == "malloc":
        _room_for(workload, available_memory_mb(), 1, "the machine's free memory", "")
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
    """Return the workload, if its heap and its direct memory have room for what is alive; raises as `checked`."""
    _room_for(workload, int(_HEAP_USED * workload.heap_mb), 0, "the heap", "heap")
    if workload.layout == "native" and workload.direct_mb:
        _room_for(workload, workload.direct_mb, 1, "direct memory", "direct")
    return workload


def _room_for(workload: Workload, room_mb: int, which: int, where: str, setting: str) -> None:
    """Refuse what is alive beyond ``room_mb``; ``which`` is the index in `Workload.live_in_mb`."""
    live_mb = workload.live_in_mb(workload.pooled)[which]
    if live_mb <= room_mb:
        return
    fixed_mb = workload.live_mb if which == 0 else 0
    if fixed_mb > room_mb:
        raise UserError(
            f"--live {workload.live_mb:g}m does not fit into {where}: at most --live {room_mb}m, "
            f"or --heap {math.ceil(live_mb / _HEAP_USED)}m"
        )
    most = int(0.99 * workload.held * (room_mb - fixed_mb) / (live_mb - fixed_mb))
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


def understood(given: Mapping[str, object], guessed: Mapping[str, str] | None = None, trace: Any = None) -> Workload:
    """Return the workload of these parameters, each a word as in the shell; ``guessed``: what a recording of the
    program gives, where nothing is given; ``trace``: a prepared capture, which replaces rate and sizes.

    Raises:
        UserError: an unknown parameter, a word that is not valid, or what can't be; one line.
    """
    for key in given:
        if key not in SETTINGS:
            near = get_close_matches(key, SETTINGS, 1)
            hint = f"did you mean {near[0]}? " if near else ""
            raise UserError(f"unknown parameter {key!r}: {hint}choose one of {', '.join(SETTINGS)}")
    words = {key: _as_word(value) for key, value in given.items() if value is not None}
    defaults = {row.key: row.default for row in SETTINGS.values() if row.default is not None}
    words = {**defaults, **(guessed or {}), **words}
    values: dict[str, Any] = {}
    for name, row in _SETTING_OF.items():
        try:
            values |= {name: row.read(words[row.key])} if row.key in words else {}
        except (UserError, ValueError) as error:
            found = str(error)
            word = "" if found.startswith("unknown") else f" {words[row.key]!r}"
            raise UserError(f"--{row.name}{word}: {found}") from None
    workload = checked(_workload(values, given, trace))
    for strategy in workload.strategies:
        if reason := workload.spec_of(Cell(workload.collectors[0], strategy, workload.rate_per_s), 0).impossible():
            raise UserError(reason)
    return workload


def _as_word(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _workload(values: dict[str, Any], given: Mapping[str, object], trace: Any) -> Workload:
    captured = _captured(values, given, trace) if trace is not None else {"trace": None}
    stated = {**values, **captured, "warmup_s": values["trial_s"] / 2, "mean_bytes": 0.0}
    stated |= _kept(stated)
    stated["mean_bytes"] = mean_bytes(stated["sizes"])
    stated["direct_follows"] = stated["layout"] == "native" and "direct_mb" not in values
    stated = {"direct_mb": 0, **stated}
    _refuse(stated)
    stated["collector"] = "" if stated["layout"] == "malloc" else stated["collector"]
    return _with_direct_memory(Workload(**stated))


def _captured(values: Mapping[str, Any], given: Mapping[str, object], trace: Any) -> dict[str, Any]:
    """What a capture replaces."""
    if stated := [f"--{key}" for key in ("bytes", "arrivals", "burst") if given.get(key)]:
        raise UserError(f"{', '.join(stated)} and --pcap exclude each other: a capture has its own")
    rate = trace.rate_per_s if given.get("rate") is None else values["rate_per_s"]
    if rate is None:
        raise UserError("the capture has no rate, as no time passes in it: give --rate")
    if rate > MOST_PER_S:
        raise UserError(
            f"the capture has {rate:,.0f} messages a second: the source sends at most {MOST_PER_S:,.0f}; give --rate"
        )
    arrivals = "steady" if trace.rate_per_s is None else "captured"
    return {"sizes": trace.sizes, "rate_per_s": rate, "arrivals": arrivals, "trace": str(trace.path)}


def _refuse(stated: Mapping[str, Any]) -> None:
    """Refuse parameters that don't go together."""
    collector, runtime, threads, rate = (stated[name] for name in ("collector", "runtime", "threads", "rate_per_s"))
    cpp, messages = stated["layout"] == "malloc", stated["trial_s"] * rate
    few = [SETTINGS[name].name for name in ("in_flight", "kept_count") if 0 < stated[name] < threads]
    on_it = ", ".join(collectors_on(runtime))
    wrong = {
        f"Java {runtime} has no collector {collector}: choose one of {on_it}":
            collector != CHOOSE and not collector_named(collector).is_on(runtime),
        "--collector choose: C++ (layout malloc) has none; choose layout array, heap or native":
            cpp and collector == CHOOSE,
        "--also netty: a library of Java; choose layout array, heap or native": cpp and "netty" in stated["also"],
        "--changed needs --live: no other data lives that could change":
            stated["changed_mb_per_s"] > 0 and stated["live_mb"] == 0,
        "--arrivals on_off needs --burst: how many messages come together, for example --burst 1000":
            stated["arrivals"] == "on_off" and stated["burst_length"] < 2,
        f"--{' and --'.join(few)}: 0, or at least one for each of --threads {threads}": bool(few),
        f"--trial {stated['trial_s']:g}s at --rate {rate:g} has {messages:.0f} messages, too few to measure: at least "
        f"--trial {math.ceil(100 / rate)}s": messages < 100,
    }  # fmt: skip
    for why, applies in wrong.items():
        if applies:
            raise UserError(why)


def _with_direct_memory(workload: Workload) -> Workload:
    """The workload with direct memory for twice what is alive, where the reader gives no limit."""
    if not workload.direct_follows:
        return workload
    return workload.model_copy(update={"direct_mb": 64 + math.ceil(2 * workload.live_in_mb(workload.pooled)[1])})


def _kept(values: Mapping[str, Any]) -> dict[str, Any]:
    """For how long a message is kept, and how many are kept at a time."""
    share, kept_per_s = values["kept_share"], values["kept_share"] * values["rate_per_s"]
    given = {name: values[name] for name in ("kept_for_s", "kept_count") if name in values}
    if len(given) == 2:
        raise UserError("--for and --kept-count exclude each other: how many are kept follows from how long")
    for name, value in given.items():
        option = f"--{_SETTING_OF[name].name}"
        if share == 0 and value:
            raise UserError(f"{option} needs --kept: the share of messages that is kept, such as 6%")
        if share and not value:
            raise UserError(f"{option} 0 with --kept: nothing could be kept; leave out --kept")
    if share == 0:
        return {"kept_for_s": 0.0, "kept_count": 0}
    if "kept_count" in given:
        return {"kept_for_s": given["kept_count"] / kept_per_s}
    kept_for_s = given.get("kept_for_s", _KEPT_FOR_S)
    return {"kept_for_s": kept_for_s, "kept_count": max(1, round(kept_per_s * kept_for_s))}
