"""Trials that compile and verify less, and touch less memory: of what a short one of Java costs, half is its second
compiler and a sixth its verifier, and of a large heap a second is its memory, all of it touched beforehand."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from allocpool.trial.launch import Launcher
from allocpool.trial.record import JvmLaunch, Launch
from allocpool.trial.spec import TrialSpec

_PRE_TOUCH = "-XX:+AlwaysPreTouch"
_LESS = ("-XX:TieredStopAtLevel=1", "-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote")


def quick_flags(flags: Iterable[str]) -> tuple[str, ...]:
    """Those of a JVM in which nothing is timed."""
    return (*(flag for flag in flags if flag != _PRE_TOUCH), *_LESS)


def _quickly(jvm: JvmLaunch | str | None) -> JvmLaunch | str | None:
    if not isinstance(jvm, JvmLaunch):
        return jvm
    return jvm.model_copy(update={"flags": quick_flags(jvm.flags)})


def leave_out_the_second(patch: pytest.MonkeyPatch, of: Callable[[TrialSpec], bool] = lambda spec: True) -> None:
    """JVMs of such trials leave out their second compiler and touch their heap as they go, as long as the patch is."""
    launch_of = Launcher.launch_of

    def quickly(self: Launcher, spec: TrialSpec) -> Launch:
        launch = launch_of(self, spec)
        if launch.jvm is None or not of(spec):
            return launch
        return launch.model_copy(update={"jvm": _quickly(launch.jvm), "larger_heap": _quickly(launch.larger_heap)})

    patch.setattr(Launcher, "launch_of", quickly)
