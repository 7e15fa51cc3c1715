"""Oracle 12.2 and later. Source: its SQL Language Reference (data types, comparison rules, linguistic sorting).

Written after the manual and checked by parsers and golden SQL; no server runs in the tests.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import oracle
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.types import TypeEngine

from coordinator.connectors.jdbc.dialects.dialect import Collation, Dialect, MappedType, Semantics, TableStatistics
from coordinator.connectors.jdbc.dialects.standard_types import standard_type
from coordinator.connectors.jdbc.dialects.syntax import Syntax
from coordinator.connectors.jdbc.dialects.url import oracle_url

_MAX_PRECISION = 38
_COLLATIONS = sa.text("""
SELECT c.column_name AS name, c.data_type AS kind, c.collation AS collation,
       (SELECT value FROM nls_database_parameters WHERE parameter = 'NLS_CHARACTERSET') AS letters
FROM all_tab_cols c
WHERE c.owner = :schema AND c.table_name = :table
  AND c.data_type IN ('VARCHAR2', 'NVARCHAR2', 'CHAR', 'NCHAR', 'CLOB', 'NCLOB', 'LONG')
""")
_STATISTICS = sa.text("""
SELECT num_rows AS row_count, avg_row_len AS width FROM all_tables WHERE owner = :schema AND table_name = :table
""")
_WIDTHS = sa.text("""
SELECT column_name AS name, avg_col_len AS width FROM all_tab_cols
WHERE owner = :schema AND table_name = :table AND avg_col_len IS NOT NULL
""")
_BINARY = frozenset({"BINARY", "USING_NLS_COMP"})
"""Collations under which a session with NLS_COMP=BINARY compares bytes."""
_SESSION = "ALTER SESSION SET NLS_COMP = BINARY NLS_SORT = BINARY TIME_ZONE = '+00:00'"
_RUNNING = sa.text("""
SELECT s.sid, s.serial# FROM v$session s JOIN v$sql q ON q.sql_id = s.sql_id AND q.child_number = s.sql_child_number
WHERE s.username = USER AND s.sid <> SYS_CONTEXT('USERENV', 'SID') AND INSTR(q.sql_text, :mark) > 0
""")
_TYPES = {
    "double": "BINARY_DOUBLE",
    "decimal": "NUMBER",
    "smallint": "NUMBER(5)",
    "integer": "NUMBER(10)",
    "bigint": "NUMBER(19)",
    "timestamp": "TIMESTAMP(6)",
}


def _map_type(type_: TypeEngine[object]) -> MappedType | None:
    match type_:
        case oracle.BINARY_FLOAT():
            return MappedType("real")
        case oracle.BINARY_DOUBLE():
            return MappedType("double")
        case oracle.FLOAT() | sa.DOUBLE_PRECISION() | oracle.REAL():
            # Decimal floating point: it compares as what it is read as.
            return MappedType("double", "CAST({} AS BINARY_DOUBLE)")
        case sa.INTEGER():
            return MappedType(f"decimal({_MAX_PRECISION},0)")
        case sa.Numeric():
            return _number(type_.precision, type_.scale)
        case oracle.TIMESTAMP() if type_.timezone or type_.local_timezone:
            return MappedType("timestamp with time zone", "CAST(SYS_EXTRACT_UTC({}) AS TIMESTAMP(6))")
        case oracle.TIMESTAMP():
            return MappedType("timestamp", "CAST({} AS TIMESTAMP(6))")
        case oracle.DATE():  # has a time of day
            return MappedType("timestamp", "CAST({} AS TIMESTAMP(0))")
        case oracle.INTERVAL() | oracle.ROWID() | oracle.BFILE():
            return None
        case _:
            return standard_type(type_)


def _number(precision: int | None, scale: int | None) -> MappedType | None:
    """NUMBER(p,s); a NUMBER without precision holds what no decimal does."""
    if precision is None or scale is None:
        return None
    digits, places = (precision - scale, 0) if scale < 0 else (max(precision, scale), scale)
    return MappedType(f"decimal({digits},{places})") if digits <= _MAX_PRECISION else None


def _collations(connection: Connection, schema: str, table: str) -> Mapping[str, Collation]:
    rows = connection.execute(_COLLATIONS, {"schema": schema, "table": table})
    return {row.name: collation(str(row.kind), row.collation, str(row.letters)) for row in rows}


def collation(type_: str, name: str | None, letters: str) -> Collation:
    """How a column of type ``type_`` compares; only AL32UTF8 has the order of code points."""
    large = type_ in ("CLOB", "NCLOB", "LONG")  # these compare with nothing
    same = not large and (name is None or name in _BINARY)
    ordered = same and letters == "AL32UTF8" and not type_.startswith("N")
    return Collation(f"{name or 'BINARY'} of {type_}" if large else name or "BINARY", same, ordered)


def _statistics(connection: Connection, schema: str, table: str) -> TableStatistics:
    names = {"schema": schema, "table": table}
    row = connection.execute(_STATISTICS, names).first()
    if row is None or row.row_count is None:
        return TableStatistics()
    widths = {found.name: int(found.width) for found in connection.execute(_WIDTHS, names)}
    return TableStatistics(int(row.row_count), None if row.width is None else int(row.width), widths)


def _connected(connection: Any, _parameters: Mapping[str, str]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_SESSION)


def _connect_arguments(seconds: int, parameters: Mapping[str, str]) -> Mapping[str, object]:
    """python-oracledb's, which reads the protocol of the URL and the checks of its certificate."""
    arguments: dict[str, object] = {"tcp_connect_timeout": float(seconds)}
    if parameters.get("protocol") is not None:
        arguments["protocol"] = parameters["protocol"]
    checked = parameters.get("oracle.net.ssl_server_dn_match") or parameters.get("ssl_server_dn_match")
    if checked is not None:
        arguments["ssl_server_dn_match"] = checked.lower() in ("true", "yes", "on")
    return arguments


