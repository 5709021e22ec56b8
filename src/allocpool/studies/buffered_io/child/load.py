"""The load generator: another process, so that what it needs is not counted as the server's."""

from __future__ import annotations

import json
import os
import select
import subprocess
from types import TracebackType
from typing import Any, Self

_GRACE_S = 10.0


class LoadFailed(RuntimeError):
    """The generator ended, or fell silent, before it reported its result; one line."""


class Load:
    """A running generator. It ends with this process, when its input ends, and by its own time limits."""

    def __init__(self, program: str, **options: float) -> None:
        words = [f"{name}={value}" for name, value in options.items()]
        self._process = subprocess.Popen([program, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._pending = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()

    def poll(self, timeout_s: float) -> dict[str, Any] | None:
        """Return the next event, or None when there is none within the time.

        Raises:
            LoadFailed: there will be no more.
        """
        assert self._process.stdout is not None
        if b"\n" not in self._pending:
            if not select.select([self._process.stdout], [], [], timeout_s)[0]:
                return None
            read = os.read(self._process.stdout.fileno(), 1 << 16)
            if not read:
                status = self._process.wait()
                ended = f"signal {-status}" if status < 0 else f"exit status {status}"
                raise LoadFailed(f"the load generator died in the middle of the run ({ended})")
            self._pending += read
            if b"\n" not in self._pending:
                return None
        line, _, self._pending = self._pending.partition(b"\n")
        message: dict[str, Any] = json.loads(line)
        return message

    def expect(self, event: str, timeout_s: float) -> dict[str, Any]:
        """Wait for this event; ``measured`` after ``connected`` means that not all connections could be opened.

        Raises:
            LoadFailed: it died, or reported something else, or nothing in time.
        """
        message = self.poll(timeout_s)
        while message is None and b"\n" not in self._pending and self._pending:
            message = self.poll(timeout_s)  # a long line comes in parts
        if message is None:
            raise LoadFailed(f"the load generator did not report {event!r} within {timeout_s:g} s")
        if message["event"] == "closed" and message["connect_failed"]:
            raise LoadFailed(f"{message['connect_failed']} connections could not be opened: {message['first_failure']}")
        if message["event"] != event:
            raise LoadFailed(f"the load generator reported {message['event']!r} in place of {event!r}")
        return message

    def end(self) -> dict[str, Any]:
        """Let it close its connections, and return its last event.

        Raises:
            LoadFailed: there is none.
        """
        assert self._process.stdin is not None
        self._process.stdin.close()
        message = self.expect("closed", _GRACE_S)
        self._process.wait(_GRACE_S)
        return message
