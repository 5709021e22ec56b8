"""What the article published of packets, in the words of measured rows.

A published collector matches a measured one by family. The article's "CMS" most likely ran Parallel, so
both are compared with it, and which of them fits better is itself a question put to the data (see
`allocpool.studies.batch.claims`).
"""

from __future__ import annotations

import pandas as pd

from allocpool.evidence import reference
from allocpool.packets.specs import DEFAULT_ALLOCATOR, OPTIONS
from allocpool.runtimes.collectors import collector_named

ARTICLE = "To allocate or to pool?, pzemtsov.github.io, 2019-01-17"
READ_AS = {"CMS": ("parallel", "cms"), "G1": ("g1",), "ZGC": ("zgc",)}
"""The collectors that the article's rows of each name may have run on, the likeliest first."""
LIKELIEST = {name: collectors[0] for name, collectors in READ_AS.items()}


def published_batch() -> pd.DataFrame:
    """The article's batch table: language, layout, family (None for C++), published_configuration, strategy, case,
    published_ns (nanoseconds per packet; one figure each, no spread was given)."""
    table = reference.load("allocate_or_pool_batch")
    return in_our_words(table).assign(published_ns=table["ns_per_packet"])


def in_our_words(table: pd.DataFrame) -> pd.DataFrame:
    """What a published row is about, in the words of measured rows."""
    cpp = table["collector_or_language"] == "C++"
    names = zip(cpp, table["buffers"], table["collector_or_language"], strict=True)
    return pd.DataFrame(
        {
            "language": ["cpp" if is_cpp else "java" for is_cpp in cpp],
            "layout": table["buffers"],
            "family": table["collector_or_language"].where(~cpp, None),
            "published_configuration": [
                f"C++ {layout}" if is_cpp else f"{layout} / {collector}" for is_cpp, layout, collector in names
            ],
            "strategy": table["strategy"],
            "case": table["case"],
        }
    )


def family(language: str, collector: object) -> str | None:
    """The published collector that a measured configuration is set beside, or None (C++, collectors nobody
    published).

    Raises:
        UserError: an unknown collector; names the known ones.
    """
    return collector_named(str(collector)).published_family if language == "java" else None


def with_published(rows: pd.DataFrame, published: pd.DataFrame | None = None) -> pd.DataFrame:
    """``rows`` (with the facts of a configuration, strategy, case) plus published_configuration and the published
    figures, NaN where the article gives none; the batch table's, unless another is given.

    A configuration with another allocator, with steps or with options has none: the article varied none of them.
    """
    published = published_batch() if published is None else published
    families = [
        family(language, collector) for language, collector in zip(rows["language"], rows["collector"], strict=True)
    ]
    keyed = rows.assign(family=pd.Series(families, index=rows.index, dtype="object").fillna(""))
    keys = ["language", "layout", "family", "strategy", "case"]
    merged = keyed.merge(published.assign(family=published["family"].fillna("")), on=keys, how="left")
    merged.loc[varied(merged), [name for name in published if name not in keys]] = None
    return merged.drop(columns="family")


def varied(rows: pd.DataFrame) -> pd.Series:
    """Whether each row (with the facts of a configuration) is of a configuration that departs from its layout's
    published one."""
    departs = (rows["allocator"].astype(object).fillna(DEFAULT_ALLOCATOR) != DEFAULT_ALLOCATOR) | rows["steps"].notna()
    for option in OPTIONS.values():
        # As texts: a column without any value has no type that compares.
        departs |= rows[option.field].astype(str) == str(option.value)
    return departs


def published_as_trials() -> pd.DataFrame:
    """The published table in the form of measured trials, one block, so that a claim can be put to it as well.

    The "CMS" rows are those of the collector that they most likely ran on.
    """
    table = published_batch()
    return table.assign(
        collector=table["family"].map(LIKELIEST),
        runtime=table["family"].map({"CMS": 8, "G1": 8, "ZGC": 11}).astype("Int64"),
        block=0,
        status="ok",
        reason=None,
        allocator=None,
        scale=1.0,
        configuration=table["published_configuration"],
        ns_per_packet=table["published_ns"],
    )
