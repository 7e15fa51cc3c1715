"""One scan of a table at the snapshot that planning pinned: what it would read here, and its task for the kernels."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pyiceberg.schema import Schema
from pyiceberg.table import Table

from coordinator.connectors.iceberg.failures import mapped
from coordinator.connectors.iceberg.handles import schema_of
from coordinator.connectors.iceberg.manifests.live_files import LiveFile
from coordinator.connectors.iceberg.rewrite.planning.groups import Candidate
from coordinator.connectors.iceberg.rewrite.planning.outputs import Slice
from coordinator.connectors.iceberg.rewrite.planning.tasks import inputs_with_deletes
from coordinator.connectors.iceberg.scans.columns import ScanColumn, cheapest_column, leaf_ids, scan_columns
from coordinator.connectors.iceberg.scans.domains import Layout, ranges_of
from coordinator.connectors.iceberg.scans.needed_files import needed_files
from coordinator.connectors.iceberg.scans.planned_files import is_planned_by_server, planned_files
from coordinator.connectors.iceberg.scans.snapshot_files import MOST_FILES, SnapshotFiles
from coordinator.connectors.iceberg.snapshots.known import known_snapshot, newest_snapshot
from coordinator.connectors.iceberg.storage import storage_of
from coordinator.kernels.lineage import FILE, SEQUENCE
from coordinator.kernels.row_groups_needed import Ranges
from coordinator.kernels.tasks import Input, Output, WriteTask
from shared.plan.nodes import TableHandle

_NOWHERE = Output("", "")
"""Nothing is written."""


_MOST_ROWS = 1 << 40
"""Of a data file, by its entry."""


@dataclass(frozen=True, slots=True)
class Scan:
    """``columns`` are what the query reads; without any, rows are only counted."""

    table: Table
    columns: tuple[ScanColumn, ...]
    files: tuple[Candidate, ...]
    layout: Layout
    schema: Schema

    @property
    def ranges(self) -> Ranges:
        """What the kernels leave row groups out by."""
        return ranges_of(self.layout, self.schema)

    @property
    def size_bytes(self) -> int:
        """Bytes of the columns that are read, as stored, and of delete files."""
        wanted = leaf_ids(self.columns)
        deletes = {d.key: d.size if d.vector is None else d.vector[1] for c in self.files for d in c.deletes}
        rest = any(column.holds_variant for column in self.columns)
        return sum(_bytes(c.data, wanted, rest) for c in self.files) + sum(deletes.values())

    @property
    def rows(self) -> int:
        """Rows of the files, deleted ones included."""
        return sum(c.data.file.record_count for c in self.files)


def scan_of(table: Table, known: SnapshotFiles, handle: TableHandle, names: Sequence[str]) -> Scan | str:
    """The scan of the named columns, or why it is left to Spark. Raises ProcessionError."""
    schema = schema_of(handle.connectorHandle)
    wanted = scan_columns(handle.connectorHandle, names, table.format_version)
    if isinstance(wanted, str):
        return wanted
    found = _files(table, known, handle, schema, names)
    if isinstance(found, str):
        return found
    table, files = found
    chosen = needed_files(files, handle.connectorTableLayout, schema, table.specs)
    if (other := _other_format(chosen)) is not None:
        return other
    if not wanted and any(candidate.deletes for candidate in chosen):
        counted = cheapest_column(schema, _sizes(chosen))
        if counted is None:
            return "none of its columns can be read here"
        wanted = [counted]
    return Scan(table, tuple(wanted), chosen, handle.connectorTableLayout, schema)


def _files(
    table: Table, known: SnapshotFiles, handle: TableHandle, schema: Schema, names: Sequence[str]
) -> tuple[Table, tuple[Candidate, ...]] | str:
    """The files of the pinned snapshot, and the table with what opens them; or why they are not read here."""
    inner = handle.connectorHandle["icebergTableName"]
    if inner.get("snapshotId") is None:
        return (table, ()) if newest_snapshot(table) is None else "it was empty when the query was planned"
    snapshot = known_snapshot(table, int(inner["snapshotId"]))
    if snapshot is None:
        return "its snapshot is gone"
    if not is_planned_by_server(table):
        files = known.of(table, snapshot)
        return files if isinstance(files, str) else (table, files)
    with mapped(".".join(table.name())):
        planned = planned_files(table, snapshot.snapshot_id, schema, handle.connectorTableLayout, names, MOST_FILES)
    if isinstance(planned, str):
        return planned
    files = known.checked(planned.table, planned.files)
    return files if isinstance(files, str) else (planned.table, files)


def _sizes(files: Sequence[Candidate]) -> Mapping[int, int]:
    found: Counter[int] = Counter()
    for candidate in files:
        found.update(candidate.data.file.column_sizes or {})
    return found


def _other_format(files: Sequence[Candidate]) -> str | None:
    for candidate in files:
        if candidate.data.file.record_count > _MOST_ROWS:
            return "a file is said to have more rows than any has"  # they would be counted one by one
        for file in (candidate.data, *candidate.deletes):
            if file.vector is None and not file.is_parquet:
                return f"it has {file.file.file_format.value} files"
            if file.file.key_metadata is not None:
                return "its files are encrypted"
    return None


def task_of(scan: Scan, storage: Mapping[str, str]) -> WriteTask:
    """The scan as the kernels read it."""
    slices = [Slice(candidate, candidate.data.size) for candidate in scan.files]
    inputs, positions, equality = inputs_with_deletes(slices, scan.table)
    inputs = [_placed(item, candidate.data) for item, candidate in zip(inputs, scan.files, strict=True)]
    mapping = scan.table.name_mapping()
    return WriteTask(
        fields=[dict(column.field) for column in scan.columns],
        inputs=inputs,
        output=_NOWHERE,
        position_deletes=positions,
        equality_deletes=equality,
        name_mapping=None if mapping is None else json.loads(mapping.model_dump_json()),
        storage=storage_of(scan.table, storage),
    )


def _placed(item: Input, data: LiveFile) -> Input:
    """With what each row of the file is told of it."""
    return replace(item, constants={**item.constants, str(FILE): data.path, str(SEQUENCE): data.sequence_number})


def _bytes(file: LiveFile, wanted: frozenset[int], rest: bool) -> int:
    """``rest``: and all that the manifest tells of no column."""
    sizes = file.file.column_sizes or {}
    if not sizes:
        return file.size
    known = sum(sizes.get(leaf, 0) for leaf in wanted)
    return known + max(0, file.size - sum(sizes.values())) if rest else known
