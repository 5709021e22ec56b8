"""The README has the answer and the picture of the shipped results."""

from __future__ import annotations

from pathlib import Path

import pytest

from allocpool import home, readme
from allocpool.campaign.registry import every_study
from allocpool.decisions import judged_by
from allocpool.errors import UserError


def test_answer_and_picture_are_those_of_the_shipped_results(data: Path) -> None:
    text = (home.home() / "README.md").read_text(encoding="utf-8")
    measured = readme.shipped()
    with judged_by(measured.rule):
        assert readme.filled(text, answer=readme.answer(measured)) == text, "`make readme` makes it anew"
        assert readme.svg(readme.drawn(measured)) == (home.home() / readme.PICTURE).read_text(encoding="utf-8"), (
            "`make readme` draws it anew"
        )


def test_a_text_without_its_marks_is_refused() -> None:
    with pytest.raises(UserError, match="answer"):
        readme.filled("# Allocate or pool?\n", answer="pool")


def test_own_results_do_not_pass_for_the_shipped_ones(data: Path) -> None:
    (data / "tidy" / readme.PROFILE / "batch").mkdir(parents=True)
    with pytest.raises(UserError, match="instead of the shipped results"):
        readme.shipped()


def test_it_is_one_screen_long() -> None:
    assert len((home.home() / "README.md").read_text(encoding="utf-8").splitlines()) < 120


def test_it_asks_the_questions_of_the_studies() -> None:
    text = (home.home() / "README.md").read_text(encoding="utf-8")
    asked = [f"| [{study.notebook}](notebooks/{study.notebook}.ipynb) | {study.question} |" for study in every_study()]
    assert [row for row in asked if row not in text] == []
