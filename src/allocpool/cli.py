"""``allocpool``: the command line."""

from __future__ import annotations

import errno
import io
import json
import os
import pkgutil
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from allocpool.errors import UserError
from allocpool.strangers import printable

if TYPE_CHECKING:
    from allocpool.campaign.campaign import Campaign, CampaignStatus

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

_PROFILE = click.option("--profile", default="quick", show_default=True, help="smoke, quick, standard or article.")
_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
_SETTINGS = click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE",
    help="Change one key of the profile (may be repeated); in a part: PART.KEY=VALUE.",
)  # fmt: skip
_MINUTES = click.option("--minutes", metavar="M", help="Total budget over all runs; for sequential profiles.")

_ELSEWHERE = {
    "advise": ("allocpool.advise:advise_command", "Answer for your program: allocate its messages, or pool them?"),
    "ask": ("allocpool.ask.command:ask_command", "Answer at once for your program, predicted, with the error."),
    "bench": ("allocpool.bench:bench_command", "Measure a part of the instrument."),
    "compare": (
        "allocpool.compare.command:compare_command",
        "Decide whether a build got slower, by benchmark files.",
    ),
    "doctor": ("allocpool.doctor:doctor_command", "Show what this machine can run, and what is missing."),
    "gclog": ("allocpool.gclog.command:gclog_command", "Summarise garbage collection logs of JDK 11 to 27."),
}
"""Commands of other modules with their help: listing them imports no pandas, which takes a second."""

_FULL = (errno.ENOSPC, errno.EDQUOT)
_NOT_WRITABLE = (
    *_FULL, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EEXIST, errno.EFBIG, errno.EISDIR,
)  # fmt: skip
"""Errors that the user can mend."""


def _remedy(error: OSError) -> str | None:
    """Return what to do about a file that can't be written; None where the user can't mend it."""
    from allocpool import home

    if error.errno not in _NOT_WRITABLE:
        return None
    path = Path(os.fsdecode(error.filename)).absolute() if isinstance(error.filename, str | bytes) else home.data_dir()
    remedy = "give a file in a folder that takes files"
    for name, place, note in (
        ("ALLOCPOOL_DATA", home.data_dir(), "; what is finished is kept"),
        ("ALLOCPOOL_RUNTIMES", home.runtimes_dir(), ""),
        ("ALLOCPOOL_BUILD", home.build_dir(), ""),
    ):
        if place in (path, *path.parents) or path in place.parents:
            remedy = f"set {name} to a folder that takes files{note}"
    return f"make room there, or {remedy}" if error.errno in _FULL else remedy


def _usage_error(error: click.UsageError) -> NoReturn:
    """Print a wrong option or word as any other error: one line, one prefix, status 2."""
    command = error.ctx.command_path if error.ctx else "allocpool"
    click.echo(f"allocpool: {' '.join(error.format_message().split()).rstrip('.?')}; see {command} --help", err=True)
    sys.exit(error.exit_code)


class _OneLineErrors(click.Group):
    """A group whose commands print a user's error in one line and end with status 2."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), *_ELSEWHERE])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in _ELSEWHERE:
            command: click.Command = pkgutil.resolve_name(_ELSEWHERE[cmd_name][0])
            return command
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each command with its first sentence, which click would cut off."""
        sentences = {name: sentence for name, (_, sentence) in _ELSEWHERE.items()}
        sentences |= {name: command.get_short_help_str(limit=200) for name, command in self.commands.items()}
        with formatter.section("Commands"):
            formatter.write_dl(sorted(sentences.items()))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            _usage_error(error)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            _usage_error(error)
        except UserError as error:
            click.echo(f"allocpool: {printable(str(error))}", err=True)
            sys.exit(2)
        except OSError as error:
            if (remedy := _remedy(error)) is None:
                raise
            click.echo(f"allocpool: {error.filename or 'a file'}: {error.strerror}: {remedy}", err=True)
            sys.exit(2)
        except KeyboardInterrupt:
            click.echo("allocpool: stopped; nothing finished is lost, and the same command goes on from here", err=True)
            sys.exit(130)


@click.group("allocpool", cls=_OneLineErrors, context_settings=CONTEXT)
@click.version_option(package_name="allocpool")
def main() -> None:
    """For every message: allocate a fresh buffer, or take one from a pool?

    Measures it on this machine. Start with doctor, then findings. COMMAND --help shows each with an example.

    Example: allocpool findings --minutes 20
    """
    from allocpool.machine.guard import end_with_make

    # On SIGTERM a runner must end its child first, as with Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    end_with_make()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a name of a file may have any bytes
            stream.reconfigure(errors="backslashreplace")


