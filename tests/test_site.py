"""The site, built from small executed notebooks and read back as HTML, and rendered by papermill for real."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import nbformat
import pytest
from bs4 import BeautifulSoup

from allocpool.errors import UserError
from allocpool.notebook import FINISHED_MIME
from allocpool.site import build_site, render
from allocpool.site._pages import Page, gap_page, index_text

v4: Any = nbformat.v4

PROVENANCE: dict[str, Any] = {
    "study": "batch",
    "profile": {"profile": "quick", "blocks": 2, "solutions": ["cpp/flat"]},
    "host": {"cpu_model": "Abacus 9000 <beads>", "logical_cores": 2, "memory_mb": 24_000, "governor": None},
    "git_commits": ["0123456789abcdef", "fedcba9876543210-dirty"],
    "code_hashes": ["c0de"],
    "runtimes": [],
    "compilers": ["g++ 12"],
    "first_trial_utc": "2026-01-01T10:00:00+00:00",
    "last_trial_utc": "2026-01-02T10:00:00+00:00",
    "planned": 8,
    "unavailable": {},
    "missing": 0,
    "statuses": {"ok": 8},
}


def mark(name: str, provenance: dict[str, Any]) -> dict[str, Any]:
    """The end mark as the notebook module makes it, caught on its way to the display."""
    from allocpool import notebook

    caught: list[dict[str, Any]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(notebook, "display", lambda bundle, raw: caught.append(bundle))
        notebook.finished(name, provenance, "**Pool.** Shown in all of them.")
    return caught[0]


def save(path: Path, title: str, *outputs: Any) -> None:
    cells = [v4.new_markdown_cell(f"# {title}\n\nA zebra crossing the page."), v4.new_code_cell("secret_source = 1")]
    cells[1].outputs = list(outputs)
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(v4.new_notebook(cells=cells), path)  # type: ignore[no-untyped-call]


def whole(path: Path, title: str, **changes: Any) -> None:
    bundle = mark(path.stem, {**PROVENANCE, **changes})
    save(path, title, v4.new_output("display_data", bundle))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site with a whole notebook, a partial campaign, a failed notebook, a dead kernel and one that never ran."""
    root = tmp_path_factory.mktemp("site")
    sources, executed = root / "notebooks", root / "executed"
    titles = {
        "00_findings": "Findings",
        "01_partial": "Partial",
        "02_failed": "Failed",
        "03_dead": "Dead",
        "04_absent": "Absent",
        "05_unavailable": "Unavailable",
    }
    for name, title in titles.items():
        save(sources / f"{name}.ipynb", title)
    whole(executed / "00_findings.ipynb", "Findings")
    whole(executed / "01_partial.ipynb", "Partial", statuses={"ok": 5, "crashed": 1}, missing=2)
    error = v4.new_output("error", ename="ValueError", evalue="first line\nthe last line of it", traceback=["..."])
    leads = v4.new_output("display_data", {"text/markdown": "### [What is missing?](04_absent.ipynb)"})
    save(executed / "02_failed.ipynb", "Failed", leads, error)
    save(executed / "03_dead.ipynb", "Dead")
    whole(executed / "05_unavailable.ipynb", "Unavailable", statuses={"ok": 6}, unavailable={"no Java 25": 2})
    readme = root / "README.md"
    readme.write_text("# Title\n\nThe question of the readme.\n\n## Commands\n\nNot for the site.\n", encoding="utf-8")
    return build_site(executed, root / "html", sources, readme).parent


def page(site: Path, name: str) -> BeautifulSoup:
    return BeautifulSoup((site / f"{name}.html").read_text(encoding="utf-8"), "html.parser")


def banner(site: Path, name: str) -> str | None:
    found = page(site, name).select_one(".campaign-banner")
    return found.get_text() if found else None


def test_every_page_carries_a_provenance_box(site: Path) -> None:
    pages = sorted(path.stem for path in site.glob("*.html"))
    assert {"index", "search", "genindex", "00_findings", "04_absent"} <= set(pages)
    for name in pages:
        assert len(page(site, name).select(".provenance")) == 1, name


