"""Who listens where: a watch over all processes that the tests start."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from ipaddress import ip_address
from pathlib import Path

import psutil

_LISTEN = "0A"
_LOOK_S = 0.01


def sockets() -> dict[str, str]:
    """The local address of every listening socket of this network namespace, by its inode (proc(5), net/tcp)."""
    found = {}
    for name in ("tcp", "tcp6"):
        with suppress(OSError):
            for line in Path(f"/proc/net/{name}").read_text(encoding="ascii").splitlines()[1:]:
                fields = line.split()
                if fields[3] == _LISTEN:
                    words = fields[1].partition(":")[0]
                    # Words of 32 bits in the machine's order, which is little-endian wherever trials run.
                    packed = b"".join(bytes.fromhex(words[at : at + 8])[::-1] for at in range(0, len(words), 8))
                    found[fields[9]] = str(ip_address(packed))
    return found


def is_loopback(address: str) -> bool:
    """Also of IPv4 in IPv6, as JVMs have it."""
    ip = ip_address(address)
    return bool((getattr(ip, "ipv4_mapped", None) or ip).is_loopback)


def _ours() -> dict[str, str]:
    """Inodes of the sockets of this process and all below it, with the process that holds each."""
    held = {}
    for process in [psutil.Process(), *psutil.Process().children(recursive=True)]:
        with suppress(OSError, psutil.Error):
            for descriptor in os.scandir(f"/proc/{process.pid}/fd"):
                with suppress(OSError):
                    target = os.readlink(descriptor.path)
                    if target.startswith("socket:["):
                        held[target[8:-1]] = " ".join(process.cmdline())
    return held


@contextmanager
def watched() -> Iterator[dict[str, str]]:
    """What listens meanwhile anywhere but on loopback, filled in as it is seen: the process by address; and under the
    address ``loopback`` that something listens there at all, so that an empty watch is no proof."""
    seen: dict[str, str] = {}
    known = set(sockets())
    over = threading.Event()

    def look() -> None:
        while not over.wait(_LOOK_S):
            now = sockets()
            if new := now.keys() - known:
                known.update(new)
                for inode, process in _ours().items():
                    if inode in new:
                        seen["loopback" if is_loopback(now[inode]) else now[inode]] = process

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield seen
    finally:
        over.set()
        watcher.join()
