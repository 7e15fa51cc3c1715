"""The pool of the embedded engine's processes: statements over files, each within memory, disk and one process."""

from __future__ import annotations

import logging
import mmap
import pickle
import shutil
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import assert_never

import pyarrow as pa

from coordinator.engine.embedded.messages import Answer, Answered, EngineSettings, Failed, Statement
from coordinator.engine.embedded.parquet_scan import path_in_sql
from coordinator.engine.embedded.progress import bytes_read, progress_file, seen
from coordinator.engine.execution import Execution, QueryProgress
from coordinator.engine.local_inputs import LocalInput
from coordinator.engine.processes.messages import KIND, WANTED
from coordinator.engine.processes.nursery import EMBEDDED, Nursery
from coordinator.engine.processes.pool import EngineStats, Killer, PoolLimits, ProcessPool
from coordinator.engine.processes.process import EngineProcess, ProcessEndedError
from coordinator.engine.processes.profile import operators_of
from coordinator.engine.processes.sent_rows import SentRows
from coordinator.engine.processes.watch import MemoryWatch
from coordinator.engine.streams import unreadable
from coordinator.explain.operators import Operator
from coordinator.kernels.file_scan import FileScan
from coordinator.values.machine import available_memory
from shared.errors import ErrorCode, ProcessionError

_LOG = logging.getLogger(__name__)
_FORGOTTEN_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class SmallStatements:
    """Those that read so much at most have ``processes`` for themselves, beyond those of all statements."""

    processes: int = 0
    bytes: int = 16 << 20
    rows: int = 2_000_000


NONE_SMALL = SmallStatements()


