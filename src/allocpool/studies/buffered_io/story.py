"""Tables of the page on buffered I/O, and its summary."""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd

from allocpool import decisions
from allocpool.campaign import store
from allocpool.evidence import tables
from allocpool.stats import significant
from allocpool.studies.buffered_io import connections
from allocpool.studies.buffered_io.specs import DEFAULT_BUFFER
from allocpool.studies.buffered_io.study import STUDY

_COUNTERPARTS = (
    ("BufferedReader, two char arrays for life", ("buffered_reader", DEFAULT_BUFFER), "no buffer", ("stream", 0)),
    ("the same", ("buffered_reader", DEFAULT_BUFFER), "size observed", ("observed_reader", 0)),
    ("NIO with a buffer per connection", ("nio_buffer_per_connection", 0), "from a pool", ("nio_pooled", 0)),
    ("Netty, unpooled", ("netty_unpooled", 0), "Netty, pooled", ("netty_pooled", 0)),
    ("C++ with a thread per connection", ("threads", 0), "C++ with epoll", ("epoll", 0)),
)
"""Of the same technique: what holds memory for a connection, and what takes it when needed; way of I/O and buffer."""


def _slopes(trials: pd.DataFrame) -> dict[tuple[str, int], pd.Series]:
    """Bytes per connection by way of I/O and buffer, 0 for none, on the newest release; no virtual threads."""
    shown = connections.newest(connections.usual(connections.done(trials))).fillna({"buffer": 0})
    shown = shown[shown["threads"].fillna("") != "virtual"]
    found = connections.slopes(shown, by=["io", "buffer"]).set_index("block")
    groups: Any = found.groupby(["io", "buffer"])["each"]
    return {(io, int(buffer)): lines for (io, buffer), lines in groups}


def savings_table(trials: pd.DataFrame) -> pd.DataFrame:
    """Return what a connection costs with memory held for it over memory taken when needed."""
    found = _slopes(trials)
    names, pairs = [], []
    for held, costs, taken, less in _COUNTERPARTS:
        if costs in found and less in found:
            saved = significant(found[costs].mean() - found[less].mean())
            names.append({"held": held, "taken when needed": taken, "saving, bytes": saved})
            pairs.append(partial(decisions.compare_means, found[costs], found[less], decisions.effect_that_matters()))
    return tables.comparisons(names, decisions.together(pairs), "held over taken")


def verdict(trials: pd.DataFrame) -> str:
    """Return what a connection costs with default buffers over none."""
    found = _slopes(trials)
    default, plain = found.get(("buffered_reader", DEFAULT_BUFFER)), found.get(("stream", 0))
    if default is None or plain is None:
        return "**Not measured:** default and plain streams must run at two numbers of connections."
    kib = pd.concat({"default": default, "plain": plain}, names=["io"]).div(1024).rename("each").reset_index()
    texts = connections.over_blocks(kib, ["io"]).apply(connections.spread, axis=1)
    return (
        f"**Memory of a connection, default buffers over none: {decisions.compare_means(default, plain).text()}**, "
        f"{texts['default']} KiB against {texts['plain']} KiB, n = {len(plain)}."
    )


def summary(profile: str) -> str:
    """Return the verdict on what a campaign of this profile left; runs nothing."""
    return verdict(store.stored(STUDY.name, profile)[0]["trials"])
