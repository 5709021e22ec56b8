"""The layers of the package: which may import which, and that what runs inside a trial stays light."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from allocpool.campaign.registry import STUDY_NAMES, modes

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "allocpool"
LAYERS = (
    {"errors", "files", "home", "stats", "percentiles", "decisions", "pace", "strangers"},
    {"machine"},
    {"runtimes", "gclog"},
    {"compile"},
    {"trial"},
    {"campaign"},
    {"evidence"},
    {"packets"},
    {"studies"},
    {
        "api",
        "findings",
        "readme",
        "notebook",
        "doctor",
        "prerequisites",
        "bench",
        "compare",
        "advise",
        "ask",
        "site",
        "fleet",
        "cli",
    },
)
"""The lowest first. A package imports from lower layers, and from its own layer without a circle."""
HEAVY = {"pydantic", "pandas", "pandera", "pyarrow", "matplotlib", "seaborn", "great_tables", "scipy", "IPython"}


def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name."""
    found = {}
    for file in PACKAGE.rglob("*.py"):
        parts = ["allocpool", *file.relative_to(PACKAGE).with_suffix("").parts]
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


MODULES = modules()


def imports(file: Path) -> Iterator[str]:
    """Dotted names that a module imports when it runs, inside functions too; not what only type checkers see."""
    todo: list[ast.AST] = [ast.parse(file.read_text(encoding="utf-8"))]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full if full in MODULES else node.module
        todo += ast.iter_child_nodes(node)


def package_of(module: str) -> str:
    """The package of a module: a study by its name, the child of a package apart, else the first folder."""
    parts = module.split(".")[1:]
    if parts[:1] == ["studies"] and len(parts) > 1:
        return f"studies.{parts[1]}"
    return parts[0] if parts else ""


def edges() -> set[tuple[str, str]]:
    """(from, to) of every import between packages."""
    return {
        (package_of(module), package_of(name))
        for module, file in MODULES.items()
        for name in imports(file)
        if name.startswith("allocpool.")
        and package_of(name)
        and package_of(module)
        and package_of(name) != package_of(module)
    }


def test_every_package_has_a_layer() -> None:
    known = {name for layer in LAYERS for name in layer}
    assert {name.partition(".")[0] for name in map(package_of, MODULES) if name} == known


def test_imports_go_to_lower_layers() -> None:
    level_of = {name: level for level, names in enumerate(LAYERS) for name in names}
    wrong = {
        (start, end) for start, end in edges() if level_of[start.partition(".")[0]] < level_of[end.partition(".")[0]]
    }
    assert wrong == set()


def test_no_package_reaches_itself() -> None:
    graph: dict[str, set[str]] = {}
    for start, end in edges():
        graph.setdefault(start, set()).add(end)
    circles = []
    for start in graph:
        reached: set[str] = set()
        todo = list(graph[start])
        while todo:
            name = todo.pop()
            if name not in reached:
                reached.add(name)
                todo += graph.get(name, ())
        if start in reached:
            circles.append(start)
    assert circles == []


def test_every_study_is_in_the_registry() -> None:
    folders = {path.name for path in (PACKAGE / "studies").iterdir() if (path / "study.py").exists()}
    assert folders == set(STUDY_NAMES)


@pytest.mark.parametrize("mode", modes())
def test_what_runs_inside_a_trial_imports_nothing_heavy(mode: str) -> None:
    todo = ["allocpool.trial.child.__main__", modes()[mode].spec.CHILD]
    seen: set[str] = set()
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        assert name.partition(".")[0] not in HEAVY, name
        if name in MODULES:
            parents = name.split(".")
            todo += [".".join(parents[:count]) for count in range(1, len(parents))]
            todo += imports(MODULES[name])
    assert "allocpool.campaign.study" not in seen
