"""Stage the executed notebooks with what they say of themselves, and let Sphinx make the site of them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import nbformat

from allocpool import home
from allocpool.errors import UserError
from allocpool.site import _pages

_HERE = Path(__file__).parent
_SPHINX = "import allocpool; from sphinx.cmd.build import main; raise SystemExit(main())"
"""``python -m sphinx`` without what this package keeps from being imported."""
_MARK = ".allocpool-site"
"""A file in every folder that a site was built into: only such a folder is ever replaced."""


def build_site(
    executed_dir: Path, output_dir: Path, notebooks_dir: Path | None = None, readme: Path | None = None
) -> Path:
    """Build the site of the notebooks in ``notebooks_dir`` from their executed copies; returns its first
    page.

    A notebook without an executed copy, or whose copy lacks the end mark, gets a page that says so.
    ``output_dir`` is replaced where an earlier site is in it. ``notebooks_dir`` and ``readme`` default to those of the
    repository.

    Raises:
        UserError: there are no notebooks; ``output_dir`` holds something else; or Sphinx fails, and where its log is.
    """
    sources = sorted((notebooks_dir or home.home() / "notebooks").glob("*.ipynb"))
    if not sources:
        raise UserError(f"no notebooks in {notebooks_dir or home.home() / 'notebooks'}: nothing to make a site of")
    pages = [_pages.read_page(source, executed_dir / source.name) for source in sources]
    introduction = _pages.readme_introduction(readme or home.home() / "README.md")
    with tempfile.TemporaryDirectory(prefix="allocpool-site-") as scratch:
        staging = Path(scratch)
        _stage(staging, pages, introduction)
        _run_sphinx(staging, output_dir)
    return output_dir / "index.html"


def _stage(staging: Path, pages: list[_pages.Page], introduction: str) -> None:
    shutil.copy(_HERE / "conf.py", staging / "conf.py")
    shutil.copytree(_HERE / "templates", staging / "_templates")
    shutil.copytree(_HERE / "static", staging / "_static")
    for page in pages:
        shown = _pages.gap_page(page) if page.notebook is None else _pages.prepared(page.notebook)
        nbformat.write(shown, staging / f"{page.name}.ipynb")  # type: ignore[no-untyped-call]
    (staging / "index.md").write_text(_pages.index_text(pages, introduction), encoding="utf-8")
    boxes = {page.name: _pages.banner(page) + _pages.provenance_box(page.provenance) for page in pages}
    findings_first = sorted(pages, key=lambda page: page.name != _pages.FINDINGS)
    shared = next((page.provenance for page in findings_first if page.provenance), None)
    default = "".join(_pages.banner(page) for page in findings_first[:1]) + _pages.provenance_box(shared)
    (staging / "boxes.json").write_text(json.dumps({"pages": boxes, "default": default}), encoding="utf-8")


def _run_sphinx(staging: Path, output_dir: Path) -> None:
    if output_dir.exists() and not (output_dir / _MARK).is_file() and any(output_dir.iterdir()):
        raise UserError(
            f"{output_dir} holds something that is no site of this package: empty it, or name another folder"
        )
    if output_dir.exists():
        shutil.rmtree(output_dir)
    output_dir.mkdir(parents=True)
    (output_dir / _MARK).touch()
    log = output_dir.with_name(f"{output_dir.name}.log")
    command = [sys.executable, "-c", _SPHINX, "-b", "html", "-d", str(staging / ".doctrees")]
    done = subprocess.run(
        [*command, str(staging), str(output_dir)],
        check=False,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    log.write_text(done.stdout + done.stderr, encoding="utf-8")
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise UserError(f"Sphinx failed: {said[-1] if said else 'without a word'}; its log is {log}")