class _TrialCommand(click.Command):
    """A command whose help lists the modes, or with ``mode=NAME`` the keys of one."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # Read here because --help ends the parsing before any other word is seen.
        ctx.meta["mode"] = next((word.partition("=")[2] for word in args if word.startswith("mode=")), None)
        return super().parse_args(ctx, args)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from allocpool.campaign import single

        mode = ctx.meta.get("mode")
        try:
            found = single.describe_keys(mode) if mode else single.describe_modes()
        except UserError as error:
            found = str(error)
        formatter.write(f"\n{found}\n")


@main.command(cls=_TrialCommand, context_settings=CONTEXT)
@click.argument("settings", nargs=-1, metavar="KEY=VALUE...")
@_JSON
@click.option("--show-command", is_flag=True, help="Print its command line; start no trial.")
def trial(settings: tuple[str, ...], as_json: bool, show_command: bool) -> None:
    """Run one trial: one fresh process with one fixed configuration.

    Exit status: 0 if the trial ends ok, 1 if not, 2 if a setting is wrong.
    """
    from allocpool import api
    from allocpool.campaign import single

    spec = single.parse_spec(settings)
    if show_command:
        click.echo(api.command(spec))
        return
    record = single.run_single(spec)
    summary = single.summary_of(record)
    click.echo(json.dumps(summary, indent=1, default=str) if as_json else single.as_text(summary, record))
    if record.status != "ok":
        click.echo(f"allocpool: the trial ended as {record.status}: {record.reason}", err=True)
        sys.exit(1)


def _overrides(settings: tuple[str, ...]) -> dict[str, Any]:
    """Parse ``KEY=VALUE`` words whose values are YAML, as in a profile's file."""
    from allocpool.campaign.profiles import parsed
    from allocpool.campaign.single import keyed

    overrides: dict[str, Any] = {}
    for key, value in keyed(settings, "--set blocks=3").items():
        try:
            overrides[key] = parsed(value)
        except UserError as error:
            raise UserError(f"--set {key}: {error}, for example --set blocks=3") from None
        if overrides[key] is None:
            raise UserError(f"--set {key} has no value, for example --set blocks=3")
    return overrides


def _campaigns(study: str, profile: str, settings: tuple[str, ...]) -> list[Campaign]:
    from allocpool.campaign import campaign
    from allocpool.campaign.registry import STUDY_NAMES

    if study != "all":
        return [campaign.open_study(study, profile, _overrides(settings))]
    if settings:
        raise UserError(f"--set changes one study: name it instead of all ({', '.join(STUDY_NAMES)})")
    return campaign.all_of_profile(profile)


def _planned(opened: Campaign) -> dict[str, Any]:
    from allocpool.campaign import sequential

    rows, questions = opened.planned_cells(), opened.questions_table()[["a", "b", "primary"]]
    return {
        "cells": rows.to_dict("records"), "trials": int(rows["trials"].sum()),
        "expected_s": float(rows["expected_s"].sum()), "schedule": opened.profile.schedule,
        "questions": questions.to_dict("records"),
        "first_round_expected_s": sequential.expected_seconds(opened.first_round_specs()),
    }  # fmt: skip


@main.command(context_settings=CONTEXT)
@click.argument("study")
@_PROFILE
@_SETTINGS
@_MINUTES
@click.option("--retry", type=click.Choice(["failed"]), help="Repeat trials that did not end ok; both are kept.")
@click.option("--scheduler", metavar="tcp://HOST:8786", help="Run on every machine of this Dask scheduler.")
@click.option("--local-workers", metavar="N", type=click.IntRange(1, 64), help="Try a fleet here: N workers.")
def run(
    study: str, profile: str, settings: tuple[str, ...], minutes: str | None, retry: str | None, scheduler: str | None,
    local_workers: int | None,
) -> None:  # fmt: skip
    """Run a STUDY, or all of them, under a profile; continues where an earlier run stopped.

    Raw trials go to data/raw, tables to data/tidy/PROFILE/STUDY. Ctrl-C loses no finished trial. A sequential profile
    (quick) runs its first round; with --minutes it goes on to inconclusive questions. docs/campaigns.md describes
    fleets.

    \b
    Example:
      allocpool run batch --set blocks=3 --set 'configurations=[java/heap/shenandoah/21, cpp/flat]'
    """
    from allocpool.campaign import campaign, sequential

    limit = sequential.minutes_from(minutes)
    campaigns = _campaigns(study, profile, settings)
    for opened in campaigns:
        opened.retries_failed = retry == "failed"
    if scheduler is not None or local_workers is not None:
        _run_on_fleet(campaigns, limit, scheduler, local_workers)
        return
    for opened, done in zip(campaigns, campaign.run_together(campaigns, limit), strict=True):
        click.echo(f"{_ended(opened.study.name, profile, done)}; tables in {opened.tidy_folder}")
        if opened.questions:
            click.echo(f"  {sequential.counts_in_words(done.primary, done.secondary)}")


