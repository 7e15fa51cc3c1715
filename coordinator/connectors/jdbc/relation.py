"""A scan of a JDBC catalog as the remote SQL that an engine sends."""

from __future__ import annotations

from coordinator.connectors.jdbc.dialects.dialect import Dialect
from shared.plan.nodes import TableScanNode
from shared.spi.relation import JdbcRelation


def jdbc_relation(scan: TableScanNode, dialect: Dialect) -> JdbcRelation:
    """The columns that ``scan`` reads of its table, under their names."""
    handle = scan.table.connectorHandle
    columns = [scan.assignments[variable.key] for variable in scan.outputVariables]
    names = tuple(dict.fromkeys(str(c["columnName"]) for c in columns))
    reads = {str(c["columnName"]): c.get("read") for c in columns}
    shown = [f"{reads[n]} AS {dialect.quote(n)}" if reads[n] else dialect.quote(n) for n in names]
    table = f"{dialect.quote(handle['schemaName'])}.{dialect.quote(handle['tableName'])}"
    sql = f"SELECT {', '.join(shown) or '1 AS one'} FROM {table}"  # noqa: S608 - delimited identifiers only
    types = {str(c["columnName"]): str(c["columnType"]) for c in columns}
    return JdbcRelation(scan.table.connectorId, sql, names, tuple(types[n] for n in names), _size(scan))


def _size(scan: TableScanNode) -> int | None:
    estimate = (scan.table.connectorTableLayout or {}).get("estimate")
    if estimate is None:
        return None
    return int(estimate["rows"]) * int(estimate["rowWidth"])
