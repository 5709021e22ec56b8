"""``allocpool bench``: how fast parts of the instrument are, as ratios from interleaved rounds with their spread.

A benchmark prints and keeps nothing, but where it is told to: whoever reads it knows what else the machine was doing.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, TypeVar

import click

from allocpool import home
from allocpool.errors import UserError, unknown_choice

if TYPE_CHECKING:
    from allocpool.stats import Interval

_PASS_ON = {"ignore_unknown_options": True, "help_option_names": []}
_ARGUMENTS = click.argument("arguments", nargs=-1, type=click.UNPROCESSED)


@click.group("bench")
def bench_command() -> None:
    """Measure a part of the instrument: ratios from interleaved runs, with their spread.

    Example: allocpool bench packets --rounds 3 --case A
    """


def _run(script: Path, *arguments: str | Path) -> None:
    status = subprocess.run([sys.executable, script, *arguments], check=False, cwd=home.home()).returncode
    if status:
        raise UserError(f"{script.name} ended with {status}: what it printed says why")


@bench_command.command("gclog", context_settings=_PASS_ON)
@_ARGUMENTS
def gclog(arguments: Sequence[str]) -> None:
    """Reading a G1 log with phases, MB/s on one core (--help for options)."""
    _run(home.home() / "benchmarks" / "bench_gclog.py", *arguments)


@bench_command.command("ring", context_settings=_PASS_ON)
@_ARGUMENTS
def ring(arguments: Sequence[str]) -> None:
    """The ring beside JCTools and Agrona, then ticks every 10 ns into Java for a minute (--help for options)."""
    from allocpool.compile import native_library
    from allocpool.runtimes import find_javac, find_runtime

    pom = home.workloads_dir() / "pom.xml"
    maven = ["mvn", "--quiet", "--batch-mode", "-f", str(pom), "-pl", "ring", "-am", "package", "-DskipTests"]
    if subprocess.run(maven, check=False, env=find_javac().environment()).returncode:
        raise UserError("the ring's Java module could not be built: what Maven printed says why")
    jvm = find_runtime(25).libjvm
    library = native_library().library
    _run(home.native_dir() / "bench" / "bench_ring.py", "--jvm", jvm, "--library", library, *arguments)


@bench_command.command("store", context_settings=_PASS_ON)
@_ARGUMENTS
def store(arguments: Sequence[str]) -> None:
    """Records of a hundred made hosts: written and tidied a second, bytes (--help for options)."""
    _run(home.home() / "benchmarks" / "bench_store.py", *arguments)


_Command = TypeVar("_Command", bound=Callable[..., None])
_Contender = TypeVar("_Contender")


def _interleaved(
    rounds: int, warmup_seconds: float, scale: float, seconds: float = 1.0
) -> Callable[[_Command], _Command]:
    """The options of a benchmark whose trials take turns, with their defaults."""

    def decorated(command: _Command) -> _Command:
        for option in (
            click.option("--scale", default=scale, show_default=True, type=click.FloatRange(0.001, 4),
                         help="Of the published sizes."),
            click.option("--warmup-seconds", default=warmup_seconds, show_default=True, type=click.FloatRange(0),
                         help="Before that."),
            click.option("--seconds", default=seconds, show_default=True, type=click.FloatRange(0.01),
                         help="Measured per trial."),
            click.option("--rounds", default=rounds, show_default=True, type=click.IntRange(1),
                         help="Interleaved rounds."),
        ):  # fmt: skip
            command = option(command)
        return command

    return decorated


def _taking_turns(
    contenders: Iterable[_Contender], rounds: int, trial: Callable[[_Contender], dict[str, Any]]
) -> dict[_Contender, list[dict[str, Any]]]:
    """What each contender's trial told in each round; they take turns, in an order that turns with the rounds."""
    told: dict[_Contender, list[dict[str, Any]]] = {contender: [] for contender in contenders}
    for round_number in range(rounds):
        for contender in list(told)[:: 1 if round_number % 2 == 0 else -1]:
            told[contender].append(trial(contender))
    return told


