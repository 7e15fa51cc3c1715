"""Changes of an Iceberg catalog: through PyIceberg in milliseconds, through Spark where PyIceberg cannot write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from typing import assert_never

from pyiceberg.exceptions import (
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NoSuchNamespaceError,
    NoSuchTableError,
    TableAlreadyExistsError,
    ValidationError,
)
from pyiceberg.partitioning import PartitionField
from pyiceberg.table import Table
from pyiceberg.table.update.schema import UpdateSchema
from pyiceberg.types import IcebergType

from coordinator.connectors.iceberg import locations
from coordinator.connectors.iceberg.catalog import UNFINISHED, TableCatalog
from coordinator.connectors.iceberg.failures import invalid_property, mapped, nul_in_name
from coordinator.connectors.iceberg.maintenance.shared_folders import refuse_held
from coordinator.connectors.iceberg.materialized.stored import STORAGE_PREFIX, is_storage_name
from coordinator.connectors.iceberg.spark_sql import quoted_path
from coordinator.connectors.iceberg.table_words import check_for_spark
from coordinator.connectors.iceberg.tables.added_columns import (
    new_partition_fields,
    partition_steps,
    stage_addition,
    stage_partition_fields,
)
from coordinator.connectors.iceberg.tables.creation import (
    NewTable,
    already_exists,
    check_location,
    check_name,
    create,
    made_by_server,
    needs_hiding,
    new_table,
)
from coordinator.connectors.iceberg.tables.purge import purge
from coordinator.connectors.iceberg.tables.replacing import check_creation
from coordinator.connectors.iceberg.tables.spark_ddl import ColumnStep, column_step, property_step
from coordinator.connectors.iceberg.tables.staged_truncation import stage_truncation
from coordinator.connectors.iceberg.tables.table_properties import UPDATABLE, canonical, changed
from coordinator.connectors.iceberg.tables.targets import path_of, session_target, spelled
from coordinator.connectors.iceberg.tables.unfinished import is_own_folder
from coordinator.connectors.iceberg.tables.variant_columns import add_statement, check_variants
from coordinator.connectors.iceberg.types import iceberg_type
from coordinator.connectors.iceberg.views.catalog_views import change_view, view_names, view_store
from coordinator.connectors.iceberg.views.metadata import view_schema
from shared.errors import ErrorCode, ProcessionError
from shared.spi.catalog_changes import (
    ColumnAddition,
    ColumnChange,
    ColumnRemoval,
    ColumnRename,
    CommentChange,
    OwnerChange,
    PlainChange,
    SchemaCreation,
    SchemaRemoval,
    SchemaRename,
    TableCreation,
    TablePropertiesChange,
    TableRemoval,
    TableRename,
    TableTruncation,
    ViewCreation,
    ViewRemoval,
    ViewRename,
)
from shared.spi.procedure import ProcedureContext


def validate(catalog: TableCatalog, change: PlainChange) -> None:
    """What can be refused from the change itself: types, transforms, properties. Raises ProcessionError."""
    _refuse_storage_name(change)
    match change:
        case TableCreation():
            check_location(change.properties.get("location"))
            check_creation(catalog, change)
        case SchemaCreation():
            _check_schema(catalog, change)
        case ColumnAddition():
            if not change.column.nullable:
                message = "This connector does not support ADD COLUMN with a not null constraint"
                raise ProcessionError(ErrorCode.NOT_SUPPORTED, message)
            new_partition_fields(change.column, _type_of(change.column.type))
        case ColumnChange(type=kind) if kind is not None:
            _type_of(kind)
        case TablePropertiesChange():
            _check_updatable(change)
        case TableRename():
            check_name(change.new_table)
        case SchemaRename():
            raise ProcessionError(ErrorCode.NOT_SUPPORTED, "This connector does not support renaming schemas")
        case ViewCreation():
            if view_store(catalog) is None:
                raise ProcessionError(ErrorCode.NOT_SUPPORTED, "This connector does not support creating views")
            check_name(change.view.name)
            view_schema(change.view)
        case ViewRename():
            check_name(change.new_view)
        case _:
            pass


def _refuse_storage_name(change: PlainChange) -> None:
    """Tables of such names are not listed, and no statement finds them."""
    match change:
        case TableCreation(table=name) | TableRename(new_table=name) | ViewRename(new_view=name):
            named = name
        case ViewCreation(view=view):
            named = view.name
        case _:
            return
    if is_storage_name(named):
        message = f"Names that begin with {STORAGE_PREFIX} are kept for materialized views: {named}"
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, message)


def apply(catalog: TableCatalog, change: PlainChange, context: ProcedureContext) -> None:
    """Carry out one change. Raises ProcessionError; nothing is left of a change that failed."""
    match change:
        case SchemaCreation() | SchemaRemoval() | SchemaRename():
            _change_schema(catalog, change, context)
        case TableCreation():
            _create_table(catalog, change, context)
        case TableRemoval():
            drop_table(catalog, change)
        case TableRename():
            _rename_table(catalog, change)
        case TableTruncation():
            _truncate(catalog, change, context)
        case TablePropertiesChange():
            _set_properties(catalog, change, context)
        case ColumnAddition() | ColumnRemoval() | ColumnRename() | ColumnChange() | CommentChange():
            _change_columns(catalog, change, context)
        case ViewCreation() | ViewRemoval() | ViewRename():
            change_view(catalog, change)
        case OwnerChange():
            if change.view is not None:
                change_view(catalog, change)
        case _:
            assert_never(change)


def _change_schema(
    catalog: TableCatalog, change: SchemaCreation | SchemaRemoval | SchemaRename, context: ProcedureContext
) -> None:
    name = f"{catalog.settings.catalog}.{change.schema}"
    namespace = tuple(change.schema.split("."))
    with mapped(name):
        match change:
            case SchemaCreation():
                _check_schema(catalog, change)
                try:
                    catalog.client().create_namespace(namespace, {k: str(v) for k, v in change.properties.items()})
                except NamespaceAlreadyExistsError as error:
                    if not change.if_not_exists:
                        message = f"Schema '{name}' already exists"
                        raise ProcessionError(ErrorCode.ALREADY_EXISTS, message) from error
            case SchemaRemoval():
                _drop_schema(catalog, change, namespace)
            case SchemaRename():
                validate(catalog, change)
    del context


def _check_schema(catalog: TableCatalog, change: SchemaCreation) -> None:
    if "\0" in change.schema:
        raise nul_in_name(change.schema)
    location = change.properties.get("location")
    if location is not None:
        locations.check_location(catalog.settings, str(location))
        refuse_held(catalog, str(location), lambda: None, "")


def _drop_schema(catalog: TableCatalog, change: SchemaRemoval, namespace: tuple[str, ...]) -> None:
    if change.cascade:
        _refuse_others(catalog, change.schema)
        for table in catalog.tables(change.schema):
            drop_table(catalog, TableRemoval(change.schema, table, if_exists=True))
        for view in view_names(catalog, change.schema):
            change_view(catalog, ViewRemoval(change.schema, view, if_exists=True))
    elif view_names(catalog, change.schema):  # PyIceberg counts tables only
        raise ProcessionError(ErrorCode.SCHEMA_NOT_EMPTY, f"Schema not empty: {change.schema}")
    try:
        catalog.client().drop_namespace(namespace)
    except NamespaceNotEmptyError as error:
        raise ProcessionError(ErrorCode.SCHEMA_NOT_EMPTY, f"Schema not empty: {change.schema}") from error
    except NoSuchNamespaceError as error:
        if not change.if_exists:
            raise ProcessionError(ErrorCode.NOT_FOUND, f"Schema {change.schema} not found") from error


def _refuse_others(catalog: TableCatalog, schema: str) -> None:
    """What Iceberg does not know is not dropped, and nothing else goes before that is told."""
    others = catalog.other_tables(schema) if catalog.schema_exists(schema) else []
    if others:
        names = ", ".join(others[:5]) + (", …" if len(others) > 5 else "")
        message = f"Schema not empty: {schema} has tables or views that are not Iceberg tables: {names}"
        raise ProcessionError(ErrorCode.SCHEMA_NOT_EMPTY, message)


def _create_table(catalog: TableCatalog, change: TableCreation, context: ProcedureContext) -> None:
    new = new_table(change)
    if needs_hiding(catalog) or not made_by_server(catalog.client(), new.version):
        _create_hidden(catalog, new, change, context)
        return
    try:
        create(catalog, new, change.schema, change.table, change.table)
    except ProcessionError as error:
        if error.code is not ErrorCode.ALREADY_EXISTS or not change.if_not_exists:
            raise
        return
    if new.version < 3:
        return
    try:
        upgrade(catalog, change.schema, change.table, new, context.workers.run_sql)
    except BaseException:
        made = catalog.load(change.schema, change.table)
        if made is not None and made.current_snapshot() is None:  # else somebody has written rows already
            drop_table(catalog, TableRemoval(change.schema, change.table, if_exists=True))
        raise


def _create_hidden(catalog: TableCatalog, new: NewTable, change: TableCreation, context: ProcedureContext) -> None:
    """The table gets its name once it is whole."""
    name = unfinished_name(context)
    if catalog.load(change.schema, change.table) is not None:
        if change.if_not_exists:
            return
        raise already_exists(catalog.settings.catalog, change.schema, change.table)
    try:
        _create_checked(catalog, new, change, name)
        upgrade(catalog, change.schema, name, new, context.workers.run_sql)
        appear(catalog, change.schema, name, change.table)
    except BaseException as error:
        remove_unfinished(catalog, change.schema, name)
        is_taken = isinstance(error, ProcessionError) and error.code is ErrorCode.ALREADY_EXISTS
        if not (is_taken and change.if_not_exists):
            raise


def _create_checked(catalog: TableCatalog, new: NewTable, change: TableCreation, name: str) -> None:
    try:
        create(catalog, new, change.schema, name, change.table)
    except ProcessionError as error:
        if error.code is ErrorCode.ICEBERG_MISSING_DATA:  # another coordinator may have removed what was just written
            catalog.unfinished.check(change.schema, name)
        raise


def unfinished_name(context: ProcedureContext) -> str:
    """The name under which the statement's table is until it is complete."""
    return f"{UNFINISHED}{context.session.query_id}"


