"""Start a process where it was started before: without the kernel's random addresses, as ``setarch -R`` does.

Where heap, libraries and stack lie is drawn anew for each process, and with it which lines of memory share a set of the
cache. A trial that asks for it has that cause held fixed. Source: personality(2), ``ADDR_NO_RANDOMIZE``.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Sequence

FIXED_ADDRESSES = "ALLOCPOOL_FIXED_ADDRESSES"
"""Environment variable of a trial whose addresses are not to be random."""
_ADDR_NO_RANDOMIZE = 0x0040000
_ASK = 0xFFFFFFFF


def addresses_can_be_fixed() -> bool:
    """Return whether the kernel lets a process go without random addresses; containers may forbid it."""
    before = _personality(_ASK)
    return before >= 0 and _personality(before | _ADDR_NO_RANDOMIZE) >= 0 and _personality(before) >= 0


def start_again_at_fixed_addresses(command: Sequence[str]) -> None:
    """Replace this process by ``command`` where `FIXED_ADDRESSES` asks for it; OSError where the kernel refuses."""
    before = _personality(_ASK)
    if not os.environ.get(FIXED_ADDRESSES) or before & _ADDR_NO_RANDOMIZE:
        return
    if _personality(before | _ADDR_NO_RANDOMIZE) < 0:
        raise OSError("this system does not let a process go without random addresses")
    os.execv(command[0], list(command))


def _personality(persona: int) -> int:
    """Return the personality before this call; -1 where there is none, or it is not to be changed so."""
    return int(ctypes.CDLL(None).personality(ctypes.c_ulong(persona))) if sys.platform == "linux" else -1
