"""Measure, load, compare and draw from Python: ``import allocpool`` offers the functions of this module.

    trials = allocpool.load("batch")
    compared = allocpool.compare(trials, a="alloc", b="pool", by=["configuration", "alive"])
    allocpool.headline(compared)

Units are in the names of columns. Every wrong argument, and what is not measured or can't run here, raises
`UserError`, one line that names the valid choices.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from allocpool import decisions, home
from allocpool.campaign import campaign as campaigns
from allocpool.campaign import hosts as campaign_hosts
from allocpool.campaign import profiles, single, store
from allocpool.campaign.campaign import CampaignStatus
from allocpool.campaign.registry import STUDY_NAMES, module_of, study_named
from allocpool.decisions import EFFECT
from allocpool.errors import UserError, unknown_choice
from allocpool.evidence.tables import Judged, claim_rows
from allocpool.packets import by_size
from allocpool.packets.by_size import Headline
from allocpool.trial.launch import environment_for, flags_of
from allocpool.trial.spec import TrialSpec


def run(study: str, profile: str = "quick", minutes: float | None = None, **settings: Any) -> CampaignStatus:
    """Measure what has no result yet and return how far the campaign is.

    Args:
        study: such as ``batch``.
        profile: ``smoke``, ``quick``, ``standard`` or ``article``.
        minutes: total budget over all runs; for profiles that run sequentially.
        settings: other values for keys of the profile, such as ``blocks=3, configurations=["java/heap/g1/25"]``.
    """
    return campaigns.run_together([campaigns.open_study(study, profile, settings)], minutes)[0]


def plan(study: str, profile: str = "quick", **settings: Any) -> pd.DataFrame:
    """Return what `run` would measure, one row per configuration: trials, ``expected_s``, ``memory_mb`` of one, and why
    this machine can't run it; starts nothing. Arguments and errors as of `run`."""
    return campaigns.open_study(study, profile, settings).planned_cells()


def status(study: str, profile: str = "quick", **settings: Any) -> CampaignStatus:
    """Return how many trials are planned, finished, failed and missing; arguments and errors as of `run`."""
    return campaigns.open_study(study, profile, settings).status()


def load(
    study: str, profile: str = "standard", table: str = "trials", hosts: str = "this", **settings: Any
) -> pd.DataFrame:
    """Return a table of a study, one row per trial unless the table says otherwise, failed trials included.

    Columns are those of `data/README.md`, with ``configuration`` ("G1, JDK 25", "C++ flat"), ``alive`` (messages that
    are held at once) and costs by message.

    Args:
        study: such as ``batch``.
        profile: of the campaign.
        table: ``trials``, or another one of the study.
        hosts: ``this``: of this machine, or shipped ones where it has none; ``all``, or the id of one host: with column
            ``host``. Costs of one host are no costs of another: compare within each.
        settings: those that `run` was given: results of other settings are kept apart.
    """
    known = study_named(study)
    profiles.check(profile)
    profile = campaigns.open_study(study, profile, settings).profile.profile if settings else profile
    if hosts == "this":
        tables = store.read_tables(study, profile)[0]
    else:
        labels = {one.host_id: one.label for one in campaign_hosts.of_hosts(study, profile)}
        if hosts not in ("all", *labels):
            raise unknown_choice("hosts", hosts, ["this", "all", *labels])
        tables = campaign_hosts.tables_of_hosts(study, profile, None if hosts == "all" else hosts)
    if table not in tables:
        raise unknown_choice(f"table of {study}", table, sorted(tables))
    readable = known.readable
    frame = readable.label(tables[table]).rename(columns=dict(readable.columns))
    if hosts != "this":
        frame["host"] = frame["host_id"].map(labels)
    usual = ("host", "configuration", "alive", "strategy", "block", "status", readable.cost)
    first = [name for name in usual if name in frame]
    frame = frame[[*first, *(name for name in frame if name not in first)]]
    frame.attrs = {"cost": readable.cost}
    return frame


