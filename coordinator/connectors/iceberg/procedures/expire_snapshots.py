"""``CALL catalog.system.expire_snapshots(schema, table_name, …)``, answered by Iceberg's own procedure in Spark."""

from __future__ import annotations

from coordinator.connectors.iceberg.procedures.table_procedure import TABLE_ARGUMENTS, Call, Rows
from coordinator.connectors.iceberg.procedures.through_spark import call_spark, moment
from shared.spi.procedure import Argument, ArgumentError, OutputColumn, ProcedureDeclaration, ProcedureKind

_COUNTS = (
    ("deleted_data_files_count", "Data files deleted."),
    ("deleted_position_delete_files_count", "Position delete files deleted."),
    ("deleted_equality_delete_files_count", "Equality delete files deleted."),
    ("deleted_manifest_files_count", "Manifests deleted."),
    ("deleted_manifest_lists_count", "Manifest lists deleted."),
    ("deleted_statistics_files_count", "Statistics files deleted."),
)
_PASSED_ON = ("retain_last", "max_concurrent_deletes", "stream_results", "snapshot_ids", "clean_expired_metadata")

DECLARATION = ProcedureDeclaration(
    name="expire_snapshots",
    kind=ProcedureKind.COORDINATOR,
    summary="Forget old snapshots and delete the files that only they need.",
    arguments=(
        *TABLE_ARGUMENTS,
        Argument("older_than", "timestamp", "Expire what is older, in the session's time zone; default: 5 days ago."),
        Argument("retain_last", "integer", "How many of the newest snapshots stay in any case; default: 1."),
        Argument("snapshot_ids", "array(bigint)", "Expire these as well."),
        Argument("max_concurrent_deletes", "integer", "Files deleted at the same time."),
        Argument("stream_results", "boolean", "Do not collect the list of files in one place."),
        Argument("clean_expired_metadata", "boolean", "Also forget schemas and partition specs that nothing uses."),
    ),
    output=tuple(OutputColumn(name, "bigint", doc) for name, doc in _COUNTS),
    example="CALL iceberg.system.expire_snapshots('sales', 'orders', older_than => TIMESTAMP '2026-11-01 00:00:00')",
    notes="Branches and tags keep their snapshots. Table properties history.expire.max-snapshot-age-ms and "
    "history.expire.min-snapshots-to-keep set other defaults.",
)


def answer(call: Call) -> Rows:
    """Raises ProcessionError for a count below 1, and what Iceberg's procedure raises."""
    arguments = call.arguments
    if arguments["retain_last"] is not None and arguments["retain_last"] < 1:
        message = f"Number of snapshots to retain must be at least 1, cannot be: {arguments['retain_last']}"
        raise ArgumentError("retain_last", message)
    call.read()
    given = {"older_than": moment(call, arguments["older_than"])} | {name: arguments[name] for name in _PASSED_ON}
    row = call_spark(call, "expire_snapshots", given)[0]
    return [[int(row[name] or 0) for name, _ in _COUNTS]]
