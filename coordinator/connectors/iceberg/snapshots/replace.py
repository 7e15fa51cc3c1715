"""A REPLACE snapshot: data files swapped for others with the same rows, deletes that they carried removed with them.

PyIceberg brings transactions, retries and manifest lists; the producer and its conflict rules are ours, because
PyIceberg's own validation fails on any append and lets deleted rows return after a retry.
Source: Iceberg ``RewriteFiles`` (``BaseRewriteFiles``, ``MergingSnapshotProducer``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from pyiceberg.exceptions import ValidationException
from pyiceberg.manifest import DataFile, ManifestContent, ManifestFile
from pyiceberg.table import Transaction
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.snapshots import Operation, Summary

from coordinator.connectors.iceberg.manifests.delete_index import DeleteIndex
from coordinator.connectors.iceberg.manifests.fetching import each_entries
from coordinator.connectors.iceberg.manifests.live_files import LiveFile, live
from coordinator.connectors.iceberg.snapshots.producer import CallProducer
from coordinator.connectors.iceberg.snapshots.summary import summarize


@dataclass(frozen=True, slots=True)
class Carried:
    """New delete files for new data files, and the keys of those that nobody needs in their place.

    ``left`` are keys of old files that stay as they are, and ``unused`` the paths of new ones that are not committed.
    """

    added: tuple[DataFile, ...] = ()
    obsolete: frozenset[str] = frozenset()
    left: frozenset[str] = frozenset()
    unused: frozenset[str] = frozenset()


Carry = Callable[[Sequence[LiveFile], Set[str]], Carried]
"""Of the live delete files of a head, and the keys of replaced files that it does not have any more."""


class ReplaceFiles(CallProducer["ReplaceFiles"]):
    """Replaces ``replaced`` by ``added`` on a branch.

    ``carry`` says what to add for rows that were deleted meanwhile, also with their files, and refuses what cannot be
    carried over. ``base_sequence`` is the sequence number of the snapshot that was read: added files keep it
    as theirs, so that equality deletes committed meanwhile still apply to the rows that moved. When they are not
    ``pinned`` to it, they take the commit's, and such deletes are conflicts. ``applied`` are the delete files that the
    rewrite applied; those that match no live file any more are removed, or all such ones with ``dangling``.
    """

    def __init__(
        self,
        transaction: Transaction,
        *,
        call_id: str,
        base_sequence: int,
        pinned: bool = True,
        replaced: Iterable[LiveFile],
        added: Sequence[DataFile],
        applied: Iterable[LiveFile],
        carry: Carry,
        dangling: bool = False,
        properties: Mapping[str, str] | None = None,
        branch: str = MAIN_BRANCH,
    ) -> None:
        super().__init__(transaction, call_id, properties, branch)
        self._base_sequence = base_sequence
        self._pinned = pinned
        replaced = list(replaced)
        self._read = replaced
        self._replaced = {file.key: file for file in replaced}
        self._added = list(added)
        self._applied = {file.key for file in applied}
        self._dangling = dangling
        self._carry = carry
        self._carried = Carried()
        self._gone: Set[str] = frozenset()
        specs = {file.spec_id for file in self._added}
        self._moves = bool(specs) and any(file.file.spec_id not in specs for file in self._replaced.values())
        self.removed_deletes: list[LiveFile] = []

    @property
    def kept(self) -> Set[str]:
        """The keys of old files that this commit does not replace: others removed them, or they stay."""
        return self._gone | self._carried.left

    @property
    def added(self) -> list[DataFile]:
        """The new data files of this commit."""
        return [file for file in self._added if file.file_path not in self._carried.unused]

    def _manifests(self) -> list[ManifestFile]:
        data, deletes = self.head_manifests()
        # A file that is gone is not looked for again: nothing is wrong where it comes back, with its rows.
        changed = self.touched(data, [file for file in self._read if file.key not in self._gone])
        self._gone = self._replaced.keys() - {key for found in changed.values() for key in found}
        kept_deletes = self._delete_manifests(deletes, data)
        changed = {path: left for path, found in changed.items() if (left := found - self._carried.left)}
        kept = self.remade(data, changed)
        sequence = self._base_sequence if self._pinned else None
        carried = self.added_manifests(self._carried.added, ManifestContent.DELETES)
        return [*self.added_manifests(self.added, ManifestContent.DATA, sequence), *kept, *carried, *kept_deletes]

    def _delete_manifests(self, manifests: Sequence[ManifestFile], data: Sequence[ManifestFile]) -> list[ManifestFile]:
        listed = list(each_entries(self._io, manifests))
        deletes = [live(entry) for _, found in listed for entry in found]
        self._refuse_new_deletes(deletes)
        self._carried = self._carry(deletes, self._gone)
        self.removed_deletes = self._unneeded(deletes, self._staying(data))
        gone = {file.key for file in self.removed_deletes}
        return self.without((m, found, {live(e).key for e in found} & gone) for m, found in listed)

    def _staying(self, data: Sequence[ManifestFile]) -> Iterator[LiveFile]:
        """Live data files that are not replaced; a manifest is read only when somebody asks."""
        for _, listed in each_entries(self._io, data, statistics=False):
            found = map(live, listed)
            yield from (f for f in found if f.key not in self._replaced or f.key in self.kept)

    def _refuse_new_deletes(self, deletes: Sequence[LiveFile]) -> None:
        """Equality deletes that came after the rewrite read its files, if they do not find the rows by themselves:
        the new files are younger, or of another partition spec."""
        if self._pinned and not self._moves:
            return
        newer = [d for d in deletes if d.sequence_number > self._base_sequence and not d.is_position_delete]
        index = DeleteIndex(newer, self._transaction.table_metadata.specs())
        if not index:
            return
        for key, file in self._replaced.items():
            if key not in self._gone and index.of(file):
                raise ValidationException(f"Cannot commit, found new delete for replaced data file: {file.path}")

    def _unneeded(self, deletes: Sequence[LiveFile], stay: Iterable[LiveFile]) -> list[LiveFile]:
        known = self._applied | self._carried.obsolete
        candidates = [d for d in deletes if self._dangling or d.key in known]
        index = DeleteIndex(candidates, self._transaction.table_metadata.specs())
        if not index:
            return []
        needed = {delete.key for file in stay for delete in index.of(file)}
        sequence = self._base_sequence if self._pinned else self._transaction.table_metadata.next_sequence_number()
        for added in self.added:
            # No position delete can name a file that was just written.
            matching = index.of(LiveFile(added, sequence))
            needed |= {delete.key for delete in matching if not delete.is_position_delete}
        return [d for d in candidates if d.key not in needed]

    def _summary(self, snapshot_properties: Mapping[str, str] | None = None) -> Summary:
        replaced = [file for key, file in self._replaced.items() if key not in self.kept]
        return summarize(
            self._transaction.table_metadata,
            self._parent_snapshot_id,
            Operation.REPLACE,
            added=[*self.added, *self._carried.added],
            removed=[file.file for file in (*replaced, *self.removed_deletes)],
            properties=snapshot_properties,
        )
