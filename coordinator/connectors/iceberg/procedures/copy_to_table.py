"""``CALL catalog.system.copy_to_table(schema, table_name, new_table, as_of_instant, columns, save_mode)``"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from coordinator.connectors.iceberg.instants import parse_instant
from coordinator.connectors.iceberg.numbers import whole_number
from coordinator.connectors.iceberg.procedures.arguments import TableArguments
from coordinator.connectors.iceberg.procedures.table_procedure import Call, Rows
from coordinator.connectors.iceberg.procedures.through_spark import run_spark, spark_table
from coordinator.connectors.iceberg.snapshots.changes import count
from coordinator.connectors.iceberg.snapshots.references import history
from coordinator.connectors.iceberg.spark_sql import quoted_name
from shared.errors import ErrorCode
from shared.spi.procedure import ArgumentError, OutputColumn, ProcedureDeclaration, ProcedureKind
from shared.spi.procedure_arguments import Declared, declared_arguments

_MODES = {
    "errorifexists": "CREATE TABLE {table} USING iceberg AS {query}",
    "overwrite": "CREATE OR REPLACE TABLE {table} USING iceberg AS {query}",
    "append": "INSERT INTO {table} BY NAME {query}",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments(TableArguments):
    """What the call says."""

    new_table: Annotated[str, Declared("varchar", "The new table: its name, or schema.table in the same catalog.")]
    as_of_instant: Annotated[
        str | None, Declared("varchar", "Snapshot id, branch, tag or time; default: as it is now.")
    ] = None
    columns: Annotated[tuple[str, ...] | None, Declared("array(varchar)", "Columns to copy; default: all.")] = None
    save_mode: Annotated[str, Declared("varchar", "errorifexists, overwrite or append.")] = "errorifexists"


DECLARATION = ProcedureDeclaration(
    name="copy_to_table",
    kind=ProcedureKind.COORDINATOR,
    distributed=True,
    summary="Copy the rows of a table, as it is or was, into another one.",
    arguments=declared_arguments(Arguments),
    output=(
        OutputColumn("new_table", "varchar", "The table that has the rows now."),
        OutputColumn("source_snapshot_id", "bigint", "The snapshot that was copied."),
        OutputColumn("copied_records_count", "bigint", "Rows that were written."),
    ),
    example="CALL iceberg.system.copy_to_table(table => 'sales.orders', new_table => 'orders_2025', "
    "as_of_instant => 'end-of-2025')",
    notes="Spark copies. The new table is not partitioned; make it first and append to choose its layout. "
    "Appended rows go by the names of their columns.",
)


def answer(call: Call[Arguments]) -> Rows:
    """Raises ProcessionError for an unknown instant, column or mode, and when the new table exists already."""
    table = call.catalog.open(call.schema, call.table)
    snapshot = _snapshot(call, table)
    schema, name = _target(call)
    mode = call.arguments.save_mode.lower()
    if mode not in _MODES:
        message = f"Invalid save_mode: {call.arguments.save_mode}. Valid values are {', '.join(_MODES)}."
        raise ArgumentError("save_mode", message)
    if mode == "errorifexists" and call.catalog.load(schema, name) is not None:
        raise ArgumentError("new_table", f"Table {schema}.{name} already exists", ErrorCode.ALREADY_EXISTS)
    chosen = _columns(call, table, snapshot)
    if mode == "append":
        _check_columns(call, schema, name, chosen)
    source = spark_table(call)
    if call.arguments.as_of_instant is not None or table.schema().schema_id == snapshot.schema_id:
        source += f" VERSION AS OF {snapshot.snapshot_id:d}"
    query = f"SELECT {', '.join(map(quoted_name, chosen))} FROM {source}"  # noqa: S608
    run_spark(call, _MODES[mode].format(table=spark_table(call, schema, name), query=query), "copy")
    current = call.catalog.open(schema, name).current_snapshot()
    return [(f"{schema}.{name}", snapshot.snapshot_id, 0 if current is None else count(current, "added-records"))]


def _target(call: Call[Arguments]) -> tuple[str, str]:
    parts = call.arguments.new_table.split(".")
    if len(parts) > 2 or not all(parts):
        raise ArgumentError("new_table", f"Invalid table name: {call.arguments.new_table}")
    schema, name = parts if len(parts) == 2 else (call.schema, parts[0])
    if (schema, name) == (call.schema, call.table):
        raise ArgumentError("new_table", "A table cannot be copied to itself")
    return schema, name


def _snapshot(call: Call[Arguments], table: Table) -> Snapshot:
    text = call.arguments.as_of_instant
    found = table.current_snapshot() if text is None else _at(call, table, text)
    if found is None:
        argument = "table_name" if text is None else "as_of_instant"
        raise ArgumentError(argument, "The table has no snapshot" if text is None else f"Nothing was there at {text}")
    return found


def _at(call: Call[Arguments], table: Table, text: str) -> Snapshot | None:
    if text in table.refs():
        return table.snapshot_by_name(text)
    if (number := whole_number(text)) is not None and (found := table.snapshot_by_id(number)) is not None:
        return found
    instant = parse_instant(text, call.context.session.time_zone)
    older = [s for s in history(table) if instant is not None and s.timestamp_ms <= instant]
    return max(older, key=lambda s: s.timestamp_ms) if older else None


def _check_columns(call: Call[Arguments], schema: str, name: str, columns: Sequence[str]) -> None:
    """Rows are appended by the names of their columns, which the other table must have."""
    other = call.catalog.load(schema, name)
    if other is None:
        raise ArgumentError("new_table", f"Table {schema}.{name} does not exist", ErrorCode.NOT_FOUND)
    known = {field.name.lower() for field in other.schema().fields}
    if missing := [column for column in columns if column.lower() not in known]:
        message = f"Table {schema}.{name} has no column '{missing[0]}'"
        raise ArgumentError("new_table", message, ErrorCode.COLUMN_NOT_FOUND)


def _schema(call: Call[Arguments], table: Table, snapshot: Snapshot) -> Schema:
    """Columns as the snapshot has them, or as they are now: they may have been renamed, added or dropped since.

    Spark reads a snapshot by its own schema, and the newest one of a table by that of today.
    """
    known = -1 if snapshot.schema_id is None else snapshot.schema_id
    return table.schema() if call.arguments.as_of_instant is None else table.schemas().get(known, table.schema())


def _columns(call: Call[Arguments], table: Table, snapshot: Snapshot) -> list[str]:
    chosen = call.arguments.columns
    names = {field.name.lower(): field.name for field in _schema(call, table, snapshot).fields}
    if chosen is None:
        return list(names.values())
    for name in chosen:
        if name.lower() not in names:
            raise ArgumentError("columns", f"Column '{name}' cannot be resolved", ErrorCode.COLUMN_NOT_FOUND)
    if not chosen:
        raise ArgumentError("columns", "No column is chosen")
    return [names[name.lower()] for name in chosen]
