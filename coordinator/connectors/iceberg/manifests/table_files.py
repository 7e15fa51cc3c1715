"""Every file that a table's metadata refers to, each manifest read once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeVar

from pyiceberg.manifest import DataFile, DataFileContent
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from coordinator.connectors.iceberg.manifests.avro_files import decoding
from coordinator.connectors.iceberg.manifests.live_files import entries
from coordinator.connectors.iceberg.manifests.version_three import list_manifests

T = TypeVar("T")
Role = Literal["data", "deletes", "manifest", "manifest_list", "metadata", "statistics"]


@dataclass(frozen=True, slots=True)
class TableFile:
    """A referenced file; ``size`` as the metadata says, None where it does not. ``live``: of the current snapshot.

    ``broken`` tells why what the file lists could not be read.
    """

    location: str
    role: Role
    size: int | None
    live: bool
    file: DataFile | None = None
    broken: str | None = None


def referenced_files(table: Table, *, broken: bool = False) -> Iterator[TableFile]:
    """The files, the current snapshot's first; files of several snapshots may come once a manifest.

    With ``broken``, manifest lists and manifests that cannot be read are told; otherwise they raise.
    """
    current = table.current_snapshot()
    seen: set[str] = set()
    if current is not None:
        yield from _of_snapshot(table, current, seen, live=True, broken=broken)
    for snapshot in table.snapshots():
        if current is None or snapshot.snapshot_id != current.snapshot_id:
            yield from _of_snapshot(table, snapshot, seen, live=False, broken=broken)
    metadata = table.metadata
    yield TableFile(table.metadata_location, "metadata", None, live=True)
    for entry in metadata.metadata_log:
        yield TableFile(entry.metadata_file, "metadata", None, live=False)
    now = None if current is None else current.snapshot_id
    for statistics in (*metadata.statistics, *metadata.partition_statistics):
        live = statistics.snapshot_id == now
        yield TableFile(statistics.statistics_path, "statistics", statistics.file_size_in_bytes, live)


def _of_snapshot(table: Table, snapshot: Snapshot, seen: set[str], *, live: bool, broken: bool) -> Iterator[TableFile]:
    read = partial(list_manifests, table.io, snapshot, table.format_version)
    manifests, problem = _read(read, snapshot.manifest_list, broken=broken)
    yield TableFile(snapshot.manifest_list, "manifest_list", None, live, broken=problem)
    for manifest in manifests:
        if manifest.manifest_path in seen:
            continue
        seen.add(manifest.manifest_path)
        listed, problem = _read(partial(entries, table.io, manifest), manifest.manifest_path, broken=broken)
        yield TableFile(manifest.manifest_path, "manifest", manifest.manifest_length, live, broken=problem)
        for entry in listed:
            file = entry.data_file
            role: Role = "data" if file.content == DataFileContent.DATA else "deletes"
            yield TableFile(file.file_path, role, file.file_size_in_bytes, live, file)


def _read(read: Callable[[], list[T]], location: str, *, broken: bool) -> tuple[list[T], str | None]:
    try:
        with decoding(location):
            return read(), None
    except (OSError, ValueError) as error:
        if not broken:
            raise
        return [], str(error).splitlines()[0]
