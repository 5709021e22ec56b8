"""A pause inside a pause must not be counted twice.

Serial and CMS on JDK 11 run a full collection inside a young one, and both write their own line. The outer pause's
line comes after the inner one's, so when a pause ends, those that ended before it are looked at again.

Where the log has ``gc,start`` lines they decide. Without them (plain ``-Xlog:gc``) an inner pause shows by its higher
collection id, written earlier, together with an interval that lies within the outer one's: with stamps of whole
milliseconds neighbours may seem to overlap, so the interval alone is not enough.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class _Ended:
    row: int
    gc_id: int | None
    kind: str
    start_ns: int
    end_ns: int
    opened_at: int | None  # the position of its gc,start line


class Nesting:
    """Finds for each pause, in the order of a log, the pause that it is nested in."""

    def __init__(self, resolution_ns: int) -> None:
        self.inside: dict[int, int | None] = {}  # row of an inner pause -> collection id of the pause around it
        self._slack_ns = resolution_ns + 1000  # durations are printed in microseconds
        self.unfinished: dict[int | None, int] = {}  # collection id of an open pause -> position of its start
        self._recent: list[_Ended] = []

    def starts(self, gc_id: int | None, position: int) -> None:
        """A ``gc,start`` line of a pause at a position (any number that grows through the file)."""
        self.unfinished[gc_id] = position

    def ends(self, row: int, gc_id: int | None, kind: str, end_ns: int, duration_ns: int) -> None:
        """The line that ends a pause; ``row`` is its row in the table of pauses."""
        this = _Ended(row, gc_id, kind, end_ns - duration_ns, end_ns, self.unfinished.pop(gc_id, None))
        while self._recent and self._recent[-1].end_ns + self._slack_ns >= this.start_ns:
            if not self._is_inside(self._recent[-1], this):
                break
            self.inside[self._recent.pop().row] = gc_id
        # A pause can only hold those that come next to each other before it: older ones never matter again.
        self._recent = [*self._recent[-7:], this]

    def _is_inside(self, inner: _Ended, outer: _Ended) -> bool:
        if inner.opened_at is not None and outer.opened_at is not None:
            return outer.opened_at < inner.opened_at
        later = inner.gc_id is not None and outer.gc_id is not None and inner.gc_id > outer.gc_id
        return (
            later
            and outer.kind.startswith("Young")
            and inner.kind == "Full"
            and inner.start_ns + self._slack_ns >= outer.start_ns
        )