def compare(
    frame: pd.DataFrame,
    a: str,
    b: str,
    by: str | Sequence[str] = ("configuration", "alive"),
    margin: float = EFFECT,
    column: str = "strategy",
    cost: str | None = None,
) -> pd.DataFrame:
    """Return how many times as much ``a`` costs as ``b``, one row per group; all groups are decided together.

    Columns: those of ``by``, ``ratio`` (of geometric means, a over b), ``low``, ``high`` (its interval, at any look),
    ``n_a``, ``n_b`` (trials) and ``verdict``: the cheaper side, ``no difference`` (within the margin), ``inconclusive``
    or ``not measured``. Trials count in the order of their blocks, and only those that ended well.

    Args:
        frame: from `load`.
        a, b: values of ``column``.
        by: columns whose values make a group; what they leave open must be the same in a block.
        margin: the smallest ratio that matters, above 1.
        column: that distinguishes ``a`` and ``b``.
        cost: the column to compare, above 0, less is better; as the study has it.

    Raises:
        UserError: an unknown column or value, or groups that would pool different trials; names the valid ones.
    """
    keys = [by] if isinstance(by, str) else list(by)
    cost = cost or frame.attrs.get("cost") or ""
    for name in (*keys, column, cost):
        if name not in frame:
            raise unknown_choice("column", name, frame.columns)
    for side in (a, b):
        if side not in set(frame[column]):
            raise unknown_choice(column, side, sorted(frame[column].dropna().astype(str).unique()))
    if a == b or column in keys:
        raise UserError(f"a and b must differ in {column}, which is no part of by: {a!r} and {b!r}, by {keys}")
    if not margin > 1:
        raise UserError(f"margin {margin!r} is no ratio that matters: give one above 1, for example {EFFECT}")
    groups: dict[tuple[Any, ...], list[pd.Series | None]] = {}
    for key, group in frame[frame[column].isin([a, b])].groupby(keys, sort=True, observed=True):
        parts = [group[group[column] == side] for side in (a, b)]
        if all(map(len, parts)):
            groups[key] = [_costs(part, cost, column, keys) for part in parts]
    asked = {key: (one, other) for key, (one, other) in groups.items() if one is not None and other is not None}
    decided = dict(zip(asked, decisions.decide_together(list(asked.values()), margin), strict=True))
    rows = []
    for key, sides in groups.items():
        found = decided.get(key) or decisions.decide([], [])
        n_a, n_b = (0 if costs is None else len(costs) for costs in sides)
        verdict = _VERDICTS.get(found.verdict) or (a if found.ratio < 1 else b)
        shown = verdict if found.n else by_size.NOT_MEASURED
        rows.append([*key, found.ratio, found.low, found.high, n_a, n_b, shown])
    compared = pd.DataFrame(rows, columns=[*keys, "ratio", "low", "high", "n_a", "n_b", "verdict"])
    compared.attrs = {"a": a, "b": b, "by": keys, "margin": margin, "cost": cost}
    return compared


_VERDICTS = {decisions.EQUIVALENT: by_size.NO_DIFFERENCE, decisions.OPEN: by_size.INCONCLUSIVE}


def _costs(rows: pd.DataFrame, cost: str, column: str, keys: Sequence[str]) -> pd.Series | None:
    """Return the costs of one side by block; None where this machine can't run it."""
    if "status" in rows:
        if (rows["status"] == "unavailable").all():
            return None
        rows = rows[rows["status"] == "ok"]
    rows = rows[rows[cost].notna()]
    if "block" not in rows:
        return rows[cost].astype(float)
    if rows["block"].duplicated().any():
        most = rows["block"].value_counts().max()  # a configuration has no more values than a block has trials
        names = [name for name in rows if name not in (*_OF_A_TRIAL, *keys, column, cost)]
        apart = [str(name) for name in names if 1 < rows[name].nunique() <= most]
        raise UserError(
            f"by {', '.join(keys)} puts several trials of a block together: filter the frame, or add what sets "
            f"them apart to by: {', '.join(apart)}"
        )
    costs = rows.set_index("block")[cost].astype(float)
    if not (costs > 0).all():
        raise UserError(f"cost {cost!r} has values that are not above 0: choose another column")
    return costs


_OF_A_TRIAL = ("trial_id", "started_utc", "reason", "disturbed", "checksum")


def headline(compared: pd.DataFrame) -> Headline:
    """Return the answer of a comparison in one sentence, with its kind: the cheaper side, ``turns``, ``no difference``,
    ``inconclusive`` or ``not measured``.

    A side is the answer only where no row shows the other one.

    Args:
        compared: from `compare`; rows may have been left out.
    """
    keys = compared.attrs.get("by")
    if keys is None or "verdict" not in compared:
        raise UserError("headline takes what compare returned: allocpool.headline(allocpool.compare(...))")
    rows = compared.assign(n=compared[["n_a", "n_b"]].min(axis=1), scale=1.0)
    names = rows["configuration"].unique() if "configuration" in rows else [""]
    if "alive" in keys and len(names) == 1 and rows["alive"].is_unique:
        rows = rows.assign(configuration=names[0])
        return by_size.headline(rows, rows.iloc[:0])
    return by_size.tally(str(names[0]) if len(names) == 1 else "", rows)


