"""Outputs of pages: HTML with the rows behind it, which readers can download."""

from __future__ import annotations

import base64
import html
import io
from dataclasses import dataclass
from typing import Any

import pandas as pd

ROWS_MIME = "application/vnd.allocpool.rows+json"
"""Of a figure or table: ``title``, and its rows as ``parquet`` in base64."""

NOTHING_MIME = "application/vnd.allocpool.nothing+json"
"""Marks a sentence in place of an empty figure or table."""


def packed(title: str, rows: pd.DataFrame) -> dict[str, str]:
    """Return rows as the value of `ROWS_MIME`; a column of mixed types becomes text."""
    plain = rows.rename(columns=str).loc[:, ~rows.columns.duplicated()]
    plain = plain.assign(**{str(name): plain[name].map(str) for name in plain if plain[name].dtype == object})
    buffer = io.BytesIO()
    plain.to_parquet(buffer, compression="zstd", index=False)
    return {"title": title, "parquet": base64.b64encode(buffer.getvalue()).decode()}


def region(inner: str, title: str) -> str:
    """Return a table in a region that scrolls, by keyboard too."""
    named = html.escape(title, quote=True)
    return f'<div class="table-scroll" role="region" tabindex="0" aria-label="{named}">{inner}</div>'


@dataclass(frozen=True)
class Shown:
    html: str
    title: str
    rows: pd.DataFrame

    def _repr_mimebundle_(self, **_asked: Any) -> dict[str, Any]:
        return {"text/html": self.html, "text/plain": self.title, ROWS_MIME: packed(self.title, self.rows)}


@dataclass(frozen=True)
class Nothing:
    """A sentence in place of empty tables (``of``: their titles) and figures (``because``: why each is empty)."""

    of: tuple[str, ...] = ()
    because: tuple[str, ...] = ()

    def __add__(self, other: Nothing) -> Nothing:
        return Nothing(self.of + other.of, self.because + other.because)

    @property
    def data(self) -> str:
        tables = [f"**{'; '.join(self.of)}**: nothing in this campaign."] if self.of else []
        return " ".join((*tables, *(f"No figure: {reason}." for reason in self.because)))

    def _repr_mimebundle_(self, **_asked: Any) -> dict[str, Any]:
        return {"text/markdown": self.data, "text/plain": self.data, NOTHING_MIME: {}}
