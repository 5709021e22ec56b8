"""``allocpool advise``: allocate or pool, in the reader's own program, in minutes."""

from __future__ import annotations

import json
from typing import Any

import click

from allocpool.campaign.sequential import minutes_from
from allocpool.studies.your_workload import saved
from allocpool.studies.your_workload.advice import advise
from allocpool.studies.your_workload.laboratory import Machine
from allocpool.studies.your_workload.reader import workload_of
from allocpool.studies.your_workload.story import report
from allocpool.studies.your_workload.workload import PROGRAM, SETTINGS, Setting

MINUTES = "10"
_REPEATED = "jvm_flag"


class _Grouped(click.Option):
    """An option that stands under a heading of the help."""

    def __init__(self, *words: Any, group: str, **settings: Any) -> None:
        super().__init__(*words, **settings)
        self.group = group


_USUAL = {
    "--rate", "--bytes", "--in-flight", "--kept", "--for", "--delay", "--collector", "--runtime", "--heap", "--layout",
    "--pcap", "--jfr", "--minutes", "--save", "--json", "--help-all", "-h",
}  # fmt: skip
"""Options that the help lists; all of them are more than a screen."""


def _help_all(ctx: click.Context, _option: click.Parameter, asked: bool) -> None:
    if asked:
        ctx.meta["all"] = True
        click.echo(ctx.get_help())
        ctx.exit()


class _GroupedCommand(click.Command):
    """A command whose help shows its options by group, in the order in which the groups come."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the usual options, or after ``--help-all`` each of them."""
        groups: dict[str, list[tuple[str, str]]] = {}
        every = ctx.meta.get("all", False)
        for option in self.get_params(ctx):
            if not every and option.opts[0] not in _USUAL:
                continue
            if record := option.get_help_record(ctx):
                group = (option.group if isinstance(option, _Grouped) else "Other") if every else "Options"
                groups.setdefault(group, []).append(record)
        for name, records in groups.items():
            with formatter.section(name):
                formatter.write_dl(records)


def _option(row: Setting) -> click.Option:
    found = (row.help if not row.default else f"{row.help} (default {row.default})").replace("`", "")
    return _Grouped(
        [f"--{row.name}", row.key], group=row.group, metavar=row.metavar, help=found, multiple=row.key == _REPEATED
    )


def _options() -> list[click.Parameter]:
    rows: list[click.Parameter] = [_option(row) for row in SETTINGS.values()]
    place = next(k for k, row in enumerate(SETTINGS.values()) if row.group == "What is measured")
    beside = [
        _Grouped(["--pcap"], group=PROGRAM, metavar="FILE",
                 help="a capture (pcap, pcapng): sizes and times in place of --bytes and --rate; --rate scales it"),
        _Grouped(["--jfr"], group=PROGRAM, metavar="FILE",
                 help="a Flight Recorder file: what it reports is taken where you give nothing"),
    ]  # fmt: skip
    last = [
        _Grouped(["--minutes"], group="What is measured", metavar="M", default=MINUTES,
                 help=f"in all, with what was measured before; 0: what is on record (default {MINUTES})"),
        _Grouped(["--save"], group="Other", metavar="FILE",
                 help="write the advice with its trials, for notebook 09 (its parameter saved), on any machine"),
        _Grouped(["--json", "as_json"], group="Other", is_flag=True, help="print one JSON object"),
        _Grouped(["--help-all"], group="Other", is_flag=True, is_eager=True, expose_value=False, callback=_help_all,
                 help="list every option"),
    ]  # fmt: skip
    return [*rows[:place], *beside, *rows[place:], *last]


def _advise(pcap: str | None, jfr: str | None, minutes: str, save: str | None, as_json: bool, **given: Any) -> None:
    """Answer for your program: allocate its messages, or take them from a pool?

    Runs a workload like yours both ways, in fresh processes. Ctrl-C answers with what there is; the same command with
    more minutes continues.

    \b
    Example:
      allocpool advise --rate 1e6 --bytes 512 --in-flight 20000 --heap 4g --delay 50ms
    """
    limit = None if _is_zero(minutes) else minutes_from(minutes)
    file = None if save is None else saved.checked_path(save)
    stated = {key: value for key, value in given.items() if value not in (None, ())}
    workload, notes = workload_of(stated, pcap, jfr)
    advice = advise(workload, limit, Machine(starts=limit is not None), notes)
    click.echo(json.dumps(advice.as_json(), indent=1) if as_json else report(advice))
    saved.keep(advice)
    if file is not None:
        saved.save(advice, file)


def _is_zero(minutes: str) -> bool:
    try:
        return float(minutes) == 0
    except ValueError:
        return False


advise_command = _GroupedCommand(
    "advise", callback=_advise, params=_options(), help=_advise.__doc__,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)  # fmt: skip
