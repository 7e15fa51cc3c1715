"""JDBC handles as Presto writes them in plan JSON (``JdbcTableHandle``, ``JdbcColumnHandle``), with what ours add.

Ours: ``read`` (SQL with ``{}`` for the column, where it is not the bare column), ``collation``, ``estimate`` and
``partitionColumn``, so that rules need no connection.
"""

from __future__ import annotations

import uuid

from coordinator.connectors.jdbc.database import RemoteColumn, RemoteTable
from coordinator.connectors.jdbc.dialects.dialect import Collation, Dialect
from shared.plan.nodes import TableHandle

UNKNOWN_WIDTH = 100
"""Bytes a row where the database keeps no average."""

PARTITION_TYPES = frozenset({"smallint", "integer", "bigint"})
"""Types of columns by whose ranges Spark can divide a read."""


def column_handle(catalog: str, dialect: Dialect, column: RemoteColumn, width: int | None = None) -> dict[str, object]:
    """The handle of a column; ``columnName`` is the remote spelling, ``width`` its average in bytes.

    Text of another type (an enumeration, JSON) has the collation of no column: it compares by its bytes or not at all.
    """
    handle: dict[str, object] = {
        "@type": dialect.name,
        "connectorId": catalog,
        "columnName": column.name,
        "jdbcTypeHandle": {"jdbcTypeName": column.remote_type},
        "columnType": column.mapped.presto,
        "nullable": column.nullable,
    }
    if width is not None:
        handle["width"] = width
    if column.mapped.read is not None:
        handle["read"] = column.mapped.read
    collation = column.collation
    if column.mapped.read is not None and column.mapped.presto.startswith("varchar"):
        collation = Collation(column.remote_type, deterministic=False, binary=False)
    if collation is not None:
        handle["collation"] = {
            "name": collation.name,
            "deterministic": collation.deterministic,
            "binary": collation.binary,
            "pads": collation.pads,
        }
    return handle


def table_handle(
    catalog: str, dialect: Dialect, table: RemoteTable, partition_column: str | None = None
) -> TableHandle:
    """What a scan of one table carries."""
    inner = {
        "@type": dialect.name,
        "connectorId": catalog,
        "schemaTableName": {"schema": table.schema, "table": table.name},
        "schemaName": table.schema,
        "tableName": table.name,
    }
    layout: dict[str, object] = {"@type": dialect.name, "table": inner, "tupleDomain": {"columnDomains": []}}
    if table.statistics.rows is not None:
        layout["estimate"] = {"rows": table.statistics.rows, "rowWidth": table.statistics.row_width or UNKNOWN_WIDTH}
    else:
        layout["withoutStatistics"] = [f"{table.schema}.{table.name}"]
    if partition_column is not None:
        layout["partitionColumn"] = partition_column
    return TableHandle(
        connectorId=catalog,
        connectorHandle=inner,
        transaction={"@type": dialect.name, "uuid": str(uuid.uuid4())},
        connectorTableLayout=layout,
    )