def _ended(study: str, profile: str, done: CampaignStatus) -> str:
    return (
        f"{study} ({profile}): {done.finished} of {done.planned} trials have a record, {done.failed} of them not ok, "
        f"{done.unavailable} can't run here; {done.seconds:.0f} s measured now"
    )


def _run_on_fleet(
    campaigns: Sequence[Campaign], minutes: float | None, scheduler: str | None, local_workers: int | None
) -> None:
    from allocpool import home
    from allocpool.campaign import sequential
    from allocpool.fleet import fleet

    if scheduler is not None and local_workers is not None:
        raise UserError("--scheduler names machines and --local-workers starts some: give one of them")
    if minutes is not None:
        sequential.require_sequential(campaigns)
    behind = fleet.scheduler_at(scheduler) if scheduler is not None else fleet.local_workers(local_workers or 1)
    with behind as client:
        results = fleet.run_on(client, campaigns, minutes, lambda line: click.echo(line, err=True))
    for host in results:
        for study, done in host.states.items():
            click.echo(f"{host.name}: {_ended(study, campaigns[0].profile.profile, done)}")
    click.echo(f"Tables of each host in {home.hosts_dir()}")
    if problems := [host.problem for host in results if host.problem]:
        raise UserError("; ".join(dict.fromkeys(problems)))


@main.command(context_settings=CONTEXT)
@click.argument("study")
@_PROFILE
@_SETTINGS
@_JSON
def plan(study: str, profile: str, settings: tuple[str, ...], as_json: bool) -> None:
    """Show what a STUDY, or all of them, would run, and for how long; starts nothing.

    The summary comes first, then the cells, then the questions that it decides.

    Example: allocpool plan batch --profile standard --set blocks=3
    """
    from allocpool.campaign import sequential

    campaigns = _campaigns(study, profile, settings)
    if as_json:
        plans = {opened.study.name: _planned(opened) for opened in campaigns}
        click.echo(json.dumps(plans if study == "all" else plans[study], indent=1))
        return
    click.echo("\n".join(sequential.announcement(campaigns)))
    for opened in campaigns:
        click.echo(f"\n{opened.study.name}, cells with their trials and expected seconds; then questions:")
        cells = opened.planned_cells()
        if cells.empty:
            continue
        click.echo(cells.to_string(index=False, float_format=lambda value: f"{value:.0f}", na_rep=""))
        click.echo(f"heap and buffers of one trial take {cells['memory_mb'].max() / 1024:.1f} GiB at most")
        for question in opened.questions_table().to_dict("records"):
            click.echo(f"{'primary' if question['primary'] else 'secondary':9} {question['a']} against {question['b']}")


@main.command(context_settings=CONTEXT)
@click.option("--profile", default=None, help="Only this profile.")
@click.option("--questions", is_flag=True, help="Also list each question with its verdict so far.")
@_JSON
def status(profile: str | None, questions: bool, as_json: bool) -> None:
    """Show how far each study is, how long the rest takes, and its verdicts so far; starts nothing.

    Shows what was started; with --profile every study of that profile.

    Example: allocpool status --profile quick --questions
    """
    from allocpool.campaign import campaign, profiles

    states: dict[str, dict[str, Any]] = {}
    for name in profiles.names() if profile is None else [profile]:
        try:
            campaigns = campaign.all_of_profile(name, begun=profile is None)
        except UserError as error:  # a broken file of one profile hides no other
            if profile is not None:
                raise
            click.echo(f"allocpool: {error}", err=True)
            continue
        for opened in campaigns:
            states.setdefault(name, {})[opened.study.name] = _state(name, opened, questions, as_json)
    if as_json:
        click.echo(json.dumps(states, indent=1))
    elif not states:
        click.echo("nothing was started yet: `allocpool findings`, or `allocpool run STUDY`")
    elif profile is None:
        click.echo("others were not started: `allocpool status --profile NAME` lists all of a profile")


