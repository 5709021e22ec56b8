"""The four tables of a garbage collection log and what must hold in each.

Times are whole nanoseconds on the log's own clock (see :attr:`allocpool.gclog.GcLog.clock`); ``start_ns`` is
missing where a log carries no time stamps. Sizes are MiB, as HotSpot prints them.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import pandera.pandas as pa

_TIMES = {
    "start_ns": pa.Column("Int64", nullable=True),
    "duration_ns": pa.Column("int64", pa.Check.ge(0)),
}
_SIZES = {
    f"heap_{which}_mb": pa.Column("float64", pa.Check.ge(0), nullable=True) for which in ("before", "after", "capacity")
}
_GC_ID = {"gc_id": pa.Column("Int64", pa.Check.ge(0), nullable=True)}
_TEXT = pa.Column("str")


def _schema(name: str, columns: dict[str, pa.Column]) -> pa.DataFrameSchema:
    return pa.DataFrameSchema(
        {"collector": _TEXT, **columns}, name=name, strict=True, ordered=True, index=pa.Index("int64")
    )


PAUSES = _schema(
    "pauses",
    {
        **_GC_ID,
        "kind": _TEXT,
        "cause": _TEXT,
        "generation": pa.Column("str", pa.Check.isin(["", "young", "old", "global"])),
        "trouble": _TEXT,
        **_TIMES,
        **_SIZES,
        "nested": pa.Column("bool"),
        "nested_in": pa.Column("Int64", nullable=True),
    },
)
SAFEPOINTS = _schema(
    "safepoints",
    {
        "operation": _TEXT,
        **_TIMES,
        "reaching_ns": pa.Column("int64", pa.Check.ge(0)),
        "cleanup_ns": pa.Column("Int64", nullable=True),
        "at_safepoint_ns": pa.Column("int64", pa.Check.ge(0)),
        "leaving_ns": pa.Column("Int64", nullable=True),
    },
)
STALLS = _schema(
    "stalls",
    {
        **_GC_ID,
        "kind": pa.Column("str", pa.Check.isin(["allocation", "relocation", "out of memory"])),
        "thread": _TEXT,
        **_TIMES,
    },
)
HEAP = _schema(
    "heap",
    {**_GC_ID, "event": _TEXT, "cause": _TEXT, "at_ns": pa.Column("Int64", nullable=True), **_SIZES},
)


def table(schema: pa.DataFrameSchema, rows: Sequence[tuple[object, ...]], collector: str) -> pd.DataFrame:
    """The rows (every column of the schema but ``collector``, in its order) as a table of the schema's dtypes.

    It is not validated: that takes several times as long as reading a log, and campaigns have hundreds. The reader's
    patterns let nothing else through, and tests hold the schemas against every kind of log.
    """
    names = list(schema.columns)[1:]
    values = list(zip(*rows, strict=True)) if rows else [()] * len(names)
    columns = {"collector": pd.Series([collector] * len(rows), dtype="str")}
    for name, column in zip(names, values, strict=True):
        columns[name] = pd.Series(list(column), dtype=str(schema.columns[name].dtype))
    return pd.DataFrame(columns)
