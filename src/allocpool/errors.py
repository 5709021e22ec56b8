"""Errors that a user can cause, each told in one line that names the valid choices."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # For the annotations only: errors are also told before anything is installed.
    from pydantic import BaseModel, ValidationError


class UserError(Exception):
    """A setting, file or machine does not allow what was asked; the message is one complete line."""


def unknown_choice(what: str, given: object, valid: Iterable[object]) -> UserError:
    """The error for a value outside a closed list: names what, what was given and every valid choice."""
    return UserError(f"unknown {what} {given!r}: choose one of {', '.join(str(v) for v in valid)}")


def from_validation(what: str, error: ValidationError, model: type[BaseModel]) -> UserError:
    """Every complaint of a pydantic model on one line; an unknown key names the keys that exist."""
    complaints = []
    for item in error.errors():
        key = ".".join(str(part) for part in item["loc"])
        if item["type"] == "extra_forbidden":
            valid = ", ".join(sorted(model.model_fields))
            complaints.append(f"unknown key {key!r} (valid keys: {valid})")
            continue
        message = item["msg"].removeprefix("Value error, ")
        given = "" if item["type"] in ("missing", "value_error") else f", not {item['input']!r}"
        complaints.append(f"{key}: {message}{given}" if key else message)
    return UserError(f"{what}: " + "; ".join(complaints).replace("\n", " "))
