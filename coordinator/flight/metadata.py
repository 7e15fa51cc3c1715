"""Flight SQL's questions about catalogs, schemas and tables: statements over ``system.jdbc``, as the caller.

Their rows are those of a statement; only the schema in front of them is the one that Flight SQL prescribes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import assert_never

import pyarrow as pa

from coordinator.dispatch.arrow_types import client_field
from coordinator.flight.commands import (
    GetCatalogs,
    GetDbSchemas,
    GetForeignKeys,
    GetPrimaryKeys,
    GetSqlInfo,
    GetTables,
    GetTableTypes,
    GetXdbcTypeInfo,
    Metadata,
)
from coordinator.flight.messages import schema_bytes
from coordinator.flight.parameters import quoted
from coordinator.flight.sql_info import SQL_INFO

_NAMES = (pa.field("catalog_name", pa.string()), pa.field("db_schema_name", pa.string()))


def _required(name: str, arrow_type: pa.DataType | None = None) -> pa.Field:
    return pa.field(name, arrow_type or pa.string(), nullable=False)


CATALOGS = pa.schema([_required("catalog_name")])
SCHEMAS = pa.schema([_NAMES[0], _required("db_schema_name")])
TABLES = pa.schema([*_NAMES, _required("table_name"), _required("table_type")])
TABLES_WITH_SCHEMAS = TABLES.append(_required("table_schema", pa.binary()))
TABLE_TYPES = pa.schema([_required("table_type")])
PRIMARY_KEYS = pa.schema(
    [
        *_NAMES,
        _required("table_name"),
        _required("column_name"),
        pa.field("key_name", pa.string()),
        _required("key_sequence", pa.int32()),
    ]
)
"""Of no rows: tables here have no keys."""


def _side(prefix: str) -> list[pa.Field]:
    names = [pa.field(f"{prefix}_catalog_name", pa.string()), pa.field(f"{prefix}_db_schema_name", pa.string())]
    return [*names, _required(f"{prefix}_table_name"), _required(f"{prefix}_column_name")]


FOREIGN_KEYS = pa.schema(
    [
        *_side("pk"),
        *_side("fk"),
        _required("key_sequence", pa.int32()),
        pa.field("fk_key_name", pa.string()),
        pa.field("pk_key_name", pa.string()),
        _required("update_rule", pa.uint8()),
        _required("delete_rule", pa.uint8()),
    ]
)
_INT, _TEXT, _FLAG = pa.int32(), pa.string(), pa.bool_()
TYPE_INFO = pa.schema(
    [
        _required("type_name"),
        _required("data_type", _INT),
        pa.field("column_size", _INT),
        pa.field("literal_prefix", _TEXT),
        pa.field("literal_suffix", _TEXT),
        pa.field("create_params", pa.list_(_required("item"))),
        _required("nullable", _INT),
        _required("case_sensitive", _FLAG),
        _required("searchable", _INT),
        pa.field("unsigned_attribute", _FLAG),
        _required("fixed_prec_scale", _FLAG),
        pa.field("auto_increment", _FLAG),
        pa.field("local_type_name", _TEXT),
        pa.field("minimum_scale", _INT),
        pa.field("maximum_scale", _INT),
        _required("sql_data_type", _INT),
        pa.field("datetime_subcode", _INT),
        pa.field("num_prec_radix", _INT),
        pa.field("interval_precision", _INT),
    ]
)
_TYPE_INFO_SQL = """SELECT type_name, CAST(data_type AS integer), CAST(precision AS integer), literal_prefix,
 literal_suffix, CAST(NULL AS array(varchar)), CAST(nullable AS integer), case_sensitive, CAST(searchable AS integer),
 unsigned_attribute, fixed_prec_scale, auto_increment, local_type_name, CAST(minimum_scale AS integer),
 CAST(maximum_scale AS integer), CAST(data_type AS integer), CAST(NULL AS integer), CAST(num_prec_radix AS integer),
 CAST(NULL AS integer) FROM system.jdbc.types"""


def metadata_schema(asked: Metadata) -> pa.Schema:
    """The schema that Flight SQL prescribes."""
    match asked:
        case GetCatalogs():
            return CATALOGS
        case GetDbSchemas():
            return SCHEMAS
        case GetTables(include_schema=True):
            return TABLES_WITH_SCHEMAS
        case GetTables():
            return TABLES
        case GetTableTypes():
            return TABLE_TYPES
        case GetSqlInfo():
            return SQL_INFO
        case GetXdbcTypeInfo():
            return TYPE_INFO
        case GetPrimaryKeys():
            return PRIMARY_KEYS
        case GetForeignKeys():
            return FOREIGN_KEYS
        case _:
            assert_never(asked)


def metadata_sql(asked: Metadata) -> str | None:
    """The statement whose rows these are; None for what needs none."""
    match asked:
        case GetCatalogs():
            return "SELECT table_cat FROM system.jdbc.catalogs ORDER BY 1"
        case GetDbSchemas(catalog, pattern):
            where = _where(("table_catalog", catalog), like=(("table_schem", pattern),))
            return f"SELECT table_catalog, table_schem FROM system.jdbc.schemas{where} ORDER BY 1, 2"  # noqa: S608
        case GetTables():
            return _tables_sql(asked)
        case GetTableTypes():
            return "SELECT table_type FROM system.jdbc.table_types ORDER BY 1"
        case GetXdbcTypeInfo(data_type):
            only = "" if data_type is None else f" WHERE data_type = {data_type}"
            return f"{_TYPE_INFO_SQL}{only} ORDER BY data_type, type_name"
        case GetSqlInfo() | GetPrimaryKeys() | GetForeignKeys():
            return None
        case _:
            assert_never(asked)


def _tables_sql(asked: GetTables) -> str:
    names = (("table_schem", asked.schema_pattern), ("table_name", asked.table_pattern))
    where = _where(("table_cat", asked.catalog), like=names, types=asked.types)
    columns = "table_cat, table_schem, table_name, table_type"
    return f"SELECT {columns} FROM system.jdbc.tables{where} ORDER BY 1, 2, 3, 4"  # noqa: S608 - all literals quoted


def columns_sql(asked: GetTables) -> str:
    """The columns of the tables that ``metadata_sql`` finds, in the same order."""
    names = (("table_schem", asked.schema_pattern), ("table_name", asked.table_pattern))
    where = _where(("table_cat", asked.catalog), like=names)
    columns = "table_cat, table_schem, table_name, column_name, type_name"
    order = "ORDER BY table_cat, table_schem, table_name, ordinal_position"
    return f"SELECT {columns} FROM system.jdbc.columns{where} {order}"  # noqa: S608 - all literals quoted


def _where(
    exact: tuple[str, str | None], *, like: Sequence[tuple[str, str | None]] = (), types: Sequence[str] = ()
) -> str:
    name, value = exact
    parts = [] if value is None else [f"{name} = {quoted(value)}" if value else f"{name} IS NULL"]
    parts += [f"{n} LIKE {quoted(p)} ESCAPE '\\'" for n, p in like if p is not None]
    if types:
        parts.append(f"table_type IN ({', '.join(map(quoted, types))})")
    return f" WHERE {' AND '.join(parts)}" if parts else ""


def with_schemas(tables: pa.Table, columns: pa.Table) -> pa.RecordBatch:
    """Tables with a schema each, as Flight SQL wants it: bytes."""
    by_table = {
        key: list(rows)
        for key, rows in groupby(
            zip(*(column.to_pylist() for column in columns.itercolumns()), strict=True), key=lambda row: row[:3]
        )
    }
    names = zip(*(tables.column(i).to_pylist() for i in range(3)), strict=True)
    shown = [schema_bytes(_table_schema(by_table.get(key, ()))) for key in names]
    found = [column.combine_chunks() for column in tables.itercolumns()]
    return pa.RecordBatch.from_arrays([*found, pa.array(shown, pa.binary())], schema=TABLES_WITH_SCHEMAS)


def _table_schema(rows: Iterable[tuple[str, str, str, str, str]]) -> pa.Schema:
    return pa.schema([client_field(column, type_text) for *_, column, type_text in rows])
