"""What a page shows that its reader may take along: HTML with the rows behind it."""

from __future__ import annotations

import base64
import html
import io
from dataclasses import dataclass
from typing import Any

import pandas as pd

ROWS_MIME = "application/vnd.allocpool.rows+json"
"""Beside a figure or table: ``title``, and its rows as ``parquet`` in base64."""


def packed(title: str, rows: pd.DataFrame) -> dict[str, str]:
    """Rows to be taken along, as the value of `ROWS_MIME`; a column of several kinds is told as text."""
    plain = rows.rename(columns=str)
    plain = plain.assign(**{str(name): plain[name].map(str) for name in plain if plain[name].dtype == object})
    buffer = io.BytesIO()
    plain.to_parquet(buffer, compression="zstd", index=False)
    return {"title": title, "parquet": base64.b64encode(buffer.getvalue()).decode()}


def region(inner: str, title: str) -> str:
    """A table that scrolls by itself where it is too wide, by keyboard too."""
    named = html.escape(title, quote=True)
    return f'<div class="table-scroll" role="region" tabindex="0" aria-label="{named}">{inner}</div>'


@dataclass(frozen=True)
class Shown:
    """HTML and its rows, as notebooks display it."""

    html: str
    title: str
    rows: pd.DataFrame

    def _repr_mimebundle_(self, **_asked: Any) -> dict[str, Any]:
        return {"text/html": self.html, "text/plain": self.title, ROWS_MIME: packed(self.title, self.rows)}
