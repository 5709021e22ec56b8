"""Several hosts: comparisons within each, then combined; archives from elsewhere; pages that say what is of whom."""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import resource
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result
from matplotlib.text import Text
from scipy import stats as scipy_stats

from allocpool.campaign import archive, campaign, hosts
from allocpool.campaign.store import read_tables
from allocpool.cli import main
from allocpool.decisions import A_CHEAPER, B_CHEAPER, EQUIVALENT, OPEN, Decision, combine
from allocpool.errors import UserError
from allocpool.evidence import hosts as shown
from allocpool.evidence.style import PHONE_PX
from allocpool.machine.host import NAME, read_host

Z = 1.959963984540054
SETTINGS: dict[str, Any] = {
    "blocks": 2, "configurations": ["cpp/flat"], "strategies": ["alloc", "pool"], "cases": ["A"], "seconds": 0.02,
    "warmup_seconds": 0.0,
}  # fmt: skip


def within(middle: float, error: float, verdict: str = OPEN) -> Decision:
    low, high = math.exp(middle - Z * error), math.exp(middle + Z * error)
    return Decision(math.exp(middle), low, high, 8, 8, verdict, None, 0.05, math.exp(middle), "")


def test_hosts_that_are_equally_sure_weigh_the_same_and_their_scatter_is_students() -> None:
    """With equal errors all is in closed form: a mean of k figures, whose variance less the errors' is the spread."""
    middles, error = [0.1, 0.35, 0.2, 0.55], 0.05
    found = combine([within(middle, error) for middle in middles])
    variance = np.var(middles, ddof=1)
    low, high = scipy_stats.t.interval(0.95, 3, np.mean(middles), math.sqrt(variance / 4))
    assert math.log(found.ratio) == pytest.approx(np.mean(middles))
    assert (math.log(found.low), math.log(found.high)) == pytest.approx((low, high))
    assert math.log(found.spread) ** 2 == pytest.approx(variance - error**2)
    assert found.hosts == 4 and found.verdict == (B_CHEAPER if low > 0 else OPEN)
    assert found.next_low < found.low and found.next_high > found.high


def test_a_published_example_gives_the_published_spread() -> None:
    """Thirteen trials of a vaccine (Colditz et al., JAMA 271, 1994), Paule and Mandel's estimate as metafor gives it:
    0.3181."""
    logs = [-0.8893, -1.5854, -1.3481, -1.4416, -0.2175, -0.7861, -1.6209, 0.0120, -0.4694, -1.3713, -0.3394, 0.4459,
            -0.0173]  # fmt: skip
    variances = [0.3256, 0.1946, 0.4154, 0.0200, 0.0512, 0.0069, 0.2230, 0.0040, 0.0564, 0.0730, 0.0124, 0.5325,
                 0.0714]  # fmt: skip
    found = combine([within(log, math.sqrt(variance)) for log, variance in zip(logs, variances, strict=True)])
    assert math.log(found.spread) ** 2 == pytest.approx(0.3181, abs=2e-4)
    assert math.log(found.ratio) == pytest.approx(np.mean(logs))


def test_hosts_that_agree_by_chance_are_no_surer_than_their_own_noise() -> None:
    found = combine([within(0.3, 0.05)] * 3)
    half = scipy_stats.t.ppf(0.975, 2) * 0.05 / math.sqrt(3)
    assert found.spread == 1.0
    assert (math.log(found.low), math.log(found.high)) == pytest.approx((0.3 - half, 0.3 + half))


