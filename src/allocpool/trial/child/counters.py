"""Counters and checks of a workload on several threads, whichever language it runs in."""

from __future__ import annotations

from typing import Any

from allocpool.trial.child import native


class JavaCounters:
    """The accounting of a Java trial, in this process through JPype: what is queued is processed (``drain``), counters
    since the start by name, the sum over what was processed, in one line what is wrong, if anything (``audit``);
    ``close`` lets the threads go."""

    def __init__(self, trial: Any) -> None:
        self._trial = trial

    def drain(self) -> None:
        self._trial.drain()

    def counts(self) -> dict[str, int]:
        names = [str(name) for name in self._trial.countNames()]
        return dict(zip(names, (int(count) for count in self._trial.counts()), strict=True))

    def checksum(self) -> int:
        return int(self._trial.checksum())

    def audit(self) -> str:
        return str(self._trial.audit())

    def close(self) -> None:
        self._trial.close()


class CppCounters:
    """That of a C++ trial, in this process through cffi: functions ``ap_<workload>_...`` of the library."""

    def __init__(self, ffi: Any, library: Any, workload: str, handle: Any) -> None:
        self._ffi, self._library, self._workload, self._handle = ffi, library, workload, handle

    def drain(self) -> None:
        self._call("drain")

    def counts(self) -> dict[str, int]:
        struct = f"ap_{self._workload}_counts"
        counts = self._ffi.new(f"{struct}*")
        self._call("get_counts", counts)
        return {name: int(getattr(counts, name)) for name, _ in self._ffi.typeof(struct).fields}

    def checksum(self) -> int:
        checksum = self._ffi.new("uint64_t*")
        self._call("get_checksum", checksum)
        return int(checksum[0])

    def audit(self) -> str:
        message = self._ffi.new("char[]", native.MESSAGE_BYTES)
        self._call("audit", message, native.MESSAGE_BYTES)
        return str(self._ffi.string(message).decode())

    def close(self) -> None:
        getattr(self._library, f"ap_{self._workload}_destroy")(self._handle)

    def _call(self, name: str, *arguments: Any) -> None:
        function = getattr(self._library, f"ap_{self._workload}_{name}")
        native.checked(self._library, function(self._handle, *arguments), out_of_memory="C++ new failed")
