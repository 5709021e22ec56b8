"""Errors that a user can cause, each told in one line that names the valid choices."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin

if TYPE_CHECKING:
    # For the annotations only: errors are also told before anything is installed.
    from pydantic import BaseModel, GetCoreSchemaHandler, ValidationError
    from pydantic_core import CoreSchema


class UserError(Exception):
    """A setting, file or machine does not allow what was asked; the message is one complete line."""

    def _render_traceback_(self) -> list[str]:
        """IPython's hook: a notebook shows the line and nothing else."""
        return [f"{type(self).__name__}: {self}"]


def unknown_choice(what: str, value: object, valid: Iterable[object]) -> UserError:
    """The error for a value outside a closed list: names what, the value and every valid choice."""
    return UserError(f"unknown {what} {value!r}: choose one of {', '.join(str(v) for v in valid)}")


@dataclass(frozen=True, eq=False)
class OneOf:
    """Metadata of an ``Annotated`` field whose values are the words of a table, which a Literal can't name.

    ``what`` is the word's kind in an error; ``valid`` the table or its keys. Equal only to itself: types must be
    hashable, and tables are not.
    """

    what: str
    valid: Collection[Any]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Pydantic's hook: the field's own type first, then membership."""
        from pydantic_core import core_schema

        return core_schema.no_info_after_validator_function(self._checked, handler(source))

    def _checked(self, value: Any) -> Any:
        if value not in self.valid:
            raise ValueError(str(unknown_choice(self.what, value, self.valid)))
        return value


def choices_of(annotation: Any, metadata: Iterable[Any] = ()) -> tuple[Any, ...]:
    """The closed list that a field's type allows, through ``Annotated``, unions with None and tuples; else empty."""
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
    """Every complaint of a pydantic model on one line; an unknown key or word names those that exist."""
    told = [item for item in error.errors() if item["type"] != "default_factory_not_called"]
    # A misspelt key is also a missing one: it is named first.
    told.sort(key=lambda item: item["type"] != "extra_forbidden")
    complaints = [_complaint(item, model) for item in told]
    return UserError(f"{what}: " + "; ".join(complaints).replace("\n", " "))


def _choices_at(model: Any, place: tuple[int | str, ...]) -> tuple[Any, ...]:
    """The closed list of the field at a place inside a model and the models in it."""
    choices: tuple[Any, ...] = ()
    for part in place:
        field = getattr(model, "model_fields", {}).get(part)
        if field is not None:
            choices = choices_of(field.annotation, field.metadata)
            model = field.annotation
        else:  # an item of a tuple, a value of a mapping
            model = next((one for one in get_args(model) if hasattr(one, "model_fields")), None)
    return choices


_KINDS = {"int": "a whole number", "float": "a number", "tuple": "a list in brackets, [A, B]"}


def _complaint(item: Any, model: type[BaseModel]) -> str:
    key = ".".join(str(part) for part in item["loc"])
    kind, value = item["type"], item["input"]
    if kind == "extra_forbidden":
        known = sorted(model.model_fields)
        near = difflib.get_close_matches(key, known, n=1)
        nearest = f"did you mean {near[0]}? " if near else ""
        return f"unknown key {key!r} ({nearest}valid keys: {', '.join(known)})"
    choices = _choices_at(model, item["loc"])
    if kind == "literal_error" and choices:
        return str(unknown_choice(key, value, choices))
    if kind == "missing":
        return f"{key} is missing" + (f": choose one of {', '.join(map(str, choices))}" if choices else "")
    if kind == "too_short" and not value:
        return f"{key} is empty: " + (
            f"choose some of {', '.join(map(str, choices))}" if choices else "give one or more"
        )
    if kind == "value_error":
        message = item["msg"].removeprefix("Value error, ")
        return f"{key}: {message}" if key and not message.startswith("unknown ") else message
    expected = _KINDS.get(kind.partition("_")[0]) if kind.endswith(("_parsing", "_type", "_from_float")) else None
    return f"{key}: {expected or item['msg']}, not {value!r}"
