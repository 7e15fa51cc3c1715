"""Where a call's commit is to be looked for, and whether it is there: its table may have another name by now."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager

from pyiceberg.io import FileIO, InputStream
from pyiceberg.serializers import Compressor
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.maintenance.shared_folders import tables_near
from coordinator.connectors.iceberg.manifests.metadata_files import CALL_ID
from coordinator.connectors.iceberg.paths import normalize
from coordinator.connectors.iceberg.rewrite.committing.journal import JournalEntry
from coordinator.connectors.iceberg.storage import list_directory


def landed_snapshot(table: Table, call_id: str) -> Snapshot | None:
    """The snapshot that a call committed, if it is still in the table's metadata."""
    for snapshot in table.metadata.snapshots:
        if snapshot.summary is not None and snapshot.summary.additional_properties.get(CALL_ID) == call_id:
            return snapshot
    return None


def table_of_call(catalog: TableCatalog, entry: JournalEntry) -> Table | None:
    """The call's table, for reading, under the name that it has by now; None where the catalog has it no more.

    Another table may have taken its name. Raises ProcessionError.
    """
    named = catalog.load(entry.schema, entry.table)
    if named is not None and _knows(named, entry):
        return named
    near = [catalog.load(*name) for name in tables_near(catalog, (entry.metadata_directory, *entry.directories))]
    found = [table for table in (named, *near) if table is not None]
    known = [table for table in found if _knows(table, entry)]
    # Where its snapshots have expired the folder tells, which another table of its old name may share.
    return next(iter([*known, *(table for table in found if _is_there(table, entry))]), None)


def may_live_elsewhere(catalog: TableCatalog, entry: JournalEntry) -> bool:
    """Whether a table that the catalog has no more may still need files of the call: whoever unregistered it kept them.

    Where a server keeps its metadata nobody knows. Raises OSError.
    """
    if entry.state != "COMMITTING":
        return False
    if catalog.settings.type == "rest":
        return True
    io = catalog.file_io(entry.metadata_directory)
    found = (file.location for file in list_directory(io, entry.metadata_directory))
    return any(manifest_lists(io, file, entry.call_id) for file in found if file.endswith(".metadata.json"))


def manifest_lists(io: FileIO, location: str, call_id: str) -> set[str]:
    """Manifest lists of the call's snapshots in a metadata file; none for one that was written in part.

    Raises OSError.
    """
    with io.new_input(location).open() as stream, _plain(location, stream) as source:
        raw = source.read()
    if call_id.encode() not in raw:
        return set()
    try:
        snapshots = json.loads(raw).get("snapshots", [])
    except ValueError:
        return set()
    return {s["manifest-list"] for s in snapshots if s.get("summary", {}).get(CALL_ID) == call_id}


def _plain(location: str, stream: InputStream) -> AbstractContextManager[InputStream]:
    return Compressor.get_compressor(location).stream_decompressor(stream)


def _knows(table: Table, entry: JournalEntry) -> bool:
    """By what no other table has: the snapshot that the call read, or the one that it made."""
    read = table.metadata.snapshot_by_id(entry.base_snapshot_id)
    return read is not None or landed_snapshot(table, entry.call_id) is not None


def _is_there(table: Table, entry: JournalEntry) -> bool:
    folder = table.location_provider().new_metadata_location("x").rpartition("/")[0]
    return normalize(folder) == normalize(entry.metadata_directory)
