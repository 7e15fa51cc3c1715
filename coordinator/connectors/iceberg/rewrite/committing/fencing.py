"""A commit that may still be under way is refused from now on, wherever its request waits.

Whoever sent it was killed or suspended, or never heard its answer: before any of its files goes, the catalog must have
seen something later.
"""

from __future__ import annotations

from pyiceberg.catalog import MetastoreCatalog
from pyiceberg.table import Table

from coordinator.connectors.iceberg.snapshots.same_files import SameFiles

_RECOVERED = "procession.recovered-commit"
"""Names the commit, as a property of the table for a moment, or in the summary of the snapshot."""


def refuse_late(table: Table, mark: str) -> None:
    """``table`` is one's own, at its newest metadata. Raises what commits raise, and must be called again then.

    Catalogs that write metadata compare versions as they take a new one. A server compares the heads of branches alone,
    as the request says them: there the head becomes another snapshot with the same files.
    """
    if isinstance(table.catalog, MetastoreCatalog):
        outdate(table, mark)
    elif table.current_snapshot() is not None:
        transaction = table.transaction()
        SameFiles(transaction, {_RECOVERED: mark}).commit()
        transaction.commit_transaction()


def outdate(table: Table, mark: str) -> None:
    """Two versions of the table that change nothing: what is based on an earlier one is refused."""
    with table.transaction() as change:
        change.set_properties({_RECOVERED: mark})
    with table.transaction() as change:
        change.remove_properties(_RECOVERED)
