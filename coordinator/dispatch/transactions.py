"""The transactions that clients have begun. They hold nothing: each statement commits by itself, as with Presto's
Iceberg connector, but a client must learn that the transaction it goes on with is unknown here.

Source: Presto's InMemoryTransactionManager, whose idle transactions end after five minutes.
"""

from __future__ import annotations

from coordinator.dispatch.clock import Clock
from coordinator.vocabulary.planned_statement import SessionChange
from shared.errors import ErrorCode, ProcessionError
from shared.spi.session import Session

_IDLE_SECONDS = 300.0


class Transactions:
    """Belongs to one event loop."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last_used: dict[str, float] = {}

    def refusal(self, session: Session) -> ProcessionError | None:
        """Why a statement of ``session`` cannot run; using a transaction keeps it."""
        used = session.transaction_id
        if used is None:
            return None
        if used in self._last_used:
            self._last_used[used] = self._clock.monotonic()
            return None
        message = f"Unknown transaction ID: {used}. Possibly expired? Commands ignored until end of transaction block"
        return ProcessionError(ErrorCode.UNKNOWN_TRANSACTION, message)

    def begun(self, change: SessionChange) -> None:
        """A START TRANSACTION was planned."""
        if change.started_transaction_id is not None:
            self._last_used[change.started_transaction_id] = self._clock.monotonic()

    def ended(self, session: Session, change: SessionChange) -> None:
        """A COMMIT or ROLLBACK has run."""
        if change.clear_transaction_id and session.transaction_id is not None:
            self._last_used.pop(session.transaction_id, None)

    def sweep(self, in_use: set[str | None]) -> None:
        """Forget those that were idle for too long; the transactions of running statements are not."""
        oldest = self._clock.monotonic() - _IDLE_SECONDS
        idle = [used for used, at in self._last_used.items() if at < oldest and used not in in_use]
        for used in idle:
            del self._last_used[used]
