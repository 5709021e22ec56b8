"""The article's figures of packets, in the words of measured rows.

A published collector matches a measured one by family. The article's "CMS" most likely ran Parallel: both are compared
with it, and which fits better is a claim of `allocpool.studies.batch.claims`.
"""

from __future__ import annotations

import pandas as pd

from allocpool.evidence import reference
from allocpool.packets.specs import Configuration
from allocpool.runtimes.collectors import collector_named

ARTICLE = "To allocate or to pool?, pzemtsov.github.io, 2019-01-17"
LIKELIEST = {"CMS": "parallel", "G1": "g1", "ZGC": "zgc"}
"""The collector that the article's rows of each name most likely ran on."""


def published_batch() -> pd.DataFrame:
    """Return the article's batch table: the columns of `in_our_words`, and published_ns (per packet; one figure each,
    no spread was given)."""
    table = reference.load("allocate_or_pool_batch")
    return in_our_words(table).assign(published_ns=table["ns_per_packet"])


def in_our_words(table: pd.DataFrame) -> pd.DataFrame:
    """Return what published rows are about: language, layout, family (None for C++), published_configuration, strategy,
    case."""
    cpp, layout, collector = table["collector_or_language"] == "C++", table["buffers"], table["collector_or_language"]
    return pd.DataFrame(
        {
            "language": cpp.map({True: "cpp", False: "java"}),
            "layout": layout,
            "family": collector.where(~cpp, None),
            "published_configuration": ("C++ " + layout).where(cpp, layout + " / " + collector),
            "strategy": table["strategy"],
            "case": table["case"],
        }
    )


def family(language: str, collector: object) -> str | None:
    """Return the published collector that a measured configuration is compared with, or None (C++, collectors nobody
    published); UserError for an unknown collector."""
    return collector_named(str(collector)).published_family if language == "java" else None


def families_of(rows: pd.DataFrame) -> pd.Series:
    """Return the `family` of each row, None where there is none."""
    found = [family(*pair) for pair in zip(rows["language"], rows["collector"], strict=True)]
    return pd.Series(found, index=rows.index, dtype="object")


def with_published(rows: pd.DataFrame, published: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return ``rows`` (with the facts of a configuration, strategy, case) plus published_configuration and the
    published figures, NaN where the article gives none; the batch table's, unless another is given.

    A configuration with another allocator, with steps or with options has none: the article varied none of them.
    """
    published = published_batch() if published is None else published
    keys = ["language", "layout", "family", "strategy", "case"]
    keyed = rows.assign(family=families_of(rows).fillna(""))
    merged = keyed.merge(published.assign(family=published["family"].fillna("")), on=keys, how="left")
    differs = [bool(Configuration.of(row).beyond_layout) for row in merged.to_dict("records")]
    merged.loc[differs, [name for name in published if name not in keys]] = None
    return merged.drop(columns="family")


def published_as_trials() -> pd.DataFrame:
    """Return the published table in the form of measured trials, one block, so that claims are put to it as well.

    The "CMS" rows are those of the collector that they most likely ran on.
    """
    table = published_batch()
    return table.assign(
        collector=table["family"].map(LIKELIEST),
        runtime=table["family"].map({"CMS": 8, "G1": 8, "ZGC": 11}).astype("Int64"),
        block=0, status="ok", reason=None, allocator=None, scale=1.0,
        configuration=table["published_configuration"], ns_per_packet=table["published_ns"],
    )  # fmt: skip
