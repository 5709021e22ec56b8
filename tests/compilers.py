"""Trials that compile less: half of what a short one of Java costs is its second compiler."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from allocpool.trial.launch import Launcher
from allocpool.trial.record import JvmLaunch, Launch
from allocpool.trial.spec import TrialSpec


def _quickly(jvm: JvmLaunch | str | None) -> JvmLaunch | str | None:
    if not isinstance(jvm, JvmLaunch):
        return jvm
    return jvm.model_copy(update={"flags": (*jvm.flags, "-XX:TieredStopAtLevel=1")})


def leave_out_the_second(patch: pytest.MonkeyPatch, of: Callable[[TrialSpec], bool] = lambda spec: True) -> None:
    """JVMs of such trials leave their second compiler out, as long as the patch lasts."""
    launch_of = Launcher.launch_of

    def quickly(self: Launcher, spec: TrialSpec) -> Launch:
        launch = launch_of(self, spec)
        if launch.jvm is None or not of(spec):
            return launch
        return launch.model_copy(update={"jvm": _quickly(launch.jvm), "larger_heap": _quickly(launch.larger_heap)})

    patch.setattr(Launcher, "launch_of", quickly)