@bench_command.command("packets")
@_interleaved(rounds=7, warmup_seconds=1.5, scale=1.0)
@click.option("--case", "cases", multiple=True, default=("A", "B", "C"), show_default=True, help="May be repeated.")
@click.option(
    "--collector", "collectors", multiple=True, default=("serial", "g1", "genzgc"), show_default=True,
    help="Of the Java configurations, on the newest runtime; may be repeated.",
)  # fmt: skip
def packets(
    rounds: int, seconds: float, warmup_seconds: float, scale: float, cases: Sequence[str], collectors: Sequence[str]
) -> None:
    """C++ slab against C++ flat, Java flat against Java native, all pooling: ns a packet and ratios.

    Every trial is a fresh process. The contenders of a case take turns, in an order that turns with the rounds;
    then each receives the same packets once more, for the checksum.
    """
    from allocpool.campaign import single
    from allocpool.packets.specs import CASES, DEFAULT_RUNTIME, Configuration

    for case in cases:
        if case not in CASES:
            raise unknown_choice("case", case, CASES)
    pairs = [("cpp/flat", "cpp/slab")]
    pairs += [(f"java/native/{name}/{DEFAULT_RUNTIME}", f"java/flat/{name}/{DEFAULT_RUNTIME}") for name in collectors]
    contenders = {key: Configuration.parse(key).model_dump(exclude_none=True) for pair in pairs for key in pair}

    def trial(key: str, case: str, **length: str) -> dict[str, Any]:
        settings = {**contenders[key], "strategy": "pool", "case": case, "scale": scale, **length}
        spec = single.parse_spec(["mode=batch", *(f"{name}={value}" for name, value in settings.items())])
        return single.run_and_summarise(spec)

    length = {"seconds": str(seconds), "warmup_seconds": str(warmup_seconds)}
    for case in cases:
        told = _taking_turns(contenders, rounds, partial(trial, case=case, **length))
        costs = {key: [each["ns_per_packet"] for each in summaries] for key, summaries in told.items()}
        checksums = {trial(key, case, packets="5000000")["checksum"] for key in contenders}
        _report_case(case, pairs, costs, checksums)


def _report_case(
    case: str, pairs: Sequence[tuple[str, str]], costs: dict[str, list[float]], checksums: set[str]
) -> None:
    import pandas as pd

    from allocpool import stats

    cost = {key: pd.Series(values) for key, values in costs.items()}
    same = "same checksum" if len(checksums) == 1 else f"DIFFERENT CHECKSUMS {sorted(checksums)}"
    spread = stats.geometric_interval(cost[pairs[0][0]]).describe()
    click.echo(f"case {case}: {spread}; {same}")
    for slow, fast in pairs:
        click.echo(
            f"  {fast} / {slow}: {stats.geometric_interval(cost[fast] / cost[slow]).text(3)}; "
            f"{stats.geometric_interval(cost[fast]).text(3, 'ns')} against "
            f"{stats.geometric_interval(cost[slow]).text(3, 'ns')}"
        )
    flat = {fast: cost[fast] for _, fast in pairs if fast.startswith("java/")}
    if len(flat) > 1:
        per_round = pd.DataFrame(flat)
        spans = per_round.max(axis=1) / per_round.min(axis=1)
        click.echo(f"  java/flat, dearest collector / cheapest: {stats.geometric_interval(spans).text(3)}")


_DEPARTURES = (
    ("the buffer inside its packet", "cpp/flat", "cpp/flat/glibc/inline", "alloc", "B", "B"),
    ("the buffer inside its packet", "cpp/flat", "cpp/flat/glibc/inline", "pool", "B", "B"),
    ("a pool in the order in which it was made", "cpp/flat", "cpp/flat/fresh", "pool", "B", "B"),
    ("a pool in the order in which it was made", "java/heap/g1/25", "java/heap/g1/25/fresh", "pool", "C", "C"),
    ("no read-only duplicate per parse", "java/heap/g1/25", "java/heap/g1/25/lean_view", "alloc", "B", "B"),
    ("the payload read and written", "cpp/slab", "cpp/slab/payload", "pool", "B", "B"),
    ("the payload read and written", "cpp/flat", "cpp/flat/payload", "pool", "B", "B"),
    ("compiled for this processor", "cpp/flat", "cpp/flat/host_cpu", "pool", "B", "B"),
    (
        "Parallel with G1's pause target",
        "java/heap/parallel/11",
        "java/heap/parallel/11/pause_target",
        "alloc",
        "B",
        "B",
    ),
    ("a heap that is not touched before", "java/heap/g1/25", "java/heap/g1/25/lazy_heap", "alloc", "B", "B"),
    ("explicit collections allowed", "java/heap/g1/25", "java/heap/g1/25/explicit_gc", "alloc", "B", "B"),
    ("ten times the queue and store in case A", "java/heap/g1/25", "java/heap/g1/25", "alloc", "A", "A10k"),
    ("ten times the queue and store in case A", "cpp/flat", "cpp/flat", "pool", "A", "A10k"),
)
"""What departs from the published set-up: words, configuration as published, configuration that departs, strategy, its
case."""