def upgrade(catalog: TableCatalog, schema: str, name: str, new: NewTable, run: Callable[[str], object]) -> None:
    """Version 2 to 3, where the new table is to have it and has not yet, and the columns that only 3 has."""
    if new.version == 3 and catalog.open(schema, name).format_version < new.version:
        run(property_step(catalog.settings.catalog, schema, name, {"format-version": "3"}))
    if new.later:
        run(add_statement(catalog.settings.catalog, schema, name, new.later))


def appear(catalog: TableCatalog, schema: str, name: str, shown: str) -> None:
    """Give a complete table its own name; raises ALREADY_EXISTS when that is taken."""
    namespace = tuple(schema.split("."))
    with mapped(f"{schema}.{shown}"):
        catalog.unfinished.check(schema, name)
        try:
            catalog.client().rename_table((*namespace, name), (*namespace, shown))
        except TableAlreadyExistsError as error:
            raise already_exists(catalog.settings.catalog, schema, shown) from error
    catalog.unfinished.close(schema, name)


def remove_unfinished(catalog: TableCatalog, schema: str, name: str) -> bool:
    """Take a table that never appeared away, with all its files; False: it cannot go now, and is tried again later.

    Its folder is swept as well, and watched: files of a writer that was killed are in no metadata, and more may come.
    """
    removed = _remove_unfinished(catalog, schema, name)
    if not removed:
        catalog.late_files.again(lambda: _remove_unfinished(catalog, schema, name))
    return removed


