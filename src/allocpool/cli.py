"""``allocpool``: the command line."""

from __future__ import annotations

import importlib
import json
import signal
import sys
from typing import Any

import click

from allocpool.errors import UserError

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


_ELSEWHERE = {
    "bench": "allocpool.bench:bench_command",
    "doctor": "allocpool.doctor:doctor_command",
    "gclog": "allocpool.gclog.command:gclog_command",
}
"""Commands that live with what they show; imported when they are asked for."""


class _OneLineErrors(click.Group):
    """A group whose commands tell a user's error in one line and end with status 2."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), *_ELSEWHERE])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in _ELSEWHERE:
            module, _, name = _ELSEWHERE[cmd_name].partition(":")
            command: click.Command = getattr(importlib.import_module(module), name)
            return command
        return super().get_command(ctx, cmd_name)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except UserError as error:
            click.echo(f"allocpool: {error}", err=True)
            sys.exit(2)


@click.group(cls=_OneLineErrors, context_settings=CONTEXT)
@click.version_option(package_name="allocpool")
def main() -> None:
    """For every message: allocate a fresh buffer, or take one from a pool?

    Measures it on this machine. Start with `allocpool doctor` (what this machine can run), then
    `allocpool findings` (measure, then render the page), or measure a single point with
    `allocpool trial`.
    """
    # A runner that is told to end must end its child first, as with Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)


@main.command(context_settings=CONTEXT)
@click.argument("settings", nargs=-1, metavar="KEY=VALUE...")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def trial(settings: tuple[str, ...], as_json: bool) -> None:
    """Run one trial: one fresh process with one fixed configuration.

    \b
    Java:  layout=heap|native|flat|flat_ffm|netty_pooled|netty_unpooled|netty_adaptive|commons_pool|agrona
           runtime=11|17|21|25
           collector=serial|parallel|cms|g1|zgc|genzgc|shenandoah|genshenandoah|epsilon
           [heap_mb=N] [direct_mb=N] [pause_target_ms=N] [compact_headers=true] [large_pages=true]
    C++:   layout=allocating|flat|slab language=cpp
           [allocator=glibc|glibc_keeping|jemalloc|mimalloc|tcmalloc|pmr_pool|pmr_monotonic|boost_pool]
           [steps=contiguous,one_line,stride,huge_pages,prefetch]   (layout slab; all when left out)
    Both:  strategy=dummy|alloc|mix|pool case=A|B|C scale=S seed=N
           [queue_size=N] [stored_count=N] [pool_size=N]
    Length: seconds=S [warmup_seconds=S] [iteration_ms=MS], or packets=N exactly

    \b
    mode=batch     packets without end: what does one cost?
    mode=realtime  packets every interval_ns=NS through the input queue [input_queue_ms=100]: what is lost?
    mode=search    low_ns=NS high_ns=NS probe_seconds=S full_seconds=S: the smallest interval without loss (NDR),
                   and with little (PDR) [resolution=0.05] [confirmations=5] [patience_seconds=120]
    mode=echo      server=java|cpp io=WAY connections=N seconds=S: what does a connection cost?
                   Java: buffered_reader|buffered_stream [buffer=8192], stream, each threads=platform|virtual;
                   nio_buffer_per_connection, nio_pooled, netty_pooled, netty_unpooled.  C++: threads, epoll
                   [rate=MESSAGES_PER_SECOND] [message_bytes=512] [port=0] [runtime=N collector=C heap_mb=N]
    mode=counters  counter=hardware|simulated packets=N: events per packet, by the processor or by cachegrind
    mode=allocation  technique=malloc|byte_array|heap_buffer|direct_buffer|arena_confined|arena_auto|arena_slicing
                     bytes=N [strategy=alloc|pool] [touch=none|first|page|zero] [live_mb=N] [allocator=A]
    mode=access      memory=c|heap|direct|segment operation=write|random_write|copy [bytes=N]
    mode=fragmentation  technique=malloc|slab|byte_array distribution=uniform|lognormal|phases [live_mb=N]
                     [turnovers=N] [idle_seconds=S]
    mode=jmh         technique=byte_array|heap_buffer|direct_buffer bytes=N: the same under JMH
    mode=stream    events_per_second=N keys=N seconds=S: windows on Hazelcast Jet; how late is each one's result set?
                   [runtime=17|21|25 collector=C heap_mb=N] [window_ms=1000] [slide_ms=10] [cooperative_threads=1]
                   [aggregate=boxed|garbage_free] [processors=cooperative|native|platform|virtual] [port=0]
                   [new_size_mb=N] [concurrent_gc_threads=N] [parallel_gc_threads=N] [percentile=99.99]
    mode=stream_search  low_events_per_second=N high_events_per_second=N seconds=S: the highest rate that holds
                   [target_ms=10] at the tail [resolution=0.1] [confirmations=2]; the rest as mode=stream
    mode=ring      language=java|cpp interval_ns=NS seconds=S: the source and a consumer that only reads

    \b
    Examples:
      allocpool trial mode=batch layout=heap runtime=11 collector=cms strategy=alloc case=A \\
          scale=0.1 seconds=5 --json
      allocpool trial mode=batch layout=flat language=cpp strategy=pool case=C packets=1000000
      allocpool trial mode=batch layout=slab language=cpp steps=contiguous,one_line strategy=pool case=B seconds=1
      allocpool trial mode=realtime layout=heap runtime=25 collector=g1 strategy=pool case=B scale=0.1 \\
          interval_ns=1000 seconds=10 --json
      allocpool trial mode=ring language=java runtime=25 interval_ns=10 seconds=60 --json
      allocpool trial mode=echo server=java io=buffered_reader buffer=8192 threads=platform \\
          connections=1000 seconds=5 --json
      allocpool trial mode=stream runtime=25 collector=genzgc events_per_second=100000 keys=10000 \\
          cooperative_threads=1 seconds=10 --json
      allocpool trial mode=counters counter=simulated layout=slab strategy=pool case=B packets=1000000
      allocpool trial mode=allocation technique=malloc allocator=glibc bytes=1024 --json

    Exit status: 0 when the trial's status is ok, 1 when it is another, 2 when the settings are refused.
    """
    from allocpool.campaign import modes

    spec = modes.parse_spec(settings)
    record = modes.run_single(spec)
    summary = modes.MODES[spec.mode].summarise(record)
    if as_json:
        click.echo(json.dumps(summary, indent=1, default=str))
    else:
        for key, value in summary.items():
            if value is not None and not isinstance(value, (dict, list)):
                click.echo(f"{key:24} {value:.4g}" if isinstance(value, float) else f"{key:24} {value}")
        for key, value in (summary.get("counts") or {}).items():
            click.echo(f"  {key:22} {value}")
    if record.status != "ok":
        click.echo(f"allocpool: the trial ended as {record.status}: {record.reason}", err=True)
        sys.exit(1)


def _overrides(settings: tuple[str, ...]) -> dict[str, Any]:
    """``KEY=VALUE`` words whose values are YAML, as in a profile's file."""
    import yaml

    found: dict[str, Any] = {}
    for word in settings:
        key, equals, value = word.partition("=")
        try:
            found[key] = yaml.safe_load(value)
        except yaml.YAMLError:
            equals = ""
        if not equals or not key:
            raise UserError(f"--set {word!r} is not KEY=VALUE, for example --set blocks=3")
    return found


