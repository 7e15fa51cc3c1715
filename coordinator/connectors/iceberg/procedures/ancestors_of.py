"""``CALL catalog.system.ancestors_of(schema, table_name, snapshot_id)``"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pyiceberg.table.snapshots import ancestors_of

from coordinator.connectors.iceberg.procedures.arguments import TableArguments
from coordinator.connectors.iceberg.procedures.table_procedure import Call, Rows
from shared.spi.procedure import OutputColumn, ProcedureDeclaration, ProcedureKind
from shared.spi.procedure_arguments import Declared, declared_arguments


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments(TableArguments):
    """What the call says."""

    snapshot_id: Annotated[int | None, Declared("bigint", "Where to start; default: the current snapshot.")] = None


DECLARATION = ProcedureDeclaration(
    name="ancestors_of",
    kind=ProcedureKind.COORDINATOR,
    summary="The snapshots that a snapshot came from, itself first.",
    arguments=declared_arguments(Arguments),
    output=(
        OutputColumn("snapshot_id", "bigint", "A snapshot, newest first."),
        OutputColumn("timestamp", "bigint", "When it was committed, in milliseconds since 1970 UTC."),
    ),
    example="CALL iceberg.system.ancestors_of('sales', 'orders')",
    notes="No rows for a snapshot that the table does not have, as with Iceberg.",
)


def answer(call: Call[Arguments]) -> Rows:
    """Raises ProcessionError when the table does not exist."""
    table = call.read()
    asked = call.arguments.snapshot_id
    start = table.current_snapshot() if asked is None else table.snapshot_by_id(asked)
    return [(s.snapshot_id, s.timestamp_ms) for s in ancestors_of(start, table.metadata)]
