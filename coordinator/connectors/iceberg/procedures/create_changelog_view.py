"""``CALL catalog.system.create_changelog_view(schema, table_name, changelog_view, options, …)``"""

from __future__ import annotations

import uuid

from coordinator.connectors.iceberg.procedures.table_procedure import TABLE_ARGUMENTS, Call, Rows
from coordinator.connectors.iceberg.procedures.through_spark import call_spark, run_spark, spark_table
from coordinator.connectors.iceberg.spark_sql import quoted_name
from shared.spi.procedure import Argument, ArgumentError, OutputColumn, ProcedureDeclaration, ProcedureKind

_OPTIONS = ("start-snapshot-id", "end-snapshot-id", "start-timestamp", "end-timestamp")
_ADDED = ("_change_type", "_change_ordinal", "_commit_snapshot_id")
DECLARATION = ProcedureDeclaration(
    name="create_changelog_view",
    kind=ProcedureKind.COORDINATOR,
    summary="Write down what changed in a table between two snapshots, row by row, as another table.",
    arguments=(
        *TABLE_ARGUMENTS,
        Argument("changelog_view", "varchar", "Table of the same schema to make; default: <table_name>_changes."),
        Argument("options", "map(varchar,varchar)", f"Where to start and end: {', '.join(_OPTIONS)}."),
        Argument("net_changes", "boolean", "Only the sum of all changes of a row.", default=False),
        Argument("compute_updates", "boolean", "Pairs of delete and insert as UPDATE_BEFORE and UPDATE_AFTER."),
        Argument("identifier_columns", "array(varchar)", "What makes rows the same; default: the identifier fields."),
    ),
    output=(OutputColumn("changelog_view", "varchar", "The table that was made or replaced."),),
    example="CALL iceberg.system.create_changelog_view(table => 'sales.orders', "
    "options => map(array['start-snapshot-id'], array['8954597067493422955']))",
    notes="Iceberg's own procedure works the changes out in Spark. Where Spark has a view that lives as long as its "
    "session, this is a table, replaced by the next call, so that every client can read it. Its columns change_type "
    "(INSERT, DELETE, UPDATE_BEFORE, UPDATE_AFTER), change_ordinal and commit_snapshot_id are Iceberg's without the "
    "leading underscore, which Iceberg keeps for itself.",
)


def answer(call: Call) -> Rows:
    """Raises ProcessionError for unknown options and snapshots, and for tables with row-level deletes."""
    table = call.catalog.open(call.schema, call.table)
    options = dict(call.arguments["options"] or {})
    for name in options:
        if name not in _OPTIONS:
            raise ArgumentError("options", f"Cannot use options [{name}], they are not supported")
    target = call.arguments["changelog_view"] or f"{call.table}_changes"
    if target.lower() == call.table.lower() or "." in target:
        raise ArgumentError("changelog_view", f"Invalid name of a table for the changes: {target}")
    view = f"procession_{uuid.uuid4().hex}"
    given = {
        "changelog_view": view,
        "options": options or None,
        "net_changes": call.arguments["net_changes"],
        "compute_updates": call.arguments["compute_updates"],
        "identifier_columns": call.arguments["identifier_columns"],
    }
    call_spark(call, "create_changelog_view", given)
    try:
        own = [quoted_name(field.name) for field in table.schema().fields]
        added = [f"{quoted_name(name)} AS {quoted_name(name[1:])}" for name in _ADDED]
        query = f"SELECT {', '.join([*own, *added])} FROM {quoted_name(view)}"  # noqa: S608  (all quoted)
        made = spark_table(call, call.schema, target)
        run_spark(call, f"CREATE OR REPLACE TABLE {made} USING iceberg AS {query}", "write changes of")
    finally:
        run_spark(call, f"DROP VIEW IF EXISTS {quoted_name(view)}", "forget changes of")
    return [(target,)]