def claims(study: str, profile: str = "standard") -> pd.DataFrame:
    """Return the published claims that a study tests, a row per claim and set-up.

    Columns: ``claim``, ``verdict``, what decides it (``effect``, above 1 as claimed, ``from``, ``to``, ``n``),
    ``found`` and ``source``, among others.
    """
    study_named(study)
    testing = [name for name in STUDY_NAMES if (home.home() / f"src/allocpool/studies/{name}/claims.py").exists()]
    if study not in testing:
        raise unknown_choice("study with claims", study, testing)
    tables, provenance = store.read_tables(study, profile)
    with decisions.judged_by(store.rule_told_by(provenance)):
        verdicts = module_of(study, "claims").of_campaign(tables, provenance["profile"])
    return claim_rows([Judged(verdicts)]).drop(columns="page")


def theme() -> dict[str, str]:
    """Set seaborn's theme to that of the pages, and return its palette by strategy:
    ``sns.lineplot(trials, ..., hue="strategy", palette=allocpool.theme())``."""
    from allocpool.evidence import style  # both import seaborn
    from allocpool.packets.style import COLOURS

    style.set_theme()
    return dict(COLOURS)


@dataclass(frozen=True)
class Command:
    """How the process of a trial is started.

    Attributes:
        again: the command that runs this trial alone.
        process: the command line of the process.
        jvm_flags: of the JVM inside the process, without its class path; empty for C++.
        environment: variables that are set for it; it inherits few others.
    """

    again: tuple[str, ...]
    process: tuple[str, ...]
    jvm_flags: tuple[str, ...]
    environment: Mapping[str, str]

    def __str__(self) -> str:
        parts = [" ".join(self.again), "", "# its process:", *(f"{k}={v} \\" for k, v in self.environment.items())]
        parts.append(" ".join(self.process))
        if self.jvm_flags:
            parts += ["", "# the JVM in it:", " \\\n  ".join(("java", *self.jvm_flags))]
        return "\n".join(parts)

    def _repr_markdown_(self) -> str:
        return f"```sh\n{self}\n```"


def command(spec: TrialSpec | None = None, **keys: Any) -> Command:
    """Return the command line, flags and environment of a trial, as in `spec.json` of its folder; starts nothing.

    Args:
        spec: of a trial; or instead
        keys: its keys, as of `trial`.
    """
    asked = _spec(spec, keys)
    needs = asked.needs()
    stated = {"mode": asked.mode, **asked.model_dump(mode="json", exclude_unset=True, exclude_none=True)}
    words = (f"{key}={str(value).lower() if isinstance(value, bool) else value}" for key, value in stated.items())
    return Command(
        again=("allocpool", "trial", *words),
        process=("python", "-m", "allocpool.trial.child", "FOLDER"),
        jvm_flags=flags_of(needs.jvm) if needs.jvm else (),
        environment=environment_for(needs),
    )


def _spec(spec: TrialSpec | None, keys: Mapping[str, Any]) -> TrialSpec:
    if spec is not None:
        if keys:
            raise UserError(f"a spec says it all: leave {', '.join(keys)} out, or give keys alone")
        if not isinstance(spec, TrialSpec):
            raise UserError(f"{spec!r} is no spec of a trial: give keys, for example mode='batch', strategy='pool'")
        return spec
    return single.spec_of({"mode": "batch", **keys})


def trial(spec: TrialSpec | None = None, **keys: Any) -> dict[str, Any]:
    """Run one trial in a fresh process and return what it measured; its ``mode`` is ``batch`` unless given.

    Args:
        spec: of a trial; or instead
        keys: such as ``layout="heap", runtime=25, collector="g1", strategy="pool", case="B", seconds=1``.
    """
    record = single.run_single(_spec(spec, keys))
    if record.status != "ok":
        raise UserError(f"the trial ended as {record.status}: {record.reason}")
    return single.summary_of(record)


@dataclass(frozen=True)
class Source:
    """Lines of a file of the checkout; JupyterLab shows them as code."""

    path: str
    line: int
    text: str

    def __str__(self) -> str:
        return self.text

    def _repr_markdown_(self) -> str:
        language = {"java": "java", "cpp": "cpp", "hpp": "cpp", "py": "python"}.get(self.path.rpartition(".")[2], "")
        return f"`{self.path}`, line {self.line}:\n\n```{language}\n{self.text}\n```"


def source(path: str, start: str, end: str) -> Source:
    """Return lines of a file of the checkout: from the first that holds ``start`` to the next with ``end``."""
    try:
        lines = (home.home() / path).read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise UserError(f"{path} can't be read ({error.strerror}): give a file relative to the checkout") from None
    first = next((place for place, line in enumerate(lines) if start in line), len(lines))
    last = next((place for place, line in enumerate(lines) if place >= first and end in line), None)
    if last is None:
        raise UserError(f"{path} has no lines from {start!r} to {end!r}")
    return Source(path, first + 1, textwrap.dedent("\n".join(lines[first : last + 1])))
