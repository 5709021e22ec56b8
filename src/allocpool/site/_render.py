"""Execute the notebooks of a profile through papermill, one process each, then build the site of them.

Papermill reports a dead kernel like a finished run, so an executed copy counts only with exit status 0 and
the end mark (see `allocpool.notebook`); whatever else happened becomes a page that says so.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from threading import Event

from tqdm import tqdm

from allocpool import home
from allocpool.campaign.campaign import SHOW_ONLY
from allocpool.errors import unknown_choice
from allocpool.files import Remembered
from allocpool.site._build import build_site
from allocpool.site._pages import ERROR_SUFFIX, FINDINGS, read_page

_POLL_S = 1.0
_PAGE_S = 14.0
"""About what a notebook takes with as many running as there are processors."""


def pages_seconds(profile: str) -> float:
    """About how long `render` takes with as many jobs as processors: as long as ever before, or what so many notebooks
    take where it has not run."""
    took_s = _durations().get(profile)
    return max(float(took_s or 0.0), _PAGE_S * len(list((home.home() / "notebooks").glob("*.ipynb"))))


def _durations() -> Remembered:
    return Remembered(home.build_dir() / "remembered" / "pages.json")


def render(profile: str, output_dir: Path | None = None, jobs: int = 1, show_only: bool = False) -> Path:
    """Execute every notebook under ``profile``, then build the site; returns its first page.

    Parameters come from ``papermill-configs/<profile>/<notebook>.yaml``. Executed copies and logs go to
    ``executed/<profile>/`` and the site to ``site/<profile>/``, both in ``output_dir`` (default: ``build/``).
    A notebook that fails does not stop the others. The findings come last, because they read what the others
    measured.

    ``jobs`` notebooks run at a time: more than one only where every trial has its record or with ``show_only``, which
    keeps notebooks from measuring what is missing, because two can't measure at once.

    Raises:
        UserError: there is no such profile; names those that there are.
    """
    configurations = home.home() / "papermill-configs"
    known = sorted(path.name for path in configurations.iterdir() if path.is_dir())
    if profile not in known:
        raise unknown_choice("profile", profile, known)
    begun_s = time.monotonic()
    output_dir = output_dir or home.build_dir()
    executed_dir = output_dir / "executed" / profile
    executed_dir.mkdir(parents=True, exist_ok=True)
    notebooks = (home.home() / "notebooks").glob("*.ipynb")
    sources = sorted(notebooks, key=lambda path: (path.stem == FINDINGS, path.stem))
    *studies, findings = sources
    with tqdm(total=len(sources), desc=f"notebooks ({profile})", unit="notebook", dynamic_ncols=True) as bar:
        environment = {**os.environ, SHOW_ONLY: "1"} if show_only else dict(os.environ)

        def execute(source: Path) -> None:
            problem = _execute(
                source, configurations / profile / f"{source.stem}.yaml", executed_dir, environment, stop
            )
            bar.update()
            if problem:
                bar.write(f"{source.stem}: {problem}")

        stop = Event()
        with ThreadPoolExecutor(jobs) as pool:
            try:
                running = [pool.submit(execute, source) for source in studies]
                while not all(one.done() for one in running):
                    wait(running, timeout=_POLL_S)
                    if sys.stderr.isatty():
                        bar.refresh()  # the bar's clock goes on while notebooks run
                for one in running:
                    one.result()
            except BaseException:
                stop.set()
                pool.shutdown(cancel_futures=True)
                raise
        execute(findings)
    page = build_site(executed_dir, output_dir / "site" / profile)
    if show_only:
        longest_s = max(float(_durations().get(profile) or 0.0), time.monotonic() - begun_s)
        _durations().remember(profile, f"{longest_s:.1f}")
    return page


def _execute(
    source: Path, parameters: Path, executed_dir: Path, environment: Mapping[str, str], stop: Event
) -> str | None:
    """Run one notebook; what went wrong, or None. The reason is kept beside the executed copy for the
    site."""
    executed = executed_dir / source.name
    reason = executed.with_suffix(ERROR_SUFFIX)
    for stale in (executed, reason):
        stale.unlink(missing_ok=True)
    if not parameters.is_file():
        problem: str | None = f"profile {parameters.parent.name} has no parameters for it ({parameters.name})"
    else:
        status = _papermill(source, executed, parameters, environment, stop)
        problem = read_page(source, executed).problem
        if status and problem is None:
            problem = f"papermill ended with status {status} although the notebook reached its end"
    if problem:
        reason.write_text(f"{problem}\n", encoding="utf-8")
    return problem


def _papermill(source: Path, executed: Path, parameters: Path, environment: Mapping[str, str], stop: Event) -> int:
    command = [sys.executable, "-m", "papermill", str(source), str(executed), "-f", str(parameters)]
    options = ["--cwd", str(home.home()), "--no-progress-bar", "--no-log-output"]
    with executed.with_suffix(".log").open("wb") as log:
        child = subprocess.Popen(
            [*command, *options], stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment
        )
        try:
            while not stop.is_set():
                try:
                    return child.wait(timeout=_POLL_S)
                except subprocess.TimeoutExpired:
                    continue
            return -signal.SIGTERM
        finally:
            if child.poll() is None:
                child.terminate()
                child.wait()
