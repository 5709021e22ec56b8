"""The site, built from small executed notebooks, read back as HTML and in a browser, and rendered by papermill for
real."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import nbformat
import pandas as pd
import pytest
import seaborn as sns
from axe_playwright_python.sync_playwright import Axe
from bs4 import BeautifulSoup
from great_tables import GT
from playwright.sync_api import Browser, ConsoleMessage, ViewportSize, sync_playwright
from playwright.sync_api import Page as Tab

from allocpool import notebook
from allocpool.campaign import store
from allocpool.campaign.hosts import called
from allocpool.evidence import style, tables
from allocpool.evidence.claims import AS_PUBLISHED, OTHER_WAY, Claim, Evidence, evaluate
from allocpool.evidence.tables import Nothing, Shown
from allocpool.site import _build, _execute, build_site

v4: Any = nbformat.v4

PROVENANCE: dict[str, Any] = {
    "study": "batch",
    "profile": {"profile": "quick", "blocks": 2, "configurations": ["cpp/flat"]},
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


def mark(name: str, provenance: dict[str, Any]) -> Any:
    """The end mark as the notebook module makes it."""
    (caught,) = displayed(lambda: notebook.finished(name, provenance, "**Pool.** Shown in all of them."))
    return caught


def displayed(show: Callable[[], None]) -> list[Any]:
    """What is caught on its way to the display."""
    caught: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(notebook, "display", lambda shown, raw=False: caught.append(shown))
        show()
    return caught


ROWS = pd.DataFrame(
    {"configuration": ["heap / G1 / 25", "C++ flat"], **{f"case {n}": [1.23456 * n, 2.5] for n in range(12)}}
)
LINE = pd.DataFrame({"series": ["pool"] * 2, "x": [1, 2], "y": [3, 4]})
CAPTION = "Cost of a packet. One dot per trial."


def judged() -> Shown:
    """A table of claims: one that is as published, and one that is not."""

    def claim(name: str, shown: str, p: float) -> Claim[float]:
        row = {"larger": "alloc", "smaller": "pool", "ratio": 2.0, "low": 1.5, "high": 2.5, "trials": 5, "remark": ""}
        rows = pd.DataFrame([{**row, "p": p, "p_against": 1 - p, "shown": shown}])
        return Claim(name, f"Claim {name}.", "a source", lambda _data: Evidence(rows), lambda _evidence: "Told.")

    claims = [claim("so", AS_PUBLISHED, 0.0), claim("not-so", OTHER_WAY, 1.0)]
    return tables.verdicts_table(evaluate(claims, 0.0))


def shown() -> list[Any]:
    """A figure with its caption, a table and claims, as notebooks display them."""
    grid = sns.relplot(LINE, x="x", y="y", hue="series", kind="line")
    drawing = style.finish(grid, "A line that rises from 3 to 4.")
    picture, caption = displayed(lambda: notebook.figure(drawing, CAPTION))
    wide = tables.plain_table(ROWS, "A wide table")
    assert isinstance(wide, GT) and ">1.235<" in wide.as_raw_html() and ">2.5<" in wide.as_raw_html()
    bundles = picture, {"text/markdown": caption.data}, notebook._table_bundle(wide), judged()._repr_mimebundle_()
    return [v4.new_output("display_data", bundle) for bundle in bundles]


def save(path: Path, title: str, *outputs: Any) -> None:
    cells = [v4.new_markdown_cell(f"# {title}\n\nA zebra crossing the page."), v4.new_code_cell("secret_source = 1")]
    cells[1].outputs = list(outputs)
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(v4.new_notebook(cells=cells), path)


def whole(path: Path, title: str, *outputs: Any, **changes: Any) -> None:
    bundle = mark(path.stem, {**PROVENANCE, **changes})
    save(path, title, *outputs)
    stored = nbformat.read(path, as_version=4)
    stored.cells.append(v4.new_code_cell("the_end = 1", outputs=[v4.new_output("display_data", bundle)]))
    nbformat.write(stored, path)


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
    answer = v4.new_output("display_data", {"text/markdown": "**Pool.** Shown in all of them."})
    whole(executed / "00_findings.ipynb", "Findings", answer, *shown())
    whole(executed / "01_partial.ipynb", "Partial", statuses={"ok": 5, "crashed": 1}, missing=2)
    error = v4.new_output("error", ename="ValueError", evalue="first line\nthe last line of it", traceback=["..."])
    leads = v4.new_output("display_data", {"text/markdown": "### [What is missing?](04_absent.ipynb)"})
    save(executed / "02_failed.ipynb", "Failed", leads, error)
    save(executed / "03_dead.ipynb", "Dead")
    whole(executed / "05_unavailable.ipynb", "Unavailable", statuses={"ok": 6}, unavailable={"no Java 25": 2})
    other = {"folder": "other", "label": "other, Abacus", "pages": ["index.html"]}
    (root / "sites" / "other").mkdir(parents=True)
    (root / "sites" / "other" / ".allocpool-site").write_text(json.dumps(other), encoding="utf-8")
    (root / "sites" / "other" / "index.html").write_text("<title>Other</title>", encoding="utf-8")
    return build_site(executed, root / "sites" / "html", sources.glob("*.ipynb")).parent


def page(site: Path, name: str) -> BeautifulSoup:
    return BeautifulSoup((site / f"{name}.html").read_text(encoding="utf-8"), "html.parser")


def banner(site: Path, name: str) -> str | None:
    found = page(site, name).select_one(".campaign-banner")
    return found.get_text() if found else None


PAGES = ("index", "01_partial", "02_failed", "03_dead", "04_absent", "05_unavailable")


def test_every_page_carries_a_provenance_box(site: Path) -> None:
    assert {path.stem for path in site.glob("*.html")} == {*PAGES, "compare", "glossary", "search"}
    for name in PAGES:
        assert len(page(site, name).select(".provenance")) == 1, name


def test_sphinx_has_nothing_against_the_notebooks(site: Path) -> None:
    assert "is invalid" not in site.with_name("html.log").read_text(encoding="utf-8")


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
    listed = " ".join(row.get_text(" ") for row in page(site, "index").select("article table tr"))
    assert words.rstrip(".") in listed


def test_what_a_page_shows_can_be_taken_along(site: Path) -> None:
    links = [str(link["href"]) for link in page(site, "index").select(".taken a[download]")]
    stems = [f"taken/index/{name}" for name in ("cost-of-a-packet", "a-wide-table", "published-claims-on-this-machine")]
    assert links == [f"{stem}.{end}" for stem in stems for end in ("csv", "parquet")]
    shown = ROWS.replace("heap / G1 / 25", "G1, JDK 25")
    pd.testing.assert_frame_equal(pd.read_parquet(site / f"{stems[1]}.parquet"), shown)
    pd.testing.assert_frame_equal(pd.read_csv(site / f"{stems[1]}.csv"), shown)
    drawn = pd.read_csv(site / f"{stems[0]}.csv")
    assert drawn[["series", "x", "y"]].to_dict("list") == {"series": ["pool"] * 2, "x": [1, 2], "y": [3, 4]}
    notebook_link = page(site, "index").select_one(".page-tools a[download]")
    assert notebook_link is not None and (site / str(notebook_link["href"])).is_file()


def test_the_trials_of_a_page_are_those_of_its_own_campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALLOCPOOL_DATA", str(tmp_path / "data"))
    left, provenance = store.stored("batch", "standard")
    assert provenance is not None
    own = json.loads(json.dumps({**provenance, "profile": {"profile": "standard"}}))
    folder = tmp_path / "taken" / "02_batch"
    folder.mkdir(parents=True)
    address = _build.write_trials(own, folder)
    assert len(pd.read_parquet(tmp_path / f"{address}.parquet")) == len(left["trials"]) > 0
    assert list(pd.read_csv(tmp_path / f"{address}.csv")["trial_id"]) == list(left["trials"]["trial_id"])
    assert _build.write_trials({**own, "last_trial_utc": "2020-01-01"}, folder) == ""
    assert _build.write_trials(None, folder) == ""
    realtime, provenance = store.stored("realtime", "standard")  # shipped with settings of its own
    assert provenance is not None and provenance["profile"]["profile"] != "standard"
    address = _build.write_trials(provenance, folder)
    assert len(pd.read_parquet(tmp_path / f"{address}.parquet")) == len(realtime["trials"]) > 0


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    for path in site.glob("*.html"):
        tags = page(site, path.stem).select("script[src], link[rel=stylesheet][href], img[src], iframe[src]")
        assert not [tag for tag in tags if str(tag.get("src") or tag.get("href")).startswith(("http", "//"))]


def test_a_full_disk_names_the_folder_of_the_site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_staging: Path, _output: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("allocpool.site._build._run_sphinx", full)
    save(tmp_path / "notebooks" / "01_a.ipynb", "A")
    with pytest.raises(OSError, match="No space left") as caught:
        build_site(tmp_path, tmp_path / "html", (tmp_path / "notebooks").glob("*.ipynb"))
    assert caught.value.filename == str(tmp_path / "html")


def test_a_cell_that_raises_ends_its_notebook_and_what_was_shown_before_is_kept() -> None:
    sources = ["print('before')\n20 + 1", "", "21 / 0", "print('after')"]
    cells = [v4.new_code_cell(source) for source in sources]
    asked = v4.new_notebook(cells=cells, metadata={"papermill": {}})
    try:
        ended = _execute._InThisProcess.execute_notebook(asked, "python3", progress_bar=False)
    finally:
        _execute._Shell.instance().restore_sys_module_state()
        _execute._Shell.clear_instance()
    first, empty, raises, last = (cell.outputs for cell in ended.cells)
    assert [first[0].text, first[1].data["text/plain"]] == ["before\n", "21"] and len(first) == 2
    assert (raises[0].output_type, raises[0].ename) == ("error", "ZeroDivisionError") and empty == last == []
    assert ended.metadata.papermill["exception"] and ended.cells[2].metadata.papermill["status"] == "failed"


MARKUP = (
    "<script>planted()</script><img src=planted onerror=planted()> <b>planted</b> Maker.<planted> &lt;planted&gt; "
    "{download}`/etc/hostname` $\\planted$\n\n```{include} /etc/hostname\n```\n\n"
    ":::{raw} html\n<planted>\n:::\n\n<planted>\n"
)
LINKS = "![planted](http://planted/) [planted](http://planted/) [planted](javascript:planted) <http://planted/>"


@pytest.mark.long
def test_no_text_from_elsewhere_is_markup_on_any_page(tmp_path: Path) -> None:
    """Of tables, sentences, captions, figures, claims, settings, provenance, errors, names of hosts."""
    host = called(MARKUP + LINKS, LINKS)
    rows = LINE.assign(series=called("<planted>$\\planted$", ""))
    drawing = style.finish(sns.relplot(rows, x="x", y="y", hue="series", kind="line"), MARKUP)
    table = tables.plain_table(pd.DataFrame({"group": [MARKUP], MARKUP: [MARKUP + LINKS]}), MARKUP, MARKUP, "group")
    row = {"larger": MARKUP, "smaller": MARKUP, "ratio": 2.0, "low": 1.5, "high": 2.5, "trials": 5, "remark": MARKUP}
    rows = pd.DataFrame([{**row, "p": 0.0, "p_against": 1.0, "shown": AS_PUBLISHED}])
    claim: Claim[float] = Claim("planted", MARKUP, MARKUP, lambda _: Evidence(rows), lambda _: MARKUP)
    assert isinstance(table, GT)
    facts = {**PROVENANCE, "study": MARKUP, "compilers": [MARKUP], MARKUP: MARKUP, "git_commits": [MARKUP]}
    facts["host"] = {**PROVENANCE["host"], "cpu_model": MARKUP + LINKS, "name": MARKUP}
    facts["profile"] = {"profile": MARKUP, MARKUP: MARKUP}
    outputs = [
        {"text/markdown": notebook.say(MARKUP, host).data},
        notebook._table_bundle(table),
        {"text/html": notebook.status_banner({**facts, "other_settings": [MARKUP + LINKS]}).data},
        *(
            each if isinstance(each, dict) else {"text/markdown": each.data}
            for each in displayed(lambda: notebook.figure(drawing, f"{MARKUP} {host}. The caption."))
        ),
        tables.verdicts_table(evaluate([claim], 0.0), MARKUP)._repr_mimebundle_(),
        Nothing(of=(MARKUP,), because=(MARKUP,))._repr_mimebundle_(),
    ]
    sources, executed = tmp_path / "notebooks", tmp_path / "executed"
    for name in ("00_findings", "01_failed", "02_absent"):
        save(sources / f"{name}.ipynb", "A title")
    shown = [v4.new_output("display_data", bundle) for bundle in outputs]
    said = v4.new_output("stream", name="stdout", text=MARKUP + LINKS)
    whole(executed / "00_findings.ipynb", "A title", said, *shown, **facts)
    error = v4.new_output("error", ename="ValueError", evalue=MARKUP + LINKS, traceback=[MARKUP])
    save(executed / "01_failed.ipynb", "A title", error)
    executed.joinpath("02_absent.error.txt").write_text(MARKUP + LINKS, encoding="utf-8")
    site = build_site(executed, tmp_path / "sites" / "html", sources.glob("*.ipynb")).parent
    secret = Path("/etc/hostname").read_text(encoding="utf-8").strip() if Path("/etc/hostname").is_file() else ""
    for path in (site / name for name in ("index.html", "01_failed.html", "02_absent.html")):
        read = BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")
        assert "planted" in read.get_text(), path.name
        assert not read.find_all("planted") and not read.find_all("b"), path.name
        for element in read.find_all(True):
            if element.name == "script":
                assert "planted" not in element.get_text()
            for name, value in element.attrs.items():
                if name in ("src", "href", "xlink:href") or name.startswith("on"):
                    assert "planted" not in str(value) or str(value).startswith(("taken/", "#claim-")), (
                        path.name,
                        element,
                    )
        assert not secret or secret not in read.get_text()
    assert not list(site.rglob("hostname*"))


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
in_a_browser = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium on this machine: install chromium to see the site in a browser"
)
DESKTOP, PHONE = ViewportSize(width=1280, height=900), ViewportSize(width=390, height=844)
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
TOO_SMALL = """() => [...document.querySelectorAll("body *")].filter((each) => {
  if (![...each.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim())) return false;
  if (!each.getBoundingClientRect().width) return false;
  const drawing = each.closest("svg");
  const scale = drawing && drawing.viewBox.baseVal.width
    ? drawing.getBoundingClientRect().width / drawing.viewBox.baseVal.width : 1;
  return parseFloat(getComputedStyle(each).fontSize) * scale < 9;
}).map((each) => each.outerHTML.slice(0, 120))"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One for all tests of the module."""
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def tab(browser: Browser) -> Iterator[Tab]:
    """A window of a desktop, whose console must stay empty."""
    context = browser.new_context(viewport=DESKTOP)
    context.set_default_timeout(300_000)
    opened = context.new_page()
    said: list[str] = []
    opened.on("console", lambda message: said.append(_told(message)))
    opened.on("pageerror", lambda error: said.append(str(error)))
    yield opened
    context.close()
    assert not said


