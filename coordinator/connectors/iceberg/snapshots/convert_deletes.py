"""A REPLACE snapshot that swaps equality delete files for position deletes or deletion vectors of the same rows.

Source: Iceberg's action ``ConvertEqualityDeleteFiles`` and ``BaseRewriteFiles``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pyiceberg.exceptions import ValidationException
from pyiceberg.manifest import DataFile, FileFormat, ManifestContent, ManifestFile
from pyiceberg.table import Transaction
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.snapshots import Operation, Summary

from coordinator.connectors.iceberg.manifests.delete_index import DeleteIndex
from coordinator.connectors.iceberg.manifests.fetching import each_entries
from coordinator.connectors.iceberg.manifests.live_files import LiveFile, live
from coordinator.connectors.iceberg.snapshots.producer import CallProducer
from coordinator.connectors.iceberg.snapshots.summary import summarize


class ConvertDeletes(CallProducer["ConvertDeletes"]):
    """Removes ``converted`` and ``replaced`` delete files and adds ``added`` ones on a branch.

    ``examined`` are the normalized paths of the data files whose rows were compared, each with whether it lost some.
    Raises ValidationException when other files came that the removed deletes apply to.
    """

    def __init__(
        self,
        transaction: Transaction,
        *,
        call_id: str,
        converted: Iterable[LiveFile],
        replaced: Iterable[LiveFile] = (),
        added: Sequence[DataFile] = (),
        examined: Mapping[str, bool] | None = None,
        properties: Mapping[str, str] | None = None,
        branch: str = MAIN_BRANCH,
    ) -> None:
        super().__init__(transaction, call_id, properties, branch)
        self._converted = {file.key: file for file in converted}
        self._replaced = {file.key: file for file in replaced}
        self._added = list(added)
        self._examined = dict(examined or {})

    def _manifests(self) -> list[ManifestFile]:
        data, delete_manifests = self.head_manifests()
        deletes = list(each_entries(self._io, delete_manifests))
        files = [live(entry) for _, found in each_entries(self._io, data, statistics=False) for entry in found]
        self._check(files, [live(entry) for _, listed in deletes for entry in listed])
        gone = self._converted.keys() | self._replaced.keys()
        kept = self.without((m, listed, {live(e).key for e in listed} & gone) for m, listed in deletes)
        return [*data, *kept, *self.added_manifests(self._added, ManifestContent.DELETES)]

    def _check(self, data: Sequence[LiveFile], deletes: Sequence[LiveFile]) -> None:
        listed = {delete.key for delete in deletes}
        if missing := sorted((self._converted.keys() | self._replaced.keys()) - listed):
            raise ValidationException(f"Missing required files to delete: {', '.join(missing[:5])}")
        known = {file.key for file in data}
        if gone := sorted(path for path, lost in self._examined.items() if lost and path not in known):
            raise ValidationException(f"Cannot commit, data file is not live any more: {gone[0]}")
        index = DeleteIndex(self._converted.values(), self._transaction.table_metadata.specs())
        for file in data:
            if file.key not in self._examined and index.of(file):
                raise ValidationException(f"Cannot commit, found new data file for converted deletes: {file.path}")
        for delete in deletes:
            newer = delete.file.file_format == FileFormat.PUFFIN and delete.key not in self._replaced
            if newer and self._examined.get(delete.only_data_file or ""):
                raise ValidationException(f"Cannot commit, found new deletion vector for: {delete.only_data_file}")

    def _summary(self, snapshot_properties: Mapping[str, str] | None = None) -> Summary:
        return summarize(
            self._transaction.table_metadata,
            self._parent_snapshot_id,
            Operation.REPLACE,
            added=self._added,
            removed=[file.file for file in (*self._converted.values(), *self._replaced.values())],
            properties=snapshot_properties,
        )