@bench_command.command("published")
@_interleaved(rounds=5, warmup_seconds=1.0, scale=0.1)
def published(rounds: int, seconds: float, warmup_seconds: float, scale: float) -> None:
    """What each departure from the published experiment does to the cost of a packet: departing over published.

    Every trial is a fresh process; all of them take turns, in an order that turns with the rounds.
    """
    import pandas as pd

    from allocpool import decisions
    from allocpool.campaign import single
    from allocpool.packets.specs import Configuration

    def trial(side: tuple[str, str, str]) -> dict[str, Any]:
        configuration, strategy, case = side
        settings = Configuration.parse(configuration).model_dump(mode="json", exclude_none=True)
        spec = {
            name: ",".join(value) if isinstance(value, list) else value
            for name, value in {**settings, "strategy": strategy, "case": case, "scale": scale}.items()
            if value != []
        }
        words = [f"{name}={value}" for name, value in spec.items()]
        length = [f"seconds={seconds}", f"warmup_seconds={warmup_seconds}"]
        return single.run_and_summarise(single.parse_spec(["mode=batch", *words, *length]))

    sides = {(base, strategy, case) for _, base, _, strategy, case, _ in _DEPARTURES}
    sides |= {(other, strategy, case) for _, _, other, strategy, _, case in _DEPARTURES}
    told = _taking_turns(sorted(sides), rounds, trial)
    costs = {side: pd.Series([each["ns_per_packet"] for each in summaries]) for side, summaries in told.items()}
    for what, base, other, strategy, case, other_case in _DEPARTURES:
        compared = decisions.compare(costs[other, strategy, other_case], costs[base, strategy, case])
        click.echo(f"{what}: {other} {strategy} {other_case}: {compared.text()}, n = {compared.decision.n}")


_STATED = ("java/heap/g1/25", "java/heap/genzgc/25", "java/heap/parallel/11", "cpp/flat")


@bench_command.command("trial")
@_interleaved(rounds=3, warmup_seconds=0.3, scale=1.0, seconds=0.5)
@click.option(
    "--configuration", "configurations", multiple=True, default=_STATED, show_default=True, help="May be repeated."
)
@click.option("--case", "cases", multiple=True, default=("A", "B"), show_default=True, help="May be repeated.")
def trial_length(
    rounds: int,
    seconds: float,
    warmup_seconds: float,
    scale: float,
    configurations: Sequence[str],
    cases: Sequence[str],
) -> None:
    """Where the time of a batch trial goes: seconds, of wall and of CPU, and trials a minute; medians of the rounds.

    Every trial is a fresh process; they take turns. Objects alive are counted in the first round only, as in the first
    block of a campaign.
    """
    from allocpool.campaign import single
    from allocpool.packets.specs import CASES, Configuration

    for case in cases:
        if case not in CASES:
            raise unknown_choice("case", case, CASES)
    length = {"scale": scale, "seconds": seconds, "warmup_seconds": warmup_seconds}
    specs = {}
    for configuration, case, strategy in product(configurations, cases, ("alloc", "pool")):
        settings = {
            **Configuration.parse(configuration).model_dump(exclude_none=True),
            "case": case,
            "strategy": strategy,
        }
        words = [f"{key}={value}" for key, value in {**settings, **length}.items() if value != ()]
        specs[f"{configuration} {case} {strategy}"] = words
    rounds_of = dict.fromkeys(specs, 0)

    def trial(name: str) -> dict[str, float]:
        block, rounds_of[name] = rounds_of[name], rounds_of[name] + 1
        record = single.run_single(single.parse_spec(["mode=batch", f"block={block}", *specs[name]]))
        if record.status != "ok" or record.measurement is None:
            raise UserError(f"{name}: the trial ended as {record.status}: {record.reason}")
        return _parts_of(record.wall_s, record.cpu_s, record.measurement)

    told = _taking_turns(specs, rounds, trial)
    for name, parts in told.items():
        half = {part: median(each[part] for each in parts) for part in parts[0]}
        spent = ", ".join(f"{part} {value:.2f}" for part, value in half.items())
        click.echo(f"{name}: {spent} s; {60 / half['wall']:.1f} a minute")


