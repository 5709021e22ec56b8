"""The command ``gclog``: the summary of any log, for eyes or for programs."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

import click

from allocpool.errors import UserError
from allocpool.gclog.log import GcLog, join_parts, read_runs
from allocpool.gclog.summary import GcLogSummary, summary_of


@click.command("gclog")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="One JSON object; for several files or runs an array of them.")
def gclog_command(files: tuple[str, ...], as_json: bool) -> None:
    """Summarise garbage collection logs of JDK 11 to 27, plain, compressed, UTF-16 or as lines of JSON.

    Shows the collector, pauses by kind, safepoints and the time to reach them, allocation stalls and the minimum
    mutator utilisation. Parts of a rotated log (gc.log.0 gc.log.1 gc.log) that are given together are summed as one,
    in the order of their time stamps; other files, and runs of a JVM within a file, each on their own. A file that is
    no log is reported in one line, the others are summarised, and the exit status is 1.
    """
    read: dict[Path, tuple[GcLog, ...]] = {}
    refused = []
    for file in map(Path, files):
        try:
            read[file] = read_runs(file)
        except UserError as error:
            refused.append(str(error))
    summaries = [summary_of(log) for log in join_parts(read)]
    if as_json and (summaries or len(files) > 1):
        plain = [asdict(one) for one in summaries]
        click.echo(json.dumps(plain if len(files) > 1 or len(plain) > 1 else plain[0]))
    elif summaries:
        click.echo(_printable("\n\n".join(as_text(one) for one in summaries)))
    for line in refused:
        click.echo(f"Error: {_printable(line)}", err=True)
    if refused:
        sys.exit(1)


def as_text(summary: GcLogSummary) -> str:
    """The summary as a page of plain text."""
    version = f", JDK {summary.jvm_version}" if summary.jvm_version else ""
    header = f"    {'kind':<24}{'count':>8}{'total ms':>12}{'mean ms':>12}{'p99 ms':>12}{'max ms':>12}{'nested':>8}"
    span = "unknown" if summary.span_ms is None else f"{summary.span_ms / 1e3:.3f} s"
    lines = [
        summary.file,
        f"  collector    {summary.collector}{version}",
        f"  span         {span} ({summary.clock} clock)",
        f"  pauses       {summary.pauses}, total {_ms(summary.pause_total_ms)}, mean {_ms(summary.pause_mean_ms)}, "
        f"p99 {_ms(summary.pause_p99_ms)}, max {_ms(summary.pause_max_ms)}; "
        f"{summary.nested} more are nested in these",
    ]
    if summary.pause_kinds:
        lines.append(header)
    for kind in summary.pause_kinds:
        times = "".join(f"{value:>12.3f}" for value in (kind.total_ms, kind.mean_ms, kind.p99_ms, kind.max_ms))
        lines.append(f"    {kind.kind:<24}{kind.count:>8}{times}{kind.nested:>8}")
    lines += [
        f"  safepoints   {summary.safepoints}, total {_ms(summary.safepoint_total_ms)}, "
        f"max {_ms(summary.safepoint_max_ms)}; "
        f"reaching them {_ms(summary.time_to_safepoint_total_ms)}, max {_ms(summary.time_to_safepoint_max_ms)}",
        f"  stalls       {summary.stalls}, total {_ms(summary.stall_total_ms)}, max {_ms(summary.stall_max_ms)}",
        f"  utilisation  least in any window, pauses only:   {_utilisation(summary.mmu_pauses)}",
        f"               least in any window, all that stops: {_utilisation(summary.mmu_stopped)}",
        f"  unread       {summary.unread} lines about stopped threads; {summary.violations} contradictions",
    ]
    return "\n".join([*lines, *(f"  note: {note}" for note in summary.notes)])


def _printable(text: str) -> str:
    """What a log says is no command to a terminal: control characters but line ends become ``?``."""
    return "".join(mark if mark.isprintable() or mark == "\n" else "?" for mark in text)


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f} ms"


def _utilisation(values: dict[str, float | None]) -> str:
    return ", ".join(f"{window} ms {'-' if value is None else f'{value:.1%}'}" for window, value in values.items())
