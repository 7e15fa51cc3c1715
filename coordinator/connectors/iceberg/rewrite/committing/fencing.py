"""A commit that may still be under way is refused from now on, wherever its request waits.

Whoever sent it was killed or suspended, or never heard its answer: before any of its files goes, the catalog must have
seen something later.
"""

from __future__ import annotations

from pyiceberg.catalog import MetastoreCatalog
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRefType
from pyiceberg.table.snapshots import ancestors_of

from coordinator.connectors.iceberg.snapshots.same_files import SameFiles

_RECOVERED = "procession.recovered-commit"
"""Names the commit, as a property of the table for a moment, or in the summary of the snapshot."""


def refuse_late(table: Table, mark: str, base_snapshot_id: int | None = None) -> None:
    """``table`` is one's own, at its newest metadata. Raises what commits raise, and must be called again then.

    Catalogs that write metadata compare versions as they take a new one. A server compares the heads of branches alone,
    as the request says them: there the head becomes another snapshot with the same files, that of ``main`` and of every
    branch that the commit may be meant for, by the snapshot that it is based on.
    """
    if isinstance(table.catalog, MetastoreCatalog):
        outdate(table, mark)
        return
    for branch in _branches(table, base_snapshot_id):
        transaction = table.transaction()
        SameFiles(transaction, {_RECOVERED: mark}, branch).commit()
        transaction.commit_transaction()


def _branches(table: Table, base_snapshot_id: int | None) -> list[str]:
    known = [name for name, ref in table.refs().items() if ref.snapshot_ref_type is SnapshotRefType.BRANCH]
    return [name for name in known if name == MAIN_BRANCH or _descends(table, name, base_snapshot_id)]


def _descends(table: Table, branch: str, base_snapshot_id: int | None) -> bool:
    line = ancestors_of(table.snapshot_by_name(branch), table.metadata)
    return any(snapshot.snapshot_id == base_snapshot_id for snapshot in line)


def outdate(table: Table, mark: str) -> None:
    """Two versions of the table that change nothing: what is based on an earlier one is refused."""
    with table.transaction() as change:
        change.set_properties({_RECOVERED: mark})
    with table.transaction() as change:
        change.remove_properties(_RECOVERED)
