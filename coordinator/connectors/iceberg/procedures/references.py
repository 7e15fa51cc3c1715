"""``CALL catalog.system.create_branch | replace_branch | drop_branch | create_tag | replace_tag | drop_tag``"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from pyiceberg.table import Table

from coordinator.connectors.iceberg.procedures.arguments import TableArguments
from coordinator.connectors.iceberg.procedures.reference_arguments import (
    OUTPUT,
    Answer,
    CreateBranch,
    CreateTag,
    DropBranch,
    DropTag,
    ReplaceBranch,
    ReplaceTag,
    created,
    dropped,
    replaced,
)
from coordinator.connectors.iceberg.procedures.table_procedure import Call, Rows
from coordinator.connectors.iceberg.snapshots.metadata_changes import Change, commit_change
from coordinator.connectors.iceberg.snapshots.references import RefKind
from shared.spi.procedure import ProcedureDeclaration, ProcedureKind
from shared.spi.procedure_arguments import declared_arguments

_EXAMPLES = {"branch": "audit", "tag": "month-end"}
_SUMMARIES = {
    "create_branch": "Make a branch at a snapshot.",
    "replace_branch": "Set a branch to any snapshot, an ancestor or not.",
    "drop_branch": "Remove a branch; its snapshots stay until they expire.",
    "create_tag": "Give a snapshot a name that stays.",
    "replace_tag": "Give a tag to another snapshot.",
    "drop_tag": "Remove a tag; its snapshot stays until it expires.",
}


R = TypeVar("R", bound=TableArguments)


def _procedure(
    record: type[R], verb: str, kind: RefKind, change: Callable[[Table, R], Change[Answer]], example: str = ""
) -> tuple[ProcedureDeclaration, type[R], Callable[[Call[R]], Rows]]:
    name = f"{verb}_{kind}"
    declaration = ProcedureDeclaration(
        name=name,
        kind=ProcedureKind.COORDINATOR,
        summary=_SUMMARIES[name],
        arguments=declared_arguments(record),
        output=OUTPUT,
        example=f"CALL iceberg.system.{name}('sales', 'orders', '{_EXAMPLES[kind]}'{example})",
    )

    def answer(call: Call[R]) -> Rows:
        """Raises ProcessionError when the reference exists already or does not, or the snapshot is unknown."""
        return [commit_change(call.catalog, call.schema, call.table, lambda table: change(table, call.arguments))]

    return declaration, record, answer


_MOVED = ", 8954597067493422955"
PROCEDURES = (
    _procedure(CreateBranch, "create", "branch", created),
    _procedure(ReplaceBranch, "replace", "branch", replaced, _MOVED),
    _procedure(DropBranch, "drop", "branch", dropped),
    _procedure(CreateTag, "create", "tag", created),
    _procedure(ReplaceTag, "replace", "tag", replaced, _MOVED),
    _procedure(DropTag, "drop", "tag", dropped),
)
