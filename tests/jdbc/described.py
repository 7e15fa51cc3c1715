"""A catalog over a database that is described and not there: enough to plan, not to read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.types import TypeEngine

from coordinator.connectors.jdbc.connector import JdbcConnector
from coordinator.connectors.jdbc.database import Database, RemoteColumn, RemoteTable
from coordinator.connectors.jdbc.dialects import DIALECTS
from coordinator.connectors.jdbc.dialects.dialect import Collation, TableStatistics
from coordinator.connectors.registry import CatalogConfig, Catalogs
from shared.properties import Property

URLS = {
    "postgresql": "jdbc:postgresql://db.example.com/crm",
    "mysql": "jdbc:mysql://db.example.com/",
    "mariadb": "jdbc:mariadb://db.example.com/",
    "sqlserver": "jdbc:sqlserver://db.example.com;databaseName=crm",
    "oracle": "jdbc:oracle:thin:@//db.example.com:1521/crm",
    "db2": "jdbc:db2://db.example.com:50000/crm",
}


class DescribedDatabase(Database):
    """The metadata is given; types go through the dialect's own mapping."""

    described: Mapping[str, RemoteTable]

    def schemas(self) -> list[str]:
        return ["shop"]

    def tables(self, schema: str) -> list[str]:
        return sorted(self.described)

    def table(self, schema: str, name: str) -> RemoteTable | None:
        return self.described.get(name)


def described_catalogs(
    dialect: str,
    tables: Mapping[str, Mapping[str, TypeEngine[object]]],
    collations: Mapping[str, Collation],
    rows: int | None = None,
) -> Catalogs:
    """Catalog ``db``; ``tables`` are columns by name, ``collations`` those of text columns by their names."""
    values = {"connection-url": URLS[dialect], "connection-user": "reader", "connection-password": "open-sesame"}
    properties = {n: Property(n, v, Path("db.properties"), i) for i, (n, v) in enumerate(values.items(), 1)}
    catalogs = Catalogs([CatalogConfig("db", dialect, properties)])
    connector = catalogs.connector("db")
    assert isinstance(connector, JdbcConnector)
    database = DescribedDatabase(connector.settings, DIALECTS[dialect])
    database.described = {name: _table(name, columns, collations, rows, dialect) for name, columns in tables.items()}
    connector.database = database
    return catalogs


def _table(
    name: str,
    columns: Mapping[str, TypeEngine[object]],
    collations: Mapping[str, Collation],
    rows: int | None,
    dialect: str,
) -> RemoteTable:
    found = []
    for column, kind in columns.items():
        mapped = DIALECTS[dialect].map_type(kind)
        if mapped is not None:
            text = isinstance(kind, sa.String)
            found.append(RemoteColumn(column, str(kind), mapped, True, None, collations.get(column) if text else None))
    return RemoteTable("shop", name, tuple(found), ("i",), TableStatistics(rows, 100))
