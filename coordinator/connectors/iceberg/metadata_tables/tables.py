"""Which metadata tables there are, and finding one by its name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from coordinator.connectors.iceberg.metadata_tables import of_files, of_snapshots
from coordinator.connectors.iceberg.metadata_tables.names import CHANGELOG, SpecialName
from coordinator.connectors.iceberg.metadata_tables.of_changes import changelog_columns, changes
from coordinator.connectors.iceberg.metadata_tables.of_partitions import partition_columns, partitions
from coordinator.connectors.iceberg.metadata_tables.trino_partitions import trino_partition_columns, trino_partitions
from coordinator.connectors.system.virtual_table import VirtualTable
from coordinator.security.current_session import current_session
from shared.errors import ErrorCode, ProcessionError

_Of = Callable[[Table], Iterator[tuple[object, ...]]]
_At = Callable[[Table, Snapshot | None], Iterator[tuple[object, ...]]]
_OF_TABLE: Mapping[str, tuple[Mapping[str, str], _Of]] = {
    "snapshots": (of_snapshots.SNAPSHOTS, of_snapshots.snapshots),
    "history": (of_snapshots.HISTORY, of_snapshots.history),
    "refs": (of_snapshots.REFS, of_snapshots.refs),
    "properties": (of_snapshots.PROPERTIES, of_snapshots.properties),
    "metadata_log_entries": (of_snapshots.METADATA_LOG_ENTRIES, of_snapshots.metadata_log_entries),
}
_OF_SNAPSHOT: Mapping[str, tuple[Mapping[str, str], _At]] = {
    "files": (of_files.FILES, of_files.files),
    "manifests": (of_files.MANIFESTS, of_files.manifests),
}
_NOT_HERE = ("equality_deletes", "samples", "statistics_files")


def metadata_table(table: Table, schema: str, name: str, asked: SpecialName) -> VirtualTable | None:
    """The metadata table that ``asked`` names, under the whole ``name``; None when there is no such kind.

    Raises ProcessionError for an unknown snapshot, and for kinds of Presto that are not answered here.
    """
    kind = asked.kind or ""
    if kind in _NOT_HERE:
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, f"Iceberg metadata table ${kind} is not supported")
    if kind in _OF_TABLE:
        columns, rows = _OF_TABLE[kind]
        return _virtual(schema, name, columns, partial(rows, table))
    if kind in _OF_SNAPSHOT:
        columns, at = _OF_SNAPSHOT[kind]
        return _virtual(schema, name, columns, partial(at, table, _snapshot(table, asked)))
    if kind == "partitions":
        session = current_session()
        trino = session is not None and session.protocol == "Trino"
        shown, each = (trino_partition_columns, trino_partitions) if trino else (partition_columns, partitions)
        return _virtual(schema, name, shown(table), partial(each, table, _snapshot(table, asked)))
    if kind == CHANGELOG:
        # By itself, not listed: the rows are the table's own, and may be many.
        return VirtualTable(schema, name, changelog_columns(table), lambda _wanted: changes(table, asked))
    return None


def _virtual(
    schema: str, name: str, columns: Mapping[str, str], rows: Callable[[], Iterator[tuple[object, ...]]]
) -> VirtualTable:
    return VirtualTable(schema, name, columns, lambda _wanted: list(rows()))


def _snapshot(table: Table, asked: SpecialName) -> Snapshot | None:
    if asked.snapshot_id is None:
        return table.current_snapshot()
    found = table.snapshot_by_id(asked.snapshot_id)
    if found is None:
        message = f"Invalid snapshot [{asked.snapshot_id}] for table: {asked.table}"
        raise ProcessionError(ErrorCode.ICEBERG_INVALID_SNAPSHOT_ID, message)
    return found
