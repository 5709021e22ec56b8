"""JupyterLab as a reader has it: a notebook is opened in a browser and run; its figures have words, its progress is a
bar, and what it refuses is told in one line."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from playwright.sync_api import sync_playwright

from allocpool import home

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium on this machine: install chromium to see notebooks in a browser"
)
CELLS = (
    "import time\nfrom allocpool import notebook\nfrom allocpool.campaign import campaign, sequential, store\n"
    "from allocpool.evidence import tables\nfrom allocpool.packets import by_size",
    "profile = 'standard'",
    "notebook.parameters(globals(), known=['profile'])\ntrials = store.stored('batch', profile)[0]['trials']",
    "rungs = by_size.rungs(trials[trials['collector'] == 'g1'])\nnotebook.figure(by_size.curve(trials), 'A caption')",
    "tables.plain_table(rungs, 'The rungs as a table')",
    "study = campaign.open_study('batch', 'smoke')\nbar = sequential.Work([study], None, time.monotonic).bar()\n"
    "bar.update(3)\nbar.close()",
    "notebook.parameters({'profile': 'smoke', 'porfile': 'quick'}, known=['profile'])",
)
STARTS_S, RUNS_S = 600, 600
"""At most, on a machine that does other things too."""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that has one notebook, and ends with the tests."""
    root = tmp_path_factory.mktemp("lab")
    v4: Any = nbformat.v4
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}}
    stored = v4.new_notebook(cells=[v4.new_code_cell(code) for code in CELLS], metadata=kernel)
    nbformat.write(stored, root / "story.ipynb")
    own = {f"JUPYTER_{name}_DIR": str(root / name.lower()) for name in ("CONFIG", "RUNTIME", "DATA")}
    environment = {**os.environ, **own, "ALLOCPOOL_HOME": str(home.home())}
    options = ["--no-browser", "--allow-root", "--port=0", "--IdentityProvider.token=", f"--ServerApp.root_dir={root}"]
    quiet = ["--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdates", "--LabApp.news_url="]
    with (root / "server.log").open("wb") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *options, *quiet], stdout=log, stderr=log, env=environment, cwd=root
        )
        try:
            yield _address(root / "runtime", server)
        finally:
            server.send_signal(signal.SIGINT)
            server.terminate()
            server.wait(STARTS_S)


def _address(folder: Path, server: subprocess.Popen[bytes]) -> str:
    until = time.monotonic() + STARTS_S
    while time.monotonic() < until and server.poll() is None:
        for file in folder.glob("jpserver-*.json"):
            return str(json.loads(file.read_text(encoding="utf-8"))["url"])
        time.sleep(0.2)
    pytest.fail("JupyterLab did not start")


@pytest.mark.long
def test_a_notebook_runs_in_jupyterlab(lab: str) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 1280, "height": 2400})
        tab.set_default_timeout(RUNS_S * 1000)
        tab.goto(f"{lab}lab/tree/story.ipynb?reset")
        tab.locator(".jp-NotebookPanel-notebook").wait_for()
        tab.get_by_text("(ipykernel) | Idle").wait_for()
        tab.get_by_role("menuitem", name="Run", exact=True).click()
        tab.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        # JupyterLab shows errors as it shows a stream of errors: the refusal must be all there is.
        pink = tab.locator(".jp-OutputArea-output[data-mime-type='application/vnd.jupyter.stderr']")
        pink.get_by_text("porfile").wait_for()
        assert pink.all_inner_texts() == ["UserError: unknown parameter 'porfile': choose one of profile"]
        words = tab.locator("svg[role=img]").first.get_attribute("aria-label") or ""
        assert "G1, JDK 27: pool" in words
        assert tab.get_by_role("region", name="The rungs as a table").is_visible()
        assert tab.locator(".jupyter-widgets [role=progressbar], .jupyter-widgets.widget-hprogress").count()
        browser.close()