def test_provenance_names_host_date_commit_profile_and_n(site: Path) -> None:
    box = page(site, "00_findings").select_one(".provenance")
    assert box is not None
    line = box.summary.get_text() if box.summary else ""
    for fact in ("Abacus 9000 <beads>", "2026-01-01 to 2026-01-02", "0123456789", "-dirty", "quick", "n = 8 trials"):
        assert fact in line
    assert "host.governor" in box.get_text()


def test_a_page_that_was_not_run_has_no_borrowed_provenance(site: Path) -> None:
    box = page(site, "04_absent").select_one(".provenance")
    assert box is not None
    assert "nothing on this page was measured" in box.get_text()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("01_partial", "5 of 8 planned trials finished; 1 failed; 2 have not run."),
        ("02_failed", "the last line of it"),
        ("03_dead", "its kernel died or was stopped"),
        ("04_absent", "this notebook was not run"),
        ("05_unavailable", "2 are not possible on this machine"),
    ],
)
def test_whatever_is_not_whole_has_a_banner(site: Path, name: str, words: str) -> None:
    assert words in (banner(site, name) or "")
    listed = " ".join(row.get_text(" ") for row in page(site, "index").select("table tr"))
    assert words.rstrip(".") in listed


def test_a_whole_page_has_no_banner(site: Path) -> None:
    assert banner(site, "00_findings") is None


def test_the_first_page_has_the_answer_the_question_and_every_page(site: Path) -> None:
    first = page(site, "index")
    text = first.get_text(" ")
    assert "Pool. Shown in all of them." in " ".join(text.split())
    assert "The question of the readme." in text
    assert "Not for the site" not in text
    links = {link["href"] for link in first.select("article table a")}
    assert links == {path.name for path in site.glob("0*.html")}


def test_a_link_that_a_cell_computed_leads_to_its_page(site: Path) -> None:
    (link,) = [found for found in page(site, "02_failed").select("article a") if found.get_text() == "What is missing?"]
    assert link["href"] == "04_absent.html"


def test_code_is_folded_and_the_marks_code_left_out(site: Path) -> None:
    failed = page(site, "02_failed")
    folded = failed.select_one("details div.cell_input, div.cell details")
    assert folded is not None
    assert "secret_source" in folded.get_text()
    assert "secret_source" not in page(site, "00_findings").get_text()


def test_search_has_an_index(site: Path) -> None:
    assert page(site, "search").select_one("#search-results") is not None
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    assert "zebra" in index


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    for path in site.glob("*.html"):
        tags = page(site, path.stem).select("script[src], link[rel=stylesheet][href], img[src], iframe[src]")
        assert not [tag for tag in tags if str(tag.get("src") or tag.get("href")).startswith(("http", "//"))]


def test_a_site_without_notebooks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no notebooks"):
        build_site(tmp_path, tmp_path / "html", tmp_path)


@pytest.mark.parametrize("name", ["notes.txt", "raw/result.json"])
def test_a_folder_that_holds_something_else_is_not_replaced(tmp_path: Path, name: str) -> None:
    kept = tmp_path / "html" / name
    kept.parent.mkdir(parents=True)
    kept.write_text("worth keeping", encoding="utf-8")
    save(tmp_path / "notebooks" / "01_a.ipynb", "A")
    with pytest.raises(UserError, match="holds something that is no site"):
        build_site(tmp_path, tmp_path / "html", tmp_path / "notebooks")
    assert kept.read_text(encoding="utf-8") == "worth keeping"


def test_what_a_failed_notebook_said_is_text_and_no_markup() -> None:
    page = Page("01_a", "A", None, None, "ValueError: <script>alert(1)</script> [x](javascript:y)")
    for text in (gap_page(page).cells[0].source, index_text([page], "")):
        assert "<script" not in text and "[x](" not in text


BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.mark.skipif(
    BROWSER is None, reason="no Chromium on this machine: install chromium to see the site in a browser"
)
def test_a_browser_finds_a_page_by_search(site: Path, tmp_path: Path) -> None:
    command = [str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}"]
    options = ["--virtual-time-budget=20000", "--dump-dom", f"file://{site}/search.html?q=zebra"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, timeout=120, check=True)
    found = BeautifulSoup(done.stdout, "html.parser").select("#search-results a")
    assert "Findings" in {link.get_text() for link in found}


CHECKOUT_NOTEBOOKS = {
    "00_findings": f"from allocpool import notebook\nnotebook.finished('00_findings', {PROVENANCE!r}, 'Yes.')",
    "01_raises": "raise ValueError('told in one line')",
    "02_dies": "import os\nos._exit(0)",
    "03_endless": "import sys\nfrom IPython.display import Markdown, display\ndisplay(Markdown('*shown*'))\n"
    "print('printed')\nprint('aside', file=sys.stderr)\nprofile",
    "04_unconfigured": "1",
}


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout of its own with notebooks that end in every way there is, rendered by papermill."""
    root = tmp_path_factory.mktemp("checkout")
    (root / "pyproject.toml").write_text('name = "allocpool"\n', encoding="utf-8")
    configs = root / "papermill-configs" / "tiny"
    configs.mkdir(parents=True)
    for name, code in CHECKOUT_NOTEBOOKS.items():
        parameters = v4.new_code_cell("profile = None", metadata={"tags": ["parameters"]})
        cells = [v4.new_markdown_cell(f"# {name}"), parameters, v4.new_code_cell(code)]
        metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
        (root / "notebooks").mkdir(exist_ok=True)
        stored = v4.new_notebook(cells=cells, metadata=metadata)
        nbformat.write(stored, root / "notebooks" / f"{name}.ipynb")  # type: ignore[no-untyped-call]
        if name != "04_unconfigured":
            (configs / f"{name}.yaml").write_text("profile: tiny\n", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ALLOCPOOL_HOME", str(root))
        return render("tiny", root / "out").parent


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("01_raises", "told in one line"),
        ("02_dies", "its process ended with status 0 before its end"),
        ("03_endless", "stopped before its end"),
        ("04_unconfigured", "profile tiny has no parameters for it"),
    ],
)
def test_a_notebook_that_does_not_reach_its_end_is_a_page_that_says_so(rendered: Path, name: str, words: str) -> None:
    assert words in (banner(rendered, name) or "")


def test_a_notebook_that_reaches_its_end_is_whole(rendered: Path) -> None:
    assert banner(rendered, "00_findings") is None
    assert any(FINISHED_MIME in output.get("data", {}) for output in outputs_of(rendered, "00_findings"))


def outputs_of(rendered: Path, name: str) -> list[dict[str, Any]]:
    executed = rendered.parents[1] / "executed" / "tiny" / f"{name}.ipynb"
    return [o for cell in json.loads(executed.read_text())["cells"] for o in cell.get("outputs", [])]


def test_what_a_cell_prints_shows_and_ends_in_is_kept_and_so_is_its_error(rendered: Path) -> None:
    printed, aside, shown, last = outputs_of(rendered, "03_endless")
    assert (printed["name"], "".join(printed["text"])) == ("stdout", "printed\n")
    assert (aside["name"], "".join(aside["text"])) == ("stderr", "aside\n")
    assert "".join(shown["data"]["text/markdown"]) == "*shown*"
    assert "".join(last["data"]["text/plain"]) == "'tiny'", "the parameter of the profile"
    errors = [output for output in outputs_of(rendered, "01_raises") if output["output_type"] == "error"]
    assert [(error["ename"], error["evalue"]) for error in errors] == [("ValueError", "told in one line")]


def test_an_unknown_profile_names_the_known_ones() -> None:
    with pytest.raises(UserError, match="smoke"):
        render("enormous")
