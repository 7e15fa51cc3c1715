"""SQL Server 2017 and later. Sources: Transact-SQL's reference of data types, their precedence, and collations.

Written after the manual and checked by parsers and golden SQL; no server runs in the tests.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, date, datetime

import sqlalchemy as sa
from sqlalchemy.dialects import mssql
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.types import TypeEngine

from coordinator.connectors.jdbc.dialects.dialect import Collation, Dialect, MappedType, Semantics, TableStatistics
from coordinator.connectors.jdbc.dialects.standard_types import decimal, standard_type
from coordinator.connectors.jdbc.dialects.syntax import Syntax
from coordinator.connectors.jdbc.dialects.url import sqlserver_url

_MAX_PRECISION = 38
_MICROSECONDS = 6
_COLLATIONS = sa.text("""
SELECT c.name AS name, c.collation_name AS collation
FROM sys.columns c JOIN sys.objects o ON o.object_id = c.object_id JOIN sys.schemas s ON s.schema_id = o.schema_id
WHERE s.name = :schema AND o.name = :table AND c.collation_name IS NOT NULL
""")
_STATISTICS = sa.text("""
SELECT sum(p.rows) AS row_count
FROM sys.partitions p JOIN sys.objects o ON o.object_id = p.object_id JOIN sys.schemas s ON s.schema_id = o.schema_id
WHERE s.name = :schema AND o.name = :table AND p.index_id IN (0, 1)
""")
_RUNNING = sa.text("""
SELECT r.session_id FROM sys.dm_exec_requests r CROSS APPLY sys.dm_exec_sql_text(r.sql_handle) t
WHERE r.session_id <> @@SPID AND CHARINDEX(:mark, t.text) > 0
""")
_TYPES = {
    "smallint": "smallint",
    "integer": "int",
    "bigint": "bigint",
    "real": "real",
    "double": "float(53)",
    "decimal": "decimal",
    "date": "date",
    "timestamp": "datetime2(6)",
}
_AS_TEXT = "CAST({} AS nvarchar(max))"


def _map_type(type_: TypeEngine[object]) -> MappedType | None:  # noqa: C901 - one case a type
    match type_:
        case mssql.BIT():
            return MappedType("boolean")
        case mssql.TINYINT():  # from 0 to 255 there
            return MappedType("smallint")
        case mssql.REAL():
            return MappedType("real")
        case sa.Float():
            return MappedType("double")
        case mssql.MONEY():
            return MappedType("decimal(19,4)")
        case mssql.SMALLMONEY():
            return MappedType("decimal(10,4)")
        case sa.Numeric():
            return decimal(type_.precision or 18, type_.scale, _MAX_PRECISION)
        case mssql.DATETIMEOFFSET():
            # To UTC, since Python's driver and Spark's do not agree on what they make of another offset.
            form = f"CAST(SWITCHOFFSET({{}}, '+00:00') AS datetimeoffset({_precision(type_.precision)}))"
            return MappedType("timestamp with time zone", form)
        case mssql.DATETIME2():
            fits = type_.precision is not None and type_.precision <= _MICROSECONDS
            return MappedType("timestamp", None if fits else "CAST({} AS datetime2(6))")
        case mssql.SMALLDATETIME():
            return MappedType("timestamp")
        case sa.DATETIME():
            # Thirds of hundredths of a second, which other types compare otherwise than they are shown.
            return MappedType("timestamp", "CAST({} AS datetime2(3))")
        case sa.TIME():
            return MappedType("time", "CAST({} AS varchar(15))")
        case mssql.UNIQUEIDENTIFIER():
            return MappedType("uuid", "LOWER(CAST({} AS char(36)))")
        case mssql.XML() | mssql.SQL_VARIANT():
            return None
        case mssql.TIMESTAMP():  # a counter of rows there
            return MappedType("varbinary")
        case _:
            return standard_type(type_)


def _precision(given: int | None) -> int:
    return _MICROSECONDS if given is None else min(given, _MICROSECONDS)


def _collations(connection: Connection, schema: str, table: str) -> Mapping[str, Collation]:
    """Trailing spaces never count there, also under binary collations: no text compares as Presto's."""
    rows = connection.execute(_COLLATIONS, {"schema": schema, "table": table})
    return {row.name: Collation(str(row.collation), deterministic=False, binary=False, pads=True) for row in rows}


