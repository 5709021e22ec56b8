"""Who listens where: a watch over all processes that the tests start."""

from __future__ import annotations

import os
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from ipaddress import ip_address

import psutil

_LOOK_S = 0.01
# From linux/netlink.h, linux/sock_diag.h and linux/inet_diag.h; the state is that of net/tcp_states.h.
_SOCK_DIAG = 4
_BY_FAMILY = 20
_REQUEST_AND_DUMP = 0x301
_ERROR, _DONE = 2, 3
_LISTENING = 1 << 10


def sockets() -> dict[str, str]:
    """The local address of every listening socket of this network namespace, by its inode (sock_diag(7)).

    Unlike the tables of proc(5), whose making walks through every place that a connection could have, this takes the
    kernel next to no time, however often it is asked.

    Raises:
        OSError: the kernel does not answer such questions.
    """
    found = {}
    with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, _SOCK_DIAG) as kernel:
        for family, address_bytes in ((socket.AF_INET, 4), (socket.AF_INET6, 16)):
            question = struct.pack("=BBxxI48x", family, socket.IPPROTO_TCP, _LISTENING)
            kernel.send(struct.pack("=IHHII", 16 + len(question), _BY_FAMILY, _REQUEST_AND_DUMP, 0, 0) + question)
            for message in _answers(kernel):
                (inode,) = struct.unpack_from("=I", message, 68)
                found[str(inode)] = str(ip_address(message[8 : 8 + address_bytes]))
    return found


def _answers(kernel: socket.socket) -> Iterator[bytes]:
    """The messages, without their headers, that answer one question."""
    while True:
        received = kernel.recv(1 << 16)
        while received:
            length, kind = struct.unpack_from("=IH", received)
            if kind == _DONE:
                return
            if kind == _ERROR:
                (code,) = struct.unpack_from("=i", received, 16)
                raise OSError(-code, "the kernel does not tell who listens")
            yield received[16:length]
            received = received[(length + 3) & ~3 :]


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
