"""``allocpool ask``: allocate or pool, predicted in a second from workloads that were measured, with its error."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any

import click

from allocpool.ask.model import ALLOCATE, EITHER, POOL, Answer, Neighbour, load
from allocpool.ask.pairs import MEASURED, here, question_of_workload
from allocpool.errors import UserError, unknown_choice
from allocpool.studies.your_workload.workload import SETTINGS, Workload, understood

KEYS = (
    "rate", "bytes", "in_flight", "kept", "for", "kept_count", "touch_filled", "touch_read", "temporaries",
    "temporary_bytes", "live", "collector", "heap", "layout", "runtime",
)  # fmt: skip
"""Of the parameters of `advise`, those that the model has a number for."""
LANGUAGES = {"java": "array", "cpp": "malloc"}
_HEADLINES = {
    ALLOCATE: "allocate: a pool costs {inverse} times as much CPU a message ({low} to {high} in 95 of 100 predictions)",
    POOL: "pool: allocating costs {ratio} times as much CPU a message ({low} to {high} in 95 of 100 predictions)",
    EITHER: "either: no difference that matters, allocating over a pool {ratio} ({low} to {high})",
    "": "inconclusive: allocating over a pool {ratio} ({low} to {high})",
}
_UNITS = {"kept_share": "--kept {:.2%}", "live_mb": "--live {:.0f}m", "heap_mb": "--heap {:.0f}m"}


def asked(given: Mapping[str, object]) -> tuple[Workload, str, Answer]:
    """Return the workload, the label of its configuration, and the answer. UserError for what can't be, or what was
    not measured at all, with what `advise` would do."""
    words = dict(given)
    language = words.pop("language", None)
    if language is not None:
        if language not in LANGUAGES:
            raise unknown_choice("language", str(language), LANGUAGES)
        layout = words.setdefault("layout", LANGUAGES[language])
        if (language == "cpp") != (layout == "malloc"):
            raise UserError(f"--layout {layout} is not of --language {language}: leave out one of them")
    workload = understood(words, anywhere=True)
    name = _measured(workload)
    model = load(name, here(name))
    return workload, model.label, model.answer(question_of_workload(workload))


def _measured(workload: Workload) -> str:
    """Return the configuration of a workload; UserError with those that there are."""
    known, options = list(MEASURED), ("layout", "collector", "runtime")
    for place, option in enumerate(options):
        value, valid = getattr(workload, option), ", ".join(dict.fromkeys(str(key[place]) for key in known))
        known = [key for key in known if key[place] == value]
        if not known:
            where = "".join(f" with --{name} {getattr(workload, name)}" for name in options[:place])
            raise UserError(f"--{option} {value}: ask knows {valid}{where}; advise measures the others")
    return MEASURED[known[0]]


def report(workload: Workload, label: str, answer: Answer, command: str) -> str:
    """Return the answer in lines for a terminal."""
    few = {name: f"{getattr(answer, name):.2f}" for name in ("ratio", "low", "high")}
    if answer.answer == ALLOCATE:
        inverse, low, high = (f"{1 / value:.2f}" for value in (answer.ratio, answer.high, answer.low))
        few |= {"inverse": inverse, "low": low, "high": high}
    headline = _HEADLINES.get(answer.answer, _HEADLINES[""]).format(**few)
    heap = f", heap {workload.heap_mb:,} MiB" if workload.layout != "malloc" else ""
    live_mb = sum(workload.live_in_mb())
    known = f"{answer.known_here} workloads of this machine moved it" if answer.known_here else "of another machine"
    lines = [headline, f"  {label}{heap}, {live_mb:,.0f} MiB alive with a pool; predicted, not measured; {known}"]
    if len(workload.sizes) > 1:
        lines.append(f"  sizes are taken by their mean, {workload.mean_bytes:,.0f} bytes")
    lines += [f"  outside what was measured: {each}" for each in answer.outside]
    lines += [_limit(answer), "nearest measured:", *map(_neighbour, answer.nearest)]
    for turn in answer.turns_at:
        at = _UNITS.get(turn.parameter, f"--{turn.parameter.replace('_', '-')} {{:.0f}}").format(turn.value)
        lines.append(f"{turn.answer} would be expected at {at}")
    return "\n".join([*lines, f"measure it here: {command}"])


def _limit(answer: Answer) -> str:
    """Return what takes the CPU, judged by the nearest workloads."""
    if answer.gc_shares is None:
        return "limited by memory and the allocator: there is no collector"
    alloc, pool = answer.gc_shares
    what = "the collector" if alloc >= 0.5 else "memory and the program's own work"
    return f"limited by {what}: the collector takes {alloc:.0%} of the CPU allocating, {pool:.0%} with a pool"


def _neighbour(near: Neighbour) -> str:
    q = near.question
    heap = f", heap {q.heap_mb:,} MiB" if q.heap_mb else ""
    kept = f", {q.kept_count:,} kept" if q.kept_count else ""
    shares = f" (collector {near.alloc_gc_share:.0%} and {near.pool_gc_share:.0%})" if q.heap_mb else ""
    return (
        f"  {q.bytes:,.0f} bytes, {q.in_flight:,} in flight{kept}{heap}: allocating {near.alloc_ns:,.0f} ns, pool "
        f"{near.pool_ns:,.0f} ns{shares}, likeness {near.likeness:.2f}"
    )


def _advise_command(given: Mapping[str, object]) -> str:
    words = [f"--{SETTINGS[key].name} {shlex.quote(str(value))}" for key, value in given.items() if key in SETTINGS]
    return " ".join(["allocpool advise", *words, *(["--layout malloc"] if given.get("language") == "cpp" else [])])


def _ask(as_json: bool, **given: Any) -> None:
    """Answer at once for your program: allocate its messages, or take them from a pool?

    Predicted from measured workloads that fill the space of what you can give, with a 95% prediction interval. It
    starts nothing; allocpool advise measures.

    \b
    Example:
      allocpool ask --bytes 512 --rate 1e6 --in-flight 20000 --kept 6% --for 1s --collector g1 --heap 4g
    """
    stated = {key: value for key, value in given.items() if value not in (None, ())}
    workload, label, answer = asked(stated)
    if as_json:
        click.echo(json.dumps({"configuration": label, **answer.as_json()}, indent=1))
    else:
        click.echo(report(workload, label, answer, _advise_command(stated)))


def _options() -> list[click.Parameter]:
    rows = [SETTINGS[key] for key in KEYS]
    return [
        *(click.Option(
            [f"--{row.name}", row.key], metavar=row.metavar,
            help=row.help.replace("`", "") + (f" (default {row.default})" if row.default else ""),
        ) for row in rows),
        click.Option(["--language"], metavar="NAME", help=f"{', '.join(LANGUAGES)} (default java)"),
        click.Option(["--json", "as_json"], is_flag=True, help="print one JSON object"),
    ]  # fmt: skip


ask_command = click.Command(
    "ask", callback=_ask, params=_options(), help=_ask.__doc__,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)  # fmt: skip