class EmbeddedEngine:
    """Up to ``processes`` children, started when they are first needed. Thread-safe; ``close`` ends them."""

    def __init__(
        self,
        settings: EngineSettings,
        nursery: Nursery,
        processes: int = 2,
        patience: float = 30.0,
        small: SmallStatements = NONE_SMALL,
    ) -> None:
        self.processes = processes
        self._settings, self._nursery, self._small = settings, nursery, small
        kept, reserved = processes + small.processes, small.processes if processes else 0
        limits = PoolLimits(processes, 2 * kept, patience, kept, small=reserved)
        self._pool = ProcessPool(self._start, limits, "embedded", self._has_room)
        self._watch = MemoryWatch(sys.maxsize)
        self._lock = threading.Lock()
        self._prepared = False

    def run(
        self,
        sql: str,
        scans: Mapping[str, FileScan],
        execution: Execution,
        inputs: Sequence[LocalInput] = (),
        most_bytes: int | None = None,
        operators: list[Operator] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """The result of one statement; blocks until it is complete, since it is read from a file.

        ``inputs`` are what it reads beside files of tables, ``most_bytes`` how much may come of their streams.
        ``operators``, when given, is filled with what was measured.
        Raises ProcessionError with Presto's texts; EXCEEDED_LOCAL_MEMORY_LIMIT when the process died of it or none came
        free: Spark may do it then. Cancelling the execution ends the process.
        """
        progress = QueryProgress(total_splits=1, running_splits=1, phase="running on the embedded engine")
        execution.report_progress(progress)
        sent = SentRows(inputs, most_bytes)
        process = self._pool.take(execution, small=not inputs and self._is_small(scans))
        killer, whole, peak = Killer(process), False, 0
        execution.on_cancel(killer.kill)
        self._watch.add(process, execution, killer, self._progress(process, scans, progress))
        try:
            statement = Statement(sql, dict(scans), dict(sent.files), sent.schemas, operators is not None)
            answer = _answer(process, statement, sent)
            whole = killer.disarm()
        except ProcessEndedError as error:
            execution.check_cancelled()
            self._pool.count(died=1)
            message = "The embedded engine's process ended while the statement ran"
            raise ProcessionError(ErrorCode.EXCEEDED_LOCAL_MEMORY_LIMIT, message) from error
        finally:
            peak = self._watch.remove(process)
            (self._pool.give_back if whole else self._gone)(process)
        match answer:
            case Failed():
                execution.check_cancelled()
                self._pool.count(failed=1)
                if sent.broken is not None:
                    raise unreadable(sent.broken)
                raise ProcessionError(ErrorCode[answer.code], answer.message, retriable=answer.retriable)
            case Answered():
                self._pool.count(answered=1)
                execution.report_progress(_done(progress, scans, answer, peak))
                if operators is not None:
                    operators.extend(operators_of(answer.profile, _files_of(scans)))
                return _batches(_mapped(answer.path), execution)
            case _:
                assert_never(answer)

    def stats(self) -> EngineStats:
        """Now."""
        return self._pool.stats()

    def close(self) -> None:
        """Ends all processes; statements that run fail."""
        self._pool.close()
        self._watch.close()
        shutil.rmtree(self._settings.scratch, ignore_errors=True)

    def _start(self) -> EngineProcess:
        try:
            self._prepare()
            return EngineProcess.start(self._nursery, EMBEDDED, self._settings)
        except (ProcessEndedError, OSError) as error:
            _LOG.error("a process of the embedded engine could not be started: %s", error)
            message = "A process of the embedded engine could not be started"
            raise ProcessionError(ErrorCode.GENERIC_INTERNAL_ERROR, message) from error

    def _is_small(self, scans: Mapping[str, FileScan]) -> bool:
        size, rows = sum(scan.size for scan in scans.values()), sum(scan.rows for scan in scans.values())
        return size <= self._small.bytes and rows <= self._small.rows

    def _has_room(self) -> bool:
        """For one more process, which a small statement does not fill."""
        available = available_memory()
        return available is None or available > self._settings.memory_bytes // 2

    def _progress(
        self, process: EngineProcess, scans: Mapping[str, FileScan], first: QueryProgress
    ) -> Callable[[], QueryProgress]:
        """What is told while the process works."""
        size, before = sum(scan.size for scan in scans.values()), bytes_read(process.pid)
        last = replace(first, percentage=0.0)

        def now() -> QueryProgress:
            nonlocal last
            read, found = max(0, bytes_read(process.pid) - before), seen(self._settings.scratch, process.pid)
            share = found.percentage(read)
            # A statement that is about to end has taken its file away, and a process that has ended tells 0 bytes.
            if share >= (last.percentage or 0.0):
                processed = int(size * share / 100)
                last = replace(first, processed_rows=found.rows(read), processed_bytes=processed, percentage=share)
            return last

        return now

    def _prepare(self) -> None:
        """An empty scratch folder of this coordinator's own: what a dead one left is gone."""
        with self._lock:
            if self._prepared:
                return
            shutil.rmtree(self._settings.scratch, ignore_errors=True)
            Path(self._settings.scratch).mkdir(parents=True, mode=0o700)
            self._prepared = True

    def _gone(self, process: EngineProcess) -> None:
        self._pool.discard(process)
        progress_file(self._settings.scratch, process.pid).unlink(missing_ok=True)
        for left in Path(self._settings.scratch).glob(f"spill-{process.pid}*"):
            shutil.rmtree(left, ignore_errors=True)


def _files_of(scans: Mapping[str, FileScan]) -> dict[str, str]:
    """Scans by the path of a file that they read, as the database names it."""
    return {path_in_sql(item, scan): name for name, scan in scans.items() for item in scan.task.inputs}


def _done(progress: QueryProgress, scans: Mapping[str, FileScan], answer: Answered, peak: int) -> QueryProgress:
    return replace(
        progress,
        completed_splits=1,
        running_splits=0,
        processed_rows=sum(scan.rows for scan in scans.values()),
        processed_bytes=sum(scan.size for scan in scans.values()),
        cpu_seconds=answer.cpu_seconds,
        peak_memory_bytes=peak,
    )


def _answer(process: EngineProcess, statement: Statement, sent: SentRows) -> Answer:
    """Raises ProcessEndedError."""
    process.send(pickle.dumps(statement))
    while (frame := process.receive())[:KIND] == WANTED:
        sent.send_next(process, frame[KIND:])
    answer: Answer = pickle.loads(memoryview(frame)[KIND:])  # noqa: S301 - from our own child
    return answer


def _mapped(path: str) -> mmap.mmap:
    """A file whose name goes at once: a coordinator that dies leaves nothing."""
    with Path(path).open("rb") as file:
        Path(path).unlink()
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _batches(mapped: mmap.mmap, execution: Execution) -> Iterator[pa.RecordBatch]:
    seen = 0
    for batch in pa.ipc.open_stream(pa.BufferReader(pa.py_buffer(mapped))):
        execution.check_cancelled()
        yield batch
        seen += batch.nbytes
        if seen >= _FORGOTTEN_BYTES:
            # What was looked at counts as this process's memory until it is told apart; it is read again if needed.
            mapped.madvise(mmap.MADV_DONTNEED)
            seen = 0
