"""The reader's own workload, in the reader's units, and the trials that it becomes.

Every parameter is a field of `Workload` with its `Setting`: the command line, the notebook and errors are made of it.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from allocpool.errors import UserError, from_validation, unknown_choice
from allocpool.machine.allocators import ALLOCATORS
from allocpool.machine.memory import available_memory_mb
from allocpool.runtimes.collectors import COLLECTORS, FEATURES, check_release, collector_named, collectors_on
from allocpool.runtimes.flags import needed_mb
from allocpool.studies.your_workload import specs
from allocpool.studies.your_workload.sizes import FORMS, Sizes, checked_sizes, mean_bytes, parse_sizes, within
from allocpool.studies.your_workload.specs import MOST_MESSAGES, MOST_PER_S, MOST_THREADS, MessagesSpec

CHOOSE = "choose"
"""In place of a collector: compare those of the runtime."""
ALLOC, POOL, MIX, NETTY, REUSE = "alloc", "pool", "mix", "netty", "reuse"
_OF_POOL: dict[str, dict[str, Any]] = {
    "fitted": {"strategy": POOL, "classes": "fitted"}, "zeroed": {"strategy": POOL, "zeroing": True},
}  # fmt: skip
VARIANTS = (MIX, NETTY, *_OF_POOL)
"""Measured on request: a small pool with overflow, Netty's, a pool with fitted size classes, one that clears."""
CHANGEABLE = {
    "in_flight": "in_flight", "bytes": "mean_bytes", "kept": "kept_share", "live": "live_mb",
    "garbage": "garbage_mb_per_s",
}  # fmt: skip
"""Parameters that robustness is asked of, one at a time, with their field."""

_HEAP_USED = 0.85
"""Of a heap, the most that may be alive: beyond it a collector does little else but collect."""
_KEPT_FOR_S = 10.0
_PACED = ("rate_per_s", "arrivals", "burst_length", "delay_ms")
_JAVA = ("runtime", "collector", "heap_mb", "direct_mb", "jvm_flags")


class Cell(NamedTuple):
    """What trials share. ``rate_per_s``: None for as fast as it goes. ``changed``: the parameter that is not the
    reader's, of `CHANGEABLE`, and its ``value``; bytes are a mean."""

    collector: str
    strategy: str
    rate_per_s: float | None = None
    changed: str = ""
    value: float = 0.0


class Setting(NamedTuple):
    """What a reader types for a field: ``name`` as in the shell without dashes, ``key`` in Python and JSON, ``read``
    from a word (raises ValueError with what is valid), its ``default`` as a word or None."""

    name: str
    key: str
    read: Callable[[str], Any]
    default: str | None
    metavar: str
    help: str


class _Unit(NamedTuple):
    what: str
    metavar: str
    factors: Mapping[str, float]
    kind: Callable[[float], Any] = float
    name: str = ""


_THOUSANDS = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9}
_NUMBER, _WHOLE = _Unit("a number", "N", _THOUSANDS), _Unit("a whole number", "N", _THOUSANDS, int)
_SHARE = _Unit("a share, 0% to 100% or a number", "SHARE", {"": 1.0, "%": 0.01})
_TIMES = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_S = _Unit("a time with its unit (us, ms, s, m, h)", "TIME", _TIMES, name=" s")
_MS = _S._replace(factors={unit: 1e3 * factor for unit, factor in _TIMES.items()}, name=" ms")
_MEMORY = {f"{power}{suffix}": 2.0 ** (10 * k) for k, power in enumerate("kmgt", -1) for suffix in ("", "b", "ib")}
_MB = _Unit("memory with its unit (k, m, g)", "SIZE", _MEMORY, math.ceil, " MiB")
_MB_PER_S = _MB._replace(what="memory a second with its unit (k, m, g)", kind=float)
_WITH_UNIT = re.compile(r"\s*([-+]?[0-9._]+(?:e[-+]?[0-9]+)?)\s*([a-z%]*)(?:/s)?\s*", re.IGNORECASE)


