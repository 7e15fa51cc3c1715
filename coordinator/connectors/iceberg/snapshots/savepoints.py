"""Savepoints: tags named after their snapshot, with who made them and why in a property of the table."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from pyiceberg.table import Table
from pyiceberg.table.refs import SnapshotRefType
from pyiceberg.table.snapshots import Snapshot

from coordinator.connectors.iceberg.instants import parse_instant
from coordinator.connectors.iceberg.numbers import whole_number
from shared.errors import ErrorCode
from shared.spi.procedure import ArgumentError

_TAG = "savepoint-"
_PROPERTY = "procession.savepoint."


@dataclass(frozen=True, slots=True)
class Savepoint:
    """One savepoint; ``user``, ``comments`` and ``created_at`` (ISO, UTC) are empty for a tag that another made."""

    snapshot: Snapshot
    user: str = ""
    comments: str = ""
    created_at: str = ""


def tag_of(snapshot_id: int) -> str:
    """The name of the tag."""
    return f"{_TAG}{snapshot_id}"


def property_of(snapshot_id: int) -> str:
    """The name of the property."""
    return f"{_PROPERTY}{snapshot_id}"


def described(user: str, comments: str, created_at: str) -> str:
    """The value of the property."""
    return json.dumps({"user": user, "comments": comments, "created_at": created_at})


def savepoints(table: Table) -> list[Savepoint]:
    """The savepoints of a table, newest snapshot first."""
    found = []
    for name, ref in table.refs().items():
        snapshot = table.snapshot_by_id(ref.snapshot_id)
        if ref.snapshot_ref_type is SnapshotRefType.TAG and snapshot is not None and name == tag_of(ref.snapshot_id):
            found.append(Savepoint(snapshot, **_details(table.properties, ref.snapshot_id)))
    return sorted(found, key=lambda savepoint: savepoint.snapshot.timestamp_ms, reverse=True)


def savepoint_at(table: Table, instant: str, time_zone: str, argument: str) -> Savepoint:
    """The savepoint at a commit; raises ArgumentError when there is none."""
    snapshot = commit_at(table, instant, time_zone, argument)
    for savepoint in savepoints(table):
        if savepoint.snapshot.snapshot_id == snapshot.snapshot_id:
            return savepoint
    raise ArgumentError(argument, f"No savepoint is at commit {instant}")


def commit_at(table: Table, instant: str, time_zone: str, argument: str) -> Snapshot:
    """The snapshot of that id, or committed at that very millisecond; raises ArgumentError when there is none."""
    number = whole_number(instant)
    if number is not None and (snapshot := table.snapshot_by_id(number)) is not None:
        return snapshot
    at = parse_instant(instant, time_zone)
    for snapshot in table.snapshots():
        if snapshot.timestamp_ms == at:
            return snapshot
    raise ArgumentError(argument, f"Commit {instant} not found", ErrorCode.ICEBERG_INVALID_SNAPSHOT_ID)


def _details(properties: Mapping[str, str], snapshot_id: int) -> dict[str, str]:
    try:
        found = json.loads(properties.get(property_of(snapshot_id), "{}"))
        return {name: str(found[name]) for name in ("user", "comments", "created_at") if name in found}
    except (ValueError, TypeError):
        return {}
