"""Which snapshot of a table a version means. Source: IcebergAbstractMetadata of Presto 0.296, its texts and rules."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import assert_never

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from coordinator.connectors.iceberg.snapshots.known import known_snapshot, newest_snapshot
from shared.errors import ErrorCode, ProcessionError
from shared.spi.connector import Before, Version

_EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")


def snapshot_of(table: Table, version: Version | None) -> Snapshot | None:
    """None for a table without snapshots; raises ProcessionError for a version that is not there."""
    if isinstance(version, Before):
        return _before(table, version.value)
    match version:
        case None:
            return newest_snapshot(table)
        case datetime():
            return _at(table, _milliseconds(version))
        case int():
            return _by_id(table, version)
        case str():
            return _by_name(table, version)
        case _:
            assert_never(version)


def _before(table: Table, value: int | str | datetime) -> Snapshot:
    match value:
        case datetime():
            return _at(table, _milliseconds(value) - 1)
        case int():
            return _at(table, _by_id(table, value).timestamp_ms - 1)
        case str():
            # As Presto, which takes a branch or tag as it is.
            return _by_name(table, value)
        case _:
            assert_never(value)


def _at(table: Table, milliseconds: int) -> Snapshot:
    """What was current at a moment, by the table's history: a rollback counts from when it was made."""
    entries = [entry for entry in table.history() if entry.timestamp_ms <= milliseconds]
    if not entries:
        schema, name = table.name()[-2:]
        message = f'No history found based on timestamp for table "{schema}"."{name}"'
        raise ProcessionError(ErrorCode.ICEBERG_INVALID_TABLE_TIMESTAMP, message)
    return _by_id(table, max(entries, key=lambda entry: entry.timestamp_ms).snapshot_id)


def _by_id(table: Table, snapshot_id: int) -> Snapshot:
    found = known_snapshot(table, snapshot_id)
    if found is None:
        message = f"Iceberg snapshot ID does not exists: {snapshot_id}"
        raise ProcessionError(ErrorCode.ICEBERG_INVALID_SNAPSHOT_ID, message)
    return found


def _by_name(table: Table, name: str) -> Snapshot:
    found = table.snapshot_by_name(name)
    if found is None:
        message = f"Could not find Iceberg table branch or tag: {name}"
        raise ProcessionError(ErrorCode.ICEBERG_INVALID_SNAPSHOT_ID, message)
    return found


def reference_of(table: Table, kind: str, name: str) -> str:
    """The branch or tag that a name means, which statements write without case; raises ICEBERG_INVALID_SNAPSHOT_ID."""
    of_kind = [ref for ref, found in table.metadata.refs.items() if found.snapshot_ref_type.value == kind]
    same = [ref for ref in of_kind if ref == name] or [ref for ref in of_kind if ref.lower() == name.lower()]
    if len(same) != 1:
        message = f"Could not find Iceberg table branch or tag: {name}"
        raise ProcessionError(ErrorCode.ICEBERG_INVALID_SNAPSHOT_ID, message)
    return same[0]


def _milliseconds(instant: datetime) -> int:
    return (instant - _EPOCH) // timedelta(milliseconds=1)
