"""A snapshot without some rows, and with those that come in their place, if nothing happened to them meanwhile.

Rows go by deletes that are added, or with their data files, whose other rows are in new ones. Source: Iceberg's
``RowDelta`` (``BaseRowDelta``) and ``OverwriteFiles`` as Spark's ``CopyOnWriteOperation`` asks for it: both check data
files, deletes and added rows alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyiceberg.exceptions import ValidationException
from pyiceberg.manifest import UNASSIGNED_SEQ, DataFile, ManifestContent, ManifestEntryStatus, ManifestFile
from pyiceberg.table import Transaction
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.snapshots import Operation, Snapshot, Summary

from coordinator.connectors.iceberg.manifests.delete_index import DeleteIndex
from coordinator.connectors.iceberg.manifests.fetching import each_entries
from coordinator.connectors.iceberg.manifests.live_files import LiveFile, live
from coordinator.connectors.iceberg.snapshots.edit_files import Check
from coordinator.connectors.iceberg.snapshots.producer import SnapshotProducer, Touched
from coordinator.connectors.iceberg.snapshots.summary import summarize


@dataclass(frozen=True, slots=True)
class Delta:
    """What a statement made of the rows of snapshot ``base``, None where the table had none.

    ``changed`` are the data files whose rows ``deletes`` takes out, ``replaced`` the deletion vectors that those hold
    too. With ``copied`` the changed files go, what is left of them is among ``rows``, and ``replaced`` are deletes of
    nothing else. ``may_match`` tells whether rows of a new data file might have been changed as well; None: new ones
    are no conflict.
    """

    base: Snapshot | None
    rows: Sequence[DataFile]
    may_match: Callable[[LiveFile], bool] | None
    deletes: Sequence[DataFile] = ()
    changed: Sequence[LiveFile] = ()
    replaced: Sequence[LiveFile] = ()
    copied: bool = False


class RowDelta(SnapshotProducer["RowDelta"]):
    """Commits a Delta on a branch; without a branch the snapshot, made on that of main, is staged.

    Every attempt looks at what was committed since ``base``. Raises ValidationException for a conflict.
    """

    def __init__(
        self,
        transaction: Transaction,
        delta: Delta,
        *,
        check: Check,
        properties: Mapping[str, str],
        branch: str | None = MAIN_BRANCH,
    ) -> None:
        operation = Operation.OVERWRITE if delta.changed else Operation.APPEND
        if not delta.rows:
            operation = Operation.DELETE
        super().__init__(
            operation, transaction, transaction._table.io, snapshot_properties=dict(properties), branch=branch
        )
        self._delta = delta
        self._check = check
        self._gone: list[LiveFile] = []

    def _manifests(self) -> list[ManifestFile]:
        metadata = self._transaction.table_metadata
        self._check(metadata)
        branch = self._target_branch or MAIN_BRANCH
        empty = metadata.snapshot_by_name(branch) is None and self._delta.base is None
        data, deletes = ([], []) if empty else self.head_manifests()
        since = _since(metadata, branch, self._delta.base)
        changed = self.touched(data, self._delta.changed) if since or self._delta.copied else {}
        if since or self._delta.copied:
            self._check_there(changed)
        if since:
            self._check_changed(since, data, deletes)
        if self._delta.copied:
            data = self.remade(data, changed)
        going = [*self._delta.replaced, *(self._outlived(data, deletes) if self._delta.copied else ())]
        gone = self.touched(deletes, going)
        found = {key for keys in gone.values() for key in keys}
        self._gone = list({file.key: file for file in going if file.key in found}.values())
        return [
            *data,
            *self.added_manifests(self._delta.rows, ManifestContent.DATA),
            *self.remade(deletes, gone),
            *self.added_manifests(self._delta.deletes, ManifestContent.DELETES),
        ]

    def _outlived(self, data: Sequence[ManifestFile], deletes: Sequence[ManifestFile]) -> Iterator[LiveFile]:
        """Deletes that are older than all data, which apply to nothing (``dropDeleteFilesOlderThan``)."""
        known = [m.min_sequence_number or 0 for m in data if m.min_sequence_number != UNASSIGNED_SEQ]
        oldest = min(known, default=self._transaction.table_metadata.next_sequence_number() - 1)
        older = [m for m in deletes if (m.min_sequence_number or 0) < oldest]
        for manifest, listed in each_entries(self._io, older):
            found = (live(entry, manifest.manifest_path) for entry in listed)
            yield from (file for file in found if file.sequence_number < oldest)

    def _check_there(self, changed: Mapping[str, Touched]) -> None:
        found = {key for keys in changed.values() for key in keys}
        if missing := sorted({file.key for file in self._delta.changed} - found):
            raise ValidationException(f"Missing required files to delete: {', '.join(missing[:5])}")

    def _check_changed(
        self, since: Mapping[int, Snapshot], data: Sequence[ManifestFile], deletes: Sequence[ManifestFile]
    ) -> None:
        delta = self._delta
        base = 0 if delta.base is None else delta.base.sequence_number or 0
        listed = each_entries(self._io, [m for m in deletes if m.added_snapshot_id in since])
        newer = [file for _, entries in listed for file in map(live, entries) if file.sequence_number > base]
        index = DeleteIndex(newer, self._transaction.table_metadata.specs())
        if hit := next((file.path for file in delta.changed if index.of(file)), None):
            raise ValidationException(f"Cannot commit, found new delete for data file: {hit}")
        if delta.may_match is not None:
            self._check_added(since, data)

    def _check_added(self, since: Mapping[int, Snapshot], data: Sequence[ManifestFile]) -> None:
        """New rows that the statement would have changed, had it seen them; those of a compaction are not new."""
        may_match = self._delta.may_match
        assert may_match is not None
        adding = {
            number
            for number, snapshot in since.items()
            if snapshot.summary is None or snapshot.summary.operation != Operation.REPLACE
        }
        for _, entries in each_entries(self._io, [m for m in data if m.added_snapshot_id in adding]):
            for entry in entries:
                if entry.status == ManifestEntryStatus.ADDED and may_match(live(entry)):
                    path = entry.data_file.file_path
                    raise ValidationException(f"Found conflicting files that can contain matching records: {path}")

    def _summary(self, snapshot_properties: Mapping[str, str] | None = None) -> Summary:
        return summarize(
            self._transaction.table_metadata,
            self._parent_snapshot_id,
            self._operation,
            added=[*self._delta.rows, *self._delta.deletes],
            removed=[
                *(file.file for file in self._delta.changed if self._delta.copied),
                *(file.file for file in self._gone),
            ],
            properties=snapshot_properties,
        )


def _since(metadata: TableMetadata, branch: str, base: Snapshot | None) -> Mapping[int, Snapshot]:
    """The snapshots of a branch that came after ``base``. Raises ValidationException where that is not among them."""
    found: dict[int, Snapshot] = {}
    until = None if base is None else base.snapshot_id
    snapshot = metadata.snapshot_by_name(branch)
    while snapshot is not None and snapshot.snapshot_id != until:
        found[snapshot.snapshot_id] = snapshot
        parent = snapshot.parent_snapshot_id
        snapshot = None if parent is None else metadata.snapshot_by_id(parent)
    if snapshot is None and base is not None:
        raise ValidationException("the table was set to another snapshot meanwhile")
    return found
