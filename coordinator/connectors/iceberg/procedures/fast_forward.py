"""``CALL catalog.system.fast_forward(schema, table_name, branch, to)``"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pyiceberg.table import Table
from pyiceberg.table.refs import SnapshotRefType
from pyiceberg.table.snapshots import ancestors_of

from coordinator.connectors.iceberg.procedures.arguments import TableArguments
from coordinator.connectors.iceberg.procedures.table_procedure import Call, Rows
from coordinator.connectors.iceberg.snapshots.metadata_changes import Change, commit_change
from coordinator.connectors.iceberg.snapshots.references import set_reference, unmoved
from shared.spi.procedure import ArgumentError, OutputColumn, ProcedureDeclaration, ProcedureKind
from shared.spi.procedure_arguments import Declared, declared_arguments


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments(TableArguments):
    """What the call says."""

    branch: Annotated[str, Declared("varchar", "Branch to move; made when it does not exist.")]
    to: Annotated[str, Declared("varchar", "Branch or tag to move it to.")]


DECLARATION = ProcedureDeclaration(
    name="fast_forward",
    kind=ProcedureKind.COORDINATOR,
    summary="Move a branch forward to the snapshot of another branch or tag that came from it.",
    arguments=declared_arguments(Arguments),
    output=(
        OutputColumn("branch_updated", "varchar", "The branch."),
        OutputColumn("previous_ref", "bigint", "Its snapshot before the call; NULL when it was made."),
        OutputColumn("updated_ref", "bigint", "Its snapshot after the call."),
    ),
    example="CALL iceberg.system.fast_forward('sales', 'orders', 'main', 'audited')",
)


def answer(call: Call[Arguments]) -> Rows:
    """Raises ProcessionError when ``branch`` is a tag or no ancestor of ``to``, or ``to`` does not exist."""
    branch, to = call.arguments.branch, call.arguments.to
    return [commit_change(call.catalog, call.schema, call.table, lambda table: _forwarded(table, branch, to))]


def _forwarded(table: Table, branch: str, to: str) -> Change[tuple[str, int | None, int]]:
    old, target = table.refs().get(branch), table.refs().get(to)
    if target is None:
        raise ArgumentError("to", f"Ref does not exist: {to}")
    if old is not None and old.snapshot_ref_type is not SnapshotRefType.BRANCH:
        raise ArgumentError("branch", f"Ref {branch} is a tag not a branch")
    answer = (branch, None if old is None else old.snapshot_id, target.snapshot_id)
    if old is not None and old.snapshot_id == target.snapshot_id:
        return Change(answer)
    line = {s.snapshot_id for s in ancestors_of(table.snapshot_by_id(target.snapshot_id), table.metadata)}
    if old is not None and old.snapshot_id not in line:
        raise ArgumentError("branch", f"Cannot fast-forward: {branch} is not an ancestor of {to}")
    update = set_reference(branch, target.snapshot_id, SnapshotRefType.BRANCH, old)
    return Change(answer, (update,), (unmoved(branch, old),))