def _typed(name: str, read: Callable[[str], Any], default: str | None, metavar: str, words: str) -> Any:
    extra: Any = {"setting": Setting(name, name.replace("-", "_"), read, default, metavar, words)}
    return Field(json_schema_extra=extra)


def _quantity(
    name: str, unit: _Unit, low: float, high: float, example: str, default: str | None, words: str, zero: bool = False
) -> Any:
    """A field that is typed as a number with its unit, from ``low`` to ``high``, or 0 where ``zero``; 0 needs none."""

    def read(text: str) -> Any:
        found = _WITH_UNIT.fullmatch(text)
        try:
            number, suffix = (float(found.group(1)), found.group(2).lower()) if found else (math.nan, "")
        except ValueError:
            number, suffix = math.nan, ""
        value = number * unit.factors.get(suffix, math.nan if number or suffix else 0.0)
        if not (low <= value <= high or (zero and value == 0)) or (unit.kind is int and value != int(value)):
            raise ValueError(f"{unit.what} from {low:g} to {high:g}{unit.name}, for example {example}")
        return unit.kind(value)

    return _typed(name, read, default, unit.metavar, words)


def _release(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"a feature release of Java, {FEATURES[0]} or newer, for example {FEATURES[-1]}")
    return check_release(int(text), FEATURES[0])


def _one_of(what: str, valid: Sequence[str]) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in valid:
            raise unknown_choice(what, text, valid)
        return text

    return read


def _variants(text: str) -> tuple[str, ...]:
    words = dict.fromkeys(word.strip() for word in text.split(",") if word.strip())
    return tuple(map(_one_of("variant", VARIANTS), words))


def _flags(text: str) -> tuple[str, ...]:
    flags = tuple(text.split())
    for flag in flags:
        if not flag.startswith("-"):
            raise ValueError(f"a flag starts with -, for example -XX:MaxGCPauseMillis=20, {flag!r} does not")
        if re.match(r"-XX:\+Use\w+GC$|-Xm[sx]|-Xlog|-XX:MaxDirectMemorySize", flag):
            raise ValueError(f"{flag} is not yours to give: use --collector, --heap and --direct; the log is ours")
    return flags


def _chosen(name: str, valid: Sequence[str], words: str, default: str | None = None) -> Any:
    return _typed(name, _one_of(name, valid), default or valid[0], "NAME", f"{words}: {', '.join(valid)}")


