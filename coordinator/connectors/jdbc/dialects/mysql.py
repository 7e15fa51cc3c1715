"""MySQL 8 and MariaDB 10.6 and later. Schemas are databases; text is case-insensitive and padded unless its collation says otherwise."""  # noqa: E501

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import mysql
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError
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

_MAX_PRECISION = 38

_COLLATIONS = sa.text("""
SELECT column_name AS name, collation_name AS collation
FROM information_schema.columns
WHERE table_schema = :schema AND table_name = :table AND collation_name IS NOT NULL
""")
_STATISTICS = sa.text("""
SELECT table_rows AS row_count, avg_row_length AS width
FROM information_schema.tables WHERE table_schema = :schema AND table_name = :table
""")

_RUNNING = sa.text("""
SELECT id FROM information_schema.processlist
WHERE id <> connection_id() AND user = substring_index(current_user(), '@', 1) AND locate(:mark, info) > 0
""")


def _end_queries(connection: Connection, name: str) -> int:
    """A session has no name there; the query's comment has it."""
    running = connection.execute(_RUNNING, {"mark": f"/* {name} */"}).scalars().all()
    for number in running:
        with suppress(DBAPIError):  # it ended by itself
            connection.execute(sa.text(f"KILL QUERY {int(number)}"))
    return len(running)


def _begin_reads(connection: Connection, _name: str) -> None:
    connection.execute(sa.text("START TRANSACTION READ ONLY, WITH CONSISTENT SNAPSHOT"))


_TEXT = "CAST({} AS char)"
_TYPES = {
    "smallint": "signed",
    "integer": "signed",
    "bigint": "signed",
    "double": "double",
    "decimal": "decimal",
    "date": "date",
    "timestamp": "datetime(6)",
}


def _integer(type_: TypeEngine[Any], signed: str, unsigned: str) -> MappedType:
    return MappedType(unsigned if getattr(type_, "unsigned", False) else signed)


def _map_type(type_: TypeEngine[object]) -> MappedType | None:  # noqa: C901 - one case a type
    match type_:
        case mysql.TINYINT():
            if type_.display_width == 1 and not type_.unsigned:
                return MappedType("boolean")
            return _integer(type_, "tinyint", "smallint")
        case mysql.SMALLINT():
            return _integer(type_, "smallint", "integer")
        case mysql.BIGINT():
            return _integer(type_, "bigint", "decimal(20,0)")
        case mysql.MEDIUMINT():
            return MappedType("integer")
        case mysql.INTEGER():
            return _integer(type_, "integer", "bigint")
        case mysql.FLOAT():
            return MappedType("real")
        case mysql.DOUBLE():
            return MappedType("double")
        case mysql.DECIMAL():
            return decimal(type_.precision or 10, type_.scale, _MAX_PRECISION)
        case mysql.DATETIME():
            return MappedType("timestamp")
        case mysql.TIMESTAMP():
            return MappedType("timestamp with time zone")
        case mysql.JSON():
            return MappedType("json", _TEXT)
        case mysql.ENUM() | mysql.SET():
            return MappedType("varchar", _TEXT)
        case _:
            return standard_type(type_)


def _collations(connection: Connection, schema: str, table: str) -> Mapping[str, Collation]:
    rows = connection.execute(_COLLATIONS, {"schema": schema, "table": table})
    return {row.name: _collation(str(row.collation)) for row in rows}


def _collation(name: str) -> Collation:
    binary = name == "binary" or name.endswith("_bin")
    # All but MySQL 8's 0900 family and MariaDB's nopad ones ignore trailing spaces.
    pads = name != "binary" and "0900" not in name and "nopad" not in name
    return Collation(name, deterministic=binary and not pads, binary=binary and not pads, pads=pads)


def _statistics(connection: Connection, schema: str, table: str) -> TableStatistics:
    row = connection.execute(_STATISTICS, {"schema": schema, "table": table}).first()
    if row is None or row.row_count is None:
        return TableStatistics()
    return TableStatistics(int(row.row_count), None if row.width is None else int(row.width))


def _connect_arguments(seconds: int, parameters: Mapping[str, str]) -> Mapping[str, object]:
    """PyMySQL's: TLS as the URL asks for it, in MySQL's words and in MariaDB's; JDBC's time limits are milliseconds."""
    arguments: dict[str, object] = {"connect_timeout": seconds, "init_command": "SET time_zone = '+00:00'"}
    given = parameters.get("connectTimeout")
    if given is not None:
        if not given.isdigit():
            raise ValueError(f"has a connectTimeout that is no number of milliseconds: {given}")
        arguments["connect_timeout"] = min(math.ceil(int(given) / 1000) or seconds, seconds)
    mode = _tls_mode(parameters)
    authority = parameters.get("serverSslCert")
    if mode == "disable":
        arguments["ssl_disabled"] = True
    elif mode in _ENCRYPTED:
        checked = mode != "trust"
        arguments["ssl"] = {
            "ca": authority,
            "check_hostname": mode in ("verify-full", "verify-identity"),
            "verify_mode": "required" if checked else "none",
        }
    return arguments


_ENCRYPTED = ("trust", "verify-ca", "verify-full", "verify-identity")


