"""``python -m allocpool.readme``: write the answer and the picture of the README, from the shipped results.

A test compares both with the shipped tables. The notebook of the paper fills its text and draws its figures alike.
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
from allocpool.packets import by_size

PROFILE = "standard"
"""The profile that ships."""
PICTURE = Path("docs") / "answer.svg"
_PART = re.compile(r"(<!-- (\w+): made by `make \w+` -->\n)(?:.*?\n)?(<!-- end of \2 -->)", re.DOTALL)


def answer(measured: findings.Measured) -> str:
    """Return the headlines of the first page, the figure, the table, where and when."""
    about = findings.where_and_when(measured, findings.provenance(measured))
    image = f"![{drawn(measured).get_label()}]({PICTURE})"
    table = findings.by_alive(measured).to_markdown(index=False)
    return "\n\n".join(filter(None, (findings.answer(measured), image, table, about)))


def drawn(measured: findings.Measured) -> Figure:
    return by_size.curve(findings.answered(measured), measured.last_level_cache_mb)


def svg(figure: Figure) -> str:
    """Return a figure as SVG, the same whenever it is drawn."""
    text = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": "allocpool", "svg.fonttype": "path"}):
        figure.savefig(text, format="svg", metadata={"Date": None}, facecolor="white")
    return re.sub(r"[ \t]+\n", "\n", text.getvalue())


def filled(text: str, **parts: str) -> str:
    """Return the text with each of the parts between its marks; UserError where the text has other marks than these."""
    if sorted(part[1] for part in _PART.findall(text)) != sorted(parts):
        marks = " and ".join(f"`<!-- {name}: made by ... -->` with `<!-- end of {name} -->`" for name in parts)
        raise UserError(f"the text has lost its marks: {marks}")
    return _PART.sub(lambda found: f"{found[1]}{parts[found[2]]}\n{found[3]}", text)


def shipped() -> findings.Measured:
    """Return the shipped tables; UserError where there are own results of that profile, which would be read instead."""
    mine = home.tidy_dir() / PROFILE
    if mine.is_dir() and any(mine.iterdir()):
        raise UserError(f"{mine} would be read instead of the shipped results: set ALLOCPOOL_DATA to an empty folder")
    return findings.Measured(PROFILE)


def main() -> None:
    readme, target = home.home() / "README.md", home.home() / PICTURE
    measured = shipped()
    judge_by(measured.rule)
    readme.write_text(filled(readme.read_text(encoding="utf-8"), answer=answer(measured)), encoding="utf-8")
    target.write_text(svg(drawn(measured)), encoding="utf-8")
    print(json.dumps({"README": str(readme), "picture": str(target)}))


if __name__ == "__main__":
    main()
