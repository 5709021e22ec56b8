"""The functions of `import allocpool`, on shipped results and on made ones."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import allocpool
from allocpool import home
from allocpool.campaign import hosts, single, store
from allocpool.campaign.registry import STUDY_NAMES
from allocpool.errors import UserError
from allocpool.packets.batch import BatchSpec
from allocpool.packets.by_size import comparison_table

BY = ["configuration", "alive"]
KEYS: dict[str, Any] = {"layout": "heap", "runtime": 25, "collector": "g1", "strategy": "pool", "case": "B"}


@pytest.fixture(autouse=True)
def shipped(data: Path) -> None:
    """Nothing was measured here."""


@pytest.fixture(scope="module")
def compared() -> pd.DataFrame:
    return allocpool.compare(store_free_trials(), a="alloc", b="pool", by=BY)


def store_free_trials() -> pd.DataFrame:
    """The shipped trials of the batch study, whatever was measured here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ALLOCPOOL_DATA", str(home.home() / "build" / "no-such-folder"))
        return allocpool.load("batch")


def made(ratios: dict[int, float], noise: float = 0.01, configuration: str = "G1, JDK 25") -> pd.DataFrame:
    """Six blocks in which allocating costs so many times what a pool does, by messages alive."""
    wave = (1, -1, 0.5, -0.5, 0.2, -0.2)
    rows = [
        {"configuration": configuration, "alive": alive, "strategy": strategy, "block": block, "status": "ok",
         "ns_per_message": 100.0 * factor * (1 + noise * sign * wave[block])}
        for alive, ratio in ratios.items()
        for strategy, factor, sign in (("alloc", ratio, 1), ("pool", 1.0, -1))
        for block in range(6)
    ]  # fmt: skip
    frame = pd.DataFrame(rows)
    frame.attrs["cost"] = "ns_per_message"
    return frame