@pytest.mark.parametrize("hosts_of", [2, 3, 10])
@pytest.mark.parametrize(
    ("surest", "between"), [(1.0, 0.0), (1.0, 1.0), (0.02, 0.5), (0.1, 1.0), (10.0, 0.1)],
    ids=["alike", "alike, far apart", "one much surer", "one surer, far apart", "one much less sure"],
)  # fmt: skip
def test_the_interval_over_hosts_misses_the_truth_no_more_often_than_it_says(
    hosts_of: int, surest: float, between: float
) -> None:
    """Also where the errors of hosts are very unequal; ``surest`` and ``between`` are in units of the others' error."""
    rng, times = np.random.default_rng(7), 300
    errors = 0.05 * np.array([surest, *[1.0] * (hosts_of - 1)])
    missed = 0
    for middles in rng.normal(0.2, np.hypot(errors, 0.05 * between), (times, hosts_of)):
        found = combine([within(float(middle), float(error)) for middle, error in zip(middles, errors, strict=True)])
        missed += not math.log(found.low) < 0.2 < math.log(found.high)
    assert scipy_stats.binomtest(missed, times, 0.05, alternative="greater").pvalue > 1e-3


def test_one_host_says_nothing_of_others_and_none_nothing_at_all() -> None:
    alone = combine([within(0.5, 0.01)])
    assert alone.hosts == 1 and alone.verdict == OPEN and math.isnan(alone.low)
    assert combine([]).hosts == 0 and math.isnan(combine([]).ratio)
    assert combine([within(0.001, 0.002)] * 6).verdict == EQUIVALENT


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """What two hosts have measured: this machine, by two names, one of them in the other's store through an archive."""
    folder = tmp_path_factory.mktemp("stores")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(campaign, "all_of_profile", lambda _profile: [campaign.open_study("batch", "smoke", SETTINGS)])
        patch.setattr(archive, "all_of_profile", campaign.all_of_profile)
        patch.setattr("allocpool.campaign.profiles.check", lambda _profile: None)
        for name in ("elsewhere", "here"):
            patch.setenv(NAME, name)
            patch.setenv("ALLOCPOOL_DATA", str(folder / name))
            opened = campaign.open_study("batch", "smoke", SETTINGS)
            opened.run()
            if name == "elsewhere":
                archive.export(folder / "elsewhere.tar.gz", opened.profile.profile, raw=True)
        yield folder


PROFILE = campaign.open_study("batch", "smoke", SETTINGS).profile.profile


def allocpool(*words: str) -> Result:
    return CliRunner().invoke(main, list(words))


def test_another_hosts_archive_stands_beside_this_ones_and_is_never_mixed_with_it(store: Path) -> None:
    assert hosts.questions_of_hosts(PROFILE)["host_id"].nunique() == 1
    assert hosts.combined(hosts.questions_of_hosts(PROFILE)).empty
    own = read_tables("batch", PROFILE)[0]["trials"]
    result = allocpool("import", str(store / "elsewhere.tar.gz"))
    assert result.exit_code == 0, result.output
    pd.testing.assert_frame_equal(read_tables("batch", PROFILE)[0]["trials"], own)
    both = hosts.tables_of_hosts("batch", PROFILE)
    counts = {name: table["host_id"].nunique() for name, table in both.items() if len(table)}
    assert counts == dict.fromkeys(counts, 2) and "trials" in counts
    assert both["trials"]["host_id"].iloc[0] == read_host().fingerprint()
    assert hosts.label(read_host().fingerprint(), PROFILE).startswith("here (")
    assert hosts.label("nobody", PROFILE) == "nobo"
    questions = hosts.questions_of_hosts(PROFILE)
    combined = hosts.combined(questions)
    assert list(combined["hosts"]) == [2] and len(questions) == 2
    assert {label.partition(" ")[0] for label in questions["host"]} == {"here", "elsewhere"}
    figure = shown.forest(questions, combined)
    (_legend,) = figure.legends
    texts = [text for text in figure.findobj(Text) if isinstance(text, Text) and text.get_text().strip()]
    smallest = min(float(text.get_fontsize()) for text in texts)
    assert smallest * PHONE_PX / (72 * figure.get_figwidth()) >= 9, "px on a telephone"


