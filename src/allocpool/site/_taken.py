"""Downloads of a page: the rows of each figure and table, and its trials."""

from __future__ import annotations

import base64
import hashlib
import html
import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat
import pandas as pd
from nbformat import NotebookNode

from allocpool.campaign import store
from allocpool.campaign.registry import STUDY_NAMES
from allocpool.evidence.shown import ROWS_MIME

FOLDER = "taken"
"""The folder of the downloads, next to the pages."""
_NO_WORD = re.compile(r"[^a-z0-9]+")
_LONGEST = 60
_PICTURE = re.compile(r'src="data:image/(\w+);base64,([^"]*)"')
_FIGURE = '<figure class="drawn"'


def with_downloads(notebook: NotebookNode, page: str, folder: Path) -> None:
    """Write the rows of the outputs of ``page`` below ``folder``, and link to them below each; of a figure, below its
    caption."""
    names = {"trials"}  # of the page's campaign: `of_campaign`
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        shown: list[NotebookNode] = []
        waiting: list[NotebookNode] = []
        for output in cell.outputs:
            _picture_apart(output, page, folder)
            shown += [output, *waiting]
            waiting = []
            if rows := output.get("data", {}).pop(ROWS_MIME, None):
                links = _links(_written(rows, page, folder, names), str(rows["title"]))
                (waiting if output.data.get("text/html", "").startswith(_FIGURE) else shown).append(links)
        cell.outputs = [*shown, *waiting]


def of_campaign(provenance: Mapping[str, Any] | None, page: str, folder: Path) -> str:
    """Write the trials of the campaign that ``page`` shows below ``folder``; returns their address without its ending,
    empty where no campaign or another one is stored today."""
    if provenance is None or provenance.get("study") not in STUDY_NAMES:
        return ""
    left, own = store.stored(provenance["study"], provenance["profile"]["profile"])
    if own is None or any(own.get(name) != provenance.get(name) for name in ("host_id", "last_trial_utc")):
        return ""
    path = folder / FOLDER / page / "trials"
    path.parent.mkdir(parents=True, exist_ok=True)
    left["trials"].to_parquet(path.with_suffix(".parquet"), compression="zstd", index=False)
    left["trials"].to_csv(path.with_suffix(".csv"), index=False)
    return f"{FOLDER}/{page}/trials"


def _picture_apart(output: NotebookNode, page: str, folder: Path) -> None:
    """Write a figure in pixels as a file, which browsers load lazily."""
    text = output.get("data", {}).get("text/html", "")
    if not text.startswith(_FIGURE) or not (found := _PICTURE.search(text)):
        return
    content = base64.b64decode(found[2])
    path = folder / FOLDER / page / f"{hashlib.sha256(content).hexdigest()[:12]}.{found[1]}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    address = f'src="{path.relative_to(folder).as_posix()}" loading="lazy"'
    output.data["text/html"] = _PICTURE.sub(lambda _found: address, text)


def _written(rows: dict[str, str], page: str, folder: Path, names: set[str]) -> str:
    """Write the rows as two files; returns their address without its ending."""
    stem = _NO_WORD.sub("-", rows["title"].lower()).strip("-")[:_LONGEST].strip("-") or "rows"
    name = next(each for each in (stem, *(f"{stem}-{n}" for n in range(2, len(names) + 3))) if each not in names)
    names.add(name)
    path = folder / FOLDER / page / name
    path.parent.mkdir(parents=True, exist_ok=True)
    packed = base64.b64decode(rows["parquet"])
    path.with_name(f"{name}.parquet").write_bytes(packed)
    pd.read_parquet(io.BytesIO(packed)).to_csv(path.with_name(f"{name}.csv"), index=False)
    return f"{FOLDER}/{page}/{name}"


def _links(address: str, title: str) -> NotebookNode:
    of = html.escape(title, quote=True)
    files = ", ".join(
        f'<a href="{address}.{end}" download aria-label="{kind} of {of}">{kind}</a>'
        for kind, end in (("CSV", "csv"), ("Parquet", "parquet"))
    )
    line = f'<p class="taken">Rows: {files}</p>'
    links: NotebookNode = nbformat.v4.new_output("display_data", {"text/html": line})
    return links
