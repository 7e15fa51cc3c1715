"""``CALL catalog.system.expire_partitions(schema, table_name, older_than, column, dry_run)``"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Annotated

from pyiceberg.partitioning import PartitionField
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation

from coordinator.connectors.iceberg.maintenance.time_partitions import end_of, has_zone, time_fields
from coordinator.connectors.iceberg.manifests.live_files import LiveFile, read_live
from coordinator.connectors.iceberg.partitions import partition_text
from coordinator.connectors.iceberg.procedures.arguments import TableArguments
from coordinator.connectors.iceberg.procedures.table_procedure import Call, Rows
from coordinator.connectors.iceberg.snapshots.edit_files import EditFiles
from coordinator.kernels.functions.zones import zone_of
from shared.spi.procedure import ArgumentError, OutputColumn, ProcedureDeclaration, ProcedureKind
from shared.spi.procedure_arguments import Declared, declared_arguments


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments(TableArguments):
    """What the call says."""

    older_than: Annotated[datetime, Declared("timestamp", "A point in time, in the session's time zone.")]
    column: Annotated[
        str | None, Declared("varchar", "Column that tells the age; default: the one that partitions by time.")
    ] = None
    dry_run: Annotated[bool, Declared("boolean", "Only list what would be deleted.")] = False


DECLARATION = ProcedureDeclaration(
    name="expire_partitions",
    kind=ProcedureKind.COORDINATOR,
    summary="Delete partitions whose rows are all older than a point in time; no data file is read.",
    arguments=declared_arguments(Arguments),
    output=(
        OutputColumn("partition", "varchar", "A partition that is deleted."),
        OutputColumn("deleted_data_files_count", "bigint", "Its data files."),
        OutputColumn("deleted_records_count", "bigint", "Rows of these files."),
        OutputColumn("deleted_bytes_count", "bigint", "Bytes of these files."),
    ),
    example="CALL iceberg.system.expire_partitions('sales', 'orders', TIMESTAMP '2026-01-01 00:00:00')",
    notes="For columns of type date or timestamp, partitioned by identity, year, month, day or hour, and for text like "
    "2026-01-31. Columns without a time zone are compared by the clock of the session. A partition goes when its whole "
    "range lies before the moment. The files stay in storage until the snapshots that hold them expire.",
)


def answer(call: Call[Arguments]) -> Rows:
    """Raises ProcessionError when no or more than one column partitions by time."""
    table = call.catalog.open(call.schema, call.table)
    fields = _fields(table, call.arguments.column)
    instant = _instant(call.arguments.older_than, zone_of(call.context.session.time_zone))
    live = read_live(table, table.current_snapshot())
    files = [f for f in live.data if _is_older(table, fields, f, instant)]
    # Delete files of a partition apply to nothing outside of it.
    deletes = [f for f in live.deletes if _is_older(table, fields, f, instant)]
    if files and not call.arguments.dry_run:
        _delete(table, [*files, *deletes])
    return _rows(table, files)


@dataclass(frozen=True, slots=True)
class _Instant:
    """``older_than`` as columns with a time zone hold it, and as the others do, whose clock is the session's."""

    utc: datetime
    clock: datetime


def _instant(given: datetime, here: tzinfo) -> _Instant:
    aware = given if given.tzinfo is not None else given.replace(tzinfo=here)
    return _Instant(aware.astimezone(UTC).replace(tzinfo=None), aware.astimezone(here).replace(tzinfo=None))


def _fields(table: Table, column: str | None) -> Mapping[int, Mapping[int, PartitionField]]:
    found = time_fields(table)
    names = {table.schema().find_column_name(f.source_id) for fields in found.values() for f in fields.values()}
    if not names:
        raise ArgumentError("table_name", "The table is not partitioned by time")
    if column is None and len(names) > 1:
        listed = ", ".join(sorted(str(name) for name in names))
        raise ArgumentError("column", f"Several columns partition by time, name one: {listed}")
    if column is not None:
        source = {name for name in names if str(name).lower() == column.lower()}
        if not source:
            raise ArgumentError("column", f"Column {column} does not partition the table by time")
        names = source
    wanted = {table.schema().find_field(str(name)).field_id for name in names}
    return {
        spec_id: {i: field for i, field in fields.items() if field.source_id in wanted}
        for spec_id, fields in found.items()
    }


def _is_older(
    table: Table, fields: Mapping[int, Mapping[int, PartitionField]], file: LiveFile, instant: _Instant
) -> bool:
    for i, field in fields.get(file.file.spec_id, {}).items():
        end = end_of(table, field, file.file.partition[i])
        if end is not None and end <= (instant.utc if has_zone(table, field) else instant.clock):
            return True
    return False


def _delete(table: Table, files: list[LiveFile]) -> None:
    transaction = table.transaction()
    EditFiles(transaction, Operation.DELETE, dropped=files).stage()
    transaction.commit_transaction()


def _rows(table: Table, files: list[LiveFile]) -> Rows:
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    specs, schema = table.specs(), table.schema()
    for file in files:
        total = sums[partition_text(file.file, specs[file.file.spec_id], schema)]
        for i, part in enumerate((1, file.file.record_count, file.size)):
            total[i] += part
    return [(name, *sums[name]) for name in sorted(sums)]
