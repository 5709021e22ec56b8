"""Errors that a user can cause, each reported in one line that names the valid choices."""

from __future__ import annotations

import difflib
import functools
import sys
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

if TYPE_CHECKING:
    # For annotations only: errors are also reported before anything is installed.
    from pydantic import BaseModel, GetCoreSchemaHandler, ValidationError
    from pydantic_core import CoreSchema


class UserError(ValueError):
    """A setting, file or machine does not allow what was asked; the message is one complete line.

    It is a ValueError, so that validators of models may raise it.
    """

    def _render_traceback_(self) -> list[str]:
        """Show only the line in a notebook (IPython's hook)."""
        return [f"{type(self).__name__}: {self}"]


def unknown_choice(what: str, value: object, valid: Iterable[object]) -> UserError:
    """Return the error for a value outside a closed list; names every valid choice."""
    return UserError(f"unknown {what} {value!r}: choose one of {', '.join(str(v) for v in valid)}")


@functools.cache
def warn_once(line: str) -> None:
    """Print a line on stderr unless this process has printed it before."""
    print(f"allocpool: {' '.join(line.split())}", file=sys.stderr)


@dataclass(frozen=True, eq=False)
class OneOf:
    """Metadata of an ``Annotated`` field whose values are the keys of a table, which a Literal can't name.

    ``what``: the kind of value in errors. Equal only to itself: types must be hashable, and tables are not.
    """

    what: str
    valid: Collection[Any]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Check the field's own type, then membership (pydantic's hook)."""
        from pydantic_core import core_schema

        return core_schema.no_info_after_validator_function(self._checked, handler(source))

    def _checked(self, value: Any) -> Any:
        if value not in self.valid:
            raise ValueError(str(unknown_choice(self.what, value, self.valid)))
        return value


def choices_of(annotation: Any, metadata: Iterable[Any] = ()) -> tuple[Any, ...]:
    """Return the closed list that a field's type allows, if any, in ``Annotated``, unions with None and tuples."""
    for item in metadata:
        if isinstance(item, OneOf):
            return tuple(item.valid)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return arguments
    if origin is Annotated:
        return choices_of(arguments[0], arguments[1:])
    for argument in arguments:
        if argument not in (NoneType, Ellipsis) and (choices := choices_of(argument)):
            return choices
    return ()


def from_validation(what: str, error: ValidationError, model: type[BaseModel]) -> UserError:
    """Return every complaint of a pydantic model on one line, with the valid keys and choices."""
    found = [item for item in error.errors() if item["type"] != "default_factory_not_called"]
    # A misspelt key is also a missing one: it is named first.
    found.sort(key=lambda item: item["type"] != "extra_forbidden")
    complaints = [_complaint(item, model, after) for item, after in zip(found, [*found[1:], None], strict=True)]
    return UserError(f"{what}: " + "; ".join(complaints).replace("\n", " "))


def _place(model: Any, place: tuple[int | str, ...]) -> tuple[tuple[Any, ...], list[str]]:
    """Return the closed list of the field at a place inside a model, and all keys at its level."""
    choices: tuple[Any, ...] = ()
    keys: list[str] = []
    for part in place:
        inner = [one for one in get_args(model) if hasattr(one, "model_fields")]
        if get_origin(model) in (Union, UnionType):
            model = inner[0] if inner else None
        fields = getattr(model, "model_fields", None)
        if fields is None:  # an item of a tuple, a value of a mapping
            model = inner[0] if inner else None
            continue
        keys, field = sorted(fields), fields.get(part)
        if field is not None:
            choices, model = choices_of(field.annotation, field.metadata), field.annotation
    return choices, keys


def _expected(item: Any) -> str:
    expected = str(item["msg"]).removeprefix("Value error, ").removeprefix("Input should be ")
    if item["type"] == "tuple_type":
        papermill = str(item["input"]).startswith("[")  # it reads the value of -p as a text
        return f"a list in brackets, [A, B]{' (papermill: give a list with -y)' if papermill else ''}"
    return expected.replace("a valid integer", "a whole number").replace("a valid ", "a ")


def in_one_line(error: ValidationError) -> str:
    """Return the first complaint of a pydantic model and its place, for models whose keys the user did not type."""
    item = error.errors()[0]
    where = ".".join(map(str, item["loc"]))
    return f"{where}: {_expected(item)}" if where else _expected(item)


def _complaint(item: Any, model: type[BaseModel], after: Any) -> str:
    """Return one complaint; where the one ``after`` it has the same valid keys, only that one lists them."""
    place = tuple(part for part in item["loc"] if part != "[key]")  # pydantic's word for a key of a mapping
    key = ".".join(str(part) for part in place)
    kind, value = item["type"], item["input"]
    choices, known = _place(model, place)
    if kind == "extra_forbidden":
        near = difflib.get_close_matches(str(place[-1]), known, n=1)
        found = [f"did you mean {near[0]}?"] if near else []
        if not (after and after["type"] == kind and after["loc"][:-1] == place[:-1]):
            found.append(f"valid keys: {', '.join(known)}")
        return f"unknown key {key!r}" + (f" ({' '.join(found)})" if found else "")
    if kind == "literal_error" and choices:
        return str(unknown_choice(key, value, choices))
    if kind == "missing":
        return f"{key} is missing" + (f": choose one of {', '.join(map(str, choices))}" if choices else "")
    if kind == "too_short" and not value:
        return f"{key} is empty: " + (
            f"choose some of {', '.join(map(str, choices))}" if choices else "give one or more"
        )
    if kind == "value_error":
        message = _expected(item)
        return f"{key}: {message}" if key and not message.startswith("unknown ") else message
    return f"{key}: {_expected(item)}, not {value!r}"