class Workload(BaseModel):
    """The parameters as understood, in the units of their names, with what a reader types for each."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rate_per_s: float = _quantity("rate", _NUMBER, 1, MOST_PER_S, "1e6", "100000", "messages a second")
    sizes: Sizes = _typed("bytes", parse_sizes, "1024", "SIZES", f"size: {FORMS}")
    mean_bytes: float
    in_flight: int = _quantity("in-flight", _WHOLE, 0, MOST_MESSAGES, "20000", "10000", "messages held until handled")
    kept_share: float = _quantity("kept", _SHARE, 0, 1, "6%", "0%", "of the messages, those that are kept for longer")
    kept_for_s: float = _quantity("for", _S, 0, 86_400, "30s", None, "how long (default 10s)")
    kept_count: int = _quantity("kept-count", _WHOLE, 0, MOST_MESSAGES, "5000", None, "or how many, at a time")
    replacement: specs.Replacement = _chosen("replacement", get_args(specs.Replacement), "the kept message that goes")
    delay_ms: float = _quantity("delay", _MS, 0.1, 6e4, "50ms", "100ms", "tolerated; later it is lost")
    loss_ppm: float = _quantity("loss-ppm", _NUMBER, 1e-3, 1e6, "200", "0", "tolerated losses, of a million", True)
    filled_share: float = _quantity("touch-filled", _SHARE, 0, 1, "6%", "100%", "of a message's bytes, those written")
    read_share: float = _quantity("touch-read", _SHARE, 0, 1, "6%", "100%", "of a message's bytes, those read")
    arrivals: specs.Arrivals = _chosen("arrivals", ("steady", "poisson", "on_off"), "how messages come")
    burst_length: int = _quantity("burst", _WHOLE, 1, 10**8, "100", "1", "messages that arrive together")
    temporaries: int = _quantity("temporaries", _WHOLE, 0, 1000, "3", "0", "other short-lived objects a message")
    temporary_bytes: int = _quantity("temporary-bytes", _WHOLE, 16, 2**20, "48", "32", "bytes of each")
    live_mb: float = _quantity("live", _MB, 0, 2**26, "500m", "0", "other linked objects alive")
    changed_mb_per_s: float = _quantity("changed", _MB_PER_S, 0, 1e5, "200m", "0", "of these, changed a second")
    garbage_mb_per_s: float = _quantity("garbage", _MB_PER_S, 0, 1e5, "200m", "0", "other garbage a second")
    threads: int = _quantity("threads", _WHOLE, 1, MOST_THREADS, "4", "1", "that handle messages, each its share")
    collector: str = _chosen("collector", (*COLLECTORS, CHOOSE), f"{CHOOSE} compares those of the runtime", "g1")
    runtime: int = _typed("runtime", _release, str(max(FEATURES)), "N", "Java feature release that `doctor` finds")
    heap_mb: int = _quantity("heap", _MB, 1, 2**26, "4g", "1g", "of Java")
    direct_mb: int = _quantity("direct", _MB, 0, 2**26, "1g", None, "direct memory (default: twice what is alive)")
    direct_follows: bool
    jvm_flags: tuple[str, ...] = _typed("jvm-flag", _flags, "", "FLAG", "your own; may be repeated")
    layout: specs.Layout = _chosen("layout", get_args(specs.Layout), "byte[], ByteBuffer (heap, native), or C++")
    allocator: str = _chosen("allocator", tuple(ALLOCATORS), "of layout malloc")
    trace: str | None
    also: tuple[str, ...] = _typed("also", _variants, "", "WORDS", f"more strategies: {', '.join(VARIANTS)}")
    trial_s: float = _quantity("trial", _S, 0.1, 600, "2s", "2s", "measured in each trial")
    warmup_s: float

    @property
    def held(self) -> int:
        return self.in_flight + self.kept_count

    @property
    def sides(self) -> tuple[str, str]:
        """Allocation, and what is compared with it: a pool, or one buffer where nothing is ever in flight."""
        return ALLOC, POOL if self.held else REUSE

    @property
    def strategies(self) -> tuple[str, ...]:
        return (*self.sides, *(self.also if self.held else ()))

    @property
    def collectors(self) -> tuple[str, ...]:
        """The collector, or those to choose from: a control that never frees is no choice."""
        if self.layout == "malloc":
            return ("",)
        if self.collector != CHOOSE:
            return (self.collector,)
        return tuple(name for name in collectors_on(self.runtime) if not collector_named(name).never_frees)

    def live_in_mb(self) -> tuple[float, float]:
        """Return what is alive at a time with the pool, MiB: in the heap, and in direct or native memory."""
        stated = {**self.model_dump(), "strategy": self.sides[1], "classes": "power_of_two"}
        buffers_mb = specs.buffer_mb(stated)
        if self.layout == "malloc":
            return 0.0, self.live_mb + buffers_mb
        return specs.heap_live_mb(stated), buffers_mb if self.layout == "native" else 0.0

    def changed_to(self, name: str, value: float) -> Workload:
        """Return the same with another value of one of `CHANGEABLE`. UserError where there is no room for it."""
        if not name:
            return self
        updates: dict[str, Any] = {CHANGEABLE[name]: round(value) if name in ("in_flight", "live") else value}
        if name == "bytes":
            if self.trace:
                raise UserError("a capture has its own sizes")
            factor = value / self.mean_bytes
            sizes = checked_sizes((within(size * factor), weight) for size, weight in self.sizes)
            updates = {"sizes": sizes, "mean_bytes": mean_bytes(sizes)}
        if name == "kept":
            updates["kept_for_s"] = self.kept_for_s or _KEPT_FOR_S
            updates["kept_count"] = max(1, round(self.rate_per_s * value * updates["kept_for_s"]))
        changed = _with_direct_memory(self.model_copy(update=updates))
        return checked(changed) if self.layout == "malloc" else _roomy(changed)

    def value_of(self, name: str) -> float:
        return float(getattr(self, CHANGEABLE[name]))

    def spec_of(self, cell: Cell, block: int) -> MessagesSpec:
        """Return the trial number ``block`` of a cell. UserError where no trial can state that."""
        own = self.changed_to(cell.changed, cell.value)
        java, paced = own.layout != "malloc", cell.rate_per_s is not None
        others = {"sizes" if own.trace else "trace", *(("allocator",) if java else _JAVA)}
        others |= set() if paced else set(_PACED)  # as fast as it goes nothing is due, and nothing late
        stated = own.model_dump(include=set(MessagesSpec.model_fields) - others)
        # A trial that paces must be long against the delay that it tolerates.
        stated["seconds"] = max(own.trial_s, 20 * own.delay_ms / 1e3) if paced else own.trial_s
        stated |= {"language": "java" if java else "cpp", "block": block, "warmup_seconds": own.warmup_s}
        stated |= {"rate_per_s": cell.rate_per_s} if paced else {}
        stated |= {"collector": cell.collector, "direct_mb": own.direct_mb or None} if java else {}
        stated |= _OF_POOL.get(cell.strategy, {"strategy": cell.strategy})
        try:
            return MessagesSpec(**stated)
        except ValidationError as error:
            raise from_validation("workload", error, MessagesSpec) from None


_EXTRA: dict[str, Any] = {name: field.json_schema_extra for name, field in Workload.model_fields.items()}
_TYPED: dict[str, Setting] = {name: extra["setting"] for name, extra in _EXTRA.items() if extra}
SETTINGS = {one.key: one for one in _TYPED.values()}


def checked(workload: Workload, anywhere: bool = False) -> Workload:
    """Return the workload, if this machine and its heap have room for it; UserError with the nearest that has.
    ``anywhere``: on a machine of any size."""
    available_mb, heap_mb = sys.maxsize if anywhere else available_memory_mb(), workload.heap_mb
    if workload.layout == "malloc":
        _room_for(workload, available_mb, 1, "the machine's free memory", "")
        return workload
    direct_mb = workload.direct_mb if workload.layout == "native" else 0
    if needed_mb(heap_mb, direct_mb) > available_mb:
        share = 0.95 * available_mb / needed_mb(heap_mb, direct_mb)
        asked, most = (
            f"--heap {int(factor * heap_mb)}m" + (f" with --direct {int(factor * direct_mb)}m" * (direct_mb > 0))
            for factor in (1.0, share)
        )
        raise UserError(f"{asked} is more than this machine's {available_mb} MiB of free memory: at most {most}")
    for name in workload.collectors:
        if heap_mb < (smallest_mb := collector_named(name).smallest_heap_mb):
            raise UserError(f"--heap {heap_mb}m is too small for {name}: at least {smallest_mb}m")
    return _roomy(workload)


def _roomy(workload: Workload) -> Workload:
    """Return the workload, if its heap and its direct memory have room for what is alive; raises as `checked`."""
    _room_for(workload, int(_HEAP_USED * workload.heap_mb), 0, "the heap", "heap")
    if workload.layout == "native" and workload.direct_mb:
        _room_for(workload, workload.direct_mb, 1, "direct memory", "direct")
    return workload


def _room_for(workload: Workload, room_mb: int, which: int, where: str, setting: str) -> None:
    """Refuse what is alive beyond ``room_mb``; ``which`` is the index in `Workload.live_in_mb`."""
    live_mb, fixed_mb = workload.live_in_mb()[which], 0 if which else workload.live_mb
    if live_mb <= room_mb:
        return
    larger = f", or --{setting} {math.ceil(live_mb / (_HEAP_USED if setting == 'heap' else 1))}m" if setting else ""
    if fixed_mb > room_mb:
        raise UserError(f"--live {fixed_mb:g}m does not fit into {where}: at most --live {room_mb}m{larger}")
    most = int(0.99 * workload.held * (room_mb - fixed_mb) / (live_mb - fixed_mb))
    nearest = f"--in-flight {max(0, most - workload.kept_count)}"
    if workload.kept_count > workload.in_flight:
        kept_for_s = max(0.0, workload.kept_for_s * (most - workload.in_flight) / workload.kept_count)
        nearest = f"--for {math.floor(kept_for_s * 1e3)}ms"
    raise UserError(
        f"{workload.held:,} messages of {workload.mean_bytes:,.0f} bytes alive at a time take {live_mb:,.0f} MiB, "
        f"beyond {where} ({room_mb:,} MiB to use): at most {nearest}{larger}"
    )


def understood(
    given: Mapping[str, object], guessed: Mapping[str, str] | None = None, trace: Any = None, anywhere: bool = False
) -> Workload:
    """Return the workload of these parameters, each a word as in the shell; ``guessed``: what a recording of the
    program gives, where nothing is given; ``trace``: a prepared capture, which replaces rate and sizes; ``anywhere``:
    it need not fit into this machine. UserError, one line, for an unknown parameter, a word that is not valid, or what
    can't be."""
    for key in given:
        if key not in SETTINGS:
            near = get_close_matches(key, SETTINGS, 1)
            hint = f"did you mean {near[0]}? " if near else ""
            raise UserError(f"unknown parameter {key!r}: {hint}choose one of {', '.join(SETTINGS)}")
    words = {row.key: row.default for row in SETTINGS.values()} | {**(guessed or {})}
    words |= {
        key: " ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
        for key, value in given.items() if value is not None
    }  # fmt: skip
    values: dict[str, Any] = {}
    for name, row in _TYPED.items():
        if (word := words[row.key]) is not None:
            try:
                values[name] = row.read(word)
            except (UserError, ValueError) as error:
                shown = "" if str(error).startswith("unknown") else f" {word!r}"
                raise UserError(f"--{row.name}{shown}: {error}") from None
    values |= _captured(values, given, trace) if trace is not None else {"trace": None}
    values |= {"direct_follows": values["layout"] == "native" and "direct_mb" not in values, **_kept(values)}
    values |= {"warmup_s": values["trial_s"] / 2, "mean_bytes": mean_bytes(values["sizes"])}
    _refuse(values)
    values["collector"] = "" if values["layout"] == "malloc" else values["collector"]
    workload = checked(_with_direct_memory(Workload(**{"direct_mb": 0, **values})), anywhere)
    for strategy in workload.strategies:
        if reason := workload.spec_of(Cell(workload.collectors[0], strategy, workload.rate_per_s), 0).impossible():
            raise UserError(reason)
    return workload


