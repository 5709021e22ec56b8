"""Text that others wrote, in archives, saved files and locks: shown, never interpreted."""

from __future__ import annotations

from typing import Any

_PLAIN = str.maketrans({
    "<": "‹", ">": "›", "[": "(", "]": ")", "{": "(", "}": ")", "`": "'", "\\": "/", "|": "/", "*": "·", "$": "S",
})  # fmt: skip
"""Markup of Markdown, HTML and matplotlib's formulas, and its replacements."""


def printable(text: str) -> str:
    """Return the text with control characters as escapes."""
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def inert(value: Any) -> Any:
    """Return a text as one line without markup; anything else as it is."""
    return printable(" ".join(value.split())).translate(_PLAIN) if isinstance(value, str) else value
