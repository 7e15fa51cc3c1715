"""The files that only expiring snapshots need; every manifest list and manifest is read once.

As Iceberg decides it: what the live entries of a snapshot's manifests name is needed by that snapshot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal

from pyiceberg.io import FileIO
from pyiceberg.manifest import DataFileContent, ManifestFile
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Snapshot

from coordinator.connectors.iceberg.maintenance.expiry import Expired, Used
from coordinator.connectors.iceberg.manifests.fetching import Fetched, fetched_ahead
from coordinator.connectors.iceberg.manifests.lists import new_manifests
from coordinator.connectors.iceberg.manifests.live_files import holds_live
from coordinator.connectors.iceberg.manifests.names import read_names
from coordinator.connectors.iceberg.paths import normalize

FileKind = Literal["data", "position deletes", "equality deletes", "manifest", "manifest list", "statistics"]
Progress = Callable[[int, int], None]
"""Called with the number of manifests that were read and how many there are; may raise to stop."""
_THREADS = 8
_AT_ONCE = 32
_KINDS: dict[DataFileContent, FileKind] = {
    DataFileContent.DATA: "data",
    DataFileContent.POSITION_DELETES: "position deletes",
    DataFileContent.EQUALITY_DELETES: "equality deletes",
}


@dataclass(frozen=True, slots=True)
class Unneeded:
    """A file that nothing needs once the snapshots are gone; ``size`` is None where the metadata does not say."""

    location: str
    kind: FileKind
    size: int | None


@dataclass(slots=True)
class Reachability:
    """What was read so far: kept manifests by path, and files of expiring snapshots that no kept one needs."""

    io: FileIO
    kept: dict[str, ManifestFile] = field(default_factory=dict)
    expiring: dict[str, ManifestFile] = field(default_factory=dict)
    content: dict[str, Unneeded] = field(default_factory=dict)
    lists: list[Unneeded] = field(default_factory=list)
    statistics: list[Unneeded] = field(default_factory=list)
    _read_lists: set[str] = field(default_factory=set)

    def list_manifests(self, metadata: TableMetadata, expired: Expired) -> None:
        """Read every manifest list, those of the snapshots that stay first. Raises when a kept one cannot be read."""
        gone = set(expired.snapshots)
        reported: set[str] = set()
        staying = [snapshot for snapshot in metadata.snapshots if snapshot.snapshot_id not in gone]
        for snapshot, fetched in fetched_ahead(self.io, staying, _list_of):
            self.kept |= self._manifests_of(snapshot, reported, fetched, may_miss=False)
        kept = set(self._read_lists)
        going = [s for s in metadata.snapshots if s.snapshot_id in gone and normalize(s.manifest_list) not in kept]
        for snapshot, fetched in fetched_ahead(self.io, going, _list_of):
            self.expiring |= self._manifests_of(snapshot, reported, fetched, may_miss=True)
            self.lists.append(Unneeded(snapshot.manifest_list, "manifest list", None))
        self.statistics = _statistics(metadata, gone)

    def keep_more(self, metadata: TableMetadata, expired: Expired | None = None) -> None:
        """Leave alone what snapshots of newer ``metadata`` need; ``expired`` unless they are out of it already."""
        fresh: list[ManifestFile] = []
        gone = set() if expired is None else set(expired.snapshots)
        for snapshot in metadata.snapshots:
            if snapshot.snapshot_id in gone or normalize(snapshot.manifest_list) in self._read_lists:
                continue
            for key, manifest in self._manifests_of(snapshot, set(), None, may_miss=False).items():
                self.expiring.pop(key, None)
                if key not in self.kept:
                    self.kept[key] = manifest
                    fresh.append(manifest)
        self.discard([manifest for manifest in fresh if holds_live(manifest)], lambda _: None)
        files = (*metadata.statistics, *metadata.partition_statistics)
        kept = {normalize(file.statistics_path) for file in files if file.snapshot_id not in gone}
        self.statistics = [file for file in self.statistics if normalize(file.location) not in kept]

    @property
    def to_read(self) -> int:
        """Bytes of the manifests that ``read_manifests`` reads."""
        return sum(m.manifest_length for m in (*self.expiring.values(), *self.kept.values()))

    def read_manifests(self, progress: Progress) -> None:
        """Find the content files that only expiring manifests name."""
        expiring = [m for m in self.expiring.values() if holds_live(m)]
        kept = [m for m in self.kept.values() if holds_live(m)]
        total, done = len(expiring) + len(kept), 0
        for files in _read(self.io, expiring, may_miss=True):
            for file in files:
                self.content.setdefault(normalize(file.location), file)
            done += 1
            progress(done, total)
        if self.content:
            self.discard(kept, lambda read: progress(done + read, total))

    def discard(self, manifests: Sequence[ManifestFile], progress: Callable[[int], None]) -> None:
        """Leave alone what these manifests name."""
        for number, files in enumerate(_read(self.io, manifests, may_miss=False), start=1):
            for file in files:
                self.content.pop(normalize(file.location), None)
            progress(number)

    def unneeded(self) -> list[Unneeded]:
        """In the order in which they are deleted: what names others goes after them."""
        manifests = [Unneeded(m.manifest_path, "manifest", m.manifest_length) for m in self.expiring.values()]
        return [*self.content.values(), *manifests, *self.lists, *self.statistics]

    def _manifests_of(
        self, snapshot: Snapshot, reported: set[str], fetched: Fetched | None, *, may_miss: bool
    ) -> dict[str, ManifestFile]:
        key = normalize(snapshot.manifest_list)
        if key in self._read_lists:
            return {}
        self._read_lists.add(key)
        try:
            fresh = list(new_manifests(self.io, snapshot.manifest_list, reported, fetched))
        except FileNotFoundError:
            if not may_miss:
                raise
            return {}
        return {normalize(manifest.manifest_path): manifest for manifest in fresh}


def _list_of(snapshot: Snapshot) -> str:
    return snapshot.manifest_list


def reachability(table: Table, expired: Expired) -> Reachability:
    """With the manifest lists read; raises what PyIceberg raises for lists that cannot be read."""
    found = Reachability(table.io)
    found.list_manifests(table.metadata, expired)
    return found


def used_by(metadata: TableMetadata, expired: Expired, found: Reachability) -> Used:
    """Schemas and partition specs of the snapshots that stay."""
    gone = set(expired.snapshots)
    staying = [snapshot for snapshot in metadata.snapshots if snapshot.snapshot_id not in gone]
    schemas = {snapshot.schema_id for snapshot in staying if snapshot.schema_id is not None}
    return Used({manifest.partition_spec_id for manifest in found.kept.values()}, schemas)


def _statistics(metadata: TableMetadata, gone: set[int]) -> list[Unneeded]:
    files = (*metadata.statistics, *metadata.partition_statistics)
    kept = {normalize(file.statistics_path) for file in files if file.snapshot_id not in gone}
    found = {
        normalize(file.statistics_path): Unneeded(file.statistics_path, "statistics", file.file_size_in_bytes)
        for file in files
        if file.snapshot_id in gone
    }
    return [file for key, file in found.items() if key not in kept]


def _read(io: FileIO, manifests: Sequence[ManifestFile], *, may_miss: bool) -> Iterator[list[Unneeded]]:
    """The files of each manifest, some manifests at a time: storage is waited for side by side, memory is bounded."""
    waiting = iter(manifests)
    with ThreadPoolExecutor(_THREADS) as pool:
        while batch := list(islice(waiting, _AT_ONCE)):
            yield from pool.map(lambda manifest: _files(io, manifest, may_miss=may_miss), batch)


def _files(io: FileIO, manifest: ManifestFile, *, may_miss: bool) -> list[Unneeded]:
    try:
        names = read_names(io, manifest)
    except FileNotFoundError:
        if not may_miss:
            raise
        return []  # what only a lost manifest named can nobody tell any more
    return [Unneeded(path, _KINDS[content], size) for path, content, size in names]
