"""PostgreSQL 12 and later. Sources: its system catalogs, chapters 8 (types) and 24.2 (collations) of its manual."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql as pg
from sqlalchemy.engine import Connection
from sqlalchemy.types import TypeEngine

from coordinator.connectors.jdbc.dialects.dialect import (
    Collation,
    Dialect,
    Estimate,
    MappedType,
    Semantics,
    TableStatistics,
)
from coordinator.connectors.jdbc.dialects.standard_types import decimal, standard_type
from coordinator.connectors.jdbc.dialects.syntax import Syntax

_BINARY = frozenset({"C", "POSIX", "C.UTF-8", "C.utf8", "ucs_basic", "pg_c_utf8"})
_MAX_PRECISION = 38
_LOCK_SECONDS = 10

# attcollation 100 is the database's default, whose provider and name stand in pg_database.
_COLLATIONS = sa.text("""
SELECT a.attname, c.collname, c.collisdeterministic,
       CASE c.collprovider WHEN 'd' THEN d.datcollate ELSE coalesce(c.collcollate, c.collname) END AS locale,
       CASE c.collprovider WHEN 'd' THEN coalesce(to_jsonb(d) ->> 'datlocprovider', 'c') ELSE c.collprovider::text END AS provider
FROM pg_attribute a
JOIN pg_class t ON t.oid = a.attrelid
JOIN pg_namespace n ON n.oid = t.relnamespace
JOIN pg_collation c ON c.oid = a.attcollation
CROSS JOIN (SELECT * FROM pg_database WHERE datname = current_database()) d
WHERE n.nspname = :schema AND t.relname = :table AND a.attnum > 0 AND NOT a.attisdropped
""")  # noqa: E501
_STATISTICS = sa.text("""
SELECT t.reltuples::bigint AS rows,
       (SELECT json_object_agg(s.attname, s.avg_width) FROM pg_stats s
        WHERE s.schemaname = n.nspname AND s.tablename = t.relname) AS widths
FROM pg_class t JOIN pg_namespace n ON n.oid = t.relnamespace
WHERE n.nspname = :schema AND t.relname = :table
""")

_END_QUERIES = sa.text("""
SELECT count(*) FROM (
  SELECT pg_cancel_backend(pid) FROM pg_stat_activity
  WHERE (application_name = :name OR strpos(query, :mark) > 0) AND state = 'active' AND usename = current_user
    AND pid <> pg_backend_pid()
) ended
""")
_KEEPALIVE = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3, "tcp_user_timeout": 60_000}
"""A server that vanished is noticed within a minute, also while it owes an answer; units as in libpq."""


_TEXT = "CAST({} AS text)"
_TYPES = {
    "smallint": "smallint",
    "integer": "integer",
    "bigint": "bigint",
    "real": "real",
    "double": "double precision",
    "decimal": "decimal",
    "date": "date",
    "timestamp": "timestamp",
}
_TLS = {"sslmode", "sslrootcert", "sslcert", "sslkey", "sslcrl", "gssencmode", "krbsrvname", "target_session_attrs"}
"""Parameters of libpq that the JDBC driver calls the same."""


def _map_type(type_: TypeEngine[object]) -> MappedType | None:
    match type_:
        case pg.TIMESTAMP():
            return MappedType("timestamp with time zone" if type_.timezone else "timestamp")
        case pg.TIME():
            return None if type_.timezone else MappedType("time", _TEXT)
        case sa.Numeric() if not isinstance(type_, sa.Float):
            return decimal(type_.precision, type_.scale, _MAX_PRECISION)
        case pg.UUID():
            return MappedType("uuid", _TEXT)
        case pg.JSON() | pg.JSONB():
            return MappedType("json", _TEXT)
        case pg.ENUM():
            return MappedType("varchar", _TEXT)
        case _:
            return standard_type(type_)


def _collations(connection: Connection, schema: str, table: str) -> Mapping[str, Collation]:
    rows = connection.execute(_COLLATIONS, {"schema": schema, "table": table})
    return {
        row.attname: Collation(
            name=row.collname,
            deterministic=bool(row.collisdeterministic),
            # An ICU locale named C does not exist; the builtin provider's C and C.UTF-8 compare by code point.
            binary=bool(row.collisdeterministic) and row.provider in ("c", "b") and row.locale in _BINARY,
        )
        for row in rows
    }


def _statistics(connection: Connection, schema: str, table: str) -> TableStatistics:
    row = connection.execute(_STATISTICS, {"schema": schema, "table": table}).first()
    if row is None or row.rows is None or row.rows < 0:
        return TableStatistics()
    widths = {str(name): int(width) for name, width in (row.widths or {}).items()}
    return TableStatistics(int(row.rows), sum(widths.values()) or None, widths)


def _begin_reads(connection: Connection, name: str) -> None:
    # Local to the transaction: a connection that went back to the pool must not be cancelled for this statement.
    connection.execute(sa.text("SET TRANSACTION READ ONLY"))
    connection.execute(sa.text("SELECT set_config('application_name', :name, true)"), {"name": name})
    connection.execute(sa.text("SET LOCAL idle_in_transaction_session_timeout = 0"))


def _end_queries(connection: Connection, name: str) -> int:
    return int(connection.execute(_END_QUERIES, {"name": name, "mark": f"/* {name} */"}).scalar_one())


def _import_snapshot(name: str) -> str:
    return f"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SET TRANSACTION SNAPSHOT '{name}'"


def _connect_arguments(seconds: int, parameters: Mapping[str, str]) -> Mapping[str, object]:
    """libpq's, also for ADBC: TLS as the URL asks for it. ``ssl=true`` of the JDBC driver is verify-full."""
    given = {name: value for name, value in parameters.items() if name in _TLS}
    if parameters.get("ssl", "false").lower() in ("true", "") and "ssl" in parameters:
        given.setdefault("sslmode", "verify-full")
    seconds = _seconds(parameters.get("connectTimeout") or parameters.get("loginTimeout"), seconds)
    return {"connect_timeout": seconds, "options": "-c timezone=UTC", **_KEEPALIVE, **given}


