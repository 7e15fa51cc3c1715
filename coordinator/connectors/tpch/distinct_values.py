"""How many different values the columns of TPC-H's tables have, by clause 4.2 of its specification."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from coordinator.connectors.tpch.tables import Table, about_rows

_KEYS = {"custkey": 150_000, "orderkey": 1_500_000, "partkey": 200_000, "suppkey": 10_000}
"""At scale 1; only two customers of three have orders."""
_ORDERING_CUSTOMERS = 100_000
_FIXED: Mapping[str, int] = {
    "nationkey": 25, "regionkey": 5, "linenumber": 7, "quantity": 50, "discount": 11, "tax": 9, "returnflag": 3,
    "linestatus": 2, "shipdate": 2_526, "commitdate": 2_466, "receiptdate": 2_554, "shipinstruct": 4, "shipmode": 7,
    "orderstatus": 3, "orderdate": 2_406, "orderpriority": 5, "shippriority": 1, "mktsegment": 5, "mfgr": 5,
    "brand": 25, "type": 150, "size": 50, "container": 40, "availqty": 9_999,
}  # fmt: skip


def distinct_values(table: Table, columns: Sequence[str], scale: float) -> dict[str, float]:
    """By column, for those that the specification tells of; names with and without a prefix such as ``o_``."""
    rows, found = about_rows(table, scale), {}
    for column in columns:
        name = column.partition("_")[2] or column
        count: float | None = _FIXED.get(name)
        if name in _KEYS:
            known = _ORDERING_CUSTOMERS if (table.name, name) == ("orders", "custkey") else _KEYS[name]
            count = known * scale
        elif name == "name" and table.name in ("nation", "region"):
            count = rows
        if count is not None:
            found[column] = max(1.0, min(float(count), float(rows)))
    return found
