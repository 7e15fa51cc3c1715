"""The pool of the local engine's processes: SQL over values, system tables, tpch and databases.

The coordinator itself runs none of it. A statement computes what its user wrote, and may take more memory than any
database counts: its process fails at a limit of its own, and where all together take too much, the largest is ended.
"""

from __future__ import annotations

import json
import logging
import pickle
from collections.abc import Generator, Iterator, Mapping, Sequence

import pyarrow as pa

from coordinator.engine.execution import Execution, QueryProgress
from coordinator.engine.local_inputs import LocalInput
from coordinator.engine.processes.messages import (
    BATCH,
    KIND,
    SCHEMA,
    WANTED,
    LocalProcessSettings,
    LocalStatement,
)
from coordinator.engine.processes.nursery import LOCAL, Nursery
from coordinator.engine.processes.pool import EngineStats, Killer, PoolLimits, ProcessPool
from coordinator.engine.processes.process import EngineProcess, ProcessEndedError
from coordinator.engine.processes.profile import operators_of
from coordinator.engine.processes.sent_rows import SentRows
from coordinator.engine.processes.watch import MemoryWatch
from coordinator.engine.streams import unreadable
from coordinator.explain.operators import Operator
from shared.errors import ErrorCode, ProcessionError

_LOG = logging.getLogger(__name__)


class LocalProcesses:
    """Implements ``LocalSql`` of the executor. Thread-safe; ``close`` ends the processes."""

    def __init__(self, settings: LocalProcessSettings, nursery: Nursery, limits: PoolLimits, total_bytes: int) -> None:
        self._settings, self._nursery = settings, nursery
        self._pool = ProcessPool(self._start, limits, "local")
        self._watch = MemoryWatch(total_bytes)

    def run(
        self,
        sql: str,
        execution: Execution,
        inputs: Sequence[LocalInput] = (),
        operators: list[Operator] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """The result of one statement in DuckDB's dialect over ``inputs``; raises ProcessionError with Presto's texts.

        Cancelling the execution, or not reading on, ends the process. ``operators``, when given, is filled with what
        was measured.
        """
        execution.check_cancelled()
        process = self._pool.take(execution)
        killer = Killer(process)
        execution.on_cancel(killer.kill)
        whole = False
        self._watch.add(process, execution, killer)
        try:
            ended = yield from _answers(process, execution, self._watch, sql, inputs, operators)
            whole = killer.disarm()
        except ProcessEndedError as error:
            self._pool.count(died=1)
            execution.check_cancelled()
            raise self._watch.verdict(process) from error
        finally:
            self._watch.remove(process)
            (self._pool.give_back if whole else self._pool.discard)(process)
        if ended is not None:
            self._pool.count(failed=1)
            execution.check_cancelled()
            raise ended
        self._pool.count(answered=1)

    def warm_up(self) -> None:
        """Have one process that waits. Raises ProcessionError."""
        self._pool.give_back(self._start())

    def stats(self) -> EngineStats:
        """Now."""
        return self._pool.stats()

    def close(self) -> None:
        """Ends all processes; statements that run fail."""
        self._pool.close()
        self._watch.close()

    def _start(self) -> EngineProcess:
        try:
            return EngineProcess.start(self._nursery, LOCAL, self._settings)
        except (ProcessEndedError, OSError) as error:
            _LOG.error("a process of the local engine could not be started: %s", error)
            message = "A process of the local engine could not be started"
            raise ProcessionError(ErrorCode.GENERIC_INTERNAL_ERROR, message) from error


def _answers(
    process: EngineProcess,
    execution: Execution,
    watch: MemoryWatch,
    sql: str,
    inputs: Sequence[LocalInput],
    operators: list[Operator] | None,
) -> Generator[pa.RecordBatch, None, ProcessionError | None]:
    """The rows; returns how the statement failed, None when it did not. Raises ProcessEndedError."""
    sent, schema = SentRows(inputs), pa.schema([])
    process.send(pickle.dumps(LocalStatement(sql, dict(sent.files), sent.schemas, operators is not None)))
    while True:
        frame = pa.py_buffer(process.receive())
        kind, body = frame.slice(0, KIND).to_pybytes(), frame.slice(KIND)
        if kind == WANTED:
            sent.send_next(process, body.to_pybytes())
        elif kind == SCHEMA:
            schema = pa.ipc.read_schema(body)
        elif kind == BATCH:
            execution.check_cancelled()
            yield pa.ipc.read_record_batch(body, schema)
        else:
            ended = json.loads(body.to_pybytes())
            peak = watch.remove(process)
            execution.report_progress(QueryProgress(cpu_seconds=ended["cpu_seconds"], peak_memory_bytes=peak))
            if operators is not None:
                operators.extend(operators_of(str(ended.get("profile", "")), {}))
            return _failure(ended, sent.broken)


def _failure(ended: Mapping[str, object], broken: Exception | None) -> ProcessionError | None:
    """As the process tells it, but for an input whose source failed: that is the reason, and known here alone."""
    if "code" not in ended:
        return None
    if broken is not None:
        return unreadable(broken)
    return ProcessionError(
        ErrorCode[str(ended["code"])], str(ended["message"]), retriable=bool(ended.get("retriable", False))
    )
