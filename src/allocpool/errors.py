"""Errors that a user can cause, each told in one line that names the valid choices."""

from __future__ import annotations

from collections.abc import Iterable


class UserError(Exception):
    """A setting, file or machine does not allow what was asked; the message is one complete line."""


def unknown_choice(what: str, given: object, valid: Iterable[object]) -> UserError:
    """The error for a value outside a closed list: names what, what was given and every valid choice."""
    return UserError(f"unknown {what} {given!r}: choose one of {', '.join(str(v) for v in valid)}")
