"""A query of the remote database as a scan carries it: what was pushed down so far, in the remote dialect's SQL.

Held in the table layout under ``remoteQuery``. All SQL in it was written from typed expressions and delimited names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from coordinator.connectors.jdbc.dialects.dialect import Dialect
from shared.plan.expressions import Variable
from shared.plan.nodes import TableScanNode

KEY = "remoteQuery"


class RemoteCollation(msgspec.Struct, frozen=True):
    """How a text column compares (``dialects.dialect.Collation``)."""

    name: str
    deterministic: bool
    binary: bool
    pads: bool = False


class RemoteColumn(msgspec.Struct, frozen=True):
    """A value of the query, computed by ``sql``; ``computed`` is set where a row of NULLs might not give NULL."""

    sql: str
    type: str
    collation: RemoteCollation | None = None
    nullable: bool = True
    computed: bool = False


class RemoteSource(msgspec.Struct, frozen=True):
    """An item of FROM: a delimited table name or a query in parentheses; ``on`` is that of an outer join."""

    sql: str
    alias: str
    on: str | None = None
    kind: Literal["LEFT", "FULL"] = "LEFT"


class RemotePartition(msgspec.Struct, frozen=True):
    """A key by whose ranges the query may be read in parts, and remote SQL for its least and greatest value."""

    sql: str
    bounds: str
    rows: int


class RemoteQuery(msgspec.Struct, frozen=True):
    """``columns`` are by variable name; ``group_by`` is None without aggregation; ``tables`` are for people."""

    sources: tuple[RemoteSource, ...]
    columns: dict[str, RemoteColumn]
    where: tuple[str, ...] = ()
    group_by: tuple[str, ...] | None = None
    order_by: tuple[str, ...] = ()
    limit: int | None = None
    tables: tuple[str, ...] = ()
    partition: RemotePartition | None = None

    @property
    def simple(self) -> bool:
        """Whether WHERE may still be added to."""
        return self.group_by is None and self.limit is None and not self.order_by

    @property
    def optional(self) -> bool:
        """Whether it may stand on the side of an outer join that is filled up with NULLs."""
        computed = any(column.computed for column in self.columns.values())
        return self.simple and not self.where and len(self.sources) == 1 and not computed


def remote_query(scan: TableScanNode, dialect: Dialect) -> RemoteQuery:
    """What ``scan`` reads so far; a scan of a table is a query without conditions."""
    pushed = (scan.table.connectorTableLayout or {}).get(KEY)
    if pushed is not None:
        query: RemoteQuery = msgspec.convert(pushed, RemoteQuery)
        return query
    handle = scan.table.connectorHandle
    alias = dialect.quote(f"T{scan.id}")
    columns = {v.name: _column(scan.assignments[v.key], alias, dialect) for v in scan.outputVariables}
    schema, table = str(handle["schemaName"]), str(handle["tableName"])
    source = RemoteSource(f"{dialect.quote(schema)}.{dialect.quote(table)}", alias)
    return RemoteQuery((source,), columns, tables=(f"{schema}.{table}",), partition=_partition(scan, source, dialect))


def _partition(scan: TableScanNode, source: RemoteSource, dialect: Dialect) -> RemotePartition | None:
    layout = scan.table.connectorTableLayout or {}
    column, estimate = layout.get("partitionColumn"), layout.get("estimate")
    if column is None or estimate is None:
        return None
    quoted = dialect.quote(str(column))
    bounds = f"SELECT min({quoted}), max({quoted}) FROM {source.sql}"  # noqa: S608 - see the module
    return RemotePartition(f"{source.alias}.{quoted}", bounds, int(estimate["rows"]))


def _column(handle: dict[str, object], alias: str, dialect: Dialect) -> RemoteColumn:
    sql = f"{alias}.{dialect.quote(str(handle['columnName']))}"
    form = handle.get("read")
    collation = handle.get("collation")
    return RemoteColumn(
        sql=sql if form is None else str(form).replace("{}", sql),
        type=str(handle["columnType"]),
        collation=None if collation is None else msgspec.convert(collation, RemoteCollation),
        nullable=bool(handle.get("nullable", True)),
    )


def scan_of(
    scan: TableScanNode, query: RemoteQuery, outputs: Sequence[Variable], estimate: dict[str, int] | None = None
) -> TableScanNode:
    """``scan`` reading ``query``; its columns leave under the names of ``outputs``."""
    type_ = scan.table.connectorHandle["@type"]
    layout: dict[str, object] = {
        **(scan.table.connectorTableLayout or {"@type": type_}),
        KEY: msgspec.to_builtins(query),
    }
    if estimate is not None:
        layout["estimate"] = estimate
    assignments = {
        v.key: {
            "@type": type_,
            "connectorId": scan.table.connectorId,
            "columnName": v.name,
            "jdbcTypeHandle": {"jdbcTypeName": v.type},
            "columnType": v.type,
            "nullable": query.columns[v.name].nullable,
        }
        for v in outputs
    }
    table = msgspec.structs.replace(scan.table, connectorTableLayout=layout)
    return msgspec.structs.replace(scan, table=table, outputVariables=tuple(outputs), assignments=assignments)


def render(query: RemoteQuery, names: Sequence[str], dialect: Dialect) -> str:
    """The SQL of ``query`` with ``names`` as its columns."""
    shown = [f"{query.columns[name].sql} AS {dialect.quote(name)}" for name in names]
    form = dialect.syntax.limit
    top = f"TOP ({query.limit}) " if query.limit is not None and form == "TOP" else ""
    sql = f"SELECT {top}{', '.join(shown) or '1 AS one'} FROM {_sources(query.sources)}"  # noqa: S608 - see the module
    if query.where:
        sql += f" WHERE {' AND '.join(query.where)}"
    if query.group_by:
        sql += f" GROUP BY {', '.join(query.group_by)}"
    if query.order_by:
        sql += f" ORDER BY {', '.join(query.order_by)}"
    if query.limit is not None and form != "TOP":
        sql += f" LIMIT {query.limit}" if form == "LIMIT" else f" FETCH FIRST {query.limit} ROWS ONLY"
    return sql


def nested(query: RemoteQuery, alias: str, dialect: Dialect) -> RemoteQuery:
    """``query`` as the one source of another, which may be added to again."""
    inner = RemoteSource(f"({render(query, list(query.columns), dialect)})", alias)
    columns = {
        name: RemoteColumn(
            sql=f"{alias}.{dialect.quote(name)}",
            type=column.type,
            collation=column.collation,
            nullable=column.nullable,
        )
        for name, column in query.columns.items()
    }
    return RemoteQuery((inner,), columns, tables=query.tables)


def _sources(sources: Sequence[RemoteSource]) -> str:
    comma = all(source.on is None for source in sources)
    text = f"{sources[0].sql} {sources[0].alias}"
    for source in sources[1:]:
        if source.on is not None:
            text += f" {source.kind} JOIN {source.sql} {source.alias} ON {source.on}"
        else:
            text += f"{', ' if comma else ' CROSS JOIN '}{source.sql} {source.alias}"
    return text
