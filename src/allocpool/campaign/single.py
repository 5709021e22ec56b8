"""One trial, without a campaign: from ``KEY=VALUE`` words to its record, and what the words may be."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from allocpool import home
from allocpool.campaign.registry import mode_named, modes
from allocpool.campaign.tidy import STEADY_STATE, TRIAL_COLUMNS, steady_states_of
from allocpool.errors import UserError, choices_of, from_validation
from allocpool.machine.host import read_host
from allocpool.trial.launch import Launcher
from allocpool.trial.record import TrialRecord
from allocpool.trial.runner import alone, run_trial, task_for
from allocpool.trial.spec import TrialSpec

_WIDTH = 100
_SCREEN = 80
"""Letters of a line where each mode has one."""


def keyed(words: Sequence[str], example: str) -> dict[str, str]:
    """Return the values of ``KEY=VALUE`` words by key; UserError for others, or a key that is given twice."""
    values: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise UserError(f"{word[:80]!r} is not KEY=VALUE, for example {example}")
        if key in values:
            raise UserError(f"{key} is given twice")
        values[key] = value
    return values


def parse_spec(settings: Sequence[str]) -> TrialSpec:
    """Return the spec that ``KEY=VALUE`` words describe; UserError, which names what is valid, for others."""
    return spec_of(keyed(settings, mode_named("batch").example))


def spec_of(values: Mapping[str, Any]) -> TrialSpec:
    """Return the spec with these values by key, ``mode`` included; UserError, which names what is valid, for others."""
    if "mode" not in values:
        raise UserError(f"trial: mode is missing: choose one of {', '.join(modes())}; see allocpool trial --help")
    model = mode_named(values["mode"]).spec
    try:
        return model(**values)
    except ValidationError as error:
        raise from_validation("trial", error, model) from None


def summary_of(record: TrialRecord) -> dict[str, Any]:
    found = mode_named(record.spec["mode"]).summarise(record)
    if record.launch and record.launch.jvm:
        found = {**found, "jvm_flags": list(record.launch.jvm.flags)}
    return {**found, STEADY_STATE: steady_states_of([record])[0]} if STEADY_STATE in found else found


def as_text(summary: dict[str, Any], record: TrialRecord) -> str:
    """Return a summary as lines: outcome, times of a packet, other measurements, the trial, last its counts."""
    about = {*record.spec, *TRIAL_COLUMNS}
    known = [key for key, value in summary.items() if value is not None and not isinstance(value, (dict, list))]
    found = sorted(known, key=lambda key: (key != "status", key in about, "ns_per_" not in key))
    values = {f"{key:24}": summary[key] for key in found}
    values |= {f"  {key:22}": count for key, count in (summary.get("counts") or {}).items()}
    return "\n".join(f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}"
                     for key, value in values.items())  # fmt: skip


def run_single(spec: TrialSpec) -> TrialRecord:
    """Run one trial now, in ``data/raw/single``; UserError where it can't run here, or a campaign is measuring."""
    launcher = Launcher()
    refused = launcher.refusal(spec)
    if refused is None:
        launcher.prepare([spec])
        refused = launcher.refusal(spec)
    if refused:
        raise UserError(refused)
    host = read_host()
    launch = launcher.launch_of(spec)
    task = task_for(spec, launcher, host, home.raw_dir() / "single")
    with alone(home.raw_dir()):
        return run_trial(task, launch, host, launcher.pace_meter())


def describe_modes() -> str:
    width = max(map(len, modes()))
    found = [
        f"  {name:{width}}  {textwrap.shorten(_first_sentence(mode.spec), _SCREEN - width - 4, placeholder=' ...')}"
        for name, mode in modes().items()
    ]
    example = f"Example: allocpool trial {mode_named('batch').example}"
    return "\n".join([example, "", "Modes (mode=NAME --help lists the keys of one):", *found])


def describe_keys(mode: str) -> str:
    """Return every key of a mode: what it takes, its default, what it means; UserError for an unknown mode."""
    spec = mode_named(mode).spec
    lines = [*_wrapped(_first_sentence(spec), ""), ""]
    fields = {name: field for name, field in spec.model_fields.items() if name != "mode"}
    for name, field in sorted(fields.items(), key=lambda item: not item[1].is_required()):
        lines += _wrapped(f"{_usage(name, field)}  {field.description or ''}".replace("`", "").rstrip(), "  ")
    return "\n".join([*lines, "", f"Example: allocpool trial {mode_named(mode).example}"])


def _first_sentence(spec: type[TrialSpec]) -> str:
    return " ".join((spec.__doc__ or "").split("\n\n")[0].replace("`", "").split())


def _usage(name: str, field: FieldInfo) -> str:
    choices = "|".join(map(str, choices_of(field.annotation, field.metadata)))
    if field.is_required():
        return f"{name}={choices or '...'}"
    default = "" if field.default_factory is not None or field.default is None else f" (default {field.default})"
    return f"[{name}={choices or '...'}]{default}"


def _wrapped(text: str, indent: str) -> Iterator[str]:
    yield from textwrap.wrap(text, _WIDTH, initial_indent=indent, subsequent_indent=f"{indent}    ") or [""]
