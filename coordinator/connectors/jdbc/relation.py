"""A scan of a JDBC catalog as the remote SQL that an engine sends."""

from __future__ import annotations

import msgspec

from coordinator.connectors.jdbc.dialects.dialect import Dialect
from coordinator.connectors.jdbc.remote_query import RemoteColumn, RemoteQuery, remote_query, render
from shared.plan.nodes import TableScanNode
from shared.spi.relation import JdbcPartitioning, JdbcRelation

PARTITION_COLUMN = "procession_part"
"""A column that only divided reads have."""


def jdbc_relation(scan: TableScanNode, dialect: Dialect) -> JdbcRelation:
    """The query of ``scan``, its columns named as in the scan's column handles."""
    query = remote_query(scan, dialect)
    # A table's own columns have the table's names, which differ from those of the variables.
    named = {v.name: str(scan.assignments[v.key]["columnName"]) for v in scan.outputVariables}
    renamed = {named[name]: column for name, column in query.columns.items() if name in named}
    if not renamed:
        # Only the number of rows is wanted; no engine reads rows without columns.
        renamed = {"one": RemoteColumn("1", "integer")}
    types = tuple(column.type for column in renamed.values())
    names = tuple(renamed)
    shown = msgspec.structs.replace(query, columns=renamed)
    sql = render(shown, names, dialect)
    estimate = (scan.table.connectorTableLayout or {}).get("estimate")
    rows = None if estimate is None else int(estimate["rows"])
    size = None if estimate is None else int(estimate["rows"]) * int(estimate["rowWidth"])
    divided = _partitioning(shown, names, dialect)
    return JdbcRelation(scan.table.connectorId, sql, names, types, size, rows, divided)


def _partitioning(query: RemoteQuery, names: tuple[str, ...], dialect: Dialect) -> JdbcPartitioning | None:
    """How to divide the query; not one that aggregates, orders or stops: each part would do so by itself."""
    key = query.partition
    if key is None or not query.simple:
        return None
    columns = {**query.columns, PARTITION_COLUMN: RemoteColumn(key.sql, "bigint")}
    sql = render(msgspec.structs.replace(query, columns=columns), (*names, PARTITION_COLUMN), dialect)
    return JdbcPartitioning(sql, PARTITION_COLUMN, key.bounds)
