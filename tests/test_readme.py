"""The README says what the shipped results say, and shows the picture that they make."""

from __future__ import annotations

from pathlib import Path

import pytest

from allocpool import home, readme
from allocpool.errors import UserError


def test_answer_table_and_picture_are_those_of_the_shipped_results(data: Path) -> None:
    text = (home.home() / "README.md").read_text(encoding="utf-8")
    measured = readme.shipped()
    assert readme.filled(text, measured) == text, "`make readme` makes it anew"
    assert readme.picture(measured) == (home.home() / readme.PICTURE).read_text(encoding="utf-8"), (
        "`make readme` draws it anew"
    )


def test_an_answer_of_many_sentences_is_cut_between_two() -> None:
    assert readme.brief("**Open which is shorter.** Of 90, 11 are. More follows.") == (
        "**Open which is shorter.** Of 90, 11 are."
    )
    one = "**The contract holds**: 66 trials on gen. ZGC took 1.5 s (n = 5, p99.9)."
    assert readme.brief(one) == one
    assert readme.brief("Of 26, 10 are open. `allocpool advise` asks. Again.") == (
        "Of 26, 10 are open. `allocpool advise` asks."
    )


def test_a_readme_without_its_marks_is_refused(data: Path) -> None:
    with pytest.raises(UserError, match="has lost its marks"):
        readme.filled("# Allocate or pool?\n", readme.shipped())


def test_own_results_do_not_pass_for_the_shipped_ones(data: Path) -> None:
    (data / "tidy" / readme.PROFILE / "batch").mkdir(parents=True)
    with pytest.raises(UserError, match="stands before the shipped results"):
        readme.shipped()
