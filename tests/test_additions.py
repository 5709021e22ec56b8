"""What ARCHITECTURE.md says of additions is true: in a copy of the tree a made-up study, strategy, layout and collector
are added by the files that it names, and are planned, run, tabled, drawn and explained without another edit."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path

import pandas as pd
import pytest

from allocpool import home

TOY = Path(__file__).parent / "additions"
LEFT_OUT = shutil.ignore_patterns("target", "build*")
"""Results of builds; what Python has compiled, and Maven's settings in `.mvn`, save more than they take."""
SETTINGS = {
    "blocks": 1, "cases": ["A"], "strategies": ["alloc", "fresh"], "seconds": 0.2, "min_collections": 1,
    "configurations": ["cpp/roomy", "java/roomy/toygc/25", "cpp/flat"],
}  # fmt: skip

ONE_BY_ONE = """
import json, shlex, sys
from click.testing import CliRunner
from allocpool.cli import main
done = [CliRunner().invoke(main, shlex.split(command), catch_exceptions=False) for command in sys.argv[1:]]
assert not any(each.exit_code for each in done), [each.output for each in done]
print(json.dumps([each.stdout for each in done]))
"""
"""Runs command lines, each an argument; importing what they need takes longer than most of them."""


class Tree:
    """A copy of the repository that additions are made to; remembers which files they touched."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.touched: set[str] = set()
        for name in ("src", "native", "workloads", "notebooks", "papermill-configs", "data/reference"):
            shutil.copytree(home.home() / name, root / name, ignore=LEFT_OUT)
        for name in ("pyproject.toml", "README.md"):
            shutil.copy(home.home() / name, root / name)
        # What is added must compile and do its work; optimizing it takes longer than everything else here.
        flags = root / "native/cmake/CompilerFlags.cmake"
        quickly = "set(CMAKE_CXX_FLAGS_RELEASE -O0)\nset(CMAKE_UNITY_BUILD ON)\nset(CMAKE_UNITY_BUILD_BATCH_SIZE 0)\n"
        flags.write_text(quickly + flags.read_text(encoding="utf-8"), encoding="utf-8")
        # Every layout and strategy goes together with every memory; no addition here brings one, so one is enough.
        self.rewrite("native/src/packets/registry.cpp", r"(?s)(Memories = Axis<\n    New,\n).*?(    Region>)", r"\1\2")
        # Each step doubles what is compiled; what runs here has its layout's own.
        steps = r"Strategy::kPooled \|\| Strategy::kConstructs \|\| (\(\(kSteps)"
        self.rewrite("native/src/packets/registry.cpp", steps, r"\1")
        # Nor does one touch anything but packets in batch: all else is left out of the library.
        apart = r"(?:api_(?:buffers|messages|realtime|threads)|(?:buffers|messages|realtime|threads)/\w+)\.cpp"
        self.rewrite("native/CMakeLists.txt", rf"(?:\n? *src/{apart})+(?=[\n )])", "", times=4)

    def rewrite(self, path: str, pattern: str, replacement: str, times: int = 1) -> None:
        """What is no addition: a part of a file that must be there, in other words."""
        text, found = re.subn(pattern, replacement, (self.root / path).read_text(encoding="utf-8"))
        assert found == times, (path, pattern, found)
        (self.root / path).write_text(text, encoding="utf-8")

    def write(self, path: str, text: str) -> None:
        """A new file."""
        assert not (self.root / path).exists()
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text, encoding="utf-8")
        self.touched.add(path)

    def copy_of(self, path: str, new_path: str, words: dict[str, str]) -> None:
        """A new file that is another one with other names: an implementation that certainly works."""
        text = (self.root / path).read_text(encoding="utf-8")
        for word, replacement in words.items():
            assert word in text, (path, word)
            text = text.replace(word, replacement)
        self.write(new_path, text)

    def row(self, path: str, before: str, row: str) -> None:
        """One row more in a table, in front of another."""
        text = (self.root / path).read_text(encoding="utf-8")
        assert text.count(before) == 1, (path, before, text.count(before))
        (self.root / path).write_text(text.replace(before, row + before), encoding="utf-8")
        self.touched.add(path)

    def run(self, *command: str | Path) -> str:
        """What a command of this tree prints; it must end well."""
        environment = {
            **os.environ,
            "PYTHONPATH": str(self.root / "src"),
            "ALLOCPOOL_RUNTIMES": str(home.runtimes_dir()),
            "ALLOCPOOL_BUILD": str(self.root / "build"),
            "ALLOCPOOL_DATA": str(self.root / "data"),
        }
        done = subprocess.run(
            [sys.executable, *command], cwd=self.root, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def allocpool(self, *commands: str) -> list[str]:
        """What each command line prints, in one process of this tree."""
        return [str(text) for text in json.loads(self.run("-c", ONE_BY_ONE, *commands))]

    def by_papermill(self, name: str, **parameters: object) -> str:
        """All that a notebook shows that papermill executed in a kernel, as one text."""
        executed = self.root / f"{name}-executed.ipynb"
        words = [word for key, value in parameters.items() for word in ("-y", f"{key}: {json.dumps(value)}")]
        self.run("-m", "papermill", f"notebooks/{name}.ipynb", executed, "--cwd", self.root, *words)
        return shown_in(executed)

    def as_page(self, name: str, **parameters: object) -> str:
        """The same, executed as for the site: without a kernel."""
        executed, given, log = (self.root / f"{name}{ending}" for ending in ("-executed.ipynb", ".yaml", ".log"))
        given.write_text(json.dumps(parameters), encoding="utf-8")
        asked = {"source": f"notebooks/{name}.ipynb", "executed": executed, "parameters": given, "log": log}
        self.run("-m", "allocpool.site._execute", "1", json.dumps([asked], default=str))
        return shown_in(executed)


def shown_in(executed: Path) -> str:
    """All outputs of an executed notebook."""
    cells = json.loads(executed.read_text(encoding="utf-8"))["cells"]
    return json.dumps([cell.get("outputs", []) for cell in cells])


def add_study(tree: Tree) -> None:
    """One folder, one notebook, its YAMLs, one word in the registry."""
    for file in sorted((TOY / "toy").rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        tree.write(f"src/allocpool/studies/{file.relative_to(TOY).as_posix()}", text)
    tree.write("notebooks/99_toy.ipynb", (TOY / "99_toy.ipynb").read_text(encoding="utf-8"))
    tree.write("papermill-configs/smoke/99_toy.yaml", (TOY / "99_toy.yaml").read_text(encoding="utf-8"))
    tree.row("src/allocpool/campaign/registry.py", '"threads",', '"toy", ')


def add_collector(tree: Tree) -> None:
    """One row: G1 by another name."""
    tree.row(
        "src/allocpool/runtimes/collectors.py",
        '        Collector(\n            "epsilon",',
        '        Collector("toygc", "Toy GC", _everywhere("-XX:+UseG1GC"), colour="#123456", thread_names=("G1 ",)),\n',
    )


def add_strategy(tree: Tree) -> None:
    """Its implementation in the language that has it, a row there and a row here."""
    tree.copy_of(
        "native/src/packets/strategy_alloc.hpp",
        "native/src/packets/strategy_fresh.hpp",
        {"struct Alloc ": "struct Fresh ", '"alloc"': '"fresh"'},
    )
    registry = "native/src/packets/registry.cpp"
    tree.row(registry, '#include "packets/strategy_pool.hpp"', '#include "packets/strategy_fresh.hpp"\n')
    tree.row(registry, "    Alloc,\n", "    Fresh,\n")
    tree.row(
        "src/allocpool/packets/strategies.py",
        '            Strategy("pool",',
        '            Strategy("fresh", "alloc by another name", 0, "#654321", "v", languages=("cpp",)),\n',
    )


def add_layouts(tree: Tree) -> None:
    """One of C++ and one of Java: an implementation, a row there and a row here, each."""
    tree.copy_of(
        "native/src/packets/layout_flat.hpp",
        "native/src/packets/layout_roomy.hpp",
        {"FlatLayout": "RoomyLayout", "struct Flat ": "struct Roomy ", '"flat"': '"roomy"'},
    )
    registry = "native/src/packets/registry.cpp"
    tree.row(registry, '#include "packets/layout_slab.hpp"', '#include "packets/layout_roomy.hpp"\n')
    tree.row(registry, "    Slab>;", "    Roomy,\n")
    java = "workloads/packets/src/main"
    tree.copy_of(
        f"{java}/java/allocpool/packets/HeapLayout.java",
        f"{java}/java/allocpool/packets/RoomyLayout.java",
        {"HeapLayout": "RoomyLayout", '"heap"': '"roomy"'},
    )
    services = f"{java}/resources/META-INF/services/allocpool.packets.Layout"
    tree.row(services, "allocpool.packets.HeapLayout\n", "allocpool.packets.RoomyLayout\n")
    layouts = "src/allocpool/packets/layouts.py"
    tree.row(layouts, '        "slab": CppLayout(', '        "roomy": CppLayout(),\n')
    tree.row(
        layouts,
        '        "native": JavaLayout(',
        '        "roomy": JavaLayout(2048, packet_bytes=1152, parse_bytes=208),\n',
    )


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    """The copy with every addition."""
    copy = Tree(tmp_path_factory.mktemp("tree"))
    for addition in (add_study, add_collector, add_strategy, add_layouts):
        addition(copy)
    return copy


def documented(kind: str) -> list[str]:
    """The files that ARCHITECTURE.md names for an addition, as patterns."""
    lines = (home.home() / "ARCHITECTURE.md").read_text(encoding="utf-8").splitlines()
    (row,) = [line for line in lines if line.startswith(f"| {kind} |")]
    return re.findall(r"`([^`]+)`", row)


@pytest.mark.parametrize(
    ("kind", "addition"),
    [("study", add_study), ("collector", add_collector), ("strategy", add_strategy), ("layout", add_layouts)],
)
def test_the_table_of_additions_names_the_files_that_they_touch(
    tmp_path: Path, kind: str, addition: Callable[[Tree], None]
) -> None:
    copy = Tree(tmp_path)
    addition(copy)
    patterns = [pattern.replace("NAME", "*").replace("PROFILE", "*") for pattern in documented(kind)]
    for path in copy.touched:
        assert any(fnmatch(path, pattern) for pattern in patterns), (path, patterns)


def test_a_study_is_planned_run_tabled_drawn_and_explained(tree: Tree) -> None:
    planned, modes, trial = tree.allocpool(
        "plan toy --profile smoke --json", "trial --help", "trial mode=toy terms=10 --json"
    )
    assert {cell["configuration"] for cell in json.loads(planned)["cells"]} == {"10 terms", "1000 terms"}
    assert "  toy " in modes
    assert json.loads(trial)["total"] == 45
    shown = tree.by_papermill("99_toy", profile="smoke")
    assert "A sum of 1000 terms is 499500." in shown
    assert "figure class=" in shown and "drawn" in shown
    assert "Of 1 published claim, 1 reproduced" in shown
    trials = pd.read_parquet(tree.root / "data/tidy/smoke/toy/trials.parquet")
    assert set(trials["study"]) == set(trials["mode"]) == {"toy"} and len(trials) == 4
    (status,) = tree.allocpool("status --profile smoke")
    assert "toy" in status
    tree.run("-m", "allocpool.campaign.dictionary")
    assert "Study `toy`, table `trials`" in (tree.root / "data/README.md").read_text(encoding="utf-8")


def test_a_strategy_layouts_and_a_collector_are_planned_run_tabled_drawn_and_explained(tree: Tree) -> None:
    settings = [word for key, value in SETTINGS.items() for word in ("--set", f"{key}={json.dumps(value)}")]
    (planned,) = tree.allocpool(shlex.join(["plan", "batch", "--profile", "smoke", "--json", *settings]))
    cells = {(cell["configuration"], cell["strategy"]) for cell in json.loads(planned)["cells"] if cell["trials"]}
    assert cells == {
        ("C++ roomy", "alloc"), ("C++ roomy", "fresh"), ("C++ flat", "alloc"), ("C++ flat", "fresh"),
        ("roomy / Toy GC / 25", "alloc"),
    }  # fmt: skip
    shown = tree.as_page("02_batch", profile="smoke", **SETTINGS)
    for word in ("C++ roomy", "Toy GC, JDK 25, roomy buffers", "fresh"):
        assert word in shown
    (folder,) = (tree.root / "data" / "tidy").glob("smoke-*")
    trials = pd.read_parquet(folder / "batch" / "trials.parquet")
    assert set(trials["status"]) == {"ok"}, trials[["configuration", "strategy", "reason"]].to_string()
    assert cells == set(zip(trials["configuration"], trials["strategy"], strict=True))
    cpu = pd.read_parquet(folder / "batch" / "cpu.parquet").merge(trials[["trial_id", "collector"]])
    assert cpu.loc[(cpu["collector"] == "toygc") & (cpu["thread_group"] == "gc"), "cpu_ns"].sum() > 0
    # And what it does is the same work.
    packets = "trial mode=batch scale=0.01 packets=100000 case=A --json"
    both = tree.allocpool(f"{packets} layout=roomy language=cpp strategy=fresh", f"{packets} layout=heap strategy=pool")
    assert len({json.loads(told)["checksum"] for told in both}) == 1


def test_the_findings_quote_an_added_study(tree: Tree) -> None:
    if not (tree.root / "data/tidy/smoke/toy").exists():
        tree.allocpool("run toy --profile smoke")
    words = ["from allocpool import notebook", "print(notebook.take_homes('smoke').data)"]
    assert "A sum of 1000 terms is 499500." in tree.run("-c", "; ".join(words))
