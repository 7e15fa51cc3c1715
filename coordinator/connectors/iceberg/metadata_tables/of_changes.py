"""``$changelog``: the rows that each snapshot added and took away, in the order of the snapshots.

Source: Presto's ``ChangelogUtil`` and Iceberg's ``BaseIncrementalChangelogScan``: whole files that came and went, of
every snapshot after the first but replacements, which change no rows. A file that was written anew because of one of
its rows is told as all of its rows deleted and the others inserted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.manifest import DataFile, ManifestContent, ManifestEntryStatus
from pyiceberg.table import FileScanTask, Table
from pyiceberg.table.snapshots import Operation, Snapshot, ancestors_of

from coordinator.connectors.iceberg.manifests.lists import manifests_of
from coordinator.connectors.iceberg.metadata_tables.names import SpecialName
from coordinator.connectors.iceberg.types import presto_type
from shared.errors import ErrorCode, ProcessionError

_OPERATIONS = {ManifestEntryStatus.ADDED: "INSERT", ManifestEntryStatus.DELETED: "DELETE"}


def changelog_columns(table: Table) -> Mapping[str, str]:
    """Presto's four columns; ``rowdata`` has the columns of the table as it is now."""
    row = str(presto_type(table.schema().as_struct()))
    return {"operation": "varchar", "ordinal": "integer", "snapshotid": "bigint", "rowdata": row}


def changes(table: Table, asked: SpecialName) -> Iterator[tuple[object, ...]]:
    """The changes up to the snapshot asked for (the current one) after another (the oldest). Reads one file at a time.

    Raises ProcessionError for a snapshot that is none of the table's or not before the other, and, as Presto does,
    where rows were deleted by delete files.
    """
    snapshots = _between(table, asked)
    for snapshot in snapshots:
        if any(manifest.content is ManifestContent.DELETES for manifest in manifests_of(table.io, snapshot)):
            message = "Delete files are currently not supported in changelog scans"
            raise ProcessionError(ErrorCode.NOT_SUPPORTED, message)
    return (
        (operation, ordinal, snapshot.snapshot_id, row)
        for ordinal, snapshot in enumerate(snapshots)
        for operation, file in _changed_files(table, snapshot)
        for row in _rows(table, file)
    )


def _between(table: Table, asked: SpecialName) -> list[Snapshot]:
    """The snapshots that changed rows, oldest first."""
    until = table.current_snapshot() if asked.snapshot_id is None else table.snapshot_by_id(asked.snapshot_id)
    if until is None and asked.snapshot_id is None:
        return []
    line = list(ancestors_of(until, table.metadata))
    ids = [snapshot.snapshot_id for snapshot in line]
    for wanted in (asked.snapshot_id, asked.after):
        if wanted is not None and wanted not in ids:
            message = f"Invalid snapshot [{wanted}] for table: {asked.table}"
            raise ProcessionError(ErrorCode.ICEBERG_INVALID_SNAPSHOT_ID, message)
    first = len(line) - 1 if asked.after is None else ids.index(asked.after)
    return [s for s in reversed(line[:first]) if s.summary is None or s.summary.operation is not Operation.REPLACE]


def _changed_files(table: Table, snapshot: Snapshot) -> Iterable[tuple[str, DataFile]]:
    for manifest in manifests_of(table.io, snapshot):
        if manifest.added_snapshot_id != snapshot.snapshot_id:
            continue
        for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=False):
            if entry.status in _OPERATIONS and entry.snapshot_id in (None, snapshot.snapshot_id):
                yield _OPERATIONS[entry.status], entry.data_file


def _rows(table: Table, file: DataFile) -> Iterator[dict[str, object]]:
    scan = ArrowScan(table.metadata, table.io, table.schema(), AlwaysTrue())
    for batch in scan.to_record_batches([FileScanTask(file)]):
        yield from batch.to_pylist()
