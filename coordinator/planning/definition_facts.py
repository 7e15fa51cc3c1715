"""What is told of statements that define tables and views: which of them they make, change and drop."""

from __future__ import annotations

from collections.abc import Iterable

from coordinator.vocabulary.planned_statement import ChangeCatalog
from shared.spi import catalog_changes as changes
from shared.spi.connector import ViewMetadata
from shared.spi.event_listener import LifecycleChange, OutputColumn, QueryOutput


def defined(work: ChangeCatalog) -> QueryOutput | None:
    """The table or view; None for schemas, owners and grants, which are no data."""
    change = work.change
    match change:
        case changes.TableCreation():
            return _of(work, change.schema, change.table, "CREATE TABLE", "CREATE", _new_columns(change.columns))
        case changes.ViewCreation():
            return _of_view(work, change.view, "CREATE VIEW")
        case changes.MaterializedViewCreation():
            return _of_view(work, change.view, "CREATE MATERIALIZED VIEW")
        case changes.MaterializedViewChange():
            return _of(work, change.view.schema, change.view.name, "ALTER MATERIALIZED VIEW", "ALTER")
        case changes.TableRemoval():
            return _of(work, change.schema, change.table, "DROP TABLE", "DROP")
        case changes.ViewRemoval():
            return _of(work, change.schema, change.view, "DROP VIEW", "DROP")
        case changes.MaterializedViewRemoval():
            return _of(work, change.schema, change.view, "DROP MATERIALIZED VIEW", "DROP")
        case changes.TableTruncation():
            return _of(work, change.schema, change.table, "TRUNCATE TABLE", "TRUNCATE")
        case changes.TableRename():
            previous = f"{change.schema}.{change.table}"
            return _of(work, change.new_schema, change.new_table, "RENAME TABLE", "RENAME", previous=previous)
        case changes.ViewRename():
            previous = f"{change.schema}.{change.view}"
            return _of(work, change.new_schema, change.new_view, "RENAME VIEW", "RENAME", previous=previous)
        case (
            changes.ColumnAddition()
            | changes.ColumnRemoval()
            | changes.ColumnRename()
            | changes.ColumnChange()
            | changes.TablePropertiesChange()
            | changes.CommentChange()
        ):
            return _of(work, change.schema, change.table, "ALTER TABLE", "ALTER", _altered(work))
        case _:
            return None


def _altered(work: ChangeCatalog) -> tuple[OutputColumn, ...]:
    """The columns as they become; those of the change alone would be taken for all."""
    columns = list(work.columns)
    match work.change:
        case changes.ColumnAddition(column=added):
            columns.append((added.name, added.type))
        case changes.ColumnRemoval(column=removed):
            columns = [each for each in columns if each[0].lower() != removed.lower()]
        case changes.ColumnRename(column=old, new_name=new):
            columns = [(new if name.lower() == old.lower() else name, type_) for name, type_ in columns]
        case changes.ColumnChange(column=changed, type=str() as new_type):
            columns = [(name, new_type if name.lower() == changed.lower() else type_) for name, type_ in columns]
        case _:
            pass
    return tuple(OutputColumn(column_name=name, column_type=type_) for name, type_ in columns)


def _of(
    work: ChangeCatalog,
    schema: str,
    name: str,
    operation: str,
    lifecycle: LifecycleChange,
    columns: tuple[OutputColumn, ...] = (),
    previous: str | None = None,
) -> QueryOutput:
    return QueryOutput(
        catalog_name=work.catalog,
        schema=schema,
        table=name,
        operation=operation,
        columns=columns,
        created=lifecycle == "CREATE",
        lifecycle=lifecycle,
        previous_name=previous,
    )


def _of_view(work: ChangeCatalog, view: ViewMetadata, operation: str) -> QueryOutput:
    columns = tuple(OutputColumn(column_name=column.name, column_type=column.type) for column in view.columns)
    return _of(work, view.schema, view.name, operation, "CREATE", columns)


def _new_columns(columns: Iterable[changes.NewColumn]) -> tuple[OutputColumn, ...]:
    return tuple(OutputColumn(column_name=column.name, column_type=column.type) for column in columns)
