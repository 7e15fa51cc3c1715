"""Manifests of the current snapshot written anew, clustered by partition: fewer, and each about few partitions.

Source: Iceberg's ``RewriteManifestsSparkAction`` and ``BaseRewriteManifests``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from pyiceberg.exceptions import ValidationException
from pyiceberg.manifest import ManifestContent, ManifestEntry, ManifestFile
from pyiceberg.table import Table, Transaction
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.snapshots import Operation, Snapshot, Summary

from coordinator.connectors.iceberg.manifests.fetching import each_entries
from coordinator.connectors.iceberg.manifests.lists import manifests_of
from coordinator.connectors.iceberg.manifests.live_files import LARGE_MANIFESTS, entries, holds_live
from coordinator.connectors.iceberg.numbers import whole_number
from coordinator.connectors.iceberg.snapshots.producer import SnapshotProducer
from coordinator.connectors.iceberg.snapshots.summary import summarize

_TARGET = "commit.manifest.target-size-bytes"
_EIGHT_MEGABYTES = 8 << 20


@dataclass(frozen=True, slots=True)
class ManifestGroup:
    """Manifests of one kind that are replaced by ``becomes`` ones."""

    content: ManifestContent
    spec_id: int
    manifests: tuple[ManifestFile, ...]
    becomes: int

    @property
    def size(self) -> int:
        return sum(manifest.manifest_length for manifest in self.manifests)


def plan_manifests(
    table: Table, snapshot: Snapshot | None, spec_id: int, order: Sequence[int] | None = None
) -> list[ManifestGroup]:
    """What to replace of a snapshot: manifests of one partition spec, unless a rewrite would change nothing."""
    manifests = [] if snapshot is None else manifests_of(table.io, snapshot)
    target = whole_number(table.properties.get(_TARGET)) or _EIGHT_MEGABYTES
    groups = []
    for content in (ManifestContent.DATA, ManifestContent.DELETES):
        found = tuple(m for m in manifests if m.content == content and m.partition_spec_id == spec_id)
        becomes = -(-sum(manifest.manifest_length for manifest in found) // target)
        group = ManifestGroup(content, spec_id, found, max(1, becomes))
        if (len(found) > 1 or becomes > 1) and not _is_settled(table, group, order, target):
            groups.append(group)
    return groups


def _is_settled(table: Table, group: ManifestGroup, order: Sequence[int] | None, target: int) -> bool:
    """Whether there are as many manifests as there would be, and each is about partitions of its own."""
    # What each holds beside its entries may make one more of them than there were.
    if len(group.manifests) not in (group.becomes, group.becomes - 1) or group.size > LARGE_MANIFESTS:
        return False
    if any(manifest.manifest_length > 1.5 * target for manifest in group.manifests):
        return False
    ranges = []
    for manifest in group.manifests:
        keys = [_partition_order(e.data_file.partition, order or ()) for e in entries(table.io, manifest)]
        if not keys or manifest.deleted_files_count:
            return False
        ranges.append((min(keys), max(keys)))
    ranges.sort()
    return all(low[1] <= high[0] for low, high in pairwise(ranges))


class RewriteManifests(SnapshotProducer["RewriteManifests"]):
    """Replaces the manifests of ``groups`` on a branch; all of them must still be listed there."""

    def __init__(
        self,
        transaction: Transaction,
        groups: Iterable[ManifestGroup],
        properties: Mapping[str, str],
        order: Sequence[int] | None = None,
        branch: str = MAIN_BRANCH,
    ) -> None:
        io, given = transaction._table.io, dict(properties)
        super().__init__(Operation.REPLACE, transaction, io, snapshot_properties=given, branch=branch)
        self._groups = list(groups)
        self._order = order
        self._counts: dict[str, str] = {}
        self.added = 0

    def _manifests(self) -> list[ManifestFile]:
        head = self._transaction.table_metadata.snapshot_by_name(self._target_branch)
        listed = {} if head is None else {m.manifest_path: m for m in self.listed(head)}
        replaced = [manifest.manifest_path for group in self._groups for manifest in group.manifests]
        if missing := [path for path in replaced if path not in listed]:
            raise ValidationException(f"Manifest is missing: {missing[0]}")
        processed, written = 0, []
        for group in self._groups:
            # As listed now: in format version 3 with the row ids that they were given.
            live = [listed[m.manifest_path] for m in group.manifests if holds_live(m)]
            found = [entry for _, some in each_entries(self._io, live) for entry in some]
            processed += len(found)
            written += [self._written(group, share) for share in _clustered(found, group.becomes, self._order)]
        gone = set(replaced)
        kept = [manifest for path, manifest in listed.items() if path not in gone]
        self.added = len(written)
        self._counts = {
            "manifests-created": str(len(written)),
            "manifests-kept": str(len(kept)),
            "manifests-replaced": str(len(replaced)),
            "entries-processed": str(processed),
        }
        return [*kept, *written]

    def _written(self, group: ManifestGroup, share: Sequence[ManifestEntry]) -> ManifestFile:
        with self.writer(self.spec(group.spec_id), group.content) as writer:
            for entry in share:
                writer.existing(entry)
        manifest: ManifestFile = writer.to_manifest_file()
        return manifest

    def _summary(self, snapshot_properties: Mapping[str, str] | None = None) -> Summary:
        return summarize(
            self._transaction.table_metadata,
            self._parent_snapshot_id,
            Operation.REPLACE,
            added=(),
            removed=(),
            properties={**(snapshot_properties or {}), **self._counts},
        )


def _clustered(
    found: list[ManifestEntry], count: int, order: Sequence[int] | None
) -> Iterator[Sequence[ManifestEntry]]:
    """About equal shares, files of one partition beside each other; ``order`` are the fields that count most."""
    found.sort(key=lambda entry: _partition_order(entry.data_file.partition, order or ()))
    for number in range(count):
        share = found[number * len(found) // count : (number + 1) * len(found) // count]
        if share:
            yield share


def _partition_order(partition: Any, first: Sequence[int]) -> list[tuple[bool, str, object]]:
    """Values in their order, nulls first; values of types that do not compare by their text."""
    values = [partition[i] for i in (*first, *range(len(partition)))]
    plain = (int, float, str, bytes)
    return [(v is not None, "" if isinstance(v, plain) else str(v), v if isinstance(v, plain) else 0) for v in values]