def _seconds(given: str | None, default: int) -> int:
    if given is None:
        return default
    if not given.isdigit():
        raise ValueError(f"has a time limit that is no number of seconds: {given}")
    return min(int(given) or default, default)


def _explain(connection: Connection, sql: str, _width: int) -> Estimate:
    # One round trip and one transaction: a plan must not wait for a table that is being altered.
    escaped = sql.replace(":", r"\:")
    asked = f"SET LOCAL lock_timeout = '{_LOCK_SECONDS}s'; EXPLAIN (FORMAT JSON) {escaped}"
    found: Any = connection.execute(sa.text(asked)).scalar_one()
    plan = (json.loads(found) if isinstance(found, str) else found)[0]["Plan"]
    return Estimate(int(plan["Plan Rows"]), max(1, int(plan["Plan Width"])), float(plan["Total Cost"]))


POSTGRESQL = Dialect(
    name="postgresql",
    scheme="postgresql",
    sqlalchemy_driver="postgresql+psycopg2",
    sqlglot="postgres",
    driver_class="org.postgresql.Driver",
    driver_package="org.postgresql:postgresql:42.7.8",
    syntax=Syntax(
        types=_TYPES,
        instant=lambda value: f"TIMESTAMP WITH TIME ZONE '{value.isoformat()}'",
        distinct=lambda a, b: f"({a} IS DISTINCT FROM {b})",
    ),
    semantics=Semantics(
        binary_text=lambda sql: f'({sql} COLLATE "C")',
        char_equality=True,
        arithmetic=frozenset({"smallint", "integer", "bigint"}),
        full_joins=True,
    ),
    map_type=_map_type,
    as_text=_TEXT,
    collations=_collations,
    statistics=_statistics,
    hidden_schemas=frozenset({"information_schema"}),
    connect_arguments=_connect_arguments,
    spark_options={"tcpKeepAlive": "true"},
    spark_knows_types=True,
    driver_failure=r"org\.postgresql\.[\w.]*Exception[:)] (?P<reason>.*)",
    session_name=lambda name: {"ApplicationName": name},
    begin_reads=_begin_reads,
    end_queries=_end_queries,
    export_snapshot="SELECT pg_export_snapshot()",
    import_snapshot=_import_snapshot,
    explain=_explain,
    adbc=True,
)