def _state(profile: str, opened: Campaign, questions: bool, as_json: bool) -> dict[str, Any]:
    """Return the state of a campaign, and print it unless it is wanted as JSON."""
    from dataclasses import asdict

    from allocpool.campaign import sequential
    from allocpool.decisions import A_CHEAPER, B_CHEAPER, OPEN

    state = opened.status()
    left_s = sequential.expected_seconds(opened.missing_specs())
    found = {**asdict(state), "complete": state.complete, "left_expected_s": left_s}
    asked = opened.questions_table() if questions else None
    if asked is not None:
        found["questions"] = json.loads(asked.to_json(orient="records"))
    if as_json:
        return found
    click.echo(
        f"{profile:10} {opened.study.name:12} {state.finished:5} of {state.planned:5} finished, "
        f"{state.failed} not ok, {state.unavailable} can't run here, {state.missing} missing"
        f"{f' (about {sequential.duration(left_s)})' if state.missing else ''}; "
        f"{sequential.counts_in_words(state.primary, state.secondary)}"
    )
    if asked is not None and len(asked):
        words = {A_CHEAPER: "a cheaper", B_CHEAPER: "b cheaper", OPEN: "inconclusive"}
        shown = asked.drop(columns=["level", "effect", "question"]).replace({"verdict": words})
        click.echo(shown.to_string(index=False, float_format=lambda value: f"{value:.3g}", na_rep=""))
    return found


@main.command(context_settings=CONTEXT)
@click.argument("archive", type=click.Path(dir_okay=False))
@_PROFILE
@click.option("--raw", is_flag=True, help="Also the record of every trial; not its logs.")
def export(archive: str, profile: str, raw: bool) -> None:
    """Write what this host measured under a profile to an ARCHIVE (.tar.gz), for import on another.

    Example: allocpool export mine.tar.gz --profile quick
    """
    from allocpool.campaign import archive as archives

    host, studies = archives.export(Path(archive), profile, raw)
    click.echo(f"{archive}: host {host}, profile {profile}, {', '.join(studies)}")


@main.command("import", context_settings=CONTEXT)
@click.argument("archive", type=click.Path(dir_okay=False))
def import_archive(archive: str) -> None:
    """Add the ARCHIVE of another host: pages show its results apart from this one's.

    Example: allocpool import theirs.tar.gz
    """
    from allocpool.campaign import archive as archives

    host, profile, studies = archives.take_in(Path(archive))
    click.echo(f"{archive}: host {host}, profile {profile}, {', '.join(studies)}: shown apart from this host's")


@main.command(context_settings=CONTEXT)
@_PROFILE
@_MINUTES
def findings(profile: str, minutes: str | None) -> None:
    """Measure every study of a profile, run the notebooks, build the pages; prints where they are.

    A sequential profile (quick) takes 20 minutes unless --minutes gives it others, and spends them on what is not
    decided yet. Earlier trials count: the same command continues after an interruption, or with more minutes.

    Example: allocpool findings --minutes 60
    """
    from allocpool import home
    from allocpool.campaign import campaign, sequential
    from allocpool.decisions import judged_by
    from allocpool.findings import Measured, answer
    from allocpool.machine.host import usable_cores
    from allocpool.site import pages_seconds, render, require_whole
    from allocpool.studies.instrument.outlook import MINUTES, outlook

    asked = sequential.minutes_from(minutes)
    campaigns = campaign.all_of_profile(profile)
    if asked is not None:
        sequential.require_sequential(campaigns)
    elif any(each.is_sequential for each in campaigns):
        asked = MINUTES
    pages = pages_seconds(profile) / 60
    measured = None if asked is None else asked - pages
    if measured is not None and measured <= 0:
        raise UserError(f"the pages alone take about {pages:.1f} minutes: give more than that")
    click.echo(outlook(profile, measured).sentences())
    click.echo("\n".join(sequential.announcement(campaigns)))
    campaign.run_together(campaigns, measured)
    page = render(profile, jobs=usable_cores(), show_only=True)
    click.echo(sequential.outcome(campaigns))
    found = Measured(profile)
    with judged_by(found.rule):
        click.echo(answer(found))
    click.echo(f"The answer for this machine: {page}")
    require_whole(home.build_dir() / "executed" / profile)


@main.command(context_settings=CONTEXT)
@_PROFILE
@click.option(
    "--execute", is_flag=True, help="Run the notebooks first, over stored or shipped results; measures nothing."
)
def site(profile: str, execute: bool) -> None:
    """Build the pages again from the notebooks that were executed; runs no trial.

    Example: allocpool site --profile quick --execute
    """
    from allocpool import home
    from allocpool.campaign import profiles
    from allocpool.machine.host import usable_cores
    from allocpool.site import build_site, notebooks_of, render, require_whole

    profiles.check(profile)
    executed = home.build_dir() / "executed" / profile
    if execute:
        page = render(profile, jobs=usable_cores(), show_only=True)
    elif executed.is_dir():
        page = build_site(executed, home.build_dir() / "site" / profile, notebooks_of(profile))
    else:
        raise UserError(
            f"profile {profile} has no executed notebooks: `allocpool site --profile {profile} --execute` makes them "
            "of what is stored"
        )
    click.echo(f"Pages: {page}")
    require_whole(executed)


if __name__ == "__main__":
    main()
