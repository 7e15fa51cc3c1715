"""``CALL catalog.system.create_savepoint(schema, table_name, commit_time, user, comments)``"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pyiceberg.table import Table
from pyiceberg.table.refs import SnapshotRefType
from pyiceberg.table.update import SetPropertiesUpdate

from coordinator.connectors.iceberg.procedures.arguments import TableArguments
from coordinator.connectors.iceberg.procedures.table_procedure import Call, Rows
from coordinator.connectors.iceberg.snapshots.metadata_changes import Change, commit_change
from coordinator.connectors.iceberg.snapshots.references import set_reference, unmoved
from coordinator.connectors.iceberg.snapshots.savepoints import commit_at, described, property_of, tag_of
from shared.spi.procedure import ArgumentError, OutputColumn, ProcedureDeclaration, ProcedureKind
from shared.spi.procedure_arguments import Declared, declared_arguments


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments(TableArguments):
    """What the call says."""

    commit_time: Annotated[
        str | None, Declared("varchar", "The commit: a snapshot id or its time; default: the current snapshot.")
    ] = None
    user: Annotated[str | None, Declared("varchar", "Who makes it; default: the session's user.")] = None
    comments: Annotated[str, Declared("varchar", "Why the savepoint was made.")] = ""


DECLARATION = ProcedureDeclaration(
    name="create_savepoint",
    kind=ProcedureKind.COORDINATOR,
    summary="Keep the state of a table at a commit: a tag, with who made it and why.",
    arguments=declared_arguments(Arguments),
    output=(
        OutputColumn("create_savepoint_result", "boolean", "true: the savepoint is there."),
        OutputColumn("savepoint", "varchar", "Name of the tag."),
        OutputColumn("snapshot_id", "bigint", "The snapshot that is kept."),
    ),
    example="CALL iceberg.system.create_savepoint(table => 'sales.orders', comments => 'before the migration')",
)


def answer(call: Call[Arguments]) -> Rows:
    """Raises ProcessionError for an unknown commit; a savepoint that is there already stays as it is."""
    return [commit_change(call.catalog, call.schema, call.table, lambda table: _created(table, call))]


def _created(table: Table, call: Call[Arguments]) -> Change[tuple[bool, str, int]]:
    asked, session = call.arguments.commit_time, call.context.session
    snapshot = table.current_snapshot() if asked is None else commit_at(table, asked, session.time_zone, "commit_time")
    if snapshot is None:
        raise ArgumentError("table_name", "Cannot create a savepoint: the table has no snapshot")
    tag = tag_of(snapshot.snapshot_id)
    old = table.refs().get(tag)
    answer = (True, tag, snapshot.snapshot_id)
    if old is not None and old.snapshot_id == snapshot.snapshot_id:
        return Change(answer)
    user = session.user if call.arguments.user is None else call.arguments.user
    details = described(user, call.arguments.comments, call.context.now.isoformat(timespec="milliseconds"))
    return Change(
        answer,
        (
            set_reference(tag, snapshot.snapshot_id, SnapshotRefType.TAG, None),
            SetPropertiesUpdate(updates={property_of(snapshot.snapshot_id): details}),
        ),
        (unmoved(tag, old),),
    )
