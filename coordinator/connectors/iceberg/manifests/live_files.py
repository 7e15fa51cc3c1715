"""Live files of a snapshot, read from its manifests: data files, and delete files with their sequence numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pyiceberg.io import FileIO
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat, ManifestContent, ManifestEntry, ManifestFile
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from coordinator.connectors.iceberg.manifests.fetching import each_entries
from coordinator.connectors.iceberg.manifests.reader import (
    ManifestDataFile,
    Statistics,
    read_entries,
    unhurried_garbage,
)
from coordinator.connectors.iceberg.manifests.version_three import list_manifests
from coordinator.connectors.iceberg.paths import normalize

_DELETE_PATH_ID = 2147483546
"""Field id of ``file_path`` in position delete files; equal bounds mean that the file is about one data file."""

Partition = tuple[int, tuple[Any, ...]]
"""Spec id and partition values: what delete files and data files are matched by."""


LARGE_MANIFESTS = 256 << 20
"""Bytes of manifests from which on Spark reads them, where there is one."""


class _Exact(float):
    """Zero or NaN as a partition: 0.0 and -0.0 are two, and NaN is one."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, float) and str(float(self)) == str(float(other))

    def __hash__(self) -> int:
        return hash(str(float(self)))


@dataclass(frozen=True, eq=False)
class LiveFile:
    """A live manifest entry; compared by identity. ``manifest`` is the one that it was read from, as far as known."""

    file: DataFile
    sequence_number: int
    file_sequence_number: int | None = None
    manifest: str = ""

    @property
    def path(self) -> str:
        return self.file.file_path

    @property
    def size(self) -> int:
        return self.file.file_size_in_bytes

    @cached_property
    def key(self) -> str:
        """What the file is compared by: its path in one spelling, for a deletion vector with its place in the file."""
        path = normalize(self.file.file_path)
        return path if self.vector is None else f"{path}#{self.vector[0]}"

    @cached_property
    def partition(self) -> Partition:
        values = (self.file.partition[i] for i in range(len(self.file.partition)))
        return self.file.spec_id, tuple(_Exact(v) if isinstance(v, float) and not v * v > 0 else v for v in values)

    @property
    def is_data(self) -> bool:
        return self.file.content == DataFileContent.DATA

    @property
    def is_position_delete(self) -> bool:
        return self.file.content == DataFileContent.POSITION_DELETES

    @property
    def vector(self) -> tuple[int, int] | None:
        """Offset and length of a deletion vector in its Puffin file; None for other files."""
        if self.file.file_format != FileFormat.PUFFIN or not isinstance(self.file, ManifestDataFile):
            return None
        return self.file.extras["content_offset"], self.file.extras["content_size_in_bytes"]

    @property
    def first_row_id(self) -> int | None:
        """The id of the first row of a data file, in format version 3."""
        return self.file.extras.get("first_row_id") if isinstance(self.file, ManifestDataFile) else None

    @property
    def is_parquet(self) -> bool:
        return self.file.file_format == FileFormat.PARQUET

    @cached_property
    def only_data_file(self) -> str | None:
        """The normalized path of the one data file that a position delete file is about, when its entry tells."""
        if isinstance(self.file, ManifestDataFile) and "referenced_data_file" in self.file.extras:
            return normalize(self.file.extras["referenced_data_file"])
        lower = (self.file.lower_bounds or {}).get(_DELETE_PATH_ID)
        upper = (self.file.upper_bounds or {}).get(_DELETE_PATH_ID)
        return normalize(lower.decode()) if lower is not None and lower == upper else None


@dataclass(frozen=True, slots=True)
class LiveFiles:
    """All live files of one snapshot."""

    data: tuple[LiveFile, ...]
    deletes: tuple[LiveFile, ...]


def read_live(table: Table, snapshot: Snapshot | None, *, statistics: Statistics = True) -> LiveFiles:
    """The live files of ``snapshot``, data files with the ``statistics`` of columns that are asked for.

    Raises ValueError for broken metadata, and what storage raises.
    """
    if snapshot is None:
        return LiveFiles((), ())
    manifests = list_manifests(table.io, snapshot, table.format_version)
    if unknown := {manifest.partition_spec_id for manifest in manifests} - table.specs().keys():
        raise ValueError(f"{snapshot.manifest_list} names partition spec {min(unknown)}, which the table does not have")
    data = [m for m in manifests if m.content == ManifestContent.DATA]
    deletes = [m for m in manifests if m.content == ManifestContent.DELETES]
    with unhurried_garbage():
        return LiveFiles(_files(table.io, data, statistics=statistics), _files(table.io, deletes, statistics=True))


def _files(io: FileIO, manifests: Sequence[ManifestFile], *, statistics: Statistics) -> tuple[LiveFile, ...]:
    return tuple(
        live(entry, manifest.manifest_path)
        for manifest, found in each_entries(io, filter(holds_live, manifests), statistics=statistics)
        for entry in found
    )


def holds_live(manifest: ManifestFile) -> bool:
    """Whether a manifest can have live entries."""
    return manifest.has_added_files() or manifest.has_existing_files()


def entries(io: FileIO, manifest: ManifestFile, *, statistics: Statistics = True) -> list[ManifestEntry]:
    """The live entries of a manifest, sequence numbers inherited."""
    return read_entries(io, manifest, statistics=statistics)


def live(entry: ManifestEntry, manifest: str = "") -> LiveFile:
    """A manifest entry as a live file; files of format version 1 have sequence number 0."""
    return LiveFile(entry.data_file, entry.sequence_number or 0, entry.file_sequence_number, manifest)
