"""Which snapshots, branches and tags expire by the rules of Iceberg's ``RemoveSnapshots``, and the change for it."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from pyiceberg.catalog import MetastoreCatalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRef, SnapshotRefType
from pyiceberg.table.snapshots import Snapshot, ancestors_of
from pyiceberg.table.update import (
    AssertRefSnapshotId,
    RemovePartitionSpecsUpdate,
    RemovePartitionStatisticsUpdate,
    RemoveSchemasUpdate,
    RemoveSnapshotRefUpdate,
    RemoveSnapshotsUpdate,
    TableRequirement,
    TableUpdate,
    _apply_table_update,
    _TableMetadataUpdateContext,
)

from coordinator.connectors.iceberg.numbers import number_or
from shared.spi.procedure import ArgumentError

_FIVE_DAYS_MS = 5 * 24 * 3_600_000
_FOREVER_MS = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Limits:
    """What a call asks for; ``now`` and ``older_than`` in milliseconds since 1970, None as the table says."""

    now: int
    older_than: int | None = None
    retain_last: int | None = None
    snapshot_ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Expired:
    """What goes: ids of snapshots in the order of the metadata, names of references."""

    snapshots: tuple[int, ...] = ()
    references: tuple[str, ...] = ()
    older_than: int = 0

    def __bool__(self) -> bool:
        return bool(self.snapshots or self.references)


@dataclass(frozen=True, slots=True)
class _Rules:
    now: int
    older_than: int
    keep: int
    ref_age: int
    metadata: TableMetadata = field(repr=False)

    def keeps_reference(self, name: str, ref: SnapshotRef) -> bool:
        if name == MAIN_BRANCH:
            return True
        snapshot = self.metadata.snapshot_by_id(ref.snapshot_id)
        most = self.ref_age if ref.max_ref_age_ms is None else ref.max_ref_age_ms
        return snapshot is not None and self.now - snapshot.timestamp_ms <= most

    def kept_of_branch(self, ref: SnapshotRef) -> set[int]:
        oldest = self.older_than if ref.max_snapshot_age_ms is None else self.now - ref.max_snapshot_age_ms
        keep = ref.min_snapshots_to_keep or self.keep
        kept: set[int] = set()
        for ancestor in _line(self.metadata, ref):
            if len(kept) >= keep and ancestor.timestamp_ms < oldest:
                break
            kept.add(ancestor.snapshot_id)
        return kept


def select(metadata: TableMetadata, limits: Limits) -> Expired:
    """What expires; raises ArgumentError for a snapshot that a reference which stays names."""
    rules = _rules(metadata, limits)
    staying = {name: ref for name, ref in metadata.refs.items() if rules.keeps_reference(name, ref)}
    asked = set(limits.snapshot_ids)
    for snapshot_id in limits.snapshot_ids:
        if names := sorted(name for name, ref in staying.items() if ref.snapshot_id == snapshot_id):
            message = f"Cannot expire {snapshot_id}. Still referenced by refs: [{', '.join(names)}]"
            raise ArgumentError("snapshot_ids", message)
    kept = {ref.snapshot_id for ref in staying.values()}
    referenced = set(kept)
    for ref in staying.values():
        if ref.snapshot_ref_type == SnapshotRefType.BRANCH:
            kept |= rules.kept_of_branch(ref)
            referenced |= {snapshot.snapshot_id for snapshot in _line(metadata, ref)}
    kept |= {
        snapshot.snapshot_id
        for snapshot in metadata.snapshots
        if snapshot.snapshot_id not in referenced and snapshot.timestamp_ms >= rules.older_than
    }
    gone = tuple(s.snapshot_id for s in metadata.snapshots if s.snapshot_id in asked or s.snapshot_id not in kept)
    return Expired(gone, tuple(name for name in metadata.refs if name not in staying), rules.older_than)


def _rules(metadata: TableMetadata, limits: Limits) -> _Rules:
    age = _number(metadata, "history.expire.max-snapshot-age-ms", _FIVE_DAYS_MS)
    keep = _number(metadata, "history.expire.min-snapshots-to-keep", 1)
    return _Rules(
        now=limits.now,
        older_than=limits.now - age if limits.older_than is None else limits.older_than,
        keep=keep if limits.retain_last is None else limits.retain_last,
        ref_age=_number(metadata, "history.expire.max-ref-age-ms", _FOREVER_MS),
        metadata=metadata,
    )


def _line(metadata: TableMetadata, ref: SnapshotRef) -> Iterable[Snapshot]:
    return ancestors_of(metadata.snapshot_by_id(ref.snapshot_id), metadata)


def _number(metadata: TableMetadata, name: str, default: int) -> int:
    return number_or(metadata.properties.get(name), default)


class ForgetSnapshotsUpdate(RemoveSnapshotsUpdate):
    """Removes snapshots, and from the log also what came before one of them, as Iceberg Java does.

    PyIceberg leaves a gap in the log, in which the state at a moment would be that of a wrong snapshot.
    """


@_apply_table_update.register(ForgetSnapshotsUpdate)
def _(
    update: ForgetSnapshotsUpdate, base_metadata: TableMetadata, context: _TableMetadataUpdateContext
) -> TableMetadata:
    gone = set(update.snapshot_ids)
    newest = itertools.takewhile(lambda entry: entry.snapshot_id not in gone, reversed(base_metadata.snapshot_log))
    refs = {name: ref for name, ref in base_metadata.refs.items() if ref.snapshot_id not in gone}
    current = base_metadata.current_snapshot_id
    context.add_update(update)
    return base_metadata.model_copy(
        update={
            "snapshots": [_orphaned(s, gone) for s in base_metadata.snapshots if s.snapshot_id not in gone],
            "snapshot_log": list(newest)[::-1],
            "refs": refs,
            "current_snapshot_id": current if MAIN_BRANCH in refs else None,
            "statistics": [file for file in base_metadata.statistics if file.snapshot_id not in gone],
        }
    )


def _orphaned(snapshot: Snapshot, gone: Collection[int]) -> Snapshot:
    """Without its parent, when that goes."""
    return snapshot.model_copy(update={"parent_snapshot_id": None}) if snapshot.parent_snapshot_id in gone else snapshot


class AssertSameReferences(AssertRefSnapshotId):
    """No branch or tag was made, moved or dropped meanwhile; for catalogs that check requirements in this process."""

    known: dict[str, int]

    def validate(self, base_metadata: TableMetadata | None) -> None:  # type: ignore[override]
        """Raises CommitFailedException."""
        found = {} if base_metadata is None else {name: r.snapshot_id for name, r in base_metadata.refs.items()}
        if found != self.known:
            raise CommitFailedException("Requirement failed: branches or tags have changed")


def expiry_updates(metadata: TableMetadata, expired: Expired, used: Used | None) -> tuple[TableUpdate, ...]:
    """The change that forgets; with ``used``, also schemas and partition specs that nothing uses any more."""
    updates: list[TableUpdate] = [
        RemoveSnapshotRefUpdate.model_validate({"ref-name": name}) for name in expired.references
    ]
    gone = set(expired.snapshots)
    updates += [
        RemovePartitionStatisticsUpdate.model_validate({"snapshot-id": file.snapshot_id})
        for file in metadata.partition_statistics
        if file.snapshot_id in gone
    ]
    if gone:
        updates.append(ForgetSnapshotsUpdate.model_validate({"snapshot-ids": list(expired.snapshots)}))
    if used is None:
        return tuple(updates)
    specs = [s.spec_id for s in metadata.partition_specs if s.spec_id not in {metadata.default_spec_id, *used.specs}]
    schemas = [s.schema_id for s in metadata.schemas if s.schema_id not in {metadata.current_schema_id, *used.schemas}]
    if specs:
        updates.append(RemovePartitionSpecsUpdate.model_validate({"spec-ids": specs}))
    if schemas:
        updates.append(RemoveSchemasUpdate.model_validate({"schema-ids": schemas}))
    return tuple(updates)


@dataclass(frozen=True, slots=True)
class Used:
    """Ids of the schemas and partition specs that snapshots which stay were written under."""

    specs: Collection[int]
    schemas: Collection[int]


def same_references(table: Table) -> Sequence[TableRequirement]:
    """What must still hold at the commit, so that no new reference to an expiring snapshot is lost."""
    known = {name: ref.snapshot_id for name, ref in table.refs().items()}
    if isinstance(table.catalog, MetastoreCatalog):
        return (AssertSameReferences.model_validate({"ref": MAIN_BRANCH, "snapshot-id": None, "known": known}),)
    return tuple(
        AssertRefSnapshotId.model_validate({"ref": name, "snapshot-id": snapshot_id})
        for name, snapshot_id in known.items()
    )
