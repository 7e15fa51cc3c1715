"""What became of an append that this process commits: landed, refused, or not known yet."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

from pyiceberg.catalog import MetastoreCatalog
from pyiceberg.exceptions import CommitFailedException, NoSuchTableError, ValidationException
from pyiceberg.table import Table, Transaction

from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.failures import CommitOutcomeUnknownError
from coordinator.connectors.iceberg.rewrite.committing.fencing import refuse_late
from coordinator.connectors.iceberg.snapshots.own import own_snapshots
from shared.errors import ErrorCode, ProcessionError

_ROUNDS = 5
"""Of the retries that PyIceberg makes, each over the table as it is then."""
_LOOK_AGAIN_SECONDS = (0.0, 1.0, 3.0)
_REFUSED = (CommitFailedException, ValidationException, NoSuchTableError, ProcessionError)
"""After these nothing has landed, and nothing will."""


class AppendOutcome:
    """Of one statement's append to a table, whose snapshot has the statement's id."""

    def __init__(
        self, catalog: TableCatalog, schema: str, table: Table, write_id: str, query_id: str, base: int | None
    ) -> None:
        """``base`` is the snapshot that it was to be built on first."""
        self._catalog, self._schema, self._table = catalog, schema, table
        self._write_id, self._query_id, self._base = write_id, query_id, base
        self._unknown_since: float | None = None

    def commit(self, stage: Callable[[Table], Transaction]) -> None:
        """Commit what ``stage`` makes of the table, again over the table as it is then after a lost round.

        Raises CommitOutcomeUnknownError where nobody can tell within moments, and what refuses the commit.
        """
        table = self._table
        for left in reversed(range(_ROUNDS)):
            transaction = stage(table)
            try:
                transaction.commit_transaction()
            except CommitFailedException:
                if not left:
                    raise
                table = self._newest()
                continue
            except _REFUSED:
                raise
            except Exception as error:
                self._unknown_since = time.monotonic()
                if not self._has_landed_soon():
                    message = f"It is unknown whether the write to {self._schema}.{self._table.name()[-1]} landed"
                    raise CommitOutcomeUnknownError(ErrorCode.ICEBERG_COMMIT_ERROR, message) from error
            return

    def _has_landed_soon(self) -> bool:
        for wait in _LOOK_AGAIN_SECONDS:
            time.sleep(wait)
            with suppress(ProcessionError):
                if own_snapshots(self._newest(), self._query_id):
                    return True
        return False

    def is_settled(self) -> bool:
        """Whether nothing lands from now on that has not: a request that a server may hold is refused then.

        To be asked again after False. Raises what reading the table and committing raise.
        """
        if self._unknown_since is None:
            return True
        if not self._has_waited(self._unknown_since):
            return False
        newest = self._newest()
        if not own_snapshots(newest, self._query_id):
            refuse_late(newest, self._write_id, self._base)
        return True

    def _has_waited(self, since: float) -> bool:
        """Catalogs that write metadata hold no requests."""
        if isinstance(self._catalog.client(), MetastoreCatalog):
            return True
        return time.monotonic() - since >= self._catalog.settings.unfinished_quiet_time

    def _newest(self) -> Table:
        newest = self._catalog.open(self._schema, self._table.name()[-1])
        if newest.metadata.table_uuid != self._table.metadata.table_uuid:
            message = f"Table {self._schema}.{self._table.name()[-1]} was dropped and made anew meanwhile"
            raise ProcessionError(ErrorCode.NOT_FOUND, message)
        return newest
