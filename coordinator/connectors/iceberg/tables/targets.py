"""What a statement that changes rows names: a table, or a branch of it."""

from __future__ import annotations

from pyiceberg.table import Table

from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.metadata_tables.names import reference_name
from coordinator.connectors.iceberg.snapshots.time_travel import reference_of
from shared.errors import ErrorCode, ProcessionError


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


def path_of(table: Table, branch: str | None) -> tuple[str, ...]:
    """Its name below the schema, as Spark takes it."""
    name = table.name()[-1]
    return (name,) if branch is None else (name, f"branch_{branch}")


def spelled(table: Table | None, name: str) -> str:
    """``name`` as the catalog spells it: Spark's catalogs tell capitals apart, SQL does not."""
    own = name if table is None else table.name()[-1]
    return own if own.lower() == name.lower() else name