@main.command(context_settings=CONTEXT)
@click.argument("study")
@click.option("--profile", default="quick", show_default=True, help="smoke, quick, standard or article.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Another value for one key of the profile.")
def run(study: str, profile: str, settings: tuple[str, ...]) -> None:
    """Run a STUDY (or `all`) under a profile; continues where an earlier run stopped.

    Raw trials go to data/raw, tidy tables to data/tidy/PROFILE/STUDY. Ctrl-C loses no finished trial.

    \b
    Example, another solution than the profile has:
      allocpool run batch --set blocks=3 --set 'solutions=[java/heap/shenandoah/21, cpp/flat]'
    """
    from allocpool.campaign import campaign
    from allocpool.campaign.registry import STUDY_NAMES

    if study == "all" and not settings:
        campaigns = campaign.all_of_profile(profile)
    elif study == "all":
        raise UserError(f"--set changes one study: name it instead of all ({', '.join(STUDY_NAMES)})")
    else:
        campaigns = [campaign.open_study(study, profile, _overrides(settings))]
    for opened in campaigns:
        done = opened.run()
        click.echo(
            f"{opened.study.name} ({profile}): {done.finished} of {done.planned} trials have a record, "
            f"{done.failed} of them not ok, {done.unavailable} can't run here; {done.seconds:.0f} s measured now; "
            f"tables in {opened.tidy_folder}"
        )