def _told(message: ConsoleMessage) -> str:
    return f"{message.location.get('url')}: {message.text}"


def visit(tab: Tab, site: Path, name: str = "index", query: str = "") -> None:
    tab.goto(f"file://{site}/{name}.html{query}")


@in_a_browser
def test_a_browser_finds_a_page_by_search(site: Path, tab: Tab) -> None:
    visit(tab, site, "search", "?q=zebra")
    tab.wait_for_selector("#search-results li a")
    assert "Findings" in tab.locator("#search-results li a").all_inner_texts()


@in_a_browser
@pytest.mark.parametrize(
    ("size", "scheme", "names"),
    [
        (PHONE, "dark", PAGES[:2]),
        *(pytest.param(size, "light", PAGES, marks=pytest.mark.long) for size in (DESKTOP, PHONE)),
    ],
)
def test_it_is_readable_by_everyone(
    site: Path, browser: Browser, size: ViewportSize, scheme: Any, names: tuple[str, ...]
) -> None:
    context = browser.new_context(viewport=size, color_scheme=scheme)
    context.set_default_timeout(300_000)
    tab = context.new_page()
    for name in names:
        visit(tab, site, name)
        across = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert tab.evaluate(across) == 0, name
        assert tab.evaluate(TOO_SMALL) == [], name
        nameless = "every => every.filter((each) => !(each.getAttribute('aria-label') || each.alt)).length"
        assert tab.eval_on_selector_all("article svg[role=img], article img", nameless) == 0, name
        found = Axe().run(tab, options={"resultTypes": ["violations"], "preload": False})
        assert found.violations_count == 0, f"{name}: {found.generate_report()}"
    context.close()


@in_a_browser
def test_figures_say_what_they_show_and_take_the_ink_of_a_dark_page(site: Path, browser: Browser) -> None:
    inks = []
    for scheme in SCHEMES:
        context = browser.new_context(viewport=DESKTOP, color_scheme=scheme)
        context.set_default_timeout(300_000)
        tab = context.new_page()
        visit(tab, site)
        drawing = tab.get_by_role("img", name="A line that rises from 3 to 4.")
        inks.append(drawing.evaluate("each => getComputedStyle(each).color"))
        paper = drawing.evaluate("""each => {
            each.style.backgroundColor = 'var(--figure-paper)';
            return getComputedStyle(each).backgroundColor;
        }""")
        assert paper == tab.evaluate("getComputedStyle(document.body).backgroundColor"), scheme
        context.close()
    assert inks[0] != inks[1]
