"""``python -m allocpool.studies.threads.child.worker``: a worker of a search that is a crew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from allocpool.studies.realtime.child import worker
from allocpool.studies.realtime.measurement import Processed, Prologue
from allocpool.studies.threads.child.threads import checksum_of, crew_of, prologue_of
from allocpool.studies.threads.child.ticks import CrewStretches
from allocpool.trial.child.accounting import peak_rss_mb


class SearchedCrew(CrewStretches):
    """A crew with its source, as the real-time study's search asks for it."""

    def __init__(
        self, spec: dict[str, Any], launch: dict[str, Any], folder: Path, smallest_ns: float, longest_s: float
    ) -> None:
        self._searched = crew_of(spec, launch)
        super().__init__(spec, launch, folder, self._searched, smallest_ns, longest_s)

    def prologue(self) -> Prologue:
        """Fill queues and stores, then compile and settle, as fast as it goes."""
        return prologue_of(self._searched, self._spec)

    def close(self) -> tuple[Processed, str]:
        """What the crew says at the end, and one line on what is wrong with it, empty when nothing is."""
        crew = self._searched
        crew.drain()
        fault = crew.audit()
        processed: Processed = {
            "counts": crew.counts(),
            "checksum": checksum_of(crew),
            "peak_rss_mb": peak_rss_mb(),
        }
        crew.close()
        return processed, fault


if __name__ == "__main__":
    worker.main(SearchedCrew)
