"""The bond between a process of a trial and the one that started it."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PARENT = "ALLOCPOOL_PARENT"
"""Environment variable with the process id of the one that started this process."""
_PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """Ask Linux to kill this process when its parent dies, so that a killed campaign leaves no orphan."""
    parent = int(os.environ.get(PARENT, os.getppid()))
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            sys.exit("the parent died before the trial began")
