"""Execute the notebooks of a profile through papermill, one process each, then build their site.

An executed copy counts only with exit status 0 and the end mark (see `allocpool.notebook`); else its page has the
reason.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tqdm import tqdm

from allocpool import home
from allocpool.campaign import profiles, store
from allocpool.campaign.campaign import SHOW_ONLY
from allocpool.campaign.registry import every_study
from allocpool.errors import UserError
from allocpool.machine.guard import guarded, start_guard
from allocpool.site._build import ERROR_SUFFIX, build_site, read_page
from allocpool.stats import plural

_PAGE_S = 8.0
"""About what a notebook takes with as many running as there are processors, its page included."""


def pages_seconds(profile: str) -> float:
    """Return about how long `render` takes with as many jobs as processors."""
    return _PAGE_S * len(notebooks_of(profile))


def notebooks_of(profile: str, show_only: bool = False) -> list[Path]:
    """Return the notebooks of a profile's findings; with ``show_only`` none of studies without results."""
    named = [name for name in profiles.studies_of(profile) if not show_only or store.stored_folder(name, profile)]
    left_out = {study.notebook for study in every_study() if study.name not in named}
    return [path for path in (home.home() / "notebooks").glob("*.ipynb") if path.stem not in left_out]


def render(profile: str, output_dir: Path | None = None, jobs: int = 1, show_only: bool = False) -> Path:
    """Execute every notebook under ``profile``, then build the site; returns its first page.

    Executed copies and logs go to ``executed/<profile>/`` and the site to ``site/<profile>/``, both in ``output_dir``
    (default: ``build/``). A notebook that fails does not stop the others. ``jobs`` notebooks run at a time: more than
    one only with ``show_only``, which measures nothing, or where every trial has its record. UserError for an unknown
    profile.
    """
    profiles.check(profile)
    parameters = home.home() / "papermill-configs" / profile
    output_dir = output_dir or home.build_dir()
    executed_dir = output_dir / "executed" / profile
    executed_dir.mkdir(parents=True, exist_ok=True)
    notebooks = notebooks_of(profile, show_only)
    # The findings read what others measure, so they come last; where nothing is measured they go first: they are slow.
    sources = sorted(notebooks, key=lambda path: ((path.stem == profiles.FINDINGS) == (jobs == 1), path.stem))
    with tqdm(total=len(sources), desc=f"notebooks ({profile})", unit="notebook", dynamic_ncols=True) as bar:
        for source, problem in _execute(sources, parameters, executed_dir, jobs, show_only):
            bar.update()
            if problem:
                bar.write(f"{source.stem}: {problem}")
    return build_site(executed_dir, output_dir / "site" / profile, sources)


def require_whole(executed_dir: Path) -> None:
    """Check that every notebook reached its end; UserError, which names those that did not and why."""
    reasons = {path.name.removesuffix(ERROR_SUFFIX): path.read_text(encoding="utf-8").strip()
               for path in sorted(executed_dir.glob(f"*{ERROR_SUFFIX}"))}  # fmt: skip
    if reasons:
        named = "; ".join(f"{name} ({reason})" for name, reason in reasons.items())
        raise UserError(f"{plural(len(reasons), 'notebook')} did not reach the end, as its page says: {named}")


def _execute(
    sources: Sequence[Path], parameters: Path, executed_dir: Path, jobs: int, show_only: bool
) -> Iterator[tuple[Path, str | None]]:
    """Execute notebooks; yields each as it ends, with what went wrong or None, which is kept with the executed copy."""
    asked = []
    for source in sources:
        executed, own = executed_dir / source.name, parameters / f"{source.stem}.yaml"
        reason = executed.with_suffix(ERROR_SUFFIX)
        for stale in (executed, reason):
            stale.unlink(missing_ok=True)
        if own.is_file():
            asked.append(tuple(map(str, (source, executed, own))))
        else:
            lacking = f"profile {parameters.name} has no parameters for it ({own.name})"
            reason.write_text(f"{lacking}\n", encoding="utf-8")
            yield source, lacking
    for source, status in _statuses(asked, jobs, show_only):
        executed = executed_dir / source.name
        problem = read_page(source, executed).problem if executed.is_file() else None
        if not problem and (status or not executed.is_file()):
            problem = f"its process ended with status {status} before its end"
        if problem:
            executed.with_suffix(ERROR_SUFFIX).write_text(f"{problem}\n", encoding="utf-8")
        yield source, problem


def _statuses(asked: Sequence[tuple[str, ...]], jobs: int, show_only: bool) -> Iterator[tuple[Path, int]]:
    """Yield notebooks as they end, with the exit status of their processes, which all end with this one."""
    environment = {**os.environ, SHOW_ONLY: "1"} if show_only else None
    start_guard()
    child = subprocess.Popen(
        [sys.executable, "-m", "allocpool.site._execute", str(jobs), json.dumps(asked)],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=environment, start_new_session=True,
    )  # fmt: skip
    left = [source for source, *_ in asked]
    with guarded(child):
        for line in child.stdout or ():
            source, status = json.loads(line)
            left.remove(source)
            yield Path(source), status
        yield from ((Path(source), child.wait()) for source in left)
