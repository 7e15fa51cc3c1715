"""How many bytes the columns of a table are once decoded: of a few data files by their footers, of all by rows.

Manifests know compressed sizes alone, and what compresses a thousandfold still has to be held by whoever sorts it.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

from pyiceberg.io import FileIO
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from coordinator.connectors.iceberg.manifests.lists import manifests_of
from coordinator.connectors.iceberg.manifests.live_files import LiveFile, read_live
from coordinator.connectors.iceberg.scans.planned_files import is_planned_by_server
from coordinator.connectors.iceberg.snapshots.changes import SnapshotKey, snapshot_key
from coordinator.kernels.decoded import chunk_bytes, held_in_java
from coordinator.kernels.errors import KernelError
from coordinator.kernels.footer import columns, read_footer, row_groups
from coordinator.kernels.page_headers import largest_page
from coordinator.kernels.pages import schema_columns
from coordinator.kernels.thrift import Struct

_LOG = logging.getLogger(__name__)
_FILES = 5
"""Footers that one estimate reads: the largest files' by rows, bytes and width, and two others'."""
_MOST_MANIFEST_BYTES = 2 << 20
"""Reading more would take planning longer than an estimate is worth."""
_REMEMBERED = 1024
_BATCH_ROWS = 5_000
"""Of Iceberg's reader for Spark."""

Widths = Mapping[int, float]
"""Decoded bytes a row by field id."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Of a table or a file, by field id: decoded bytes a row, the most that Java holds to read one row group, and the
    largest page."""

    rows: int = 0
    widths: Widths = field(default_factory=dict)
    held: Mapping[int, int] = field(default_factory=dict)
    group_rows: int = 0
    """Of the largest row group."""
    pages: Mapping[int, int] = field(default_factory=dict)


class DecodedSizes:
    """The estimates of one catalog, remembered by snapshot and by name of file; thread-safe."""

    def __init__(self) -> None:
        self._tables: OrderedDict[SnapshotKey, Sizes] = OrderedDict()
        self._files: OrderedDict[str, Sizes] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, table: Table, snapshot: Snapshot, fields: Collection[int]) -> int | None:
        """Bytes of ``fields`` in all rows; None when that cannot be told. Never raises: it is only an estimate."""
        known = self._known(table, snapshot)
        found = [known.widths[field] for field in fields if field in known.widths]
        return round(known.rows * sum(found)) if found else None

    def held_by_reader(self, table: Table, snapshot: Snapshot, fields: Collection[int]) -> tuple[int, int]:
        """Bytes that a task of Spark's own reader has in memory for ``fields``, and of the largest page among them.

        A row group, and a batch of rows; 0 when that cannot be told. Never raises.
        """
        known = self._known(table, snapshot)
        batch = min(_BATCH_ROWS, known.group_rows) * sum(known.widths.get(field, 0.0) for field in fields)
        page = max((known.pages.get(field, 0) for field in fields), default=0)
        return sum(known.held.get(field, 0) for field in fields) + round(batch), page

    def _known(self, table: Table, snapshot: Snapshot) -> Sizes:
        key = snapshot_key(table, snapshot)
        with self._lock:
            known = self._tables.get(key)
        if known is None:
            try:
                known = self._read(table, snapshot)
            except Exception as error:
                _LOG.info("%s: decoded sizes are not known: %s", ".".join(table.name()), error)
                known = Sizes()
            self._remember(self._tables, key, known)
        return known

    def _read(self, table: Table, snapshot: Snapshot) -> Sizes:
        if is_planned_by_server(table):
            return Sizes()
        if sum(manifest.manifest_length for manifest in manifests_of(table.io, snapshot)) > _MOST_MANIFEST_BYTES:
            return Sizes()
        files = [f for f in read_live(table, snapshot, statistics=False).data if f.is_parquet and f.file.record_count]
        with ThreadPoolExecutor(_FILES) as side_by_side:
            found = list(side_by_side.map(lambda f: self._of_file(table.io, f.path), _chosen(files)))
        return replace(_together(found), rows=sum(f.file.record_count for f in files))

    def _of_file(self, io: FileIO, path: str) -> Sizes:
        with self._lock:
            known = self._files.get(path)
        if known is None:
            known = sizes_of(io, path)
            self._remember(self._files, path, known)
        return known

    def _remember(self, kept: OrderedDict[Any, Any], key: object, value: Any) -> None:
        with self._lock:
            kept[key] = value
            while len(kept) > _REMEMBERED:
                kept.popitem(last=False)


def _chosen(files: list[LiveFile]) -> list[LiveFile]:
    """The largest, since most rows are like its rows, those with the longest rows, and some of the others."""
    if len(files) <= _FILES:
        return files
    measures: tuple[Callable[[LiveFile], float], ...] = (
        lambda f: f.file.record_count,
        lambda f: f.file.file_size_in_bytes,
        lambda f: f.file.file_size_in_bytes / f.file.record_count,
    )
    found = {f.path: f for f in (*(max(files, key=each) for each in measures), files[0], files[-1])}
    return list(found.values())


def _together(found: Sequence[Sizes]) -> Sizes:
    counted = sum(sizes.rows for sizes in found)
    ids = {number for sizes in found for number in sizes.widths}
    return Sizes(
        counted,
        {number: sum(each.rows * each.widths.get(number, 0.0) for each in found) / counted for number in ids},
        {number: max(each.held.get(number, 0) for each in found) for number in ids},
        max((each.group_rows for each in found), default=0),
        {number: max(each.pages.get(number, 0) for each in found) for number in ids},
    )


def sizes_of(io: FileIO, path: str) -> Sizes:
    """Of one Parquet file. Raises KernelError and OSError."""
    with io.new_input(path).open() as stream:
        source = _Source(stream)
        footer = read_footer(source, stream.seek(0, 2))
        found = _sizes(footer)
        return replace(found, pages=_pages(source, footer))


def _pages(source: _Source, footer: Struct) -> dict[int, int]:
    """The largest page of each field."""
    chunks = [columns(group) for group in row_groups(footer)]
    return {
        column.field_id: max(largest_page(source, chunk[leaf]) for chunk in chunks for leaf in column.leaves)
        for column in schema_columns(footer)
        if column.field_id is not None
    }


def _sizes(footer: Struct) -> Sizes:
    groups = row_groups(footer)
    counts = [int(group[3][1]) for group in groups]
    rows = sum(counts)
    if not rows:
        raise KernelError("ICEBERG_BAD_DATA", "no rows")
    widths, held = {}, {}
    for column in schema_columns(footer):
        if column.field_id is not None:
            chunks = [[columns(group)[leaf] for leaf in column.leaves] for group in groups]
            widths[column.field_id] = sum(chunk_bytes(chunk) for several in chunks for chunk in several) / rows
            held[column.field_id] = max(sum(map(held_in_java, several)) for several in chunks)
    return Sizes(rows, widths, held, max(counts))


class _Source:
    """An open file as footers are read from."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def read_at(self, size: int, start: int) -> bytes:
        self._stream.seek(start)
        return bytes(self._stream.read(size))
