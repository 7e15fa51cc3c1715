"""Rewrites whose commit has an unknown outcome: finished or undone for good once the catalog answers again.

Nobody waits for that: the call has failed, and told so. What this process does not live to do, the next start does.
"""

from __future__ import annotations

import logging
import threading

from pyiceberg.catalog import MetastoreCatalog

from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.failures import mapped
from coordinator.connectors.iceberg.rewrite.committing.journal import JournalEntry
from coordinator.connectors.iceberg.rewrite.committing.recovery import landed_snapshot, outdate, sweep
from coordinator.connectors.iceberg.rewrite.planning.rewrite import Rewrite
from shared.errors import ProcessionError

_LOG = logging.getLogger(__name__)
_PAUSE_SECONDS, _TRIES = 10.0, 360
"""An hour."""


def settle_later(catalog: TableCatalog, rewrite: Rewrite, tries: int = _TRIES) -> None:
    """Look again soon, not with a REST server: it takes a commit that fits the table's head, however late."""
    if tries and isinstance(catalog.client(), MetastoreCatalog):
        again = threading.Timer(_PAUSE_SECONDS, _settle, (catalog, rewrite, tries - 1))
        again.daemon = True
        again.start()


def _settle(catalog: TableCatalog, rewrite: Rewrite, tries: int) -> None:
    call_id, journal = rewrite.call_id, rewrite.call.journal
    try:
        with mapped(f"{rewrite.target.schema}.{rewrite.target.table}"):
            entry = journal.entry(call_id)
            if entry is None or entry.state != "COMMITTING" or journal.settled_by_another(call_id) is not None:
                return
            landed = _landed(catalog, rewrite, entry)
            journal.close(call_id, "COMMITTED" if landed else "ABORTED")
        outcome = "landed" if landed else "is undone"
        _LOG.warning("The commit of call %s, whose outcome was unknown, %s", call_id, outcome)
    except ProcessionError as error:
        _LOG.info("What became of the commit of call %s cannot be told yet: %s", call_id, error.message)
        settle_later(catalog, rewrite, tries)


def _landed(catalog: TableCatalog, rewrite: Rewrite, entry: JournalEntry) -> bool:
    """Whether it landed; what it wrote in vain is removed. If it did not, it cannot any more."""
    table = catalog.load(rewrite.target.schema, rewrite.target.table)
    if table is not None and table.metadata.table_uuid != rewrite.table.metadata.table_uuid:
        table = None
    if table is not None and landed_snapshot(table, entry.call_id) is None:
        outdate(catalog.open(rewrite.target.schema, rewrite.target.table), entry.call_id)
        table = catalog.open(rewrite.target.schema, rewrite.target.table)
    landed = None if table is None else landed_snapshot(table, entry.call_id)
    sweep(rewrite.table.io, entry, table, landed)
    return landed is not None