def _end_queries(connection: Connection, name: str) -> int:
    """Needs ALTER SYSTEM and the views of sessions and statements; Oracle 18 and later."""
    running = connection.execute(_RUNNING, {"mark": f"/* {name} */"}).all()
    for session, serial in running:
        with suppress(DBAPIError):  # it ended by itself
            connection.execute(sa.text(f"ALTER SYSTEM CANCEL SQL '{int(session)}, {int(serial)}'"))
    return len(running)


def _begin_reads(connection: Connection, _name: str) -> None:
    connection.execute(sa.text("SET TRANSACTION READ ONLY"))


def _distinct(a: str, b: str) -> str:
    return f"(DECODE({a}, {b}, 0, 1) = 1)"


ORACLE = Dialect(
    name="oracle",
    scheme="oracle",
    sqlalchemy_driver="oracle+oracledb",
    sqlglot="oracle",
    driver_class="oracle.jdbc.OracleDriver",
    driver_package="com.oracle.database.jdbc:ojdbc11:23.9.0.25.07",
    syntax=Syntax(
        types=_TYPES,
        double=lambda value: f"CAST({value!r} AS BINARY_DOUBLE)",
        # Columns with a time zone are read as their moment in UTC.
        instant=lambda value: f"TIMESTAMP '{value.astimezone(UTC).replace(tzinfo=None).isoformat(sep=' ')}'",
        limit="FETCH",
        truths=("1", "0"),
        conditions_are_values=False,
        like="",
        distinct=_distinct,
    ),
    semantics=Semantics(char_equality=True, empty_text=False, full_joins=True),
    map_type=_map_type,
    as_text="TO_CHAR({})",
    collations=_collations,
    statistics=_statistics,
    hidden_schemas=frozenset(
        {
            "sys",
            "system",
            "xdb",
            "mdsys",
            "ctxsys",
            "outln",
            "dbsnmp",
            "audsys",
            "lbacsys",
            "wmsys",
        }
    ),
    parse_url=oracle_url,
    connect_arguments=_connect_arguments,
    connected=_connected,
    spark_options={"sessionInitStatement": _SESSION},
    driver_failure=r"(?P<reason>ORA-\d+: .*)",
    read_isolation="READ COMMITTED",
    begin_reads=_begin_reads,
    end_queries=_end_queries,
)
