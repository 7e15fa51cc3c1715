"""What a statement that changes rows names: a table, or a branch of it."""

from __future__ import annotations

from pyiceberg.table import Table

from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.metadata_tables.names import reference_name
from coordinator.connectors.iceberg.snapshots.time_travel import reference_of
from coordinator.connectors.iceberg.tables.write_audit import Audited, audited, branch_to_write
from shared.errors import ErrorCode, ProcessionError
from shared.spi.session import Session


def target_of(catalog: TableCatalog, schema: str, name: str) -> tuple[Table, str | None]:
    """The table, and its branch by the branch's own spelling; raises ProcessionError NOT_FOUND, NOT_SUPPORTED for a
    tag."""
    reference = reference_name(name)
    if reference is None:
        return catalog.open(schema, name), None
    table = catalog.open(schema, reference.table)
    if reference.kind == "tag":
        message = f"Cannot write to tag {reference.name} of table {schema}.{reference.table}: tags do not change"
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, message)
    return table, reference_of(table, reference.kind, reference.name)


def session_target(
    catalog: TableCatalog, schema: str, name: str, session: Session
) -> tuple[Table, str | None, Audited]:
    """As ``target_of``; the branch is the session's where the name says none. Raises ProcessionError."""
    table, branch = target_of(catalog, schema, name)
    if branch is not None:
        return table, branch, Audited()
    where = audited(catalog.settings.catalog, session, table)
    if where.branch is None:
        return table, None, where
    found = branch_to_write(catalog, schema, table, where.branch)
    return catalog.open(schema, table.name()[-1]), found, where


def path_of(table: Table, branch: str | None) -> tuple[str, ...]:
    """Its name below the schema, as Spark takes it."""
    name = table.name()[-1]
    return (name,) if branch is None else (name, f"branch_{branch}")


def spelled(table: Table | None, name: str) -> str:
    """``name`` as the catalog spells it: Spark's catalogs tell capitals apart, SQL does not."""
    own = name if table is None else table.name()[-1]
    return own if own.lower() == name.lower() else name
