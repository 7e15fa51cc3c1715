"""MySQL 8 and MariaDB 10.6 and later. Schemas are databases; text is case-insensitive and padded unless its collation says otherwise."""  # noqa: E501

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import mysql
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.types import TypeEngine

from coordinator.connectors.jdbc.dialects.dialect import Collation, Dialect, MappedType, TableStatistics

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


def _text(column: str) -> str:
    return f"CAST({column} AS char)"


def _integer(kind: TypeEngine[Any], signed: str, unsigned: str) -> MappedType:
    return MappedType(unsigned if getattr(kind, "unsigned", False) else signed)


def _map_type(kind: TypeEngine[object]) -> MappedType | None:  # noqa: C901 - one case a type
    match kind:
        case mysql.TINYINT():
            if kind.display_width == 1 and not kind.unsigned:
                return MappedType("boolean")
            return _integer(kind, "tinyint", "smallint")
        case mysql.SMALLINT():
            return _integer(kind, "smallint", "integer")
        case mysql.BIGINT():
            return _integer(kind, "bigint", "decimal(20,0)")
        case mysql.MEDIUMINT():
            return MappedType("integer")
        case mysql.INTEGER():
            return _integer(kind, "integer", "bigint")
        case mysql.FLOAT():
            return MappedType("real")
        case mysql.DOUBLE():
            return MappedType("double")
        case mysql.DECIMAL():
            precision, scale = kind.precision or 10, kind.scale or 0
            return MappedType(f"decimal({precision},{scale})") if precision <= _MAX_PRECISION else None
        case mysql.DATE():
            return MappedType("date")
        case mysql.DATETIME():
            return MappedType("timestamp")
        case mysql.TIMESTAMP():
            return MappedType("timestamp with time zone")
        case mysql.JSON():
            return MappedType("json", _text)
        case mysql.ENUM() | mysql.SET():
            return MappedType("varchar", _text)
        case mysql.CHAR():
            return MappedType(f"char({kind.length or 1})")
        case mysql.VARCHAR():
            return MappedType("varchar" if kind.length is None else f"varchar({kind.length})")
        case mysql.TEXT() | mysql.TINYTEXT() | mysql.MEDIUMTEXT() | mysql.LONGTEXT():
            return MappedType("varchar")
        case sa.LargeBinary() | sa.types._Binary():
            return MappedType("varbinary")
        case _:
            return None


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


MYSQL = Dialect(
    name="mysql",
    scheme="mysql",
    sqlalchemy_driver="mysql+pymysql",
    sqlglot="mysql",
    driver_class="com.mysql.cj.jdbc.Driver",
    driver_package="com.mysql:mysql-connector-j:9.4.0",
    map_type=_map_type,
    as_text=_text,
    collations=_collations,
    statistics=_statistics,
    hidden_schemas=frozenset({"information_schema", "mysql", "performance_schema", "sys"}),
    quote_character="`",
    cast_names={
        "smallint": "signed",
        "integer": "signed",
        "bigint": "signed",
        "double": "double",
        "timestamp": "datetime(6)",
    },
    # CAST stops at the greatest value with no more than a warning; sums have 22 digits more than what they add.
    sums=lambda base, precision: base == "decimal" and precision <= _MAX_PRECISION - 22,
    driver_failure=r"(?:com\.mysql|org\.mariadb|java\.sql)\.[\w.]*Exception[:)] (?P<reason>.*)",
    begin_reads=_begin_reads,
    end_queries=_end_queries,
    connect_arguments=lambda seconds: {"connect_timeout": seconds, "init_command": "SET time_zone = '+00:00'"},
)
MARIADB = replace(
    MYSQL,
    name="mariadb",
    scheme="mariadb",
    sqlalchemy_driver="mariadb+pymysql",
    driver_class="org.mariadb.jdbc.Driver",
    driver_package="org.mariadb.jdbc:mariadb-java-client:3.5.6",
)
