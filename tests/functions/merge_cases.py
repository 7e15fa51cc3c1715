"""Merges of sketches that a query below made; expectations by hand."""

from __future__ import annotations

from typing import Any

MERGES: tuple[tuple[str, str, Any], ...] = (
    ("cardinality(merge(s))", "approx_set(v) AS s", 4),
    ("value_at_quantile(merge(s), 1e0)", "qdigest_agg(CAST(v AS bigint)) AS s", 9),
    ("value_at_quantile(merge(s), 1e0)", "tdigest_agg(CAST(v AS double)) AS s", 9.0),
    ("cardinality(merge(s))", "khyperloglog_agg(v, k) AS s", 4),
    ("cardinality(merge_set_digest(s))", "make_set_digest(v) AS s", 4),
)
ROWS = "VALUES ('a', 1), ('a', 2), ('b', 2), ('b', 3), ('b', 9)"


def statement(outer: str, inner: str) -> str:
    """One sketch a key, merged."""
    return f"SELECT {outer} AS c FROM (SELECT {inner} FROM ({ROWS}) AS t(k, v) GROUP BY k)"