def _tls_mode(parameters: Mapping[str, str]) -> str:
    """``disable``, ``trust`` (encrypted, whoever answers), ``verify-…``, or empty where the URL does not say."""
    lower = {name.lower(): value for name, value in parameters.items()}
    mode = lower.get("sslmode", "").lower().replace("_", "-")
    mode = {"disabled": "disable", "required": "trust", "preferred": ""}.get(mode, mode)
    if mode not in (*_ENCRYPTED, "disable", ""):
        raise ValueError(f"has an unknown sslMode: {lower['sslmode']}")
    if not mode and lower.get("usessl", "").lower() in ("true", "false"):
        return "disable" if lower["usessl"].lower() == "false" else "trust"
    return mode


def _explain(connection: Connection, sql: str, width: int) -> Estimate | None:
    """Rows by the steps of the outermost query: its tables' rows, each with what its conditions leave of them."""
    escaped = sql.replace(":", r"\:")
    found = json.loads(connection.execute(sa.text(f"EXPLAIN FORMAT=JSON {escaped}")).scalar_one())
    block = found.get("query_block", {})
    rows = _rows(block)
    if rows is None:
        return None
    cost = block.get("cost") or block.get("cost_info", {}).get("query_cost")
    return Estimate(max(1, round(rows)), max(1, width), None if cost is None else float(cost))


def _rows(step: object) -> float | None:
    """The product over the tables of a nested loop; derived tables count as the server counts them."""
    if isinstance(step, list):
        return _joined(step)
    if not isinstance(step, dict):
        return None
    if "message" in step.get("table", {}):
        return 0.0  # "Impossible WHERE" and its like
    if "table" in step and step["table"].get("rows", step["table"].get("rows_examined_per_scan")) is not None:
        table = step["table"]
        examined = float(table.get("rows", table.get("rows_examined_per_scan")))
        return examined * float(table.get("filtered", 100)) / 100
    for name in _STEPS:
        if name in step and (found := _rows(step[name])) is not None:
            return found
    return None


def _joined(steps: list[Any]) -> float | None:
    rows: float | None = None
    for step in steps:
        count = _rows(step)
        if count is None:
            continue
        hashed = " = " in str(step.get("block-nl-join", {}).get("attached_condition", ""))
        # Without an index the server knows nothing of an equality; one of the two sides is taken for a key.
        rows = count if rows is None else max(rows, count) if hashed else rows * count
    return rows


_STEPS = (
    "query_block", "nested_loop", "ordering_operation", "grouping_operation", "duplicates_removal", "buffer_result",
    "filesort", "temporary_table", "read_sorted_file", "block-nl-join", "duplicate_removal",
)  # fmt: skip
"""Names under which MySQL and MariaDB nest what a query does."""


MYSQL = Dialect(
    name="mysql",
    scheme="mysql",
    sqlalchemy_driver="mysql+pymysql",
    sqlglot="mysql",
    driver_class="com.mysql.cj.jdbc.Driver",
    driver_package="com.mysql:mysql-connector-j:9.4.0",
    syntax=Syntax(
        types=_TYPES,
        quotes=("`", "`"),
        # Backslashes escape there, unless a mode says otherwise: code points say it in both.
        text=lambda value: f"CONVERT(X'{value.encode().hex()}' USING utf8mb4)",
        # An exponent makes a double of it; without one it is a decimal.
        double=lambda value: f"{value!r}" if "e" in f"{value!r}" else f"{value!r}e0",
        # Sessions are in UTC (``connect_arguments`` and ``spark_options``).
        instant=lambda value: f"TIMESTAMP '{value.astimezone(UTC).replace(tzinfo=None).isoformat(sep=' ')}'",
        nulls_first_and_last=False,
        like=None,
        distinct=lambda a, b: f"(NOT ({a} <=> {b}))",
    ),
    semantics=Semantics(
        wider_equality=True,
        # Smaller integers are computed as 64 bits there: no overflow where Presto has one.
        arithmetic=frozenset({"bigint"}),
        # CAST stops at the greatest value with no more than a warning; sums have 22 digits more than what they add.
        sums=lambda base, precision: base == "decimal" and precision <= _MAX_PRECISION - 22,
    ),
    map_type=_map_type,
    as_text=_TEXT,
    collations=_collations,
    statistics=_statistics,
    hidden_schemas=frozenset({"information_schema", "mysql", "performance_schema", "sys"}),
    # Spark delimits the columns of databases that it has no dialect of, as MariaDB, with double quotes.
    spark_options={"sessionInitStatement": "SET sql_mode = CONCAT(@@sql_mode, ',ANSI_QUOTES'), time_zone = '+00:00'"},
    driver_failure=r"(?:com\.mysql|org\.mariadb|java\.sql)\.[\w.]*Exception[:)] (?P<reason>.*)",
    begin_reads=_begin_reads,
    end_queries=_end_queries,
    connect_arguments=_connect_arguments,
    explain=_explain,
)
MARIADB = replace(
    MYSQL,
    spark_options={**MYSQL.spark_options, "connectionTimeZone": "UTC", "tcpKeepAlive": "true"},
    name="mariadb",
    scheme="mariadb",
    sqlalchemy_driver="mariadb+pymysql",
    driver_class="org.mariadb.jdbc.Driver",
    driver_package="org.mariadb.jdbc:mariadb-java-client:3.5.6",
)
