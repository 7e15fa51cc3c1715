"""``CALL catalog.system.create_branch | replace_branch | drop_branch | create_tag | replace_tag | drop_tag``"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from pyiceberg.table import Table

from coordinator.connectors.iceberg.procedures.reference_arguments import (
    MAX_REF_AGE,
    MAX_SNAPSHOT_AGE,
    MIN_SNAPSHOTS,
    OUTPUT,
    Answer,
    created,
    dropped,
    replaced,
)
from coordinator.connectors.iceberg.procedures.table_procedure import TABLE_ARGUMENTS, Call, Rows
from coordinator.connectors.iceberg.snapshots.metadata_changes import Change, commit_change
from coordinator.connectors.iceberg.snapshots.references import RefKind
from shared.spi.procedure import Argument, ProcedureDeclaration, ProcedureKind

_Change = Callable[[Table, str, RefKind, Call], Change[Answer]]
_SNAPSHOT = Argument("snapshot_id", "bigint", "The snapshot; default: the current one.")
_EXAMPLES = {"branch": "audit", "tag": "month-end"}
_SUMMARIES = {
    "create_branch": "Make a branch at a snapshot.",
    "replace_branch": "Set a branch to any snapshot, an ancestor or not.",
    "drop_branch": "Remove a branch; its snapshots stay until they expire.",
    "create_tag": "Give a snapshot a name that stays.",
    "replace_tag": "Give a tag to another snapshot.",
    "drop_tag": "Remove a tag; its snapshot stays until it expires.",
}


def _declaration(verb: str, kind: RefKind, *arguments: Argument, example: str = "") -> ProcedureDeclaration:
    name = f"{verb}_{kind}"
    return ProcedureDeclaration(
        name=name,
        kind=ProcedureKind.COORDINATOR,
        summary=_SUMMARIES[name],
        arguments=(*TABLE_ARGUMENTS, Argument(kind, "varchar", f"Name of the {kind}.", required=True), *arguments),
        output=OUTPUT,
        example=f"CALL iceberg.system.{name}('sales', 'orders', '{_EXAMPLES[kind]}'{example})",
    )


def _retention(kind: RefKind) -> tuple[Argument, ...]:
    """A tag keeps one snapshot: it has nothing to say of others."""
    return (MAX_REF_AGE, MAX_SNAPSHOT_AGE, MIN_SNAPSHOTS) if kind == "branch" else (MAX_REF_AGE,)


def _of(kind: RefKind) -> tuple[tuple[ProcedureDeclaration, _Change], ...]:
    as_it_is = Argument("if_not_exists", "boolean", f"A {kind} that exists already is left as it is.", default=False)
    missing = Argument("if_exists", "boolean", f"A {kind} that does not exist is no error.", default=False)
    moved = ", 8954597067493422955"
    return (
        (_declaration("create", kind, _SNAPSHOT, *_retention(kind), as_it_is), created),
        (_declaration("replace", kind, _SNAPSHOT, *_retention(kind), example=moved), replaced),
        (_declaration("drop", kind, missing), dropped),
    )


def _answer(kind: RefKind, change: _Change, call: Call) -> Rows:
    """Raises ProcessionError when the reference exists already or does not, or the snapshot is unknown."""
    name = call.arguments[kind]
    return [commit_change(call.catalog, call.schema, call.table, lambda table: change(table, name, kind, call))]


_KINDS: tuple[RefKind, ...] = ("branch", "tag")
PROCEDURES = tuple(
    (declaration, partial(_answer, kind, change)) for kind in _KINDS for declaration, change in _of(kind)
)