def _captured(values: Mapping[str, Any], given: Mapping[str, object], trace: Any) -> dict[str, Any]:
    if stated := [f"--{key}" for key in ("bytes", "arrivals", "burst") if given.get(key)]:
        raise UserError(f"{', '.join(stated)} and --pcap exclude each other: a capture has its own")
    rate = trace.rate_per_s if given.get("rate") is None else values["rate_per_s"]
    if rate is None:
        raise UserError("the capture has no rate, as no time passes in it: give --rate")
    if rate > MOST_PER_S:
        raise UserError(f"the capture has {rate:,.0f} messages a second, the source {MOST_PER_S:,.0f}: give --rate")
    arrivals = "steady" if trace.rate_per_s is None else "captured"
    return {"sizes": trace.sizes, "rate_per_s": rate, "arrivals": arrivals, "trace": str(trace.path)}


def _refuse(stated: Mapping[str, Any]) -> None:
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
    direct_mb = 64 + math.ceil(2 * workload.live_in_mb()[1])
    return workload.model_copy(update={"direct_mb": direct_mb}) if workload.direct_follows else workload


def _kept(values: Mapping[str, Any]) -> dict[str, Any]:
    """For how long a message is kept, and how many are kept at a time."""
    share, kept_per_s = values["kept_share"], values["kept_share"] * values["rate_per_s"]
    given = {name: values[name] for name in ("kept_for_s", "kept_count") if name in values}
    if len(given) == 2:
        raise UserError("--for and --kept-count exclude each other: how many are kept follows from how long")
    for name, value in given.items():
        option = f"--{_TYPED[name].name}"
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
