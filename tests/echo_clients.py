"""``python tests/echo_clients.py < {"spec":, "launch":}``: a server in this process and clients that behave badly.

Prints one line of JSON: what the clients got, and memory, descriptors and threads before and after.
"""

from __future__ import annotations

import gc
import json
import os
import socket
import sys
import time
from typing import Any

from allocpool.studies.buffered_io.child import echo, footprint

MESSAGE = b"m" * 511 + b"\n"
FLOOD = 600


def connect(port: int) -> socket.socket:
    client = socket.create_connection(("127.0.0.1", port))
    client.settimeout(120)
    return client


def read(client: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count and (some := client.recv(count - len(found))):
        found += some
    return found


def exchange(client: socket.socket, text: bytes = MESSAGE) -> bool:
    client.sendall(text)
    return read(client, len(text)) == text


def closed(client: socket.socket) -> bool:
    try:
        return client.recv(1) == b""
    except ConnectionResetError:
        return True


def misbehave(port: int) -> dict[str, bool]:
    """What each client saw; every value must be true."""
    saw = {}
    with connect(port) as slow:
        for byte in MESSAGE:
            slow.sendall(bytes([byte]))
        saw["one byte at a time"] = read(slow, len(MESSAGE)) == MESSAGE
    with connect(port) as half:
        half.sendall(MESSAGE)
        half.shutdown(socket.SHUT_WR)
        saw["half-closed"] = read(half, len(MESSAGE)) == MESSAGE and closed(half)
    with connect(port) as greedy:
        greedy.sendall(b"x" * 512)
        saw["oversize"] = closed(greedy)
    with connect(port) as deaf, connect(port) as silent, connect(port) as other:
        silent.sendall(b"half a mess")
        deaf.setblocking(False)
        try:
            while True:
                deaf.send(MESSAGE)
        except BlockingIOError:
            saw["served while one never reads and one is silent"] = exchange(other)
    return saw


def flood(port: int) -> None:
    for number in range(FLOOD):
        with connect(port) as client:
            if number % 3 == 0:
                exchange(client)
            elif number % 3 == 1:
                client.sendall(b"cut off")


def settled(server: echo.Server) -> dict[str, int]:
    for _ in range(2000):
        counts = server.counts()
        if counts["closed"] == counts["accepted"]:
            return counts
        time.sleep(0.01)
    return counts


def state(server: echo.Server) -> dict[str, Any]:
    counts = settled(server)
    time.sleep(0.05)  # a selector gives descriptors back at its next selection
    parts = server.parts()  # a full collection in Java
    # In Java what is alive on the heap and direct; in C++ the C library's heap, where a JVM keeps its own things.
    kept = [size for name, size in parts.items() if name not in ("stack", "native")]
    return {
        "kept_bytes": sum(kept) or parts["native"],
        "rss_mb": footprint.rollup()["rss_mb"],
        "descriptors": len(os.listdir("/proc/self/fd")),
        "threads": len(os.listdir("/proc/self/task")),
        "counts": counts,
    }


def main() -> None:
    gc.disable()
    asked = json.load(sys.stdin)
    server = echo.start(asked["spec"], asked["launch"])
    for _ in range(3):  # until code is compiled and the C library's arenas are there
        flood(server.port)
        saw = misbehave(server.port)
    before = state(server)
    for _ in range(3):
        flood(server.port)
        misbehave(server.port)
    after = state(server)
    with connect(server.port) as client:
        saw["served after everything"] = exchange(client)
    server.stop()
    print(json.dumps({"saw": saw, "before": before, "after": after}), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
