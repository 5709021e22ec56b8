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
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from nbformat import NotebookNode, v4
from papermill.engines import Engine, NotebookExecutionManager, papermill_engines
from papermill.exceptions import PapermillExecutionError
from papermill.execute import execute_notebook
from papermill.iorw import read_yaml_file
from traitlets.config import Config

from allocpool import home
from allocpool.campaign.registry import STUDY_NAMES, module_of

_ENGINE = "in_this_process"


class _Shell(InteractiveShell):
    """IPython's shell, which keeps the error of a cell as the output that a kernel makes of it."""

    error: NotebookNode | None = None

    def _showtraceback(self, etype: type[BaseException], evalue: BaseException, stb: Sequence[str]) -> None:
        self.error = v4.new_output("error", ename=etype.__name__, evalue=str(evalue), traceback=list(stb))


class _InThisProcess(Engine):
    """Papermill's engine without a kernel."""

    @classmethod
    def execute_managed_notebook(cls, nb_man: NotebookExecutionManager, kernel_name: str, **_: Any) -> None:
        shell = _Shell.instance(config=Config(HistoryManager={"enabled": False}))
        for index, cell in enumerate(nb_man.nb.cells):
            nb_man.cell_start(cell, index)
            if cell.cell_type == "code" and cell.source.strip():
                with capture_output() as shown:
                    shell.display_trap.hook = sys.displayhook  # the shell's own would print what a cell ends in
                    done = shell.run_cell(cell.source, store_history=True)
                cell.execution_count = done.execution_count
                streams = {"stdout": shown.stdout, "stderr": shown.stderr}
                cell.outputs = [
                    *(v4.new_output("stream", name=name, text=text) for name, text in streams.items() if text),
                    *(v4.new_output("display_data", data=each.data, metadata=each.metadata or {})
                      for each in shown.outputs),
                    *([shell.error] if shell.error else []),
                ]  # fmt: skip
            nb_man.cell_complete(cell, cell_index=index)
            if shell.error:
                nb_man.cell_exception(cell, cell_index=index)
                break


def _execute(source: str, executed: str, parameters: str) -> None:
    """Execute one notebook in this process, whose output becomes its log."""
    with Path(executed).with_suffix(".log").open("wb") as log:
        for descriptor in (1, 2):
            os.dup2(log.fileno(), descriptor)
    with suppress(PapermillExecutionError):  # it is in the executed copy
        execute_notebook(
            source, executed, read_yaml_file(parameters), engine_name=_ENGINE, request_save_on_cell_execute=False,
            progress_bar=False, cwd=str(home.home()),
        )  # fmt: skip


def main() -> None:
    """Execute notebooks (source, executed copy, parameters), so many at a time; prints the exit status of each."""
    jobs, waiting = int(sys.argv[1]), json.loads(sys.argv[2])
    os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    papermill_engines.register(_ENGINE, _InThisProcess)
    for name in STUDY_NAMES:  # what notebooks import; a failing import fails in the notebook that asks for it
        with suppress(ImportError):
            for part in pkgutil.iter_modules(importlib.import_module(f"allocpool.studies.{name}").__path__):
                if not part.ispkg:
                    module_of(name, part.name)
    gc.freeze()  # a fork need not look through what all have imported whenever it collects
    forks = multiprocessing.get_context("fork")
    running: dict[Any, tuple[str, BaseProcess]] = {}
    while waiting or running:
        while waiting and len(running) < jobs:
            files = waiting.pop(0)
            fork = forks.Process(target=_execute, args=files)
            fork.start()
            running[fork.sentinel] = (files[0], fork)
        for ended in wait(list(running)):
            source, process = running.pop(ended)
            process.join()
            print(json.dumps([source, process.exitcode]), flush=True)


if __name__ == "__main__":
    main()
