"""``python -m allocpool.readme``: the answer and the picture of the README, made of the shipped results.

What stands between the marks of ``README.md`` and the picture ``docs/answer.svg`` are made by this and by nothing else;
a test holds them to the shipped tables.
"""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from allocpool import findings, home
from allocpool.decisions import judge_by
from allocpool.errors import UserError
from allocpool.evidence.style import alt
from allocpool.packets import by_size

PROFILE = "standard"
"""The profile that ships."""
PICTURE = Path("docs") / "answer.svg"
_MARKS = ("<!-- answer: made by `make readme` -->", "<!-- end of answer -->")


def answer(measured: findings.Measured) -> str:
    """The headlines of the first page over the shipped results, the figure, the table, where and when."""
    about = findings.where_and_when(measured, findings.provenance(measured))
    figure = drawn(measured)
    parts = (
        findings.answer(measured),
        f"![{alt(figure)}]({PICTURE})",
        findings.by_alive(measured).to_markdown(index=False),
        about,
    )
    return "\n\n".join(part for part in parts if part)


def drawn(measured: findings.Measured) -> Figure:
    """The chief figure: what a message costs by how many are alive."""
    return by_size.curve(findings.answered(measured), measured.last_level_cache_mb)


def picture(measured: findings.Measured) -> str:
    """The chief figure of the shipped results as SVG, the same whenever it is drawn."""
    text = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": "allocpool", "svg.fonttype": "path"}):
        drawn(measured).savefig(text, format="svg", metadata={"Date": None}, facecolor="white")
    return re.sub(r"[ \t]+\n", "\n", text.getvalue())


def filled(text: str, measured: findings.Measured) -> str:
    """The README with what stands between its marks made anew.

    Raises:
        UserError: a mark is missing.
    """
    if not all(text.count(mark) == 1 for mark in _MARKS):
        raise UserError(f"README.md has lost its marks: {' and '.join(_MARKS)}")
    before, rest = text.split(_MARKS[0])
    return f"{before}{_MARKS[0]}\n{answer(measured)}\n{_MARKS[1]}{rest.split(_MARKS[1])[1]}"


def shipped() -> findings.Measured:
    """The shipped tables, whatever was measured here.

    Raises:
        UserError: the reader's own results of that profile stand before them.
    """
    mine = home.tidy_dir() / PROFILE
    if mine.is_dir() and any(mine.iterdir()):
        raise UserError(f"{mine} stands before the shipped results: set ALLOCPOOL_DATA to an empty folder")
    return findings.Measured(PROFILE)


def main() -> None:
    """Write the README and its picture."""
    readme = home.home() / "README.md"
    measured = shipped()
    judge_by(measured.effect)
    readme.write_text(filled(readme.read_text(encoding="utf-8"), measured), encoding="utf-8")
    target = home.home() / PICTURE
    target.parent.mkdir(exist_ok=True)
    target.write_text(picture(measured), encoding="utf-8")
    print(json.dumps({"README": str(readme), "picture": str(target)}))


if __name__ == "__main__":
    main()
