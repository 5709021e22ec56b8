"""``allocpool advise``: allocate or pool, in the reader's own program, in minutes."""

from __future__ import annotations

import json
import re
from typing import Any

import click

from allocpool.campaign.sequential import minutes_from
from allocpool.studies.your_workload import reader
from allocpool.studies.your_workload.advice import Machine, advise
from allocpool.studies.your_workload.story import report
from allocpool.studies.your_workload.workload import SETTINGS

MINUTES = "10"
_USUAL = {"rate", "bytes", "in_flight", "kept", "for", "delay", "collector", "runtime", "heap", "layout"}
"""Options that the help lists: all of them are more than a screen."""


def _help_all(ctx: click.Context, _option: click.Parameter, asked: bool) -> None:
    if asked:
        for option in ctx.command.params:
            if isinstance(option, click.Option):
                option.hidden = False
        click.echo(ctx.get_help())
        ctx.exit()


def _options() -> list[click.Parameter]:
    rows = [
        click.Option(
            [f"--{row.name}", row.key], metavar=row.metavar, multiple=row.key == "jvm_flag",
            hidden=row.key not in _USUAL,
            help=row.help.replace("`", "") + (f" (default {row.default})" if row.default else ""),
        )
        for row in SETTINGS.values()
    ]  # fmt: skip
    others = {
        "--pcap": (
            "FILE",
            "a capture (pcap, pcapng): sizes and times in place of --bytes and --rate; --rate scales it",
        ),
        "--jfr": ("FILE", "a Flight Recorder file: what it holds is taken where you give nothing"),
        "--minutes": ("M", f"in all, with what was measured before; 0: what is on record (default {MINUTES})"),
        "--save": ("FILE", "write the advice with its trials, for notebook 09 (its parameter saved), on any machine"),
    }
    return [
        *rows,
        *(click.Option([name], metavar=word, help=text) for name, (word, text) in others.items()),
        click.Option(["--json", "as_json"], is_flag=True, help="print one JSON object"),
        click.Option(["--help-all"], is_flag=True, is_eager=True, expose_value=False, callback=_help_all,
                     help="list every option"),
    ]  # fmt: skip


def _advise(
    pcap: str | None, jfr: str | None, minutes: str | None, save: str | None, as_json: bool, **given: Any
) -> None:
    """Answer for your program: allocate its messages, or take them from a pool?

    Runs a workload like yours both ways, in fresh processes. Ctrl-C answers with what there is; the same command with
    more minutes continues.

    \b
    Example:
      allocpool advise --rate 1e6 --bytes 512 --in-flight 20000 --heap 4g --delay 50ms
    """
    minutes = MINUTES if minutes is None else minutes
    limit = None if re.fullmatch(r"0*\.?0+", minutes) else minutes_from(minutes)
    file = None if save is None else reader.checked_path(save)
    stated = {key: value for key, value in given.items() if value not in (None, ())}
    workload, notes = reader.workload_of(stated, pcap, jfr)
    advice = advise(workload, limit, Machine(starts=limit is not None), notes)
    click.echo(json.dumps(advice.as_json(), indent=1) if as_json else report(advice))
    reader.keep(advice)
    if file is not None:
        reader.save(advice, file)


advise_command = click.Command(
    "advise", callback=_advise, params=_options(), help=_advise.__doc__,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)  # fmt: skip
