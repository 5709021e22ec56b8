"""Text that others wrote: names in archives, notes in saved files, lines of a lock. It is shown and never obeyed."""

from __future__ import annotations

from typing import Any

_PLAIN = str.maketrans({
    "<": "‹", ">": "›", "[": "(", "]": ")", "{": "(", "}": ")", "`": "'", "\\": "/", "|": "/", "*": "·", "$": "S",
})  # fmt: skip
"""What Markdown, HTML or matplotlib's formulas would obey, and what stands for it."""


def printable(text: str) -> str:
    """Return the text as a terminal only shows it: control characters become escapes."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def inert(value: Any) -> Any:
    """Return a text as one line without markup of any page, figure or terminal; anything else as it is."""
    return printable(" ".join(value.split())).translate(_PLAIN) if isinstance(value, str) else value
