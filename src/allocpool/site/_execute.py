"""Execute notebooks in parallel: ``python -m allocpool.site._execute JOBS NOTEBOOKS``.

Starting a kernel and its imports takes longer than most notebooks. So imports are done once, and every notebook is a
fork of this process: papermill injects its parameters and keeps its copy, and IPython's shell runs the cells.
"""

from __future__ import annotations

import gc
import importlib
import json
import multiprocessing
import os
import pkgutil
import sys
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, TypedDict

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import CapturedIO, capture_output
from nbformat import NotebookNode, v4
from papermill.engines import Engine, NotebookExecutionManager, papermill_engines
from papermill.exceptions import PapermillExecutionError
from papermill.execute import execute_notebook
from papermill.iorw import read_yaml_file
from traitlets.config import Config

from allocpool import home
from allocpool.campaign.registry import STUDY_NAMES, module_of

_ENGINE = "in_this_process"
_INLINE = "module://matplotlib_inline.backend_inline"


class Asked(TypedDict):
    """A notebook to execute: paths of its source, executed copy, parameters and log."""

    source: str
    executed: str
    parameters: str
    log: str


class _Shell(InteractiveShell):
    """IPython's shell, which keeps the error of a cell as the output that a kernel makes of it."""

    error: NotebookNode | None = None

    def _showtraceback(self, etype: type[BaseException], evalue: BaseException, stb: Sequence[str]) -> None:
        self.error = v4.new_output("error", ename=etype.__name__, evalue=str(evalue), traceback=list(stb))


class _InThisProcess(Engine):
    """Papermill's engine without a kernel."""

    @classmethod
    def execute_managed_notebook(cls, nb_man: NotebookExecutionManager, kernel_name: str, **_: Any) -> None:
        """Run every cell up to the first error."""
        shell = _Shell.instance(config=Config(HistoryManager={"enabled": False}))
        for index, cell in enumerate(nb_man.nb.cells):
            nb_man.cell_start(cell, index)
            if cell.cell_type == "code" and cell.source.strip():
                with capture_output() as shown:
                    shell.display_trap.hook = sys.displayhook  # the shell's own would print what a cell ends in
                    done = shell.run_cell(cell.source, store_history=True)
                cell.execution_count = done.execution_count
                cell.outputs = [*_outputs(shown), *([shell.error] if shell.error else [])]
            nb_man.cell_complete(cell, cell_index=index)
            if shell.error:
                nb_man.cell_exception(cell, cell_index=index)
                break


def _outputs(shown: CapturedIO) -> list[NotebookNode]:
    """Return the outputs of a cell as a notebook stores them."""
    streams = [
        v4.new_output("stream", name=name, text=text)
        for name, text in (("stdout", shown.stdout), ("stderr", shown.stderr))
        if text
    ]
    rich = [v4.new_output("display_data", data=output.data, metadata=output.metadata or {}) for output in shown.outputs]
    return [*streams, *rich]


def _execute(asked: Asked) -> None:
    """Execute one notebook in this process, whose output becomes its log."""
    with Path(asked["log"]).open("wb") as log:
        for descriptor in (1, 2):
            os.dup2(log.fileno(), descriptor)
    with suppress(PapermillExecutionError):  # it is in the executed copy
        execute_notebook(
            asked["source"], asked["executed"], read_yaml_file(asked["parameters"]), engine_name=_ENGINE,
            request_save_on_cell_execute=False, progress_bar=False, cwd=str(home.home()),
        )  # fmt: skip


def _import_all() -> None:
    """Import what notebooks import; a failing import fails in the notebook that asks for it."""
    for name in STUDY_NAMES:
        with suppress(ImportError):
            for part in pkgutil.iter_modules(importlib.import_module(f"allocpool.studies.{name}").__path__):
                if not part.ispkg:
                    module_of(name, part.name)


def main() -> None:
    """Execute the notebooks of the list, so many at a time; prints the source and exit status of each as it ends."""
    jobs, waiting = int(sys.argv[1]), json.loads(sys.argv[2])
    os.environ.setdefault("MPLBACKEND", _INLINE)
    papermill_engines.register(_ENGINE, _InThisProcess)
    _import_all()
    gc.freeze()  # a fork need not look through what all have imported whenever it collects
    forks = multiprocessing.get_context("fork")
    running: dict[Any, tuple[str, BaseProcess]] = {}
    while waiting or running:
        while waiting and len(running) < jobs:
            asked = waiting.pop(0)
            fork = forks.Process(target=_execute, args=(asked,))
            fork.start()
            running[fork.sentinel] = (asked["source"], fork)
        for ended in wait(list(running)):
            source, process = running.pop(ended)
            process.join()
            print(json.dumps([source, process.exitcode]), flush=True)


if __name__ == "__main__":
    main()
