"""What notebook 11 shows: the calculator, the record of the predictions, and public debates as worked examples."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import seaborn as sns
import yaml
from IPython.display import HTML
from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup
from matplotlib.figure import Figure

from allocpool.ask import fit
from allocpool.ask import model as ask
from allocpool.ask.command import asked
from allocpool.ask.fit import AT_LENGTH, LEFT_OUT, OTHER_HOST, PROFILE, RECORD, STUDY
from allocpool.ask.model import ALLOCATE, POOL, UNDECIDED
from allocpool.ask.pairs import CONFIGURATIONS
from allocpool.campaign import hosts, store
from allocpool.decisions import Rule
from allocpool.errors import UserError
from allocpool.evidence import style, tables
from allocpool.evidence.style import finish

_HERE = Path(__file__).parent
_FIELDS = (
    # name, words, value, least, most, step, where its slider starts
    ("bytes", "Size of a message, bytes", 512, 16, 2**28, "1", 16),
    ("in_flight", "Messages in flight at once", 20_000, 0, 10_000_000, "1", 1),
    ("kept", "Kept for longer, % of messages", 6, 0, 100, "any", 0.1),
    ("kept_for", "Kept for, seconds", 1, 0.001, 86_400, "any", 0.001),
    ("rate", "Messages a second (for how many are kept)", 1_000_000, 1, 100_000_000, "any", 1),
    ("touched", "Of a message, written and read, %", 100, 0, 100, "any", 1),
    ("temporaries", "Temporary objects a message", 0, 0, 1000, "1", 1),
    ("temporary_bytes", "Bytes of each", 32, 24, 2**20, "1", 24),
    ("live", "Other live data, MiB", 0, 0, 65_536, "any", 1),
    ("heap", "Heap, MiB", 4096, 16, 65_536, "1", 16),
)
SIDES = (ALLOCATE, POOL)


@dataclass(frozen=True)
class Record:
    """The shipped design: its ``trials``, their provenance and rule, and ``predictions``, a row for each workload that
    a model without it predicted."""

    trials: pd.DataFrame
    provenance: dict[str, Any]
    predictions: pd.DataFrame
    rule: Rule


def record() -> Record:
    """Return the record; UserError where it does not ship."""
    tables_of, about = store.stored(STUDY, PROFILE)
    if about is None:
        raise UserError(f"profile {PROFILE} of study {STUDY} has no results")
    predictions = pd.read_csv(ask.path().parent / RECORD)
    return Record(tables_of["trials"], about, predictions, store.rule_of(PROFILE, STUDY))


def calculator() -> HTML:
    """Return the calculator with its model and its script: nothing is fetched."""
    names = ("name", "words", "value", "least", "most", "step", "start")
    template = Environment(loader=FileSystemLoader(_HERE), autoescape=True).get_template("calculator.html")
    script, model = (
        Markup(path.read_text(encoding="utf-8").replace("</", "<\\/"))  # no text in a script ends it
        for path in (_HERE / "calculator.js", ask.path())
    )
    fields = [dict(zip(names, row, strict=True)) for row in _FIELDS]
    return HTML(template.render(fields=fields, configurations=CONFIGURATIONS, script=script, model=model))


def coverage(predictions: pd.DataFrame) -> pd.DataFrame:
    """Return how predictions did, by kind, configuration, messages alive and size: coverage of the interval, share
    decided, and of the sides named the share that is the measured one."""
    inside = predictions[predictions["outside"].isna()].copy()
    alive = inside["in_flight"] + inside["kept_count"] + 1
    inside["alive"] = pd.cut(alive, [0, 100, 10_000, math.inf], labels=["up to 100 alive", "to 10,000", "more alive"])
    inside["size"] = pd.cut(inside["bytes"], [0, 2**10, 2**15, math.inf], labels=["up to 1 KiB", "to 32 KiB", "larger"])
    held = inside[inside["kind"] == LEFT_OUT]
    rows = [_score("left out, all", held)]
    rows += [
        _score(f"left out, {label}", held[held["configuration"] == name]) for name, label in CONFIGURATIONS.items()
    ]
    for column in ("alive", "size"):
        rows += [_score(f"left out, {name}", part) for name, part in held.groupby(column, observed=True)]
    other = inside[inside["kind"] == OTHER_HOST]
    rows.append(_score("other hosts, all", other))
    rows += [
        _score(f"other hosts, {label}", other[other["configuration"] == name]) for name, label in CONFIGURATIONS.items()
    ]
    rows.append(_score(AT_LENGTH, inside[inside["kind"] == AT_LENGTH]))
    return pd.DataFrame([row for row in rows if row["workloads"]])


def _score(name: str, rows: pd.DataFrame) -> dict[str, Any]:
    covered = (rows["low"] <= rows["measured"]) & (rows["measured"] <= rows["high"])
    named = rows[rows["answer"].isin(SIDES)]
    right = (named["answer"] == POOL) == (named["measured"] > 1)
    decided = rows["answer"] != UNDECIDED
    return {
        "predicted": name, "workloads": len(rows), "in interval": covered.mean(), "decided": decided.mean(),
        "sides named": len(named), "right": right.mean() if len(named) else None,
        "median interval, high / low": (rows["high"] / rows["low"]).median(),
    }  # fmt: skip


def differing(found: Record) -> pd.DataFrame:
    """Return by how much ratios of the same workloads differ on another host, and with another JDK: see `fit`."""
    rows = fit.differing(fit.of_all_hosts(), str(found.provenance["host_id"]))
    shown = []
    for row in rows.to_dict("records"):
        host, name, over = str(row.pop("host_id"))[:4], str(row.pop("configuration")), str(row.pop("over"))
        other_host = str(row.pop("over_host_id"))[:4]
        compared = f"host {host} over {other_host}" if name == over else f"over {CONFIGURATIONS[over]}, host {host}"
        shown.append({"configuration": CONFIGURATIONS[name], "compared": compared, **row})
    return pd.DataFrame(shown)


def small_pool() -> pd.DataFrame:
    """Return what a small pool costs on all hosts that ran it on workloads of the design: see `fit`."""
    found = fit.small_pool(hosts.tables_of_hosts(STUDY, PROFILE)["trials"])
    return found.replace({"configuration": CONFIGURATIONS})


def summary(predictions: pd.DataFrame) -> str:
    """Return the record in a sentence."""
    row = coverage(predictions).iloc[0]
    return (
        f"Of {row['workloads']} workloads left out, {row['in interval']:.0%} lie in their interval; "
        f"{row['decided']:.0%} are decided, and of the sides named {row['right']:.1%} are right."
    )


def calibration(predictions: pd.DataFrame) -> Figure:
    """Draw measured over expected ratios with their intervals, a panel a configuration."""
    held = predictions[(predictions["kind"] == LEFT_OUT) & predictions["outside"].isna()]
    held = held.assign(configuration=held["configuration"].map(CONFIGURATIONS))
    grid = sns.relplot(
        held, x="expected", y="measured", col="configuration", col_wrap=1, color=style.BLUE, height=3.4, aspect=1.5,
        s=22, facet_kws={"sharex": False, "sharey": False},
    )  # fmt: skip
    for name, axis in grid.axes_dict.items():
        own = held[held["configuration"] == name]
        missed = own[(own["measured"] < own["low"]) | (own["measured"] > own["high"])]
        axis.errorbar(
            own["expected"], own["expected"], yerr=[own["expected"] - own["low"], own["high"] - own["expected"]],
            fmt="none", ecolor=style.SILVER, elinewidth=0.8, zorder=0,
        )  # fmt: skip
        axis.scatter(missed["expected"], missed["measured"], color=style.VERMILION, s=30, zorder=3)
        axis.set(xscale="log", yscale="log")
        axis.axhline(1, color=style.GREY, linewidth=0.8)
    words = "Allocation over pool of workloads left out: measured over expected, with 95% prediction intervals."
    return finish(grid, words, 1, x="expected, allocation over pool", y="measured")


def errors(predictions: pd.DataFrame) -> Figure:
    """Draw by how much predictions are off, over each parameter."""
    held = predictions[(predictions["kind"] == LEFT_OUT) & predictions["outside"].isna()]
    off = held.assign(off=held["measured"] / held["expected"], alive=held["in_flight"] + held["kept_count"] + 1)
    shown = {"bytes": "bytes", "alive": "messages alive", "heap_mb": "heap, MiB"}
    long = off.melt(["off", "configuration"], list(shown), "parameter", "value")
    long = long[long["value"] > 0].replace({"parameter": shown, "configuration": CONFIGURATIONS})
    grid = sns.relplot(
        long, x="value", y="off", hue="configuration", style="configuration", col="parameter", col_wrap=1, height=2.6,
        aspect=2, facet_kws={"sharex": False},
    )  # fmt: skip
    for axis in grid.axes:
        axis.set(xscale="log", yscale="log", xlabel="")
        axis.axhline(1, color=style.GREY, linewidth=0.8)
    return finish(grid, "Measured over expected ratio of workloads left out, by parameter.", 1, y="measured / expected")


def debates() -> list[dict[str, Any]]:
    """Return the public debates, as data."""
    found: list[dict[str, Any]] = yaml.safe_load((_HERE / "debates.yaml").read_text(encoding="utf-8"))
    return found


def debated(found: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return a row a debate: what was concluded there, and what `ask` answers for its numbers."""
    rows = []
    for each in found:
        try:
            _, label, answer = asked(each["given"])
            side, here = answer.answer, f"{answer.ratio:.2f} ({answer.low:.2f} to {answer.high:.2f})"
            side = "outside what was measured" if answer.outside else side
            here = "; ".join(answer.outside) or here
        except UserError as error:
            label, side, here = "", "can't run", str(error)
        rows.append({
            "workload": each["title"], "ask": side, "allocation over pool": here, "there": each["side"],
            "concluded there": each["concluded"], "where": f"[{each['where']}]({each['source']})",
            "numbers": ", ".join(f"{key} {value.replace(',', ', ')}" for key, value in each["given"].items()),
            "assumed by us": ", ".join(each["assumed"]), "configuration": label,
        })  # fmt: skip
    return pd.DataFrame(rows)


def debates_table(rows: pd.DataFrame) -> Any:
    """Return them as a table with links."""
    table: Any = tables.plain_table(rows, "Public debates", "Numbers that the source does not state are assumed by us.")
    return table.fmt_markdown(columns=tables.heading("where"))
