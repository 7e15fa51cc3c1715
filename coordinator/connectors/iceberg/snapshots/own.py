"""Which snapshots of a table are a statement's own: every commit of ours and of our Spark carries the query's id."""

from __future__ import annotations

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

QUERY_ID = "procession.query-id"
"""Snapshot property that names the query."""


def own_snapshots(table: Table, query_id: str) -> list[Snapshot]:
    """In the order of the metadata, so that the newest comes last; none where the statement changed nothing."""
    return [snapshot for snapshot in table.metadata.snapshots if _query_of(snapshot) == query_id]


def _query_of(snapshot: Snapshot) -> str | None:
    return None if snapshot.summary is None else snapshot.summary.additional_properties.get(QUERY_ID)
