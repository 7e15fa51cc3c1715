"""TRUNCATE TABLE under a WAP id: the snapshot without files, which nobody reads until it is published.

Spark would not stage it: what it deletes by metadata alone is seen at once, whatever ``spark.wap.id`` says.
"""

from __future__ import annotations

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation

from coordinator.connectors.iceberg.failures import mapped
from coordinator.connectors.iceberg.manifests.live_files import read_live
from coordinator.connectors.iceberg.snapshots.cherry_pick import STAGED
from coordinator.connectors.iceberg.snapshots.edit_files import EditFiles
from coordinator.connectors.iceberg.snapshots.own import QUERY_ID


def stage_truncation(table: Table, wap_id: str, query_id: str) -> None:
    """``table`` has a current snapshot, at which it was just opened. Raises ProcessionError."""
    with mapped(".".join(table.name())):
        live = read_live(table, table.current_snapshot())
        transaction = table.transaction()
        properties = {STAGED: wap_id, QUERY_ID: query_id, "engine-name": "procession"}
        dropped = (*live.data, *live.deletes)
        EditFiles(transaction, Operation.DELETE, dropped=dropped, properties=properties, branch=None).stage()
        transaction.commit_transaction()
