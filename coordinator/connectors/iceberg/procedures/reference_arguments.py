"""What the procedures about branches and tags have in common: arguments, result columns, and the change itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pyiceberg.table import Table
from pyiceberg.table.refs import SnapshotRefType

from coordinator.connectors.iceberg.procedures.arguments import TableArguments
from coordinator.connectors.iceberg.snapshots.metadata_changes import Change
from coordinator.connectors.iceberg.snapshots.references import (
    RefKind,
    Retention,
    drop_reference,
    existing,
    known_snapshot,
    set_reference,
    unmoved,
)
from shared.spi.procedure import ArgumentError, OutputColumn
from shared.spi.procedure_arguments import Declared

_SnapshotId = Annotated[int | None, Declared("bigint", "The snapshot; default: the current one.")]
_MaxRefAge = Annotated[int | None, Declared("bigint", "How long the reference itself lives, in milliseconds.")]
_MaxSnapshotAge = Annotated[int | None, Declared("bigint", "How long its snapshots live, in milliseconds.")]
_MinSnapshots = Annotated[int | None, Declared("integer", "How many of its snapshots live however old they are.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchArguments(TableArguments):
    """A branch, by its name."""

    branch: Annotated[str, Declared("varchar", "Name of the branch.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceBranch(BranchArguments):
    """Where it shall be, and how long it and its snapshots live."""

    snapshot_id: _SnapshotId = None
    max_ref_age_ms: _MaxRefAge = None
    max_snapshot_age_ms: _MaxSnapshotAge = None
    min_snapshots_to_keep: _MinSnapshots = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateBranch(ReplaceBranch):
    """What a new one is told beside."""

    if_not_exists: Annotated[bool, Declared("boolean", "A branch that exists already is left as it is.")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DropBranch(BranchArguments):
    """What its end is told."""

    if_exists: Annotated[bool, Declared("boolean", "A branch that does not exist is no error.")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TagArguments(TableArguments):
    """A tag, by its name."""

    tag: Annotated[str, Declared("varchar", "Name of the tag.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceTag(TagArguments):
    """A tag keeps one snapshot: it has nothing to say of others."""

    snapshot_id: _SnapshotId = None
    max_ref_age_ms: _MaxRefAge = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTag(ReplaceTag):
    """What a new one is told beside."""

    if_not_exists: Annotated[bool, Declared("boolean", "A tag that exists already is left as it is.")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DropTag(TagArguments):
    """What its end is told."""

    if_exists: Annotated[bool, Declared("boolean", "A tag that does not exist is no error.")] = False


OUTPUT = (
    OutputColumn("reference", "varchar", "The branch or tag."),
    OutputColumn("previous_snapshot_id", "bigint", "Its snapshot before the call; NULL when there was none."),
    OutputColumn("current_snapshot_id", "bigint", "Its snapshot after the call; NULL when it is gone."),
)

Answer = tuple[str, int | None, int | None]


def name_of(arguments: BranchArguments | TagArguments) -> tuple[RefKind, str]:
    """Which kind of reference is meant, and its name."""
    match arguments:
        case BranchArguments():
            return "branch", arguments.branch
        case TagArguments():
            return "tag", arguments.tag


def retention_of(arguments: ReplaceBranch | ReplaceTag) -> Retention:
    """The retention that the call asks for; raises ArgumentError for values below 1."""
    match arguments:
        case ReplaceBranch():
            of_snapshots = (arguments.max_snapshot_age_ms, arguments.min_snapshots_to_keep)
        case ReplaceTag():
            of_snapshots = (None, None)
    return Retention(arguments.max_ref_age_ms, *of_snapshots).checked()


def created(table: Table, arguments: CreateBranch | CreateTag) -> Change[Answer]:
    """A new reference; with ``if_not_exists`` an old one stays as it is."""
    kind, name = name_of(arguments)
    if not name:
        raise ArgumentError(kind, f"{kind.capitalize()} name is empty")
    old = table.refs().get(name)
    if old is not None:
        if arguments.if_not_exists and old.snapshot_ref_type.value == kind:
            return Change((name, old.snapshot_id, old.snapshot_id))
        raise ArgumentError(kind, f"Ref {name} already exists")
    snapshot_id = _target(table, arguments)
    update = set_reference(name, snapshot_id, SnapshotRefType(kind), None, retention_of(arguments))
    return Change((name, None, snapshot_id), (update,), (unmoved(name, None),))


def replaced(table: Table, arguments: ReplaceBranch | ReplaceTag) -> Change[Answer]:
    """An existing reference at another snapshot; retention that is not given stays."""
    kind, name = name_of(arguments)
    old = existing(table, name, kind, kind)
    snapshot_id = _target(table, arguments)
    update = set_reference(name, snapshot_id, SnapshotRefType(kind), old, retention_of(arguments))
    return Change((name, old.snapshot_id, snapshot_id), (update,), (unmoved(name, old),))


def dropped(table: Table, arguments: DropBranch | DropTag) -> Change[Answer]:
    """No such reference any more; its snapshots stay until they expire."""
    kind, name = name_of(arguments)
    if kind == "branch" and name == "main":
        raise ArgumentError(kind, "Cannot remove main branch")
    if arguments.if_exists and name not in table.refs():
        return Change((name, None, None))
    old = existing(table, name, kind, kind)
    return Change((name, old.snapshot_id, None), (drop_reference(name),), (unmoved(name, old),))


def _target(table: Table, arguments: ReplaceBranch | ReplaceTag) -> int:
    kind, name = name_of(arguments)
    if arguments.snapshot_id is not None:
        return known_snapshot(table, arguments.snapshot_id, f"Cannot set {name} to unknown snapshot").snapshot_id
    current = table.current_snapshot()
    if current is None:
        raise ArgumentError("table_name", f"Cannot create or replace {kind}: main has no snapshot")
    return current.snapshot_id
