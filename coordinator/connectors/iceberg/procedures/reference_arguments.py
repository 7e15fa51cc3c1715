"""What the procedures about branches and tags have in common: arguments, result columns, and the change itself."""

from __future__ import annotations

from pyiceberg.table import Table
from pyiceberg.table.refs import SnapshotRefType

from coordinator.connectors.iceberg.procedures.table_procedure import Call
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
from shared.spi.procedure import Argument, ArgumentError, OutputColumn

MAX_REF_AGE = Argument("max_ref_age_ms", "bigint", "How long the reference itself lives, in milliseconds.")
MAX_SNAPSHOT_AGE = Argument("max_snapshot_age_ms", "bigint", "How long its snapshots live, in milliseconds.")
MIN_SNAPSHOTS = Argument("min_snapshots_to_keep", "integer", "How many of its snapshots live however old they are.")
OUTPUT = (
    OutputColumn("reference", "varchar", "The branch or tag."),
    OutputColumn("previous_snapshot_id", "bigint", "Its snapshot before the call; NULL when there was none."),
    OutputColumn("current_snapshot_id", "bigint", "Its snapshot after the call; NULL when it is gone."),
)

Answer = tuple[str, int | None, int | None]


def retention_of(call: Call) -> Retention:
    """The retention that the call asks for; raises ArgumentError for values below 1."""
    given = call.arguments
    return Retention(
        given.get("max_ref_age_ms"), given.get("max_snapshot_age_ms"), given.get("min_snapshots_to_keep")
    ).checked()


def created(table: Table, name: str, kind: RefKind, call: Call) -> Change[Answer]:
    """A new reference; with ``if_not_exists`` an old one stays as it is."""
    if not name:
        raise ArgumentError(kind, f"{kind.capitalize()} name is empty")
    old = table.refs().get(name)
    if old is not None:
        if call.arguments["if_not_exists"] and old.snapshot_ref_type.value == kind:
            return Change((name, old.snapshot_id, old.snapshot_id))
        raise ArgumentError(kind, f"Ref {name} already exists")
    snapshot_id = _target(table, kind, call)
    update = set_reference(name, snapshot_id, SnapshotRefType(kind), None, retention_of(call))
    return Change((name, None, snapshot_id), (update,), (unmoved(name, None),))


def replaced(table: Table, name: str, kind: RefKind, call: Call) -> Change[Answer]:
    """An existing reference at another snapshot; retention that is not given stays."""
    old = existing(table, name, kind, kind)
    snapshot_id = _target(table, kind, call)
    update = set_reference(name, snapshot_id, SnapshotRefType(kind), old, retention_of(call))
    return Change((name, old.snapshot_id, snapshot_id), (update,), (unmoved(name, old),))


def dropped(table: Table, name: str, kind: RefKind, call: Call) -> Change[Answer]:
    """No such reference any more; its snapshots stay until they expire."""
    if kind == "branch" and name == "main":
        raise ArgumentError(kind, "Cannot remove main branch")
    if call.arguments["if_exists"] and name not in table.refs():
        return Change((name, None, None))
    old = existing(table, name, kind, kind)
    return Change((name, old.snapshot_id, None), (drop_reference(name),), (unmoved(name, old),))


def _target(table: Table, kind: RefKind, call: Call) -> int:
    asked: int | None = call.arguments["snapshot_id"]
    if asked is not None:
        return known_snapshot(table, asked, f"Cannot set {call.arguments[kind]} to unknown snapshot").snapshot_id
    current = table.current_snapshot()
    if current is None:
        raise ArgumentError("table_name", f"Cannot create or replace {kind}: main has no snapshot")
    return current.snapshot_id