def _parts_of(wall_s: float, cpu_s: float | None, measurement: Mapping[str, Any]) -> dict[str, float]:
    """Seconds of one batch trial by what it did; the rest is the start and what comes after the measured window."""
    spent = {"set-up": measurement["set_up_ns"] / 1e9}
    for stretch, iterations in measurement["iterations"].items():
        spent[stretch] = sum(end_ns - start_ns for start_ns, end_ns, _ in iterations) / 1e9
    cpu = {} if cpu_s is None else {"cpu": cpu_s}
    return {"wall": wall_s, **cpu, **spent, "rest": wall_s - sum(spent.values())}


_RIVALS = ("netty_pooled", "netty_adaptive", "agrona", "jctools")


@bench_command.command("threads")
@_interleaved(rounds=7, warmup_seconds=1.5, scale=0.1)
@click.option("--threads", "workers", default=2, show_default=True, type=click.IntRange(1), help="Workers.")
@click.option(
    "--topology", "topologies", multiple=True, default=("sharded", "pipeline"), show_default=True,
    help="May be repeated.",
)  # fmt: skip
@click.option("--ours", default="owner", show_default=True, help="Our pool that is set against the libraries'.")
def threads(
    rounds: int, seconds: float, warmup_seconds: float, scale: float, workers: int, topologies: Sequence[str], ours: str
) -> None:
    """Our best pool against Netty's, Agrona's and JCTools', off the heap: CPU and wall time a packet, and ratios.

    Every trial is a fresh process. The contenders take turns, in an order that turns with the rounds; then each
    receives the same packets once more, for the checksum. Ahead or behind is what a whole interval says; where ours is
    not ahead, what the rounds tell of the reason is said.
    """
    from allocpool.campaign import single
    from allocpool.machine.host import usable_cores
    from allocpool.studies.threads.strategies import STRATEGIES

    if ours not in STRATEGIES:
        raise unknown_choice("strategy", ours, STRATEGIES)
    contenders = tuple(dict.fromkeys((ours, *_RIVALS)))

    def trial(strategy: str, topology: str, **length: str) -> dict[str, Any]:
        settings = {"topology": topology, "threads": workers, "layout": "native", "strategy": strategy, "scale": scale}
        words = [f"{name}={value}" for name, value in {**settings, **length}.items()]
        return single.run_and_summarise(single.parse_spec(["mode=threads", *words]))

    for name in contenders:
        click.echo(f"{'ours, ' if name == ours else ''}{name}: {STRATEGIES[name].means}")
    length = {"seconds": str(seconds), "warmup_seconds": str(warmup_seconds)}
    for topology in topologies:
        told = _taking_turns(contenders, rounds, partial(trial, topology=topology, **length))
        checksums = {trial(name, topology, packets="1000000")["checksum"] for name in contenders}
        one = told[ours][0]
        same = "same checksum" if len(checksums) == 1 else f"DIFFERENT CHECKSUMS {sorted(checksums)}"
        receiver = " and a receiver" if topology == "pipeline" else ""
        click.echo(
            f"\n{topology}: {workers} workers{receiver} on {usable_cores()} processors, {one['configuration']}, case "
            f"{one['case']} at {scale:g} of its size, {rounds} rounds of {seconds:g} s; {same}"
        )
        for line in threads_report(ours, told):
            click.echo(f"  {line}")


