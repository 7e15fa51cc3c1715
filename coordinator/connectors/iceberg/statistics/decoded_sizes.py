"""How many bytes the columns of a table are once decoded: of a few data files by their footers, of all by rows.

Manifests know compressed sizes alone, and what compresses a thousandfold still has to be held by whoever sorts it.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from pyiceberg.io import FileIO
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from coordinator.connectors.iceberg.manifests.live_files import LiveFile, read_live
from coordinator.connectors.iceberg.snapshots.changes import SnapshotKey, snapshot_key
from coordinator.kernels.decoded import chunk_bytes
from coordinator.kernels.errors import KernelError
from coordinator.kernels.footer import columns, read_footer, row_groups
from coordinator.kernels.pages import schema_columns

_LOG = logging.getLogger(__name__)
_FILES = 3
"""Footers that one estimate reads: the largest file's, and two others'."""
_MOST_MANIFEST_BYTES = 2 << 20
"""Reading more would take planning longer than an estimate is worth."""
_REMEMBERED = 1024

Widths = Mapping[int, float]
"""Decoded bytes a row by field id."""


class DecodedSizes:
    """The estimates of one catalog, remembered by snapshot and by name of file; thread-safe."""

    def __init__(self) -> None:
        self._tables: OrderedDict[SnapshotKey, tuple[int, Widths]] = OrderedDict()
        self._files: OrderedDict[str, Widths] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, table: Table, snapshot: Snapshot, fields: Collection[int]) -> int | None:
        """Bytes of ``fields`` in all rows; None when that cannot be told. Never raises: it is only an estimate."""
        key = snapshot_key(table, snapshot)
        with self._lock:
            known = self._tables.get(key)
        if known is None:
            try:
                known = self._read(table, snapshot)
            except Exception as error:
                _LOG.info("%s: decoded sizes are not known: %s", ".".join(table.name()), error)
                known = 0, {}
            self._remember(self._tables, key, known)
        rows, widths = known
        found = [widths[field] for field in fields if field in widths]
        return round(rows * sum(found)) if found else None

    def _read(self, table: Table, snapshot: Snapshot) -> tuple[int, Widths]:
        if sum(manifest.manifest_length for manifest in snapshot.manifests(table.io)) > _MOST_MANIFEST_BYTES:
            return 0, {}
        files = [f for f in read_live(table, snapshot, statistics=False).data if f.is_parquet and f.file.record_count]
        chosen = _chosen(files)
        with ThreadPoolExecutor(_FILES) as side_by_side:
            widths_of_files = list(side_by_side.map(lambda f: self._widths(table.io, f.path), chosen))
        found = [(f.file.record_count, widths) for f, widths in zip(chosen, widths_of_files, strict=True)]
        counted = sum(count for count, _ in found)
        ids = {field for _, widths in found for field in widths}
        widths = {field: sum(count * w.get(field, 0.0) for count, w in found) / counted for field in ids}
        return sum(f.file.record_count for f in files), widths

    def _widths(self, io: FileIO, path: str) -> Widths:
        with self._lock:
            known = self._files.get(path)
        if known is None:
            known = widths_of(io, path)
            self._remember(self._files, path, known)
        return known

    def _remember(self, kept: OrderedDict[Any, Any], key: object, value: Any) -> None:
        with self._lock:
            kept[key] = value
            while len(kept) > _REMEMBERED:
                kept.popitem(last=False)


def _chosen(files: list[LiveFile]) -> list[LiveFile]:
    """The largest, since most rows are like its rows, and some of the others."""
    if len(files) <= _FILES:
        return files
    largest = max(files, key=lambda f: f.file.record_count)
    others = [f for f in files if f is not largest]
    return [largest, others[0], others[-1]]


def widths_of(io: FileIO, path: str) -> Widths:
    """Decoded bytes a row of each column of one Parquet file. Raises KernelError and OSError."""
    with io.new_input(path).open() as stream:
        source = _Source(stream)
        footer = read_footer(source, stream.seek(0, 2))
    groups = row_groups(footer)
    rows = sum(int(group[3][1]) for group in groups)
    if not rows:
        raise KernelError("ICEBERG_BAD_DATA", "no rows")
    return {
        column.field_id: sum(chunk_bytes(columns(group)[leaf]) for group in groups for leaf in column.leaves) / rows
        for column in schema_columns(footer)
        if column.field_id is not None
    }


class _Source:
    """An open file as footers are read from."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def read_at(self, size: int, start: int) -> bytes:
        self._stream.seek(start)
        return bytes(self._stream.read(size))
