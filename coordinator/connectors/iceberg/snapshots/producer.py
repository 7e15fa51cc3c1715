"""PyIceberg's producer of snapshots for every format version, with delete manifests that Iceberg Java can read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from pyiceberg.exceptions import ValidationException
from pyiceberg.manifest import (
    DataFile,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    ManifestWriter,
    ManifestWriterV1,
    ManifestWriterV2,
    manifest_entry_schema_with_data_file,
)
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Transaction
from pyiceberg.table.metadata import TableMetadata, TableMetadataV3
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRefType
from pyiceberg.table.snapshots import Operation, Snapshot
from pyiceberg.table.update import (
    AddSnapshotUpdate,
    AssertRefSnapshotId,
    SetSnapshotRefUpdate,
    TableUpdate,
    UpdatesAndRequirements,
)
from pyiceberg.table.update.snapshot import _SnapshotProducer
from pyiceberg.typedef import TableVersion
from pyiceberg.types import StructType

from coordinator.connectors.iceberg.manifests.encoding import Blocked
from coordinator.connectors.iceberg.manifests.fetching import each_entries
from coordinator.connectors.iceberg.manifests.live_files import LiveFile, holds_live, live
from coordinator.connectors.iceberg.manifests.metadata_files import CALL_ID
from coordinator.connectors.iceberg.manifests.version_three import (
    EQUALITY_IDS,
    ListedSnapshot,
    ManifestWriterV3,
    list_manifests,
    write_manifest_list,
)
from coordinator.connectors.iceberg.snapshots.references import AssertNewReference, set_reference
from coordinator.connectors.iceberg.traced_services import store_call
from coordinator.vocabulary.traced_calls import traced

U = TypeVar("U")

Touched = set[str]
"""The live entries of a manifest, and the keys of those that are looked for."""


_MERGED_BYTES = 8 << 20
"""Manifests up to this size together are written as one: the default of commit.manifest.target-size-bytes."""
_MERGED_ENTRIES = 20_000
"""And up to so many entries, of which each takes some kilobytes of memory."""


@dataclass(slots=True)
class _Merged:
    """Entries of manifests that become one, with the keys of those that go; ``size``: bytes of these manifests."""

    parts: list[tuple[Sequence[ManifestEntry], Collection[str]]] = field(default_factory=list)
    size: int = 0
    entries: int = 0

    def has_room(self, manifest: ManifestFile, listed: Sequence[ManifestEntry]) -> bool:
        fits = self.size + manifest.manifest_length <= _MERGED_BYTES and self.entries + len(listed) <= _MERGED_ENTRIES
        return fits or not self.parts


class DataManifestWriter(Blocked, ManifestWriterV2):
    """Data manifests of version 2."""


class DataManifestWriterV1(Blocked, ManifestWriterV1):
    """Manifests of version 1."""


class DeleteManifestWriter(Blocked, ManifestWriterV2):
    """Delete manifests that Iceberg Java can read: PyIceberg's writer always declares data manifests, and gives
    equality ids as longs, on which Java fails with a ClassCastException."""

    def content(self) -> ManifestContent:
        return ManifestContent.DELETES

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes"}

    def _with_partition(self, format_version: TableVersion) -> Schema:
        entry = super()._with_partition(format_version)
        file = entry.find_field(2).field_type
        assert isinstance(file, StructType)
        fields = [EQUALITY_IDS if field.field_id == EQUALITY_IDS.field_id else field for field in file.fields]
        return manifest_entry_schema_with_data_file(format_version, StructType(*fields))


class SnapshotProducer(_SnapshotProducer[U], Generic[U]):
    """What differs between format versions; row ids of version 3 are read, kept and assigned.

    Producers say the whole new list in ``_manifests``, which checks every attempt against the head that it builds on.
    """

    _of_attempt: tuple[Schema, dict[int, PartitionSpec]] | None = None

    def _deleted_entries(self) -> list[ManifestEntry]:
        return []

    def _existing_manifests(self) -> list[ManifestFile]:
        return []

    def _validate_concurrency(self) -> None:
        """``_manifests`` does."""

    def stage(self) -> None:
        """Write the manifests and hand the updates to the transaction; what fails here leaves no file."""
        try:
            self.commit()
        except BaseException:
            self._clean_all_uncommitted()
            raise

    def schema(self) -> Schema:
        """Of the metadata of this attempt: PyIceberg copies all of it each time that it is asked for."""
        return self._schema_and_specs()[0]

    def spec(self, spec_id: int) -> PartitionSpec:
        return self._schema_and_specs()[1][spec_id]

    def _schema_and_specs(self) -> tuple[Schema, dict[int, PartitionSpec]]:
        if self._of_attempt is None:
            metadata = self._transaction.table_metadata
            self._of_attempt = metadata.schema(), metadata.specs()
        return self._of_attempt

    def listed(self, snapshot: Snapshot) -> list[ManifestFile]:
        """The manifests of a snapshot, with their first row ids."""
        return list_manifests(self._io, snapshot, self._transaction.table_metadata.format_version)

    def head_manifests(self) -> tuple[list[ManifestFile], list[ManifestFile]]:
        """Those of data and those of deletes with live entries; ValidationException where the branch is gone."""
        metadata, branch = self._transaction.table_metadata, self._target_branch or MAIN_BRANCH
        _check_no_tag(metadata, branch)
        head = metadata.snapshot_by_name(branch)
        if head is None:
            where = "the table" if branch == MAIN_BRANCH else f"branch {branch}"
            raise ValidationException(f"Missing required files to delete: {where} has no snapshot any more")
        manifests = [m for m in self.listed(head) if holds_live(m)]
        data = [m for m in manifests if m.content == ManifestContent.DATA]
        return data, [m for m in manifests if m.content == ManifestContent.DELETES]

    def touched(self, manifests: Sequence[ManifestFile], files: Iterable[LiveFile]) -> dict[str, Touched]:
        """By location the manifests that list ``files``, and which.

        Manifests never change: those that the files were read from come first, and none is read once all are found.
        """
        wanted, known = set(), set()
        for file in files:
            wanted.add(file.key)
            known.add(file.manifest)
        missing = set(wanted)
        likely = [m for m in manifests if m.manifest_path in known]
        rest = [m for m in manifests if m.manifest_path not in known]
        found: dict[str, Touched] = {}
        for some in (likely, rest):
            if not missing:
                break
            for manifest, listed in each_entries(self._io, some, statistics=False):
                if gone := {live(entry).key for entry in listed} & wanted:
                    found[manifest.manifest_path] = gone
                    missing -= gone
                if not missing and some is rest:
                    break
        return found

    def remade(self, manifests: Sequence[ManifestFile], changed: Mapping[str, Touched]) -> list[ManifestFile]:
        """The manifests, those of ``changed`` written anew without what is gone."""
        again = each_entries(self._io, [m for m in manifests if m.manifest_path in changed])
        made = self.without((m, listed, changed[m.manifest_path]) for m, listed in again)
        return [*made, *(m for m in manifests if m.manifest_path not in changed)]

    def writer(self, spec: PartitionSpec, content: ManifestContent) -> ManifestWriter:
        """A new manifest of the table's format version."""
        output = self.new_manifest_output()
        version = self._transaction.table_metadata.format_version
        if version == 3:
            writer = ManifestWriterV3(spec, self.schema(), output, self._snapshot_id, self._compression)
            writer.deletes = content == ManifestContent.DELETES
            return writer
        if content == ManifestContent.DELETES:
            return DeleteManifestWriter(spec, self.schema(), output, self._snapshot_id, self._compression)
        data = DataManifestWriterV1 if version == 1 else DataManifestWriter
        return data(spec, self.schema(), output, self._snapshot_id, self._compression)

    def without(
        self, manifests: Iterable[tuple[ManifestFile, Sequence[ManifestEntry], Collection[str]]]
    ) -> list[ManifestFile]:
        """Manifests of which nothing goes as they are; what others list anew: the gone deleted, the rest existing.

        Small ones become one together, as Iceberg's ``MergingSnapshotProducer`` does: to write a manifest takes longer
        than its entries, and an attempt that is slower than other writers never lands.
        """
        kept: list[ManifestFile] = []
        waiting: dict[tuple[int, ManifestContent], _Merged] = {}
        for manifest, listed, gone in manifests:
            if not gone:
                kept.append(manifest)
                continue
            key = (manifest.partition_spec_id, manifest.content)
            merged = waiting.setdefault(key, _Merged())
            if not merged.has_room(manifest, listed):
                kept.append(self._merged(*key, merged))
                merged = waiting[key] = _Merged()
            merged.parts.append((listed, gone))
            merged.size += manifest.manifest_length
            merged.entries += len(listed)
        return kept + [self._merged(*key, merged) for key, merged in waiting.items()]

    def _merged(self, spec_id: int, content: ManifestContent, merged: _Merged) -> ManifestFile:
        with self.writer(self.spec(spec_id), content) as writer:
            for listed, gone in merged.parts:
                for entry in listed:
                    if live(entry).key in gone:
                        writer.delete(entry)
                    else:
                        writer.existing(entry)
        remade: ManifestFile = writer.to_manifest_file()
        return remade

    def added_manifests(
        self, files: Iterable[DataFile], content: ManifestContent, sequence: int | None = None
    ) -> list[ManifestFile]:
        """One manifest a partition spec of new files; their sequence number is the commit's unless it is given."""
        by_spec: dict[int, list[DataFile]] = {}
        for file in files:
            by_spec.setdefault(file.spec_id, []).append(file)
        written = []
        for spec_id, found in by_spec.items():
            with traced("store.write"), self.writer(self.spec(spec_id), content) as writer:
                for file in found:
                    writer.add_entry(
                        ManifestEntry.from_args(
                            status=ManifestEntryStatus.ADDED,
                            snapshot_id=self._snapshot_id,
                            sequence_number=sequence,
                            file_sequence_number=None,
                            data_file=file,
                        )
                    )
            written.append(writer.to_manifest_file())
        return written

    def _commit(self) -> UpdatesAndRequirements:
        self._of_attempt = None
        metadata = self._transaction.table_metadata
        if isinstance(metadata, TableMetadataV3):
            updates, requirements = self._commit_with_row_ids(metadata)
        else:
            updates, requirements = super()._commit()
        branch, kept = self._target_branch, tuple(_as_long_kept(update, metadata) for update in updates)
        if branch is None or branch in metadata.refs or branch == MAIN_BRANCH:
            return kept, requirements
        return kept, (AssertNewReference.model_validate({"ref": branch, "snapshot-id": None}),)

    def _commit_with_row_ids(self, metadata: TableMetadataV3) -> UpdatesAndRequirements:
        """As PyIceberg's own, with a manifest list and a snapshot of format version 3."""
        manifests = self._manifests()
        provider = self._transaction._table.location_provider()
        location = provider.new_metadata_location(f"snap-{self._snapshot_id}-0-{self.commit_uuid}.avro")
        self._written_manifest_lists.append(location)
        sequence, following = metadata.next_sequence_number(), metadata.next_row_id or 0
        listed = ListedSnapshot(self._snapshot_id, self._parent_snapshot_id, sequence, following)
        with store_call("write", location):
            added = write_manifest_list(self._io.new_output(location), manifests, listed, self._compression)
        snapshot: dict[str, object] = {
            "snapshot-id": self._snapshot_id,
            "parent-snapshot-id": self._parent_snapshot_id,
            "manifest-list": location,
            "sequence-number": sequence,
            "summary": self._summary(self.snapshot_properties),
            "schema-id": metadata.current_schema_id,
            "first-row-id": following,
            "added-rows": added,
        }
        added_snapshot = AddSnapshotUpdate(snapshot=Snapshot.model_validate(snapshot))
        branch = self._target_branch
        if branch is None:  # staged
            return (added_snapshot,), ()
        moved = {"ref-name": branch, "type": "branch", "snapshot-id": self._snapshot_id}
        head = {"ref": branch, "snapshot-id": metadata.refs[branch].snapshot_id if branch in metadata.refs else None}
        updates = (added_snapshot, SetSnapshotRefUpdate.model_validate(moved))
        return updates, (AssertRefSnapshotId.model_validate(head),)


