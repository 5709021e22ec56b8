"""``python -m allocpool.studies.threads.child.worker``: one repetition of a search, by all threads of a trial."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from allocpool.studies.realtime.child import worker
from allocpool.studies.realtime.measurement import Processed, Prologue
from allocpool.studies.threads.child.threads import checksum_of, prologue_of, workers_of
from allocpool.studies.threads.child.ticks import WorkerStretches
from allocpool.trial.child.accounting import peak_rss_mb


class SearchedWorkers(WorkerStretches):
    """Workers with their source, as the real-time study's search asks for them."""

    def __init__(
        self, spec: dict[str, Any], launch: dict[str, Any], folder: Path, smallest_ns: float, longest_s: float
    ) -> None:
        self._workers = workers_of(spec, launch)
        super().__init__(spec, launch, folder, self._workers.consume, smallest_ns, longest_s)

    def prologue(self) -> Prologue:
        return prologue_of(self._workers, self._spec)

    def close(self) -> tuple[Processed, str]:
        workers = self._workers
        workers.drain()
        fault = workers.audit()
        processed: Processed = {
            "counts": workers.counts(),
            "checksum": checksum_of(workers),
            "peak_rss_mb": peak_rss_mb(),
        }
        workers.close()
        return processed, fault


if __name__ == "__main__":
    worker.main(SearchedWorkers)