@pytest.mark.parametrize("name", ["questions.parquet", "provenance.json"])
def test_a_host_that_can_not_be_read_is_left_out_and_named(
    store: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    allocpool("import", str(store / "elsewhere.tar.gz"))
    (path,) = (store / "here" / "hosts").glob(f"*/{PROFILE}/batch/{name}")
    path.write_bytes(b"")
    assert hosts.questions_of_hosts(PROFILE)["host_id"].nunique() == 1
    said = capsys.readouterr().err
    assert str(path.parent) in said and said.count("\n") == 1
    allocpool("import", str(store / "elsewhere.tar.gz"))
    assert hosts.questions_of_hosts(PROFILE)["host_id"].nunique() == 2


def made(ratios: dict[str, list[tuple[float, str]]]) -> pd.DataFrame:
    """Questions of hosts: for each, the ratio and the verdict on every question."""
    rows = [
        {"study": "batch", "host_id": host, "host": host, "a": f"a{k}", "b": f"b{k}", "primary": True, "n": 8,
         "verdict": verdict, "ratio": ratio, "low": ratio / 1.05, "high": ratio * 1.05, "blocks_needed": 0,
         "level": 0.05, "effect": 1.1, "question": f"q{k}"}
        for host, series in ratios.items() for k, (ratio, verdict) in enumerate(series)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_where_hosts_contradict_each_other_it_is_said_by_name() -> None:
    questions = made({
        "x": [(0.5, A_CHEAPER), (0.8, A_CHEAPER), (1.3, B_CHEAPER), (1.0, EQUIVALENT)],
        "y": [(0.5, A_CHEAPER), (1.25, B_CHEAPER), (1.0, EQUIVALENT), (1.2, OPEN)],
    })  # fmt: skip
    combined = hosts.combined(questions)
    assert shown.agreement(questions, combined)["count"].tolist()[:4] == [4, 1, 1, 1]
    assert set(combined["question"]) == {"q0", "q1", "q2", "q3"}
    assert combined.loc[combined["question"] == "q1", "spread"].item() > 1.2
    labels = [text.get_text() for text in shown.forest(questions, combined).axes[0].get_yticklabels()]
    assert sorted(labels) == [f"a{k}\nover b{k}" for k in range(4)]


def repacked(whole: Path, to: Path, change: Callable[[dict[str, bytes]], None], manifest: bool = False) -> Path:
    """The archive with other files, and with a manifest that fits them if asked for."""
    with tarfile.open(whole) as packed:
        files = {name: archive._content(packed, packed.getmember(name)) for name in packed.getnames()}
    change(files)
    if manifest:
        stated = json.loads(files["manifest.json"])
        stated["files"] = {
            name: hashlib.sha256(content).hexdigest() for name, content in files.items() if name != "manifest.json"
        }
        files["manifest.json"] = json.dumps(stated).encode()
    with tarfile.open(to, "w:gz") as packed:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            packed.addfile(member, io.BytesIO(content))
    return to


def _flip(files: dict[str, bytes]) -> None:
    content = bytearray(files["batch/trials.parquet"])
    content[len(content) // 2] ^= 1
    files["batch/trials.parquet"] = bytes(content)


def _cut(files: dict[str, bytes]) -> None:
    files["batch/trials.parquet"] = files["batch/trials.parquet"][:-64]


def _foreign(files: dict[str, bytes]) -> None:
    files["manifest.json"] = files["manifest.json"].replace(b'"format":1', b'"format":2').replace(
        b'"format": 1', b'"format": 2'
    )  # fmt: skip


def _elsewhere(files: dict[str, bytes]) -> None:
    stated = json.loads(files["manifest.json"])
    files["manifest.json"] = json.dumps({**stated, "profile": "../../escaped"}).encode()


def _other_columns(files: dict[str, bytes]) -> None:
    table = pd.read_parquet(io.BytesIO(files["batch/trials.parquet"])).assign(status="splendid")
    files["batch/trials.parquet"] = table.to_parquet()


def _other_words(column: str) -> Callable[[dict[str, bytes]], None]:
    def change(files: dict[str, bytes]) -> None:
        table = pd.read_parquet(io.BytesIO(files["batch/trials.parquet"])).assign(**{column: "splendid"})
        files["batch/trials.parquet"] = table.to_parquet()

    return change


def _many_rows(files: dict[str, bytes]) -> None:
    """Of a few bytes, since all are alike."""
    table = pd.read_parquet(io.BytesIO(files["batch/trials.parquet"]))
    files["batch/trials.parquet"] = table.iloc[[0] * 2_000_000].to_parquet()


def _long_texts(files: dict[str, bytes]) -> None:
    table = pd.read_parquet(io.BytesIO(files["batch/trials.parquet"])).assign(reason="x" * 1_000_000)
    files["batch/trials.parquet"] = table.iloc[[0] * 1000].to_parquet()


def _only_raw(files: dict[str, bytes]) -> None:
    for name in [name for name in files if name.startswith("batch/")]:
        del files[name]


def _only_manifest(files: dict[str, bytes]) -> None:
    for name in [name for name in files if name != "manifest.json"]:
        del files[name]


@pytest.mark.parametrize(
    ("change", "manifest", "message"),
    [
        (_flip, False, "is damaged: 'batch/trials.parquet' is not what was packed"),
        (_cut, True, "study batch can't be shown"),
        (lambda files: files.pop("batch/provenance.json"), False, "is damaged: 'batch/provenance.json'"),
        (lambda files: files.pop("manifest.json"), False, "is damaged, or not an archive of a campaign"),
        (lambda files: files.update({"../../escaped.parquet": b""}), True, "which is no file of a campaign"),
        (lambda files: files.update({"/tmp/escaped.json": b""}), True, "which is no file of a campaign"),
        (lambda files: files.update({"batch/../escaped.json": b""}), True, "which is no file of a campaign"),
        (_foreign, False, "is of another version"),
        (_elsewhere, False, "names no host and profile"),
        (_other_columns, True, "study batch can't be shown"),
        (_other_words("language"), True, "study batch can't be shown"),
        (_other_words("collector"), True, "study batch can't be shown"),
        pytest.param(_many_rows, True, "study batch can't be shown", marks=pytest.mark.long),
        (_long_texts, True, "study batch can't be shown"),
        (_only_raw, True, "bad.tar.gz"),
        (_only_manifest, True, "bad.tar.gz"),
    ],
)
def test_a_damaged_or_foreign_archive_is_one_line_and_leaves_nothing(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Any, manifest: bool, message: str
) -> None:
    monkeypatch.setenv("ALLOCPOOL_DATA", str(tmp_path / "data"))
    bad = repacked(store / "elsewhere.tar.gz", tmp_path / "bad.tar.gz", change, manifest)
    result = allocpool("import", str(bad))
    assert result.exit_code == 2 and message in result.output and result.output.count("\n") == 1, result.output
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [bad]


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_SPARSE, tarfile.REGTYPE])
def test_a_header_that_promises_much_is_refused_before_it_is_read(tmp_path: Path, data: Path, kind: bytes) -> None:
    member = tarfile.TarInfo("batch/trials.parquet")
    member.type, member.size = kind, 4 << 30
    path = tmp_path / "large.tar"
    path.write_bytes(member.tobuf(tarfile.GNU_FORMAT))
    os.truncate(path, member.size)  # of no blocks on the disk
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(UserError):
        archive.take_in(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000


def test_an_archive_that_is_cut_anywhere_is_one_line(store: Path, tmp_path: Path, data: Path) -> None:
    whole = (store / "elsewhere.tar.gz").read_bytes()
    cut = tmp_path / "cut.tar.gz"
    for size in range(0, len(whole) * 9 // 10, len(whole) // 20):  # after that comes only what fills a block
        cut.write_bytes(whole[:size])
        with pytest.raises(UserError, match=r"cut\.tar\.gz"):
            archive.take_in(cut)
    assert not list(data.glob("hosts/*/*"))


def test_links_in_an_archive_are_refused(tmp_path: Path, data: Path) -> None:
    path = tmp_path / "link.tar.gz"
    with tarfile.open(path, "w:gz") as packed:
        member = tarfile.TarInfo("batch/trials.parquet")
        member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
        packed.addfile(member)
    with pytest.raises(UserError, match="is not an archive of a campaign"):
        archive.take_in(path)