def threads_report(ours: str, told: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterator[str]:
    """What the rounds of `threads` say, in lines: our pool's cost, its ratio to each rival's, and who is ahead.

    ``told`` are summaries of trials by contender, one of each round.
    """
    import pandas as pd

    from allocpool import stats

    for what, key in (("CPU", "cpu_ns_per_packet"), ("wall", "ns_per_packet")):
        costs = {name: pd.Series([each[key] for each in summaries]) for name, summaries in told.items()}
        yield f"{what} of {ours}: {stats.geometric_interval(costs[ours]).text(3, 'ns')} a packet"
        for rival in told:
            if rival != ours:
                ratio = stats.geometric_interval(costs[ours] / costs[rival])
                standing = _standing(ratio) or f"behind, {_where_it_goes(told[ours], told[rival])}"
                yield f"{what}, {ours} / {rival}: {ratio.text(3)}: {standing}"


def _standing(ratio: Interval) -> str | None:
    """Of a ratio of our cost to another's, in words; None where ours is behind, which takes a reason."""
    if ratio.trials == 1:
        return "one round shows nothing"
    if ratio.high < 1:
        return "ahead"
    return (
        None if ratio.low > 1 else "not shown to be ahead, since the interval holds 1: rounds differ by more than pools"
    )


def _where_it_goes(own: Sequence[Mapping[str, Any]], rivals: Sequence[Mapping[str, Any]]) -> str:
    """By which threads' CPU time one contender differs from another, the largest part first."""

    def by_group(summaries: Sequence[Mapping[str, Any]]) -> dict[str, float]:
        groups = summaries[0]["cpu_ns"]
        return {group: median(each["cpu_ns"][group] / each["packets"] for each in summaries) for group in groups}

    other = by_group(rivals)
    more = {group: ns - other.get(group, 0.0) for group, ns in by_group(own).items()}
    parts = [f"{group} {ns:+.1f}" for group, ns in sorted(more.items(), key=lambda item: -abs(item[1])) if ns]
    return f"its CPU by threads, ns a packet more than the other's: {', '.join(parts)}"


_PACKETS_LIKE = (
    "sizes=1024 filled_share=0.1 read_share=0.1 in_flight={live} kept_share=0.0625 kept_count={live} temporaries=5 "
    "temporary_bytes=32"
)
"""The packets workload in the words of mode messages: what parsing makes is a few small objects."""
_AT_ONCE = "sizes={size} temporaries=0"


@bench_command.command("messages")
@_interleaved(rounds=7, warmup_seconds=1.5, scale=0.1)
@click.option("--collector", default="g1", show_default=True, help="Of the Java trials, on the newest runtime.")
def messages(rounds: int, seconds: float, warmup_seconds: float, scale: float, collector: str) -> None:
    """Known answers of mode messages: what the packets study finds, reuse where nothing is in flight, and what
    allocation costs where nothing is collected.

    Every trial is a fresh process. Contenders take turns, in an order that turns with the rounds.
    """
    from allocpool.packets.specs import CASES, scaled, scaled_heap_mb

    live, heap_mb = scaled(CASES["B"], scale), scaled_heap_mb("heap", collector, scale)
    length = f"seconds={seconds} warmup_seconds={warmup_seconds} collector={collector}"
    packets = f"mode=batch layout=heap case=B scale={scale} {length}"
    alike = f"mode=messages {_PACKETS_LIKE.format(live=live)} heap_mb={heap_mb} {length}"
    cost = _cpu_of(
        {
            f"{name}, {strategy}": f"{words} strategy={strategy}"
            for name, words, pools in (("packets", packets, ("mix", "pool")), ("messages", alike, ("pool",)))
            for strategy in ("alloc", *pools)
        },
        rounds,
    )
    # In case B the small pool of packets is as large as what is alive, as a pool of messages is; the large one is not.
    _echo_ratios("as the packets study", cost, [("packets, alloc", "packets, mix"),
                                               ("messages, alloc", "messages, pool"),
                                               ("packets, alloc", "packets, pool")])  # fmt: skip
    at_once = f"mode=messages {_AT_ONCE.format(size=1024)} heap_mb={heap_mb} {length}"
    cost = _cpu_of({name: f"{at_once} strategy={name}" for name in ("alloc", "pool", "reuse")}, rounds)
    _echo_ratios("nothing in flight", cost, [("alloc", "reuse"), ("pool", "reuse")])
    # Epsilon never collects: as many messages as a heap of this size holds.
    uncollected = {
        f"{size} bytes, {strategy}": f"mode=messages {_AT_ONCE.format(size=size)} strategy={strategy} "
        f"collector=epsilon heap_mb=4096 messages={3 * 2**30 // size}"
        for size in (256, 1024, 4096)
        for strategy in ("alloc", "reuse")
    }
    cost = _cpu_of(uncollected, rounds)
    _echo_ratios(
        "never collected", cost, [(f"{size} bytes, alloc", f"{size} bytes, reuse") for size in (256, 1024, 4096)]
    )
    for size in (256, 1024, 4096):
        added_ns = sum(cost[f"{size} bytes, alloc"]) / rounds - sum(cost[f"{size} bytes, reuse"]) / rounds
        click.echo(f"  allocation adds {added_ns:.4g} ns to a message of {size} bytes: {added_ns / size:.3g} ns a byte")


def _cpu_of(contenders: dict[str, str], rounds: int) -> dict[str, list[float]]:
    """CPU of the whole process, ns an item, of every contender in every round."""
    from allocpool.campaign import single

    told = _taking_turns(
        contenders, rounds, lambda name: single.run_and_summarise(single.parse_spec(contenders[name].split()))
    )
    item = {"batch": "packet", "messages": "message"}
    return {
        name: [float(each[f"cpu_ns_per_{item[each['mode']]}"]) for each in summaries]
        for name, summaries in told.items()
    }


def _echo_ratios(title: str, cost: dict[str, list[float]], pairs: Sequence[tuple[str, str]]) -> None:
    import pandas as pd

    from allocpool import stats

    click.echo(title)
    for dear, cheap in pairs:
        above, below = pd.Series(cost[dear]), pd.Series(cost[cheap])
        click.echo(
            f"  {dear} / {cheap}: {stats.geometric_interval(above / below).text(3)}; "
            f"{stats.geometric_interval(above).text(3, 'ns')} against {stats.geometric_interval(below).text(3, 'ns')}"
        )


@bench_command.command("advice")
@click.option("--minutes", type=click.FloatRange(0.1), help="Of each advice; 10, when left out.")
@click.option("--long-minutes", type=click.FloatRange(0.1), help="Of each long plan; 60, when left out.")
@click.option("--workload", "names", multiple=True, help="One of ten; may be repeated. All, when left out.")
@click.option("--on-record", is_flag=True, help="Measure nothing: tell what earlier runs of this machine say.")
@click.option("--keep", is_flag=True, help="Write the rows into data/checked, whose table page 09 shows.")
def advice(
    minutes: float | None, long_minutes: float | None, names: Sequence[str], on_record: bool, keep: bool
) -> None:
    """Advice in a few minutes against an exhaustive plan, on ten varied workloads: do they agree?

    Trials are ordinary records, so an interrupted run goes on where it stopped.
    """
    from allocpool import stats
    from allocpool.machine.host import read_host
    from allocpool.studies.your_workload import check
    from allocpool.studies.your_workload.laboratory import Machine

    for name in names:
        if name not in check.WORKLOADS:
            raise unknown_choice("workload", name, check.WORKLOADS)
    told = []
    laboratory = Machine(starts=not on_record)
    for name in names or check.WORKLOADS:
        lengths = (None, 0.0) if on_record else (minutes or check.MINUTES, long_minutes or check.LONG_MINUTES)
        one = check.check(name, lengths[0], lengths[1], laboratory)
        if not one.advice.trials and not one.n:
            click.echo(f"{name:10} nothing is on record")
            continue
        told.append(one)
        if keep:
            check.keep(one, read_host())
        effect = one.advice.decision
        click.echo(
            f"{name:10} advice {one.advice.answer:9} {stats.significant(effect.ratio)} "
            f"({stats.ends(effect.low, effect.high)}; n = {effect.n}; {one.advice.minutes:.1f} minutes), at length "
            f"{one.answer:9} {stats.significant(one.ratio)} ({stats.ends(one.low, one.high)}; n = {one.n}; "
            f"{one.minutes:.1f} minutes): {one.outcome}"
        )
    counts = ", ".join(
        f"{sum(one.outcome == word for one in told)} {word}" for word in (check.AGREE, check.DISAGREE, check.OPEN)
    )
    click.echo(f"of {len(told)}: {counts}; ratios are of CPU a message, allocation over the pool")
