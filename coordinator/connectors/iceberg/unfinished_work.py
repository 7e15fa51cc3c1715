"""What a catalog's journal is to the coordinator: recovered, shared with others, and left to the next start."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.properties import IcebergSettings
from coordinator.connectors.iceberg.rewrite.committing.journal import Journal
from coordinator.connectors.iceberg.rewrite.committing.recovery import Recovered, recover, recover_later
from coordinator.connectors.iceberg.tables.shared_records import share, take_over
from coordinator.connectors.iceberg.tables.work_records import WorkRecords
from coordinator.values.shared_work import SharedWork


class KeepsWork:
    """Implements ``SharesWork`` over a catalog and its journal."""

    settings: IcebergSettings
    tables_of: TableCatalog
    journal: Journal

    def recover(self, end_write: Callable[[str], bool] = lambda _write_id: True) -> Sequence[Recovered]:
        """Finish or undo what a dead coordinator left open; to be called once at start.

        ``end_write`` is asked, later, whether the engine commits nothing any more of a write that was open. With a
        shared journal it is to be called again and again: what others that ended left open is this one's then.
        """
        take_over(self.tables_of.work, self._records)
        return recover(self.tables_of, self.journal, end_write)

    def recover_later(self, end_write: Callable[[str], bool]) -> None:
        """The same at a start at which the catalog cannot be reached: once it can. Returns at once."""
        recover_later(self.tables_of, self.journal, end_write)

    def close(self) -> None:
        """End what runs in the background; what it left open is for the next start. Blocks for a moment."""
        self.tables_of.background.end()

    def share_work(self, shared: SharedWork) -> None:
        """Keep the journal in a database that several coordinators share. Raises ProcessionError.

        A catalog in an SQLite file is one coordinator's, and stays with it.
        """
        if not self.settings.is_file:
            share(self.tables_of.work, self._records, shared)

    @property
    def shares_work(self) -> bool:
        """Whether other coordinators may take over what this one leaves open, and it theirs."""
        return self.tables_of.work.shared is not None

    def refuse_commits(self) -> bool:
        """Other coordinators may take this one for gone: no write that is under way commits. False: ask again."""
        return not self.shares_work or self.tables_of.late_writes.refuse_commits()

    @property
    def _records(self) -> tuple[WorkRecords, ...]:
        tables = self.tables_of
        return (
            self.journal.records,
            tables.unfinished.records,
            tables.open_writes.records,
            tables.open_commits.records,
            tables.open_expiries.records,
            tables.open_drops.records,
        )
