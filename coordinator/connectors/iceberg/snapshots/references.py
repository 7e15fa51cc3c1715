"""Branches and tags: looking them up, moving them, and the rules of Iceberg's ``UpdateSnapshotReferencesOperation``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRef, SnapshotRefType
from pyiceberg.table.snapshots import Snapshot, ancestors_of
from pyiceberg.table.update import AssertRefSnapshotId, RemoveSnapshotRefUpdate, SetSnapshotRefUpdate

from shared.errors import ErrorCode
from shared.spi.procedure import ArgumentError

RefKind = Literal["branch", "tag"]


@dataclass(frozen=True, slots=True)
class Retention:
    """How long a reference and its snapshots live; None leaves it to the table's properties."""

    max_ref_age_ms: int | None = None
    max_snapshot_age_ms: int | None = None
    min_snapshots_to_keep: int | None = None

    def checked(self) -> Retention:
        """Itself; raises ArgumentError with Iceberg's texts for values below 1."""
        for value, argument, message in (
            (self.min_snapshots_to_keep, "min_snapshots_to_keep", "Min snapshots to keep must be greater than 0"),
            (self.max_snapshot_age_ms, "max_snapshot_age_ms", "Max snapshot age must be greater than 0 ms"),
            (self.max_ref_age_ms, "max_ref_age_ms", "Max reference age must be greater than 0"),
        ):
            if value is not None and value <= 0:
                raise ArgumentError(argument, message)
        return self


def history(table: Table) -> list[Snapshot]:
    """The current snapshot and its ancestors, newest first."""
    return list(ancestors_of(table.current_snapshot(), table.metadata))


def known_snapshot(table: Table, snapshot_id: int, message: str, argument: str = "snapshot_id") -> Snapshot:
    """The snapshot; raises ArgumentError ``message: id`` when the table has no such one."""
    found = table.snapshot_by_id(snapshot_id)
    if found is None:
        raise ArgumentError(argument, f"{message}: {snapshot_id}", ErrorCode.ICEBERG_INVALID_SNAPSHOT_ID)
    return found


def set_reference(
    name: str, snapshot_id: int, kind: SnapshotRefType, old: SnapshotRef | None, retention: Retention | None = None
) -> SetSnapshotRefUpdate:
    """The update that makes ``name`` point at a snapshot; what ``retention`` leaves open is kept from ``old``."""
    asked = retention or Retention()
    values = {
        "max-ref-age-ms": asked.max_ref_age_ms or (old.max_ref_age_ms if old else None),
        "max-snapshot-age-ms": asked.max_snapshot_age_ms or (old.max_snapshot_age_ms if old else None),
        "min-snapshots-to-keep": asked.min_snapshots_to_keep or (old.min_snapshots_to_keep if old else None),
    }
    given = {key: value for key, value in values.items() if value is not None}
    return SetSnapshotRefUpdate.model_validate(
        {"action": "set-snapshot-ref", "ref-name": name, "type": kind.value, "snapshot-id": snapshot_id, **given}
    )


class AssertNewReference(AssertRefSnapshotId):
    """Nobody made the reference meanwhile; of a table without snapshots PyIceberg's own allows none but main."""

    def validate(self, base_metadata: TableMetadata | None) -> None:  # type: ignore[override]
        """Raises CommitFailedException."""
        if base_metadata is None or self.ref in base_metadata.refs:
            raise CommitFailedException(f"Requirement failed: {self.ref} was created concurrently")


def drop_reference(name: str) -> RemoveSnapshotRefUpdate:
    """The update that removes a reference."""
    return RemoveSnapshotRefUpdate.model_validate({"action": "remove-snapshot-ref", "ref-name": name})


def unmoved(name: str, old: SnapshotRef | None) -> AssertRefSnapshotId:
    """The requirement that nobody moved (or made) the reference meanwhile."""
    return AssertRefSnapshotId.model_validate(
        {"type": "assert-ref-snapshot-id", "ref": name, "snapshot-id": None if old is None else old.snapshot_id}
    )


def main_at(table: Table, snapshot_id: int) -> tuple[SetSnapshotRefUpdate, AssertRefSnapshotId]:
    """Update and requirement that make a snapshot the table's current one."""
    old = table.refs().get(MAIN_BRANCH)
    update = set_reference(MAIN_BRANCH, snapshot_id, SnapshotRefType.BRANCH, old)
    return update, unmoved(MAIN_BRANCH, old)


def existing(table: Table, name: str, kind: RefKind, argument: str) -> SnapshotRef:
    """The branch or tag ``name``; raises ArgumentError when it does not exist or is of the other kind."""
    ref = table.refs().get(name)
    if ref is None:
        raise ArgumentError(argument, f"{kind.capitalize()} does not exist: {name}")
    if ref.snapshot_ref_type.value != kind:
        other = "tag" if kind == "branch" else "branch"
        raise ArgumentError(argument, f"Ref {name} is a {other} not a {kind}")
    return ref
