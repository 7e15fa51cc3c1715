"""Changes of an Iceberg catalog: through PyIceberg in milliseconds, through Spark where PyIceberg cannot write."""

from __future__ import annotations

from typing import assert_never

from pyiceberg.exceptions import (
    NoSuchNamespaceError,
    TableAlreadyExistsError,
)

from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.failures import invalid_property, mapped
from coordinator.connectors.iceberg.materialized.stored import STORAGE_PREFIX, is_storage_name
from coordinator.connectors.iceberg.snapshots.metadata_changes import commit_change
from coordinator.connectors.iceberg.spark_sql import quoted_path
from coordinator.connectors.iceberg.spark_types import times_of, unknown_to_spark
from coordinator.connectors.iceberg.table_words import check_for_spark
from coordinator.connectors.iceberg.tables.added_columns import new_partition_fields
from coordinator.connectors.iceberg.tables.column_changes import change_columns, type_of
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
from coordinator.connectors.iceberg.tables.dropping import drop_table
from coordinator.connectors.iceberg.tables.hidden_tables import appear, remove_unfinished, unfinished_name, upgrade
from coordinator.connectors.iceberg.tables.layout_changes import LAYOUT, changed_table
from coordinator.connectors.iceberg.tables.replacing import check_creation
from coordinator.connectors.iceberg.tables.schema_changes import change_schema, check_schema, renaming_refused
from coordinator.connectors.iceberg.tables.table_properties import UPDATABLE, canonical, changed, format_version
from coordinator.connectors.iceberg.tables.targets import path_of, session_target
from coordinator.connectors.iceberg.tables.truncation import is_large, truncate
from coordinator.connectors.iceberg.views.catalog_views import change_view, view_store
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
            check_schema(catalog, change)
        case ColumnAddition():
            if not change.column.nullable:
                message = "This connector does not support ADD COLUMN with a not null constraint"
                raise ProcessionError(ErrorCode.NOT_SUPPORTED, message)
            new_partition_fields(change.column, type_of(change.column.type))
        case ColumnChange(type=kind) if kind is not None:
            type_of(kind)
        case TablePropertiesChange():
            _check_updatable(change)
        case TableRename():
            check_name(change.new_table)
        case SchemaRename():
            raise renaming_refused()
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
            change_schema(catalog, change)
        case TableCreation():
            _create_table(catalog, change, context)
        case TableRemoval():
            drop_table(catalog, change)
        case TableRename():
            _rename_table(catalog, change)
        case TableTruncation():
            _truncate(catalog, change, context)
        case TablePropertiesChange():
            _set_properties(catalog, change)
        case ColumnAddition() | ColumnRemoval() | ColumnRename() | ColumnChange() | CommentChange():
            change_columns(catalog, change, context)
        case ViewCreation() | ViewRemoval() | ViewRename():
            change_view(catalog, change)
        case OwnerChange():
            if change.view is not None:
                change_view(catalog, change)
        case _:
            assert_never(change)


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
    head = table.current_snapshot() if branch is None else table.snapshot_by_name(branch)
    if head is None:
        return
    if audited.wap_id is not None or not is_large(head) or times_of(table) or unknown_to_spark(table):
        truncate(catalog, table, branch, audited.wap_id, context.session.query_id)
        return
    check_for_spark(table)
    # Spark drops delete files along with the data; PyIceberg would keep them.
    context.workers.run_sql(
        f"TRUNCATE TABLE {quoted_path((context.catalog, *change.schema.split('.'), *path_of(table, branch)))}"
    )


def _check_updatable(change: TablePropertiesChange) -> None:
    given = canonical(change.properties)
    for name in given:
        if name not in UPDATABLE | LAYOUT:
            raise invalid_property(f"Updating property {name} is not supported")
    changed({name: value for name, value in given.items() if name in UPDATABLE})
    format_version(given)


def _set_properties(catalog: TableCatalog, change: TablePropertiesChange) -> None:
    _check_updatable(change)
    given = canonical(change.properties)
    commit_change(catalog, change.schema, change.table, lambda table: changed_table(table, given))
