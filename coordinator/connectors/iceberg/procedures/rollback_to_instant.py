"""``CALL catalog.system.rollback_to_instant(schema, table_name, instant_time)``"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pyiceberg.table import Table

from coordinator.connectors.iceberg.instants import parse_instant
from coordinator.connectors.iceberg.numbers import whole_number
from coordinator.connectors.iceberg.procedures.arguments import TableArguments
from coordinator.connectors.iceberg.procedures.rollback_to_snapshot import made_current, rolled_back
from coordinator.connectors.iceberg.procedures.table_procedure import Call, Rows
from coordinator.connectors.iceberg.snapshots.metadata_changes import Change, commit_change
from coordinator.connectors.iceberg.snapshots.references import history
from shared.errors import ErrorCode
from shared.spi.procedure import ArgumentError, OutputColumn, ProcedureDeclaration, ProcedureKind
from shared.spi.procedure_arguments import Declared, declared_arguments


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments(TableArguments):
    """What the call says."""

    instant_time: Annotated[str, Declared("varchar", "A snapshot id, yyyyMMddHHmmssSSS in UTC, or a timestamp.")]


DECLARATION = ProcedureDeclaration(
    name="rollback_to_instant",
    kind=ProcedureKind.COORDINATOR,
    summary="Make the table what it was at an instant of its history.",
    arguments=declared_arguments(Arguments),
    output=(OutputColumn("rollback_result", "boolean", "true: the table is as it was then."),),
    example="CALL iceberg.system.rollback_to_instant(table => 'sales.orders', instant_time => '20220109225319449')",
    notes="The snapshot that was committed at the instant or last before it becomes current; timestamps without a zone "
    "are in the session's.",
)


def answer(call: Call[Arguments]) -> Rows:
    """Raises ProcessionError when the history has nothing that old, or the text is no instant."""
    text, zone = call.arguments.instant_time.strip(), call.context.session.time_zone
    commit_change(call.catalog, call.schema, call.table, lambda table: _rolled_back(table, text, zone))
    return [(True,)]


def _rolled_back(table: Table, text: str, zone: str) -> Change[tuple[int | None, int]]:
    try:
        if (number := whole_number(text)) is not None and table.snapshot_by_id(number) is not None:
            return rolled_back(table, int(text))
    except ArgumentError as error:
        raise ArgumentError("instant_time", error.message, ErrorCode.ICEBERG_INVALID_SNAPSHOT_ID) from error
    instant = parse_instant(text, zone)
    if instant is None:
        raise ArgumentError("instant_time", f"Commit {text} not found in Commits")
    older = [snapshot for snapshot in history(table) if snapshot.timestamp_ms <= instant]
    if not older:
        raise ArgumentError("instant_time", f"Cannot roll back, no valid snapshot at or before: {text}")
    return made_current(table, max(older, key=lambda snapshot: snapshot.timestamp_ms).snapshot_id)
