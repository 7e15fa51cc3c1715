"""A query's execution without a query: what engines and procedures are given where no dispatcher is."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from coordinator.dispatch.failures import canceled, killed
from coordinator.engine.execution import QueryProgress
from coordinator.explain.operators import Operator
from shared.errors import ProcessionError
from shared.spi.session import Session

QUERY_ID = "20260101_000000_00000_tests"


@dataclass
class FakeExecution:
    """Implements ``coordinator.dispatch.ports.Execution`` and remembers what it was told.

    ``tests/dispatch/test_execution_contract.py`` asks the same of it as of the real one.
    """

    query_id: str = QUERY_ID
    session: Session = field(default_factory=lambda: Session(user="test", query_id=QUERY_ID))
    progress: list[QueryProgress] = field(default_factory=list)
    update_count: int | None = None
    committed_snapshot: int | None = None
    error: ProcessionError | None = None
    engine: tuple[str, str] | None = None
    operators: list[Operator] = field(default_factory=list)
    spark_operations: list[str] = field(default_factory=list)
    spark_jobs: list[int] = field(default_factory=list)
    _callbacks: list[Callable[[], None]] = field(default_factory=list)
    _threads: list[threading.Thread] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def processed_bytes(self) -> int:
        """As told last."""
        return self.progress[-1].processed_bytes if self.progress else 0

    def report_progress(self, progress: QueryProgress) -> None:
        self.progress.append(progress)

    def set_update_count(self, count: int) -> None:
        self.update_count = count

    def committed(self, snapshot_id: int) -> None:
        self.committed_snapshot = snapshot_id

    def ran_on(self, engine: str, why: str) -> None:
        self.engine = (engine, why)

    def ran_on_spark(self, operations: Sequence[str], jobs: Sequence[int]) -> None:
        self.spark_operations += operations
        self.spark_jobs += jobs

    def report_operators(self, operators: Sequence[Operator]) -> None:
        self.operators = list(operators)

    def check_cancelled(self) -> None:
        if self.error is not None:
            raise self.error

    def kill(self, message: str) -> None:
        self._end(killed(message))

    def on_cancel(self, callback: Callable[[], None]) -> None:
        with self._lock:
            if self.error is None:
                self._callbacks.append(callback)
                return
        self._start(callback)

    def cancel(self, *, wait: bool = False) -> None:
        """As a client's DELETE; with ``wait``, until every callback has returned."""
        self._end(canceled())
        for thread in self._threads if wait else ():
            thread.join()

    def _end(self, error: ProcessionError) -> None:
        with self._lock:
            if self.error is not None:
                return
            self.error, callbacks = error, self._callbacks
        for callback in callbacks:
            self._start(callback)

    def _start(self, callback: Callable[[], None]) -> None:
        thread = threading.Thread(target=callback, daemon=True)
        self._threads.append(thread)
        thread.start()
