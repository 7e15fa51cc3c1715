"""``system.jdbc``: what presto-jdbc's DatabaseMetaData asks, and with it DBeaver, Metabase and others.

Source of names, types and values: Presto 0.296, ``connector.system.jdbc``, and recorded answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from coordinator.connectors.system.column_sizes import jdbc_sizes
from coordinator.connectors.system.jdbc_types import type_rows
from coordinator.connectors.system.listing import ListedCatalogs, Listing, Names
from coordinator.connectors.system.registered import PROCEDURE_SCHEMA
from coordinator.connectors.system.virtual_table import Described, VirtualTable, typed, varchars
from coordinator.connectors.system.wanted import Wanted
from shared.spi.procedure import Procedure

SCHEMA = "jdbc"
ProceduresOf = Callable[[], Sequence[tuple[str, Procedure]]]
"""Every procedure with its catalog."""
_NAMES = Names("table_cat", "table_schem", "table_name")
_SCHEMAS = Names("table_catalog", "table_schem", "")
_NULLABLE, _NOT_NULLABLE = 1, 0
_RETURNS_RESULT, _COLUMN_IN, _COLUMN_RESULT = 2, 1, 3
_TYPES = {"BASE TABLE": "TABLE", "VIEW": "VIEW"}

_COLUMNS = typed(
    "table_cat, table_schem, table_name, column_name, data_type bigint, type_name, column_size bigint, "
    "buffer_length bigint, decimal_digits bigint, num_prec_radix bigint, nullable bigint, remarks, column_def, "
    "sql_data_type bigint, sql_datetime_sub bigint, char_octet_length bigint, ordinal_position bigint, is_nullable, "
    "scope_catalog, scope_schema, scope_table, source_data_type bigint, is_autoincrement, is_generatedcolumn"
)
_TABLES = varchars(
    "table_cat table_schem table_name table_type remarks type_cat type_schem type_name self_referencing_col_name "
    "ref_generation"
)
_TYPE_INFO = typed(
    "type_name, data_type bigint, precision bigint, literal_prefix, literal_suffix, create_params, nullable bigint, "
    "case_sensitive boolean, searchable bigint, unsigned_attribute boolean, fixed_prec_scale boolean, "
    "auto_increment boolean, local_type_name, minimum_scale bigint, maximum_scale bigint, sql_data_type bigint, "
    "sql_datetime_sub bigint, num_prec_radix bigint"
)
_PROCEDURES = typed("procedure_cat, procedure_schem, procedure_name, remarks, procedure_type bigint, specific_name")
_PROCEDURE_COLUMNS = typed(
    "procedure_cat, procedure_schem, procedure_name, column_name, column_type bigint, data_type bigint, type_name, "
    "precision bigint, length bigint, scale bigint, radix bigint, nullable bigint, remarks, column_def, "
    "sql_data_type bigint, sql_datetime_sub bigint, char_octet_length bigint, ordinal_position bigint, is_nullable, "
    "specific_name"
)
_EMPTY = {
    "attributes": typed(
        "type_cat, type_schem, type_name, attr_name, data_type bigint, attr_type_name, attr_size bigint, "
        "decimal_digits bigint, num_prec_radix bigint, nullable bigint, remarks, attr_def, sql_data_type bigint, "
        "sql_datetime_sub bigint, char_octet_length bigint, ordinal_position bigint, is_nullable, scope_catalog, "
        "scope_schema, scope_table, source_data_type bigint"
    ),
    "pseudo_columns": typed(
        "table_cat, table_schem, table_name, column_name, data_type bigint, column_size bigint, "
        "decimal_digits bigint, num_prec_radix bigint, column_usage, remarks, char_octet_length bigint, is_nullable"
    ),
    "super_tables": varchars("table_cat table_schem table_name supertable_name"),
    "super_types": varchars("type_cat type_schem type_name supertype_cat supertype_schem supertype_name"),
    "udts": typed("type_cat, type_schem, type_name, class_name, data_type bigint, remarks, base_type bigint"),
}


def jdbc_tables(catalogs: ListedCatalogs, procedures: ProceduresOf) -> tuple[VirtualTable, ...]:
    """The tables of ``system.jdbc``."""
    listing = Listing(catalogs)
    made: tuple[Described, ...] = (
        ("catalogs", varchars("table_cat"), lambda w: ((name,) for name in listing.catalog_names(w, "table_cat"))),
        ("schemas", varchars("table_schem table_catalog"), partial(_schemas, listing)),
        ("tables", _TABLES, partial(_tables, listing)),
        ("columns", _COLUMNS, partial(_columns, listing)),
        ("table_types", varchars("table_type"), lambda _w: (("TABLE",), ("VIEW",))),
        ("types", _TYPE_INFO, lambda _w: type_rows()),
        ("procedures", _PROCEDURES, partial(_procedures, procedures)),
        ("procedure_columns", _PROCEDURE_COLUMNS, partial(_procedure_columns, procedures)),
        *((name, columns, _nothing) for name, columns in _EMPTY.items()),
    )
    return tuple(VirtualTable(SCHEMA, name, columns, rows) for name, columns, rows in made)


def _nothing(_wanted: Wanted) -> Iterable[Sequence[object]]:
    return ()


def _schemas(listing: Listing, wanted: Wanted) -> Iterator[Sequence[object]]:
    for catalog, schema in listing.schemas(wanted, _SCHEMAS):
        yield schema, catalog


def _tables(listing: Listing, wanted: Wanted) -> Iterator[Sequence[object]]:
    for catalog, schema, name, kind in listing.relations(wanted, _NAMES):
        if wanted.accepts("table_type", _TYPES[kind]):
            yield catalog, schema, name, _TYPES[kind], *(None,) * 6


def _columns(listing: Listing, wanted: Wanted) -> Iterator[Sequence[object]]:
    for table in listing.described(wanted, _NAMES):
        for position, column in enumerate(listing.catalogs.shown_columns(table), start=1):
            if not wanted.accepts("column_name", column.name):
                continue
            sizes = jdbc_sizes(column.type)
            yield (
                table.catalog,
                table.schema,
                table.name,
                column.name,
                sizes.data_type,
                column.type,
                sizes.column_size,
                0,
                sizes.decimal_digits,
                sizes.radix,
                _NULLABLE if column.nullable else _NOT_NULLABLE,
                column.comment,
                *(None,) * 3,
                sizes.char_octet_length,
                position,
                "YES" if column.nullable else "NO",
                *(None,) * 6,
            )


def _procedures(procedures: ProceduresOf, wanted: Wanted) -> Iterator[Sequence[object]]:
    for catalog, procedure in procedures():
        declared = procedure.declaration
        if wanted.accepts("procedure_cat", catalog) and wanted.accepts("procedure_name", declared.name):
            yield catalog, PROCEDURE_SCHEMA, declared.name, declared.summary, _RETURNS_RESULT, declared.name


def _procedure_columns(procedures: ProceduresOf, wanted: Wanted) -> Iterator[Sequence[object]]:
    for catalog, procedure in procedures():
        declared = procedure.declaration
        if not (wanted.accepts("procedure_cat", catalog) and wanted.accepts("procedure_name", declared.name)):
            continue
        taken = [(a.name, a.type, a.doc, _COLUMN_IN, not a.required) for a in declared.arguments]
        given = [(c.name, c.type, c.doc, _COLUMN_RESULT, True) for c in declared.output]
        for columns in (taken, given):
            for position, (name, type_, doc, usage, nullable) in enumerate(columns, start=1):
                sizes = jdbc_sizes(type_)
                yield (
                    catalog,
                    PROCEDURE_SCHEMA,
                    declared.name,
                    name,
                    usage,
                    sizes.data_type,
                    type_,
                    sizes.column_size,
                    sizes.char_octet_length,
                    sizes.decimal_digits,
                    sizes.radix,
                    _NULLABLE if nullable else _NOT_NULLABLE,
                    doc,
                    *(None,) * 3,
                    sizes.char_octet_length,
                    position,
                    "YES" if nullable else "NO",
                    declared.name,
                )