@main.command(context_settings=CONTEXT)
@click.argument("study")
@click.option("--profile", default="quick", show_default=True, help="smoke, quick, standard or article.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Another value for one key of the profile.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def plan(study: str, profile: str, settings: tuple[str, ...], as_json: bool) -> None:
    """What a STUDY would run under a profile, and about how long that takes; starts and builds nothing."""
    from allocpool.campaign import campaign

    rows = campaign.open_study(study, profile, _overrides(settings)).planned_cells()
    total_s = float(rows["expected_s"].sum())
    if as_json:
        told = {"cells": rows.to_dict("records"), "trials": int(rows["trials"].sum()), "expected_s": total_s}
        click.echo(json.dumps(told, indent=1))
        return
    click.echo(rows.to_string(index=False, float_format=lambda value: f"{value:.0f}", na_rep=""))
    click.echo(
        f"{study} ({profile}): {int(rows['trials'].sum())} trials in {len(rows)} cells, about {total_s:.0f} s "
        f"({total_s / 3600:.1f} h); {int(rows['unavailable'].notna().sum())} cells can't run"
    )


@main.command(context_settings=CONTEXT)
@click.option("--profile", default=None, help="Only this profile.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def status(profile: str | None, as_json: bool) -> None:
    """How far each study is under each profile; starts nothing."""
    from dataclasses import asdict

    from allocpool.campaign import campaign

    told: dict[str, dict[str, Any]] = {}
    for name in campaign.profiles() if profile is None else [profile]:
        for opened in campaign.all_of_profile(name):
            state = opened.status()
            told.setdefault(name, {})[opened.study.name] = {**asdict(state), "complete": state.complete}
            if not as_json:
                click.echo(
                    f"{name:10} {opened.study.name:12} {state.finished:5} of {state.planned:5} finished, "
                    f"{state.failed} not ok, {state.unavailable} can't run here, {state.missing} missing"
                )
    if as_json:
        click.echo(json.dumps(told, indent=1))


@main.command(context_settings=CONTEXT)
@click.option("--profile", default="quick", show_default=True, help="smoke, quick, standard or article.")
def findings(profile: str) -> None:
    """Measure every study of a profile, run the notebooks, render the pages; prints where the answer is."""
    from allocpool.campaign import campaign
    from allocpool.site import render

    for opened in campaign.all_of_profile(profile):
        opened.run()
    click.echo(f"The answer for this machine: {render(profile)}")


@main.command(context_settings=CONTEXT)
@click.option("--profile", default="quick", show_default=True, help="smoke, quick, standard or article.")
def site(profile: str) -> None:
    """Build the pages again from the notebooks that `allocpool findings` executed; runs nothing."""
    from allocpool import home
    from allocpool.site import build_site

    executed = home.build_dir() / "executed" / profile
    if not executed.is_dir():
        raise UserError(
            f"profile {profile} has no executed notebooks: `allocpool findings --profile {profile}` makes them"
        )
    click.echo(f"Pages: {build_site(executed, home.build_dir() / 'site' / profile)}")


if __name__ == "__main__":
    main()
