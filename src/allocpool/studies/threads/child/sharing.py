"""A trial before a simulated cache: the misses that sharing causes, by what the code was doing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from allocpool.studies.threads.sharing import SharingOutcome
from allocpool.trial.child import native


def run(spec: dict[str, Any], launch: dict[str, Any], folder: Path) -> SharingOutcome:
    """Fill queues and stores, then count."""
    ffi, library = native.load(launch)
    names = {name: ffi.new("char[]", spec[name].encode()) for name in ("topology", "layout", "strategy")}
    sizes = ("threads", "pool_size", "queue_size", "stored_count", "seed", "turn", "fill")
    settings = {name: spec[name] for name in sizes} | names
    counted = {"padded": int(spec["padded"]), "packets": spec["packets"] - spec["fill"]}
    config = ffi.new("ap_sharing_config*", settings | counted)
    outcome, error = ffi.new("ap_sharing_outcome*"), ffi.new("char[]", native.MESSAGE_BYTES)
    if library.ap_sharing_run(config, outcome, error, native.MESSAGE_BYTES) != 0:
        raise ValueError(ffi.string(error).decode() or "the native library refused the run")
    fields = [name for name, _ in ffi.typeof("ap_sharing_misses").fields]
    misses: Any = {
        place: {name: int(getattr(getattr(outcome, place), name)) for name in fields}
        for place, field in ffi.typeof("ap_sharing_outcome").fields
        if field.type.kind == "struct"
    }
    return {
        "status": "ok", "reason": None, "misses": misses, "received": outcome.received, "freed": outcome.freed,
        "remote_frees": outcome.remote_frees, "checksum": f"{outcome.checksum:016x}",
    }  # fmt: skip
