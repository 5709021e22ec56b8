"""Paths: the repository root, and the folders that the project reads and writes.

Sources and the code that measures them must come from the same checkout, so the root is searched from this file first,
and from the working directory only when the package was installed away from its repository.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from allocpool.errors import UserError


def _is_root(folder: Path) -> bool:
    try:
        return 'name = "allocpool"' in (folder / "pyproject.toml").read_text(encoding="utf-8")
    except OSError:
        return False


def _from_environment(variable: str) -> Path | None:
    """Return the folder that a variable names; raises `UserError` where it can't be one."""
    value = os.environ.get(variable)
    if not value:
        return None
    try:
        value.encode()  # records and pages name it, in UTF-8
        return Path(value).expanduser().resolve()
    except (OSError, RuntimeError, ValueError) as error:
        found = f"{variable}={os.fsencode(value).decode(errors='backslashreplace')}"
        why = type(error).__name__
        raise UserError(f"{found} can't be used ({why}): give the whole name of a folder, in UTF-8") from None


def home() -> Path:
    """Return the repository root: ``ALLOCPOOL_HOME``, else upwards from here, else from the working directory.

    Raises:
        UserError: ``ALLOCPOOL_HOME`` is no checkout, or none is found.
    """
    chosen = _from_environment("ALLOCPOOL_HOME")
    if chosen is not None:
        if not _is_root(chosen):
            raise UserError(f"ALLOCPOOL_HOME={chosen} is not a checkout of allocpool: it must hold its pyproject.toml")
        return chosen
    folders = [*Path(__file__).resolve().parents]
    with suppress(FileNotFoundError):  # the working folder was deleted
        cwd = Path.cwd().resolve()
        folders += [cwd, *cwd.parents]
    for folder in folders:
        if _is_root(folder):
            return folder
    raise UserError("no checkout of allocpool found: run inside the repository or set ALLOCPOOL_HOME to it")


def data_dir() -> Path:
    """Return the folder of measured data: ``ALLOCPOOL_DATA``, else ``data/`` of the repository."""
    return _from_environment("ALLOCPOOL_DATA") or home() / "data"


def raw_dir() -> Path:
    """Return the folder of trials, one each, as the child wrote it; not committed."""
    return data_dir() / "raw"


def tidy_dir() -> Path:
    """Return the folder of schema-checked tables made from raw trials."""
    return data_dir() / "tidy"


def hosts_dir() -> Path:
    """Return the folder of other machines' tables, a folder per host laid out like ``tidy_dir``."""
    return data_dir() / "hosts"


def shipped_dir() -> Path:
    """Return the folder of shipped campaigns, laid out like ``tidy_dir``."""
    return home() / "data" / "shipped"


def reference_dir() -> Path:
    return home() / "data" / "reference"


def runtimes_dir() -> Path:
    """Return the folder of embedded Java runtimes: ``ALLOCPOOL_RUNTIMES``, else ``.runtimes/`` of the repository."""
    return _from_environment("ALLOCPOOL_RUNTIMES") or home() / ".runtimes"


def build_dir() -> Path:
    """Return the folder of all that can be made again: ``ALLOCPOOL_BUILD``, else ``build/`` of the repository."""
    return _from_environment("ALLOCPOOL_BUILD") or home() / "build"


def workloads_dir() -> Path:
    return home() / "workloads"


def native_dir() -> Path:
    return home() / "native"
