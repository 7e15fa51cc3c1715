"""``CALL catalog.system.remove_orphan_files(schema, table_name, …)``, answered by Iceberg's own procedure in Spark."""

from __future__ import annotations

from coordinator.connectors.iceberg.procedures.table_procedure import TABLE_ARGUMENTS, Call, Rows
from coordinator.connectors.iceberg.procedures.through_spark import call_spark, moment
from shared.spi.procedure import Argument, ArgumentError, OutputColumn, ProcedureDeclaration, ProcedureKind

_MODES = ("ERROR", "IGNORE", "DELETE")
_PASSED_ON = (
    "location",
    "max_concurrent_deletes",
    "stream_results",
    "file_list_view",
    "equal_schemes",
    "equal_authorities",
    "prefix_mismatch_mode",
    "prefix_listing",
)

DECLARATION = ProcedureDeclaration(
    name="remove_orphan_files",
    kind=ProcedureKind.COORDINATOR,
    summary="Delete files under the table's location that no snapshot needs.",
    arguments=(
        *TABLE_ARGUMENTS,
        Argument("older_than", "timestamp", "Only files that are older, in the session's time zone; default: 3 days."),
        Argument("location", "varchar", "Where to look; default: the table's location."),
        Argument("dry_run", "boolean", "Only list them; default: true unless older_than is given."),
        Argument("max_concurrent_deletes", "integer", "Files deleted at the same time."),
        Argument("stream_results", "boolean", "Do not collect the list of files in one place; shows at most 20,000."),
        Argument("file_list_view", "varchar", "A Spark view with file_path and last_modified instead of a listing."),
        Argument("equal_schemes", "map(varchar,varchar)", "Schemes that mean the same, such as 's3a,s3n' to 's3'."),
        Argument("equal_authorities", "map(varchar,varchar)", "Authorities that mean the same."),
        Argument("prefix_mismatch_mode", "varchar", f"What another scheme or authority does: {', '.join(_MODES)}."),
        Argument("prefix_listing", "boolean", "List by prefix where the storage can."),
    ),
    output=(OutputColumn("orphan_file_location", "varchar", "A file that was deleted, or would be."),),
    example="CALL iceberg.system.remove_orphan_files('sales', 'orders', older_than => TIMESTAMP '2026-11-01 00:00:00')",
    notes="Without older_than nothing is deleted unless dry_run => false says so. Files younger than a day are never "
    "taken: a writer may not have committed them yet.",
)


def answer(call: Call) -> Rows:
    """Raises ProcessionError for an unknown mode, and what Iceberg's procedure raises."""
    arguments = call.arguments
    mode = arguments["prefix_mismatch_mode"]
    if mode is not None and mode.upper() not in _MODES:
        raise ArgumentError("prefix_mismatch_mode", f"Invalid mode: {mode} (one of {', '.join(_MODES)})")
    call.read()
    dry_run = arguments["dry_run"]
    if dry_run is None:
        # The age that nobody chose must not delete anything.
        dry_run = arguments["older_than"] is None
    given = {"older_than": moment(call, arguments["older_than"]), "dry_run": dry_run}
    rows = call_spark(call, "remove_orphan_files", given | {name: arguments[name] for name in _PASSED_ON})
    return sorted([str(row["orphan_file_location"])] for row in rows)