def _remove_unfinished(catalog: TableCatalog, schema: str, name: str) -> bool:
    try:
        with mapped(f"{schema}.{name}"):
            table = catalog.load(schema, name)
            dropped = drop_table(catalog, TableRemoval(schema, name, if_exists=True))
            if table is not None and not dropped:
                return False  # it may have got its own name in between: whoever looks next sees whose the folder is
            if table is not None and is_own_folder(table.location()):
                catalog.late_files.remove(table.io, schema, name, table.location())
            else:
                catalog.unfinished.close(schema, name)
    except ProcessionError as error:
        return error.code is ErrorCode.ICEBERG_MISSING_DATA and _forget_taken_over(catalog, schema, name)
    return True


def _forget_taken_over(catalog: TableCatalog, schema: str, name: str) -> bool:
    """Take away the name of a table that was made after another coordinator had removed its files."""
    try:
        if catalog.unfinished.records.is_mine(catalog.unfinished.key(schema, name)):
            return False
        with mapped(f"{schema}.{name}"):
            catalog.client().drop_table((*schema.split("."), name))
    except ProcessionError:
        return False
    return True


def drop_table(catalog: TableCatalog, change: TableRemoval) -> bool:
    """With its files. False: there was none, which ``if_exists`` allows."""
    with mapped(f"{change.schema}.{change.table}"):
        table = catalog.load(change.schema, change.table)
        if table is None:
            if change.if_exists:
                return False
            raise NoSuchTableError(change.table)
        try:
            if table.properties.get("gc.enabled", "true").lower() == "false":
                catalog.client().drop_table(table.name())
            else:
                purge(catalog, change.schema, table)
        except NoSuchTableError:
            if not change.if_exists:
                raise
            return False
    return True


def _rename_table(catalog: TableCatalog, change: TableRename) -> None:
    old = (*change.schema.split("."), change.table)
    new = (*change.new_schema.split("."), change.new_table)
    with mapped(f"{change.schema}.{change.table}"):
        try:
            catalog.client().rename_table(old, new)
        except TableAlreadyExistsError as error:
            raise already_exists(catalog.settings.catalog, change.new_schema, change.new_table) from error
        except NoSuchNamespaceError as error:
            raise ProcessionError(ErrorCode.NOT_FOUND, f"Schema {change.new_schema} not found") from error


