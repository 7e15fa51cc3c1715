"""What failed writes left in a table that was renamed or dropped before it was removed.

A renamed table has its identity and its folder still. Of a dropped one there is nobody to ask which files are needed:
those of a write go where no metadata file is left that could make the folder a table again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from pyiceberg.catalog import MetastoreCatalog
from pyiceberg.io import FileIO
from pyiceberg.table import Table

from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.maintenance.listing import walk
from coordinator.connectors.iceberg.maintenance.shared_folders import tables_near
from coordinator.connectors.iceberg.manifests.metadata_files import read_raw
from coordinator.connectors.iceberg.tables.open_writes import OpenWrite
from coordinator.connectors.iceberg.tables.write_leftovers import remove_all

_METADATA = re.compile(r"[^/]*\.metadata\.json[^/]*$")
"""Compressed ones end otherwise, and Hadoop has checksums beside them."""


def watch_vanished(catalog: TableCatalog) -> None:
    """Have the writes of a catalog cleaned up in such tables too."""
    catalog.late_writes.renamed = partial(_renamed, catalog)
    catalog.late_writes.dropped = partial(_remove_of_dropped, catalog)


def _renamed(catalog: TableCatalog, write: OpenWrite) -> Table | None:
    """The table of a write under the name that it has by now; None where the catalog has it no more."""
    for schema, name in tables_near(catalog, write.directories):
        table = catalog.load(schema, name)
        if table is not None and str(table.metadata.table_uuid) == write.table_uuid:
            return catalog.open(schema, name)
    return None


def _remove_of_dropped(catalog: TableCatalog, writes: Sequence[OpenWrite]) -> int | None:
    """Files removed of writes to a table that the catalog has not. None: metadata is left, so that all stays.

    Whoever dropped it kept its files, or unregistered it: it may be a table elsewhere, and have the write committed.
    Where a REST server keeps its metadata nobody knows.
    """
    if not isinstance(catalog.client(), MetastoreCatalog):
        return None
    directories = list(dict.fromkeys(directory for write in writes for directory in write.directories))
    io, ids = catalog.file_io(directories[0]), [write.id for write in writes]
    files = (file.location for directory in directories for file in walk(io, directory))
    metadata = [file for file in files if _METADATA.search(file)]
    if not all(_never_landed(io, file, ids) for file in metadata):
        return None
    return remove_all(io, writes, metadata)


def _never_landed(io: FileIO, location: str, ids: Sequence[str]) -> bool:
    """Whether a commit of one of the writes left this file and its table was deleted without it.

    A table that has this file has the one before it as well, as long as it has one at all.
    """
    try:
        raw = read_raw(io, location)
        log = raw.get("metadata-log") or []
        lists = [str(each["manifest-list"]) for each in raw.get("snapshots") or []]  # type: ignore[attr-defined]
        base = log[-1]["metadata-file"] if log else None  # type: ignore[index]
    except (OSError, ValueError, LookupError, TypeError):
        return False
    names_one = any(one in each for one in ids for each in lists)
    return names_one and isinstance(base, str) and not io.new_input(base).exists()
