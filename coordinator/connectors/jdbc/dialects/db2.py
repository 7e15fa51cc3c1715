"""Db2 11.1 and later, on Linux, Unix and Windows. Source: its SQL reference (assignments and comparisons, aggregates).

Written after the manual and checked by a parser and golden SQL; no server runs in the tests. SQLAlchemy's dialect for
Db2 is a package of its own, whose types are told apart by their names here so that it is not needed to read this.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import date, datetime

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.types import TypeEngine

from coordinator.connectors.jdbc.dialects.dialect import Collation, Dialect, MappedType, Semantics, TableStatistics
from coordinator.connectors.jdbc.dialects.syntax import Syntax
from coordinator.connectors.jdbc.dialects.url import db2_url

_COLLATIONS = sa.text("""
SELECT colname AS name, collationname AS collation FROM syscat.columns
WHERE tabschema = :schema AND tabname = :table AND collationname IS NOT NULL
""")
_STATISTICS = sa.text("SELECT card AS row_count FROM syscat.tables WHERE tabschema = :schema AND tabname = :table")
_WIDTHS = sa.text("""
SELECT colname AS name, avgcollen AS width FROM syscat.columns
WHERE tabschema = :schema AND tabname = :table AND avgcollen > 0
""")
_RUNNING = sa.text("""
SELECT application_handle, uow_id, activity_id FROM TABLE(MON_GET_ACTIVITY(NULL, -2))
WHERE LOCATE(:mark, stmt_text) > 0 AND application_handle <> MON_GET_APPLICATION_HANDLE()
""")
_TYPES = {
    "smallint": "SMALLINT",
    "integer": "INTEGER",
    "bigint": "BIGINT",
    "real": "REAL",
    "double": "DOUBLE",
    "decimal": "DECIMAL",
    "date": "DATE",
    "timestamp": "TIMESTAMP(6)",
}
_SIMPLE = {
    "BOOLEAN": "boolean",
    "SMALLINT": "smallint",
    "INTEGER": "integer",
    "BIGINT": "bigint",
    "REAL": "real",
    "FLOAT": "double",
    "DOUBLE": "double",
    "DOUBLE_PRECISION": "double",
    "DATE": "date",
    "CLOB": "varchar",
    "DBCLOB": "varchar",
    "text": "varchar",
    "LONGVARCHAR": "varchar",
    "LONGVARGRAPHIC": "varchar",
    "BLOB": "varbinary",
    "BINARY": "varbinary",
    "VARBINARY": "varbinary",
}


def _map_type(type_: TypeEngine[object]) -> MappedType | None:
    name, length = str(type_.__visit_name__), getattr(type_, "length", None)
    match name:
        case "DECIMAL" | "NUMERIC" | "numeric":
            precision, scale = getattr(type_, "precision", None), getattr(type_, "scale", None)
            return None if precision is None else MappedType(f"decimal({precision},{scale or 0})")
        case "CHAR" | "GRAPHIC":
            return MappedType(f"char({length or 1})")
        case "VARCHAR" | "VARGRAPHIC" | "unicode" | "string":
            return MappedType("varchar" if length is None else f"varchar({length})")
        case "TIMESTAMP" | "DATETIME":
            return MappedType("timestamp", "CAST({} AS TIMESTAMP(6))")
        case "TIME":
            return MappedType("time", "CHAR({}, JIS)")
        case _ if name in _SIMPLE:
            return MappedType(_SIMPLE[name])
        case _:
            return None


def _collations(connection: Connection, schema: str, table: str) -> Mapping[str, Collation]:
    """Shorter text is padded with spaces before it is compared: no text compares as Presto's."""
    rows = connection.execute(_COLLATIONS, {"schema": schema, "table": table})
    return {row.name: Collation(str(row.collation), deterministic=False, binary=False, pads=True) for row in rows}


def _statistics(connection: Connection, schema: str, table: str) -> TableStatistics:
    names = {"schema": schema, "table": table}
    rows = connection.execute(_STATISTICS, names).scalar()
    if rows is None or int(rows) < 0:
        return TableStatistics()
    widths = {found.name: int(found.width) for found in connection.execute(_WIDTHS, names)}
    return TableStatistics(int(rows), sum(widths.values()) or None, widths)


def _end_queries(connection: Connection, name: str) -> int:
    """Needs EXECUTE on MON_GET_ACTIVITY and WLM_CANCEL_ACTIVITY."""
    running = connection.execute(_RUNNING, {"mark": f"/* {name} */"}).all()
    for activity in running:
        handle, unit, number = (int(value) for value in activity)
        with suppress(DBAPIError):  # it ended by itself
            connection.execute(sa.text(f"CALL SYSPROC.WLM_CANCEL_ACTIVITY({handle}, {unit}, {number})"))
    return len(running)


def _date(value: date) -> str:
    return f"CAST('{value.isoformat()}' AS DATE)"


def _timestamp(value: datetime) -> str:
    return f"CAST('{value.isoformat(sep=' ')}' AS TIMESTAMP(6))"


DB2 = Dialect(
    name="db2",
    scheme="db2",
    sqlalchemy_driver="db2+ibm_db",
    sqlglot="",
    driver_class="com.ibm.db2.jcc.DB2Driver",
    driver_package="com.ibm.db2:jcc:12.1.2.0",
    syntax=Syntax(
        types=_TYPES,
        double=lambda value: f"CAST({value!r} AS DOUBLE)",
        date=_date,
        timestamp=_timestamp,
        limit="FETCH",
        nulls_first_and_last=False,
        conditions_are_values=False,
        like=None,
        distinct=lambda a, b: f"({a} IS DISTINCT FROM {b})",
        count="count_big",
        sum_argument=lambda sql, _base: f"CAST({sql} AS BIGINT)",
    ),
    semantics=Semantics(
        # Small integers are added as integers there.
        arithmetic=frozenset({"integer", "bigint"}),
        # A sum of decimals has no more digits before the point than what it adds.
        sums=lambda base, _precision: base != "decimal",
        full_joins=True,
    ),
    map_type=_map_type,
    as_text="VARCHAR({})",
    collations=_collations,
    statistics=_statistics,
    hidden_schemas=frozenset(
        {"sysibm", "syscat", "sysstat", "sysfun", "sysproc", "sysibmadm", "sysibminternal", "sysibmts", "systools"}
    ),
    parse_url=db2_url,
    driver_failure=r"com\.ibm\.db2\.jcc\.\w[\w.]*Exception: (?P<reason>.*)",
    read_isolation=None,
    end_queries=_end_queries,
)
