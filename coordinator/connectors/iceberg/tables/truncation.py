"""TRUNCATE TABLE: a snapshot without files, for which no engine is needed.

Under a WAP id nobody reads it until it is published.
Spark would not stage it (what it deletes by metadata alone is seen at once, whatever ``spark.wap.id`` says), and loads
no table with times of day.
"""

from __future__ import annotations

from pyiceberg.exceptions import ValidationException
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.snapshots import Operation, Snapshot

from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.failures import mapped
from coordinator.connectors.iceberg.manifests.live_files import read_live
from coordinator.connectors.iceberg.numbers import number_or
from coordinator.connectors.iceberg.snapshots.cherry_pick import STAGED
from coordinator.connectors.iceberg.snapshots.edit_files import EditFiles
from coordinator.connectors.iceberg.snapshots.own import QUERY_ID

_MOST_FILES = 100_000
"""Whose entries are read and written again here, which takes some seconds."""
_ATTEMPTS = 4


def is_large(snapshot: Snapshot) -> bool:
    """Whether an engine had better do it."""
    summary = {} if snapshot.summary is None else snapshot.summary.additional_properties
    return sum(number_or(summary.get(f"total-{kind}-files"), 0) for kind in ("data", "delete")) > _MOST_FILES


def truncate(catalog: TableCatalog, table: Table, branch: str | None, wap_id: str | None, query_id: str) -> None:
    """Takes out all files of a branch as it is now, None for main. Raises ProcessionError."""
    properties = {QUERY_ID: query_id, "engine-name": "procession"}
    if wap_id is not None:
        properties[STAGED] = wap_id
    where = branch or MAIN_BRANCH
    schema, name = ".".join(table.name()[:-1]), table.name()[-1]
    with mapped(f"{schema}.{name}"):
        for left in reversed(range(_ATTEMPTS)):
            live = read_live(table, table.snapshot_by_name(where), statistics=False)
            transaction = table.transaction()
            dropped, staged = (*live.data, *live.deletes), None if wap_id is not None else where
            try:
                EditFiles(transaction, Operation.DELETE, dropped=dropped, properties=properties, branch=staged).stage()
                transaction.commit_transaction()
            except ValidationException:  # a file was replaced meanwhile
                if not left:
                    raise
                table = catalog.open(schema, name)
                continue
            return
