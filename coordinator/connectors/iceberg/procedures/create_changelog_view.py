"""``CALL catalog.system.create_changelog_view(schema, table_name, changelog_view, options, …)``"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from pyiceberg.table import Table

from coordinator.connectors.iceberg.procedures.arguments import TableArguments
from coordinator.connectors.iceberg.procedures.table_procedure import Call, Rows
from coordinator.connectors.iceberg.procedures.through_spark import call_spark, run_spark, spark_table
from coordinator.connectors.iceberg.spark_sql import quoted_name
from coordinator.connectors.iceberg.types import presto_type
from coordinator.connectors.iceberg.views.catalog_views import change_view, view_store
from shared.errors import ErrorCode
from shared.spi.catalog_changes import ViewCreation
from shared.spi.connector import ViewColumn, ViewMetadata
from shared.spi.procedure import ArgumentError, OutputColumn, ProcedureDeclaration, ProcedureKind
from shared.spi.procedure_arguments import Declared, declared_arguments

_OPTIONS = ("start-snapshot-id", "end-snapshot-id", "start-timestamp", "end-timestamp")
_ADDED = {"_change_type": "varchar", "_change_ordinal": "integer", "_commit_snapshot_id": "bigint"}
_ROWS = "_rows"
"""Ends the name of the table that holds what a view of changes shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments(TableArguments):
    """What the call says."""

    changelog_view: Annotated[
        str | None, Declared("varchar", "View of the same schema to make; default: <table_name>_changes.")
    ] = None
    options: Annotated[
        Mapping[str, str] | None, Declared("map(varchar,varchar)", f"Where to start and end: {', '.join(_OPTIONS)}.")
    ] = None
    net_changes: Annotated[bool, Declared("boolean", "Only the sum of all changes of a row.")] = False
    compute_updates: Annotated[
        bool | None, Declared("boolean", "Pairs of delete and insert as UPDATE_BEFORE and UPDATE_AFTER.")
    ] = None
    identifier_columns: Annotated[
        tuple[str, ...] | None, Declared("array(varchar)", "What makes rows the same; default: the identifier fields.")
    ] = None


DECLARATION = ProcedureDeclaration(
    name="create_changelog_view",
    kind=ProcedureKind.COORDINATOR,
    summary="Make a view of what changed in a table between two snapshots, row by row.",
    arguments=declared_arguments(Arguments),
    output=(OutputColumn("changelog_view", "varchar", "The view that was made or replaced."),),
    iceberg_order=("changelog_view", "options", "compute_updates", "identifier_columns", "net_changes"),
    example="CALL iceberg.system.create_changelog_view(table => 'sales.orders', "
    "options => map(array['start-snapshot-id'], array['8954597067493422955']))",
    notes="Iceberg's own procedure works the changes out in Spark. Where Spark has a view that lives as long as its "
    "session, this one stays and every client can read it: the changes as they were at the call are kept in a table, "
    "<changelog_view>_rows, and the next call replaces both. The view adds Iceberg's columns _change_type (INSERT, "
    "DELETE, UPDATE_BEFORE, UPDATE_AFTER), _change_ordinal and _commit_snapshot_id. In a catalog without views, the "
    "table alone is made under the name given, and these columns have no leading underscore.",
)


def answer(call: Call[Arguments]) -> Rows:
    """Raises ProcessionError for unknown options and snapshots, tables with row-level deletes, and taken names."""
    table = call.catalog.open(call.schema, call.table)
    options = dict(call.arguments.options or {})
    for name in options:
        if name not in _OPTIONS:
            raise ArgumentError("options", f"Cannot use options [{name}], they are not supported")
    target = call.arguments.changelog_view or f"{call.table}_changes"
    if target.lower() == call.table.lower() or "." in target:
        raise ArgumentError("changelog_view", f"Invalid name of a table for the changes: {target}")
    has_views = view_store(call.catalog) is not None
    if has_views and call.catalog.load(call.schema, target) is not None:
        message = f"Table already exists: {call.schema}.{target}"
        raise ArgumentError("changelog_view", message, ErrorCode.ALREADY_EXISTS)
    rows = f"{target}{_ROWS}" if has_views else target
    view = f"procession_{uuid.uuid4().hex}"
    given = {
        "changelog_view": view,
        "options": options or None,
        "net_changes": call.arguments.net_changes,
        "compute_updates": call.arguments.compute_updates,
        "identifier_columns": call.arguments.identifier_columns,
    }
    call_spark(call, "create_changelog_view", given)
    try:
        own = [quoted_name(field.name) for field in table.schema().fields]
        added = [f"{quoted_name(name)} AS {quoted_name(name[1:])}" for name in _ADDED]
        query = f"SELECT {', '.join([*own, *added])} FROM {quoted_name(view)}"  # noqa: S608  (all quoted)
        made = spark_table(call, call.schema, rows)
        run_spark(call, f"CREATE OR REPLACE TABLE {made} USING iceberg AS {query}", "write changes of")
    finally:
        run_spark(call, f"DROP VIEW IF EXISTS {quoted_name(view)}", "forget changes of")
    if has_views:
        change_view(call.catalog, ViewCreation(_view(call, table, target, rows), replace=True))
    return [(target,)]


def _view(call: Call[Arguments], table: Table, name: str, rows: str) -> ViewMetadata:
    """The rows with Iceberg's names for the columns that it adds, which no table may have."""
    catalog = call.catalog.settings.catalog
    fields = table.schema().fields
    own = [_quoted(field.name) for field in fields]
    added = [f"{_quoted(column[1:])} AS {_quoted(column)}" for column in _ADDED]
    source = ".".join(map(_quoted, (catalog, call.schema, rows)))
    columns = [ViewColumn(f.name, str(presto_type(f.field_type)), f.doc) for f in fields]
    columns += [ViewColumn(column, kind) for column, kind in _ADDED.items()]
    definition = f"SELECT {', '.join([*own, *added])} FROM {source}"  # noqa: S608  (all quoted)
    user = call.context.session.user
    comment = f"Changes of {call.schema}.{call.table}"
    return ViewMetadata(
        catalog, call.schema, name, definition, tuple(columns), catalog, call.schema, owner=user, comment=comment
    )


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
