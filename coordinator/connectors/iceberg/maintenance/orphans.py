"""Files under a location that a table's metadata does not name: Iceberg's ``DeleteOrphanFiles``, as a stream."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from itertools import islice
from typing import IO, Literal, Self

from pyiceberg.io import FileIO
from pyiceberg.manifest import ManifestFile
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata

from coordinator.connectors.iceberg.maintenance.file_references import FileReferences, Match
from coordinator.connectors.iceberg.maintenance.listing import FoundFile
from coordinator.connectors.iceberg.manifests.fetching import fetched_ahead
from coordinator.connectors.iceberg.manifests.lists import new_manifests
from coordinator.connectors.iceberg.manifests.live_files import holds_live
from coordinator.connectors.iceberg.manifests.names import read_names

Mode = Literal["ERROR", "IGNORE", "DELETE"]
_THREADS = 8
_MANIFESTS = 16
_BATCH = 10_000


class ReferencedFiles:
    """Reads a table's metadata into ``references``; called again, only what is new in it."""

    def __init__(self, io: FileIO, references: FileReferences) -> None:
        self._io = io
        self._references = references
        self._lists: set[str] = set()
        self._manifests: set[str] = set()
        self._waiting: list[ManifestFile] = []

    def list_manifests(self, table: Table) -> int:
        """Read the manifest lists; bytes of the manifests that are to be read. Raises what PyIceberg raises."""
        lists = dict.fromkeys(snapshot.manifest_list for snapshot in table.metadata.snapshots)
        fresh = [location for location in lists if location not in self._lists]
        for location, fetched in fetched_ahead(self._io, fresh, str):
            self._lists.add(location)
            self._waiting += new_manifests(self._io, location, self._manifests, fetched)
        self._references.add(_own_files(table.metadata_location, table.metadata))
        return sum(manifest.manifest_length for manifest in self._waiting)

    def read(self, progress: Callable[[int, int], None]) -> None:
        """Read the manifests, some at a time."""
        waiting, self._waiting = self._waiting, []
        self._references.add(manifest.manifest_path for manifest in waiting)
        live = [manifest for manifest in waiting if holds_live(manifest)]
        with ThreadPoolExecutor(_THREADS) as pool:
            for start in range(0, len(live), _MANIFESTS):
                for paths in pool.map(self._paths, live[start : start + _MANIFESTS]):
                    self._references.add(paths)
                progress(start, len(live))

    def _paths(self, manifest: ManifestFile) -> list[str]:
        return [path for path, _, _ in read_names(self._io, manifest)]


def _own_files(location: str, metadata: TableMetadata) -> Iterator[str]:
    yield location
    yield f"{location.rpartition('/')[0]}/version-hint.text"
    yield from (entry.metadata_file for entry in metadata.metadata_log)
    yield from (snapshot.manifest_list for snapshot in metadata.snapshots)
    yield from (file.statistics_path for file in (*metadata.statistics, *metadata.partition_statistics))


def hidden_names(table: Table) -> Callable[[str], bool]:
    """Names that Hadoop hides: with _ or . in front, but for directories of partition fields called so."""
    fields = {f"{field.name}=" for spec in table.specs().values() for field in spec.fields if field.name[:1] in "_."}

    def hidden(name: str) -> bool:
        return name[:1] in ("_", ".") and not name.startswith(tuple(fields))

    return hidden


def find_orphans(
    files: Iterable[FoundFile], references: FileReferences, older_than: datetime, mode: Mode
) -> Iterator[list[str]]:
    """Orphans in batches, an empty list where a batch has none. Conflicts are noted in ``references``."""
    waiting = iter(files)
    while batch := list(islice(waiting, _BATCH)):
        old = [f.location for f in batch if f.modified is not None and f.modified < older_than]
        yield orphans_among(old, references, mode) if old else []


def orphans_among(locations: Sequence[str], references: FileReferences, mode: Mode) -> list[str]:
    """Those that the metadata does not name; what it names under another prefix is one in mode DELETE only."""
    taken = {Match.ORPHAN, Match.CONFLICT} if mode == "DELETE" else {Match.ORPHAN}
    matches = references.match(locations)
    return [location for location, match in zip(locations, matches, strict=True) if match in taken]


def conflict_text(references: FileReferences) -> str:
    """Iceberg's explanation of why nothing is deleted."""
    schemes = {(named, listed) for named, _, listed, _ in references.conflicts if named and named != listed}
    authorities = {(named, listed) for _, named, _, listed in references.conflicts if named and named != listed}
    listed = ", ".join(f"({named}, {found})" for named, found in sorted(schemes | authorities))
    return (
        "Unable to determine whether certain files are orphan. Metadata references files that match listed/provided "
        "files except for authority/scheme. Please, inspect the conflicting authorities/schemes and provide which of "
        "them are equal by equal_schemes and equal_authorities. Set prefix_mismatch_mode to 'IGNORE' to leave such "
        "files alone, or to 'DELETE' iff you are ABSOLUTELY confident that they are different files. It will be "
        f"impossible to recover deleted files. Conflicting authorities/schemes: [{listed}]."
    )


class Spool:
    """Locations on disk between finding and deleting them; a context manager."""

    def __init__(self) -> None:
        self._file: IO[str] = tempfile.TemporaryFile("w+", encoding="ascii")  # noqa: SIM115  (closed with the spool)
        self.count = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._file.close()

    def add(self, locations: Iterable[str]) -> None:
        """Put some at the end."""
        for location in locations:
            self._file.write(json.dumps(location) + "\n")
            self.count += 1

    def __iter__(self) -> Iterator[str]:
        self._file.seek(0)
        for line in self._file:
            yield json.loads(line)
