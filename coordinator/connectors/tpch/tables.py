"""TPC-H's eight tables with the columns and types of Presto's tpch connector, and how many rows a scale has.

Source: ``TpchMetadata`` of Presto 0.296 and the TPC-H specification, revision 3 (row counts of lineitem: 4.2.5).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

TINY = 0.01
SCHEMAS = ("tiny", "sf1", "sf100", "sf300", "sf1000", "sf3000", "sf10000", "sf30000", "sf100000")
"""The schemas that are listed; a table of any ``sf<number>`` can be read, as in Presto."""

_SCALE = re.compile(r"sf(\d{1,6}(?:\.\d{1,6})?)")


@dataclass(frozen=True, slots=True)
class Table:
    """``columns`` maps names without prefix to Presto types; ``base_rows`` are the rows at scale 1.

    ``bytes_per_row`` is what a row takes in our files, about.
    """

    name: str
    prefix: str
    base_rows: int
    scales: bool
    bytes_per_row: int
    columns: Mapping[str, str]


def _table(name: str, prefix: str, base_rows: int, bytes_per_row: int, columns: str, *, scales: bool = True) -> Table:
    typed = dict(entry.strip().split(" ") for entry in columns.split(","))
    return Table(name, prefix, base_rows, scales, bytes_per_row, typed)


TABLES = {
    table.name: table
    for table in (
        _table(
            "customer",
            "c_",
            150_000,
            70,
            "custkey bigint, name varchar(25), address varchar(40), nationkey bigint, phone varchar(15), "
            "acctbal double, mktsegment varchar(10), comment varchar(117)",
        ),
        _table(
            "orders",
            "o_",
            1_500_000,
            32,
            "orderkey bigint, custkey bigint, orderstatus varchar(1), totalprice double, orderdate date, "
            "orderpriority varchar(15), clerk varchar(15), shippriority integer, comment varchar(79)",
        ),
        _table(
            "lineitem",
            "l_",
            6_000_000,
            28,
            "orderkey bigint, partkey bigint, suppkey bigint, linenumber integer, quantity double, "
            "extendedprice double, discount double, tax double, returnflag varchar(1), linestatus varchar(1), "
            "shipdate date, commitdate date, receiptdate date, shipinstruct varchar(25), shipmode varchar(10), "
            "comment varchar(44)",
        ),
        _table(
            "part",
            "p_",
            200_000,
            31,
            "partkey bigint, name varchar(55), mfgr varchar(25), brand varchar(10), type varchar(25), size integer, "
            "container varchar(10), retailprice double, comment varchar(23)",
        ),
        _table(
            "partsupp",
            "ps_",
            800_000,
            43,
            "partkey bigint, suppkey bigint, availqty integer, supplycost double, comment varchar(199)",
        ),
        _table(
            "supplier",
            "s_",
            10_000,
            95,
            "suppkey bigint, name varchar(25), address varchar(40), nationkey bigint, phone varchar(15), "
            "acctbal double, comment varchar(101)",
        ),
        _table(
            "nation",
            "n_",
            25,
            100,
            "nationkey bigint, name varchar(25), regionkey bigint, comment varchar(152)",
            scales=False,
        ),
        _table("region", "r_", 5, 100, "regionkey bigint, name varchar(25), comment varchar(152)", scales=False),
    )
}

_LINEITEM_ROWS = {
    0.01: 60_175,
    1.0: 6_001_215,
    10.0: 59_986_052,
    100.0: 600_037_902,
    300.0: 1_799_989_091,
    1000.0: 5_999_989_709,
    3000.0: 18_000_048_306,
    10000.0: 59_999_994_267,
    30000.0: 179_999_978_268,
    100000.0: 599_999_969_200,
}


def scale_of(schema: str) -> float | None:
    """The scale factor that a schema's name means, None when it means none."""
    if schema == "tiny":
        return TINY
    match = _SCALE.fullmatch(schema)
    return None if match is None else float(match[1]) or None


def exact_rows(table: Table, scale: float) -> int | None:
    """Rows of ``table`` at ``scale``; None for lineitem at a scale whose count is not published."""
    if table.name == "lineitem":
        return _LINEITEM_ROWS.get(scale)
    return about_rows(table, scale)


def about_rows(table: Table, scale: float) -> int:
    """As ``exact_rows``, and about right where that is None."""
    return int(table.base_rows * scale) if table.scales else table.base_rows
