"""The exclusive lock of a table in a Hive metastore, taken and given back as Iceberg's Java library does.

PyIceberg gives it back on the connection that may just have broken, and then it stays for minutes; a lock whose
answer was lost is found again by the name that its taker gave.
"""

from __future__ import annotations

import getpass
import logging
import socket
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from hive_metastore.ttypes import (
    CheckLockRequest,
    DataOperationType,
    HeartbeatRequest,
    LockComponent,
    LockLevel,
    LockRequest,
    LockState,
    LockType,
    ShowLocksRequest,
    ShowLocksResponseElement,
    UnlockRequest,
)
from thrift.Thrift import TException

from coordinator.connectors.iceberg.failures import NotCommittedError
from coordinator.connectors.iceberg.metastores.hive_connections import HiveConnections
from shared.errors import ErrorCode

logger = logging.getLogger(__name__)
_LEAST_WAIT_SECONDS, _MOST_WAIT_SECONDS, _FACTOR = 0.05, 2.0, 1.5


@dataclass(frozen=True, slots=True)
class TableLock:
    """Where to take the lock, and how long to wait for another's."""

    connections: HiveConnections
    database: str
    table: str
    patience_seconds: float

    @contextmanager
    def held(self) -> Iterator[int]:
        """Hold the lock, whose id is given. Raises NotCommittedError when it cannot be had, or TException."""
        agent = f"procession-{uuid.uuid4()}"
        number: int | None = None
        try:
            with self.connections as client:
                answer = client.lock(self._request(agent))
            number = answer.lockid
            self._wait(number, answer.state)
            yield number
        finally:
            self._release(number, agent)

    def ensure_held(self, number: int) -> None:
        """Raises NotCommittedError when the metastore has given the lock up meanwhile, as it does after minutes."""
        try:
            with self.connections as client:
                client.heartbeat(HeartbeatRequest(lockid=number))
        except TException as error:
            raise NotCommittedError(
                ErrorCode.TRANSACTION_CONFLICT,
                f"The lock of {self.database}.{self.table} in the metastore was lost before the commit: {error}",
                retriable=True,
            ) from error

    def _request(self, agent: str) -> LockRequest:
        # PyIceberg says isTransactional, which is for Hive's own ACID tables.
        component = LockComponent(
            type=LockType.EXCLUSIVE,
            level=LockLevel.TABLE,
            dbname=self.database,
            tablename=self.table,
            operationType=DataOperationType.NO_TXN,
        )
        return LockRequest(component=[component], user=user_name(), hostname=socket.gethostname(), agentInfo=agent)

    def _wait(self, number: int, state: int) -> None:
        deadline, pause = time.monotonic() + self.patience_seconds, _LEAST_WAIT_SECONDS
        while state == LockState.WAITING and time.monotonic() < deadline:
            time.sleep(pause)
            pause = min(pause * _FACTOR, _MOST_WAIT_SECONDS)
            with self.connections as client:
                state = client.check_lock(CheckLockRequest(lockid=number)).state
        if state != LockState.ACQUIRED:
            message = (
                f"Table {self.database}.{self.table} is locked in the metastore{self._holder()}; nothing was committed"
            )
            raise NotCommittedError(ErrorCode.TRANSACTION_CONFLICT, message, retriable=True)

    def _holder(self) -> str:
        held = [lock for lock in self._all() if lock.state == LockState.ACQUIRED]
        return f" by {held[0].user}@{held[0].hostname} (lock {held[0].lockid})" if held else ""

    def _all(self) -> list[ShowLocksResponseElement]:
        with self.connections as client:
            locks = client.show_locks(ShowLocksRequest(dbname=self.database, tablename=self.table)).locks or []
        # Metastores before Hive 3 do not narrow the list.
        return [lock for lock in locks if (lock.dbname, lock.tablename) == (self.database, self.table)]

    def _release(self, number: int | None, agent: str) -> None:
        """On a connection of its own: the one of a commit that failed may be broken."""
        try:
            if number is None:
                number = next((lock.lockid for lock in self._all() if lock.agentInfo == agent), None)
            if number is not None:
                with self.connections as client:
                    client.unlock(UnlockRequest(lockid=number))
        except TException:
            logger.warning("Lock of %s.%s in the metastore remains until it expires", self.database, self.table)


def user_name() -> str:
    """Who commits; containers run under ids without a name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "procession"