def test_importing_it_imports_nothing_heavy_and_a_subpackage_hides_no_function() -> None:
    code = (
        "import sys, allocpool; heavy = {'pandas', 'pydantic', 'seaborn'} & set(sys.modules); "
        "import allocpool.trial.spec, allocpool.compare.readers; "
        "from allocpool import api; import inspect; "
        "print(heavy or all(inspect.signature(getattr(allocpool, name)) == inspect.signature(getattr(api, name)) "
        "for name in allocpool._SURFACE))"
    )
    done = subprocess.run((sys.executable, "-c", code), capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"
    with pytest.raises(AttributeError):
        allocpool.no_such_function  # type: ignore[attr-defined]  # noqa: B018


def test_a_command_that_judges_nothing_loads_no_statistics_and_no_figures() -> None:
    """They take as long as all that it needs."""
    code = (
        "import sys; from allocpool.cli import main; "
        "main(['plan', 'batch', '--profile', 'smoke'], standalone_mode=False); "
        "print(sorted({'scipy.stats', 'scipy.optimize', 'sklearn', 'matplotlib'} & set(sys.modules)))"
    )
    done = subprocess.run((sys.executable, "-c", code), capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_comparisons_are_those_of_the_judged_table_of_the_page(compared: pd.DataFrame) -> None:
    page = comparison_table(store.read_tables("batch", "standard")[0]["trials"])
    direction = compared["verdict"].map({"pool": 1, "alloc": -1}).fillna(0).astype(int)
    ours = sorted(zip(compared["ratio"], compared["low"], compared["high"], direction, compared["n_a"], strict=True))
    assert len(ours) > 20
    assert ours == sorted(zip(page["ratio"], page["low"], page["high"], page["direction"], page["n"], strict=True))
    assert (compared["verdict"] == "no difference").sum() == page["equivalent"].sum()


@pytest.mark.parametrize("study", STUDY_NAMES)
def test_every_study_loads_with_labels_and_a_cost(study: str) -> None:
    frame = allocpool.load(study)
    stored = store.read_tables(study, "standard")[0]["trials"]
    assert len(frame) == len(stored) > 0
    assert frame["configuration"].notna().all() and not frame["configuration"].str.contains(" / ").any()
    assert frame[frame.attrs["cost"]].notna().any()
    assert not {"ns_per_packet", "cpu_ns_per_packet"} & set(frame)


def test_a_margin_turns_a_small_difference_into_none() -> None:
    verdicts = [
        allocpool.compare(made({2_000: 1.15}), a="alloc", b="pool", by=BY, margin=margin)["verdict"].item()
        for margin in (1.1, 1.25)
    ]
    assert verdicts == ["pool", "no difference"]


def test_trials_of_several_hosts_are_not_pooled() -> None:
    frame = pd.concat([made({2_000: 2.0}).assign(host=host) for host in ("here", "there")])
    with pytest.raises(UserError, match="host"):
        allocpool.compare(frame, a="alloc", b="pool", by=BY)
    assert len(allocpool.compare(frame, a="alloc", b="pool", by=["host", *BY])) == 2


WRONG: tuple[tuple[Callable[[], object], str], ...] = (
    (lambda: allocpool.load("bacth"), "batch"),
    (lambda: allocpool.load("batch", profile="standrad"), "standard"),
    (lambda: allocpool.load("batch", profile="smoke"), "allocpool run batch --profile smoke"),
    (lambda: allocpool.load("batch", table="trails"), "trials"),
    (lambda: allocpool.load("batch", hosts="elsewhere"), "this, all"),
    (lambda: allocpool.compare(made({2: 1}), a="aloc", b="pool"), "alloc, pool"),
    (lambda: allocpool.compare(made({2: 1}), a="pool", b="pool"), "differ"),
    (lambda: allocpool.compare(made({2: 1}), a="alloc", b="pool", by="alife"), "alive"),
    (lambda: allocpool.compare(made({2: 1}), a="alloc", b="pool", cost="ns"), "ns_per_message"),
    (lambda: allocpool.compare(made({2: 1}), a="alloc", b="pool", margin=1.0), "1.1"),
    (lambda: allocpool.compare(made({2: 1, 4: 1}), a="alloc", b="pool", by="configuration"), "alive"),
    (lambda: allocpool.headline(made({2: 1})), "compare"),
    (lambda: allocpool.claims("instrument"), "batch"),
    (lambda: allocpool.command(**{**KEYS, "colector": "g1"}), "collector"),
    (lambda: allocpool.command(BatchSpec(**KEYS, seconds=1), block=1), "block"),
    (lambda: allocpool.trial(mode="bach"), "batch"),
    (lambda: allocpool.plan("batch", "smoke", blokcs=1), "blocks"),
    (lambda: allocpool.run("batch", "smoke", blokcs=1), "blocks"),
    (lambda: allocpool.status("batch", "smok"), "smoke"),
    (lambda: allocpool.source("no/such/file", "a", "b"), "no/such/file"),
    (lambda: allocpool.source("README.md", "no such line", "b"), "README.md"),
)


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_a_wrong_argument_is_one_line_that_names_the_valid_ones(number: int) -> None:
    call, named = WRONG[number]
    with pytest.raises(UserError) as raised:
        call()
    assert named in str(raised.value) and "\n" not in str(raised.value)


def test_run_measures_once_and_its_results_load() -> None:
    small: dict[str, Any] = {
        "blocks": 1,
        "configurations": ["cpp/flat"],
        "strategies": ["alloc", "pool"],
        "cases": ["A"],
        "groups": {},
    }
    first, again = (allocpool.run("batch", "smoke", **small) for _ in range(2))
    assert (first.finished, first.missing) == (2, 0)
    assert again.seconds < first.seconds and again.finished == 2
    assert set(allocpool.load("batch", "smoke", **small)["configuration"]) == {"C++ flat"}


def test_a_command_is_what_the_trial_is_started_with(data: Path) -> None:
    for keys in ({**KEYS, "runtime": 17}, {"language": "cpp", "layout": "flat", "strategy": "pool", "case": "A"}):
        asked = {**keys, "scale": 0.01, "packets": 100_000}
        found = allocpool.command(**asked)
        measured = allocpool.trial(**asked)
        (file,) = (data / "raw" / "single").glob(f"{measured['trial_id']}/spec.json")
        launch = json.loads(file.read_text(encoding="utf-8"))["launch"]
        assert list(found.jvm_flags) == (launch["jvm"]["flags"] if launch["jvm"] else [])
        assert dict(found.environment) == launch["environment"]
        record = json.loads(file.with_name("result.json").read_text(encoding="utf-8"))
        assert [*found.process[1:-1], str(file.parent)] == record["command"][1:]
        again = single.parse_spec(found.again[2:])
        assert again.model_dump(mode="json") == record["spec"]


def test_the_lines_of_the_readme_run(compared: pd.DataFrame, capsys: pytest.CaptureFixture[str]) -> None:
    (lines,) = re.findall(r"```python\n(.*?)```", (home.home() / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    exec(lines, names)
    assert names["compared"].equals(compared)
    assert allocpool.headline(names["g1"]).text in capsys.readouterr().out


def test_source_is_quoted_with_its_line() -> None:
    quoted = allocpool.source("src/allocpool/api.py", "def source(", "except OSError")
    lines = (home.home() / "src/allocpool/api.py").read_text(encoding="utf-8").splitlines()
    assert lines[quoted.line - 1] == quoted.text.splitlines()[0]
    assert "except OSError" in str(quoted).splitlines()[-1]


def test_other_tables_and_hosts() -> None:
    assert {"trial_id", "start_ns"} <= set(allocpool.load("batch", table="iterations"))
    every = list(hosts.of_hosts("realtime", "standard"))
    frame = allocpool.load("realtime", hosts="all")
    assert frame["host"].nunique() > 1 and set(frame["host"]) <= {one.label for one in every}
