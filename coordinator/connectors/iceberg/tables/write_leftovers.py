"""Which files failed writes left in a table: those that hold a write's id and are named by no snapshot.

Beside them the metadata file of a commit that was killed before the catalog named it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pyiceberg.io import FileIO
from pyiceberg.manifest import ManifestFile
from pyiceberg.table import Table

from coordinator.connectors.iceberg.maintenance.file_deletion import delete_all
from coordinator.connectors.iceberg.maintenance.listing import walk
from coordinator.connectors.iceberg.manifests.reader import read_entries
from coordinator.connectors.iceberg.manifests.version_three import list_manifests
from coordinator.connectors.iceberg.paths import normalize
from coordinator.connectors.iceberg.tables.open_writes import OpenWrite
from coordinator.connectors.iceberg.tables.uncommitted_metadata import of_ended_writes

_DELETES_AT_ONCE = 8
_CHECKSUM = re.compile(r"(?<=/)\.([^/]+)\.crc$")
"""Beside each file that Hadoop writes on a local disk."""


def remove_leftovers(table: Table, writes: Sequence[OpenWrite]) -> int:
    """Remove what ``writes`` left; how many files that were. None of them may be able to commit any more.

    ``table`` must have been loaded after that. Raises OSError when some cannot be deleted, and whatever reading
    metadata raises.
    """
    found = list(_files_of(table.io, writes))
    doomed = list(of_ended_writes(table, [write.id for write in writes], min(write.begun_at for write in writes)))
    if found:
        named = _named_by_snapshots(table, writes)
        doomed += [file for file in found if normalize(_CHECKSUM.sub(r"\1", file)) not in named]
    return _delete(table.io, doomed) if doomed else 0


def remove_all(io: FileIO, writes: Sequence[OpenWrite], others: Sequence[str] = ()) -> int:
    """The same of a table that is gone and that nobody has elsewhere, with ``others``."""
    return _delete(io, [*_files_of(io, writes), *others])


def _delete(io: FileIO, doomed: Sequence[str]) -> int:
    left = sum(batch.count(False) for batch in delete_all(io, doomed, _DELETES_AT_ONCE))
    if left:
        raise OSError(f"{left} of {len(doomed)} files cannot be deleted")
    return len(doomed)


def _files_of(io: FileIO, writes: Sequence[OpenWrite]) -> Iterator[str]:
    holds = re.compile("|".join(re.escape(write.id) for write in writes))
    for directory in dict.fromkeys(directory for write in writes for directory in write.directories):
        for file in walk(io, directory):
            if holds.search(file.location.rpartition("/")[2]):
                yield file.location


def _named_by_snapshots(table: Table, writes: Sequence[OpenWrite]) -> set[str]:
    """Files that snapshots of any branch, tag or none name, as far as they can be of these writes.

    What was there before the first of them began cannot name a file of theirs.
    """
    since = min(write.sequence_number for write in writes)
    everything = table.format_version == 1 or since == 0
    named: set[str] = set()
    manifests: dict[str, ManifestFile] = {}
    for snapshot in table.metadata.snapshots:
        if everything or (snapshot.sequence_number or 0) > since:
            named.add(normalize(snapshot.manifest_list))
            manifests |= {m.manifest_path: m for m in list_manifests(table.io, snapshot, table.format_version)}
    for path, manifest in manifests.items():
        named.add(normalize(path))
        if everything or (manifest.sequence_number or 0) > since:
            found = read_entries(table.io, manifest, statistics=False, discard_deleted=False)
            named |= {normalize(entry.data_file.file_path) for entry in found}
    return named