def _statistics(connection: Connection, schema: str, table: str) -> TableStatistics:
    rows = connection.execute(_STATISTICS, {"schema": schema, "table": table}).scalar()
    return TableStatistics() if rows is None else TableStatistics(int(rows))


def _end_queries(connection: Connection, name: str) -> int:
    """Needs ALTER ANY CONNECTION and VIEW SERVER STATE."""
    running = connection.execute(_RUNNING, {"mark": f"/* {name} */"}).scalars().all()
    for number in running:
        with suppress(DBAPIError):  # it ended by itself
            connection.execute(sa.text(f"KILL {int(number)}"))
    return len(running)


def _date(value: date) -> str:
    return f"CAST('{value.isoformat()}' AS date)"


def _timestamp(value: datetime) -> str:
    # With a T it is read alike under every language of a session.
    return f"CAST('{value.isoformat()}' AS datetime2(6))"


def _instant(value: datetime) -> str:
    return f"CAST('{value.astimezone(UTC).isoformat()}' AS datetimeoffset(6))"


def _connect_arguments(seconds: int, parameters: Mapping[str, str]) -> Mapping[str, object]:
    """pymssql's. The JDBC driver encrypts unless told otherwise; pymssql by what the URL says."""
    lower = {name.lower(): value.lower() for name, value in parameters.items()}
    arguments: dict[str, object] = {"login_timeout": seconds, "charset": "UTF-8"}
    encrypt = lower.get("encrypt")
    if encrypt is not None:
        modes = {"true": "require", "mandatory": "require", "strict": "require", "false": "off", "optional": "request"}
        if encrypt not in modes:
            raise ValueError(f"has an unknown value of encrypt: {encrypt}")
        arguments["encryption"] = modes[encrypt]
    return arguments


SQLSERVER = Dialect(
    name="sqlserver",
    scheme="sqlserver",
    sqlalchemy_driver="mssql+pymssql",
    sqlglot="tsql",
    driver_class="com.microsoft.sqlserver.jdbc.SQLServerDriver",
    driver_package="com.microsoft.sqlserver:mssql-jdbc:13.2.1.jre11",
    syntax=Syntax(
        types=_TYPES,
        quotes=("[", "]"),
        text=lambda value: "N'{}'".format(value.replace("'", "''")),
        double=lambda value: f"CAST({value!r} AS float(53))",
        date=_date,
        timestamp=_timestamp,
        instant=_instant,
        limit="TOP",
        nulls_first_and_last=False,
        truths=("CAST(1 AS bit)", "CAST(0 AS bit)"),
        conditions_are_values=False,
        like=None,
        distinct=lambda a, b: f"(NOT EXISTS (SELECT {a} INTERSECT SELECT {b}))",
        count="count_big",
        sum_argument=lambda sql, base: sql if base == "decimal" else f"CAST({sql} AS bigint)",
    ),
    semantics=Semantics(arithmetic=frozenset({"smallint", "integer", "bigint"}), full_joins=True),
    map_type=_map_type,
    as_text=_AS_TEXT,
    collations=_collations,
    statistics=_statistics,
    hidden_schemas=frozenset(
        {
            "information_schema", "sys", "guest", "db_owner", "db_accessadmin", "db_securityadmin", "db_ddladmin",
            "db_backupoperator", "db_datareader", "db_datawriter", "db_denydatareader", "db_denydatawriter",
        }
    ),
    parse_url=sqlserver_url,
    connect_arguments=_connect_arguments,
    driver_failure=r"com\.microsoft\.sqlserver\.jdbc\.\w*Exception: (?P<reason>.*)",
    # Its REPEATABLE READ takes locks that writers wait for.
    read_isolation=None,
    end_queries=_end_queries,
    session_name=lambda name: {"applicationName": name},
)  # fmt: skip
