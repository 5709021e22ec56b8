"""Which module of the child runs which mode of trial."""

from __future__ import annotations

CHILD_MODULES: dict[str, str] = {
    "batch": "allocpool.child.batch",
}