def _truncate(catalog: TableCatalog, change: TableTruncation, context: ProcedureContext) -> None:
    table, branch, audited = session_target(catalog, change.schema, change.table, context.session)
    if (table.current_snapshot() if branch is None else table.snapshot_by_name(branch)) is None:
        return
    if audited.wap_id is not None:
        stage_truncation(table, audited.wap_id, context.session.query_id)
        return
    check_for_spark(table)
    # Spark drops delete files along with the data; PyIceberg would keep them.
    context.workers.run_sql(
        f"TRUNCATE TABLE {quoted_path((context.catalog, *change.schema.split('.'), *path_of(table, branch)))}"
    )


def _check_updatable(change: TablePropertiesChange) -> None:
    given = canonical(change.properties)
    for name in given:
        if name not in UPDATABLE:
            raise invalid_property(f"Updating property {name} is not supported")
    changed(given)


def _set_properties(catalog: TableCatalog, change: TablePropertiesChange, context: ProcedureContext) -> None:
    _check_updatable(change)
    texts = changed(canonical(change.properties))
    table = catalog.open(change.schema, change.table)
    with mapped(f"{change.schema}.{change.table}"):
        if table.format_version > 2:
            check_for_spark(table)
            context.workers.run_sql(property_step(context.catalog, change.schema, spelled(table, change.table), texts))
            return
        with table.transaction() as transaction:
            transaction.set_properties(texts)


def _change_columns(catalog: TableCatalog, change: ColumnStep, context: ProcedureContext) -> None:
    table = catalog.open(change.schema, change.table)
    if table.format_version > 2:
        check_for_spark(table)
        change = replace(change, table=spelled(table, change.table))
        if isinstance(change, ColumnRemoval):
            _refuse_used(table, change.column)
        context.workers.run_sql(column_step(context.catalog, change))
        if isinstance(change, ColumnAddition):
            for statement in partition_steps(context.catalog, change, _fields_of(change)):
                context.workers.run_sql(statement)
        return
    with mapped(f"{change.schema}.{change.table}"):
        if isinstance(change, CommentChange) and change.column is None:
            _comment_table(table, change.comment)
            return
        try:
            with table.transaction() as transaction:
                with transaction.update_schema(case_sensitive=False) as update:
                    _stage(update, table, change)
                if isinstance(change, ColumnAddition):
                    stage_partition_fields(transaction, change.column, _fields_of(change))
        except (ValidationError, ValueError) as error:
            raise ProcessionError(ErrorCode.NOT_SUPPORTED, _error_text(error)) from error


def _fields_of(change: ColumnAddition) -> Sequence[PartitionField]:
    return new_partition_fields(change.column, _type_of(change.column.type))


def _comment_table(table: Table, comment: str | None) -> None:
    with table.transaction() as transaction:
        if comment is None:
            transaction.remove_properties("comment")
        else:
            transaction.set_properties(comment=comment)


def _stage(update: UpdateSchema, table: Table, change: ColumnStep) -> None:
    match change:
        case ColumnAddition(column=column):
            check_variants(column, _type_of(column.type), table.format_version)
            stage_addition(update, column, _type_of(column.type))
        case ColumnRemoval(column=name):
            _refuse_used(table, name)
            update.delete_column((name,))
        case ColumnRename(column=name, new_name=new):
            update.rename_column((name,), new)
        case ColumnChange(column=name, type=None, nullable=nullable):
            if nullable:
                update.make_column_optional((name,))
            else:
                update.update_column((name,), required=True)
        case ColumnChange(column=name, type=kind):
            assert kind is not None
            update.update_column((name,), field_type=_type_of(kind))
        case CommentChange(column=name, comment=comment):
            assert name is not None
            update.update_column((name,), doc=comment or "")
        case _:
            assert_never(change)


def _refuse_used(table: Table, name: str) -> None:
    """A column that old partition specs or the sort order need stays."""
    column = table.schema().find_field(name, case_sensitive=False)
    specs = [field for spec in table.specs().values() for field in spec.fields]
    if any(f.source_id == column.field_id and str(f.transform) != "void" for f in specs):
        message = "This connector does not support dropping columns which exist in any of the table's partition specs"
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, message)
    if any(f.source_id == column.field_id for f in table.sort_order().fields):
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, f"Column {name} is part of the table's sort order")


def _type_of(presto: str) -> IcebergType:
    numbers = count(1)
    return iceberg_type(presto, lambda: next(numbers))


def _error_text(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
