"""A table has a hidden name while it is made, gets its own once it is whole, and goes where that never happens."""

from __future__ import annotations

from collections.abc import Callable

from pyiceberg.exceptions import TableAlreadyExistsError

from coordinator.connectors.iceberg.catalog import UNFINISHED, TableCatalog
from coordinator.connectors.iceberg.failures import mapped
from coordinator.connectors.iceberg.snapshots.format_version import NEWEST, upgraded
from coordinator.connectors.iceberg.snapshots.metadata_changes import commit_change
from coordinator.connectors.iceberg.tables.creation import NewTable, already_exists
from coordinator.connectors.iceberg.tables.dropping import drop_table
from coordinator.connectors.iceberg.tables.unfinished import is_own_folder
from coordinator.connectors.iceberg.tables.variant_columns import add_statement
from shared.errors import ErrorCode, ProcessionError
from shared.spi.catalog_changes import TableRemoval
from shared.spi.procedure import ProcedureContext


def unfinished_name(context: ProcedureContext) -> str:
    """The name under which the statement's table is until it is complete."""
    return f"{UNFINISHED}{context.session.query_id}"


def upgrade(catalog: TableCatalog, schema: str, name: str, new: NewTable, run: Callable[[str], object]) -> None:
    """Version 2 to 3, where the new table is to have it and has not yet, and the columns that only 3 has."""
    if new.version == NEWEST:
        commit_change(catalog, schema, name, lambda table: upgraded(table, NEWEST))
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
