"""Catalogs of which everything is known and nothing can change: plans over them are the same on every machine.

``tpch`` is the built-in connector with TPC-H's own column names, whose tables can be read; ``lake`` has tables of an
Iceberg catalog and ``shop`` those of a PostgreSQL, with statistics and without a server.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from coordinator.connectors.jdbc.connector import JdbcConnector
from coordinator.connectors.jdbc.database import Database, RemoteColumn, RemoteTable
from coordinator.connectors.jdbc.dialects import DIALECTS
from coordinator.connectors.jdbc.dialects.dialect import Collation, Estimate, MappedType, TableStatistics
from coordinator.connectors.jdbc.settings import read_settings
from coordinator.connectors.registry import CatalogConfig, Catalogs
from shared.plan.nodes import TableScanNode
from shared.properties import Property
from shared.spi.capabilities import Capabilities
from shared.spi.connector import ColumnMetadata, TableMetadata
from shared.spi.row_position import LookUpTemplate, RowPositionDescriptor
from shared.spi.table_statistics import ValueRange
from tests import tpch_tables
from tests.planner.conftest import ORDERS, FakeConnector, column, table

EVENTS = (
    column(1, "id", "bigint"),
    column(2, "day", "date"),
    column(3, "customer", "bigint"),
    column(4, "amount", "double"),
    column(5, "city", "varchar"),
    column(6, "payload", "varchar"),
)
CUSTOMERS = (column(1, "id", "bigint"), column(2, "name", "varchar"), column(3, "address", "varchar"))
EVENT_ROWS, CUSTOMER_ROWS = 10_000_000, 1_000_000
FILE = ColumnMetadata("$file", "varchar", {"@type": "iceberg", "name": "$file"})
POSITION = ColumnMetadata("$pos", "bigint", {"@type": "iceberg", "name": "$pos"})
_SIZES = {"events": 4 << 30, "customers": 512 << 20, "orders": 1 << 20}


class LakeConnector(FakeConnector):
    """``db.orders`` is small, ``db.events`` and ``db.customers`` are large; rows of all have positions."""

    def __init__(self, catalog: str) -> None:
        super().__init__(catalog)
        found = (
            replace(table(catalog, "db", "orders", ORDERS), row_count=1_000),
            replace(table(catalog, "db", "events", EVENTS), row_count=EVENT_ROWS, distinct_values={"customer": 9e5}),
            replace(table(catalog, "db", "customers", CUSTOMERS), row_count=CUSTOMER_ROWS, distinct_values={"id": 1e6}),
        )
        self._tables: dict[str, dict[str, TableMetadata]] = {"db": {each.name: each for each in found}}

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(row_positions=self, column_bounds=self)

    def row_position(self, scan: TableScanNode) -> RowPositionDescriptor:
        name = scan.table.connectorHandle["icebergTableName"]["tableName"]
        known = self._tables["db"][name]
        names = frozenset(each.name for each in known.columns)
        return RowPositionDescriptor(FILE, (POSITION,), names, known.row_count, _SIZES[name])

    def look_up(self, *_: Any) -> LookUpTemplate:
        raise NotImplementedError

    def column_bounds(self, scan: TableScanNode) -> Mapping[str, Sequence[ValueRange]]:
        name = scan.table.connectorHandle["icebergTableName"]["tableName"]
        return {"id": [ValueRange(1, EVENT_ROWS, EVENT_ROWS)]} if name == "events" else {}


class FixedDatabase(Database):
    """A PostgreSQL that tells of two tables, and expects as many rows of a join as its larger table has."""

    @contextmanager
    def connection(self) -> Iterator[Any]:
        yield None

    def schemas(self) -> list[str]:
        return ["public"]

    def tables(self, schema: str) -> list[str]:
        return sorted(_REMOTE)

    def table(self, schema: str, name: str) -> RemoteTable | None:
        return _REMOTE.get(name)


def _remote(name: str, rows: int, /, **columns: str) -> RemoteTable:
    binary = Collation("C", deterministic=True, binary=True)
    made = tuple(
        RemoteColumn(each, kind, MappedType(kind), each != "id", None, binary if kind == "varchar" else None)
        for each, kind in columns.items()
    )
    statistics = TableStatistics(rows, 8 * len(columns), dict.fromkeys(columns, 8))
    return RemoteTable("public", name, made, ("id",), statistics)


_REMOTE = {
    "people": _remote("people", 1_000, id="bigint", name="varchar", city="varchar"),
    "purchases": _remote("purchases", 100_000, id="bigint", person="bigint", amount="double", day="date"),
}


def _estimate(_connection: Any, sql: str, width: int) -> Estimate:
    return Estimate(100_000 if "purchases" in sql else 1_000, width // 2)


def properties(**values: str) -> dict[str, Property]:
    """Those of a catalog file; ``_`` stands for ``-``."""
    named = {name.replace("_", "-"): value for name, value in values.items()}
    return {n: Property(n, v, Path("fixed.properties"), i) for i, (n, v) in enumerate(named.items(), 1)}


class FixedCatalogs(Catalogs):
    """The three, and the built-in ``system``. Tables of ``tpch`` are made once a run, when read."""

    def __init__(self, data_dir: Path) -> None:
        named = properties(**{"tpch.column-naming": "STANDARD"}) | tpch_tables.catalog_properties()
        super().__init__([CatalogConfig("tpch", "tpch", named, data_dir)])
        dialect = replace(DIALECTS["postgresql"], explain=_estimate)
        address = properties(connection_url="jdbc:postgresql://nowhere:5432/shop", connection_user="u")
        shop = JdbcConnector("shop", read_settings("shop", dialect, address), dialect)
        shop.database = FixedDatabase(shop.settings, dialect)
        made = {"lake": LakeConnector("lake"), "shop": shop}
        self.replace([*self.configs(), *(CatalogConfig(name, "tpch", named, data_dir) for name in made)], made)