def _as_long_kept(update: TableUpdate, metadata: TableMetadata) -> TableUpdate:
    """A branch that moves keeps the ages of its own, which PyIceberg's producers drop."""
    if not isinstance(update, SetSnapshotRefUpdate):
        return update
    return set_reference(update.ref_name, update.snapshot_id, update.type, metadata.refs.get(update.ref_name))


def _check_no_tag(metadata: TableMetadata, branch: str) -> None:
    ref = metadata.refs.get(branch)
    if ref is not None and ref.snapshot_ref_type is not SnapshotRefType.BRANCH:
        raise ValidationException(f"Cannot commit, {branch} is no branch any more")


class CallProducer(SnapshotProducer[U], Generic[U]):
    """A REPLACE snapshot of a procedure's call, told apart by the call's id in its summary and in its files' names."""

    def __init__(
        self,
        transaction: Transaction,
        call_id: str,
        properties: Mapping[str, str] | None,
        branch: str = MAIN_BRANCH,
    ) -> None:
        _check_no_tag(transaction.table_metadata, branch)
        properties, io = {CALL_ID: call_id, **(properties or {})}, transaction._table.io
        super().__init__(Operation.REPLACE, transaction, io, snapshot_properties=properties, branch=branch)
        self._call_id = call_id
        self.attempts = 0
        self._name_attempt()

    def _refresh_for_retry(self) -> None:
        super()._refresh_for_retry()
        self._name_attempt()

    def _name_attempt(self) -> None:
        # PyIceberg only formats commit_uuid into file names: with the call's id in it, recovery finds the files.
        self.attempts += 1
        self.commit_uuid: Any = f"{self._call_id}-{self.attempts}"
