"""Execute the notebooks of a profile through papermill, one process each, then build the site of them.

Papermill reports a dead kernel like a finished run, so an executed copy counts only with exit status 0 and
the end mark (see `allocpool.notebook`); whatever else happened becomes a page that says so.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from threading import Event

from tqdm import tqdm

from allocpool import home
from allocpool.errors import unknown_choice
from allocpool.site._build import build_site
from allocpool.site._pages import ERROR_SUFFIX, FINDINGS, read_page

_POLL_S = 1.0


def render(profile: str, output_dir: Path | None = None, jobs: int = 1) -> Path:
    """Execute every notebook under ``profile``, then build the site; returns its first page.

    Parameters come from ``papermill-configs/<profile>/<notebook>.yaml``. Executed copies and logs go to
    ``executed/<profile>/`` and the site to ``site/<profile>/``, both in ``output_dir`` (default: ``build/``).
    A notebook that fails does not stop the others. The findings come last, because they read what the others
    measured.

    ``jobs`` notebooks run at a time: more than one only where every trial has its record, because two can't measure at
    once.

    Raises:
        UserError: there is no such profile; names those that there are.
    """
    configurations = home.home() / "papermill-configs"
    known = sorted(path.name for path in configurations.iterdir() if path.is_dir())
    if profile not in known:
        raise unknown_choice("profile", profile, known)
    output_dir = output_dir or home.build_dir()
    executed_dir = output_dir / "executed" / profile
    executed_dir.mkdir(parents=True, exist_ok=True)
    notebooks = (home.home() / "notebooks").glob("*.ipynb")
    sources = sorted(notebooks, key=lambda path: (path.stem == FINDINGS, path.stem))
    *studies, findings = sources
    with tqdm(total=len(sources), desc=f"notebooks ({profile})", unit="notebook", dynamic_ncols=True) as bar:

        def execute(source: Path) -> None:
            problem = _execute(source, configurations / profile / f"{source.stem}.yaml", executed_dir, stop)
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
    return build_site(executed_dir, output_dir / "site" / profile)


def _execute(source: Path, parameters: Path, executed_dir: Path, stop: Event) -> str | None:
    """Run one notebook; what went wrong, or None. The reason is kept beside the executed copy for the
    site."""
    executed = executed_dir / source.name
    reason = executed.with_suffix(ERROR_SUFFIX)
    for stale in (executed, reason):
        stale.unlink(missing_ok=True)
    if not parameters.is_file():
        problem: str | None = f"profile {parameters.parent.name} has no parameters for it ({parameters.name})"
    else:
        status = _papermill(source, executed, parameters, stop)
        problem = read_page(source, executed).problem
        if status and problem is None:
            problem = f"papermill ended with status {status} although the notebook reached its end"
    if problem:
        reason.write_text(f"{problem}\n", encoding="utf-8")
    return problem


def _papermill(source: Path, executed: Path, parameters: Path, stop: Event) -> int:
    command = [sys.executable, "-m", "papermill", str(source), str(executed), "-f", str(parameters)]
    options = ["--cwd", str(home.home()), "--no-progress-bar", "--no-log-output"]
    with executed.with_suffix(".log").open("wb") as log:
        child = subprocess.Popen([*command, *options], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
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
