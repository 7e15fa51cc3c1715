"""``CALL catalog.system.write_amplification(schema, table_name, limit)``"""

from __future__ import annotations

from pyiceberg.table.snapshots import Operation, Snapshot

from coordinator.connectors.iceberg.instants import instant
from coordinator.connectors.iceberg.procedures.arguments import LimitArguments
from coordinator.connectors.iceberg.procedures.show_snapshots import limit_of
from coordinator.connectors.iceberg.procedures.table_procedure import Call, Rows
from coordinator.connectors.iceberg.snapshots.changes import count, operation
from coordinator.connectors.iceberg.snapshots.references import history
from shared.spi.procedure import OutputColumn, ProcedureDeclaration, ProcedureKind
from shared.spi.procedure_arguments import declared_arguments

DECLARATION = ProcedureDeclaration(
    name="write_amplification",
    kind=ProcedureKind.COORDINATOR,
    summary="How many bytes were written for each byte that was new, by commit and in total.",
    arguments=declared_arguments(LimitArguments),
    output=(
        OutputColumn("commit_time", "varchar", "yyyyMMddHHmmssSSS in UTC; Total for the last row."),
        OutputColumn("snapshot_id", "bigint", "The snapshot."),
        OutputColumn("operation", "varchar", "append, overwrite, delete or replace."),
        OutputColumn("new_bytes", "bigint", "Bytes that were not written before: all of an append, none of a replace."),
        OutputColumn("written_bytes", "bigint", "Bytes of the files that it added."),
        OutputColumn(
            "write_amplification_factor", "double", "Written bytes divided by new bytes; NULL where nothing was new."
        ),
    ),
    example="CALL iceberg.system.write_amplification(table => 'sales.orders', limit => 100)",
    notes="From the summaries of the snapshots in the table's present history; the total is over the rows shown. Of "
    "an overwrite, what it added beyond what it dropped counts as new.",
)


def answer(call: Call[LimitArguments]) -> Rows:
    """Raises ProcessionError for a limit below 1."""
    chosen = history(call.read())[: limit_of(call)]
    if not chosen:
        return []
    rows = [(instant(s.timestamp_ms), s.snapshot_id, operation(s), *_bytes(s)) for s in chosen]
    new, written = sum(row[3] for row in rows), sum(row[4] for row in rows)
    listed = [(*row, row[4] / row[3] if row[3] else None) for row in rows]
    return [*listed, ("Total", None, None, new, written, written / new if new else None)]


def _bytes(snapshot: Snapshot) -> tuple[int, int]:
    written = count(snapshot, "added-files-size")
    match operation(snapshot):
        case Operation.REPLACE.value:
            return 0, written
        case Operation.OVERWRITE.value:
            return max(0, written - count(snapshot, "removed-files-size")), written
        case _:
            return written, written
