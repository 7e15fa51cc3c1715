"""The pool of the embedded engine's processes: statements over files, each within memory, disk and one process."""

from __future__ import annotations

import logging
import mmap
import shutil
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from coordinator.engine.embedded.messages import Answered, EngineSettings, Failed, Statement
from coordinator.engine.embedded.process import EngineProcess, ProcessEndedError
from coordinator.engine.execution import Execution, QueryProgress
from coordinator.kernels.file_scan import FileScan
from shared.errors import ErrorCode, ProcessionError

_LOG = logging.getLogger(__name__)
_POLL_SECONDS = 0.05
_FORGOTTEN_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class EngineStats:
    """``size`` processes at most, ``alive`` and ``busy`` ones; the rest counts statements up."""

    size: int
    alive: int = 0
    busy: int = 0
    answered: int = 0
    failed: int = 0
    died: int = 0
    busy_refused: int = 0


class EmbeddedEngine:
    """Up to ``processes`` children, started when they are first needed. Thread-safe; ``close`` ends them."""

    def __init__(self, settings: EngineSettings, processes: int = 2, patience: float = 10.0) -> None:
        self.processes = processes
        self._settings, self._patience = settings, patience
        self._idle: list[EngineProcess] = []
        self._running: set[EngineProcess] = set()
        self._changed = threading.Condition()
        self._line: list[object] = []
        self._starting = 0
        self._closed = False
        self._prepared = False
        self._stats = EngineStats(size=processes)

    def run(self, sql: str, scans: Mapping[str, FileScan], execution: Execution) -> Iterator[pa.RecordBatch]:
        """The result of one statement; blocks until it is complete, since it is read from a file.

        Raises ProcessionError with Presto's texts; EXCEEDED_LOCAL_MEMORY_LIMIT when the process died of it or none
        came free: Spark may do it then. Cancelling the execution ends the process.
        """
        progress = QueryProgress(total_splits=1, running_splits=1, phase="running on the embedded engine")
        execution.report_progress(progress)
        process = self._take(execution)
        killer = _Killer(process)
        execution.on_cancel(killer.kill)
        try:
            answer = process.run(Statement(sql, dict(scans)))
            killer.disarm()
        except ProcessEndedError as error:
            self._gone(process)
            execution.check_cancelled()
            self._count(died=1)
            message = "The embedded engine's process ended while the statement ran"
            raise ProcessionError(ErrorCode.EXCEEDED_LOCAL_MEMORY_LIMIT, message) from error
        except BaseException:
            self._gone(process)
            raise
        self._give_back(process)
        match answer:
            case Failed():
                execution.check_cancelled()
                self._count(failed=1)
                raise ProcessionError(ErrorCode[answer.code], answer.message, retriable=answer.retriable)
            case Answered():
                self._count(answered=1)
                execution.report_progress(_done(progress, scans, answer))
                yield from _batches(answer.path, execution)

    def stats(self) -> EngineStats:
        """Now."""
        with self._changed:
            busy = len(self._running)
            return replace(self._stats, alive=busy + len(self._idle), busy=busy)

    def close(self) -> None:
        """Ends all processes; statements that run fail."""
        with self._changed:
            self._closed = True
            processes = [*self._idle, *self._running]
            self._idle.clear()
            self._changed.notify_all()
        for process in processes:
            process.kill()
        shutil.rmtree(self._settings.scratch, ignore_errors=True)

    def _take(self, execution: Execution) -> EngineProcess:
        """A process of the caller's own, in the order of asking."""
        ticket, until = object(), time.monotonic() + self._patience
        self._line.append(ticket)
        try:
            while True:
                with self._changed:
                    if self._closed:
                        raise ProcessionError(ErrorCode.SERVER_SHUTTING_DOWN, "Server is shutting down")
                    if self._line[0] is ticket and self._idle:
                        process = self._idle.pop()
                        self._running.add(process)
                        return process
                    if self._line[0] is ticket and len(self._running) + self._starting < self.processes:
                        self._starting += 1
                        break
                    self._changed.wait(_POLL_SECONDS)
                execution.check_cancelled()
                if time.monotonic() > until:
                    self._count(busy_refused=1)
                    message = "All processes of the embedded engine are busy"
                    raise ProcessionError(ErrorCode.EXCEEDED_LOCAL_MEMORY_LIMIT, message)
        finally:
            with self._changed:
                self._line.remove(ticket)
                self._changed.notify_all()
        return self._start()

    def _start(self) -> EngineProcess:
        try:
            self._prepare()
            process = EngineProcess.start(self._settings)
        except (ProcessEndedError, OSError) as error:
            _LOG.error("a process of the embedded engine could not be started: %s", error)
            message = "A process of the embedded engine could not be started"
            raise ProcessionError(ErrorCode.GENERIC_INTERNAL_ERROR, message) from error
        finally:
            with self._changed:
                self._starting -= 1
        with self._changed:
            self._running.add(process)
        return process

    def _prepare(self) -> None:
        """An empty scratch folder of this coordinator's own: what a dead one left is gone."""
        with self._changed:
            if self._prepared:
                return
            shutil.rmtree(self._settings.scratch, ignore_errors=True)
            Path(self._settings.scratch).mkdir(parents=True, mode=0o700)
            self._prepared = True

    def _count(self, **more: int) -> None:
        with self._changed:
            counted = {name: getattr(self._stats, name) + count for name, count in more.items()}
            self._stats = replace(self._stats, **counted)

    def _give_back(self, process: EngineProcess) -> None:
        with self._changed:
            self._running.discard(process)
            if not self._closed:
                self._idle.append(process)
            self._changed.notify_all()

    def _gone(self, process: EngineProcess) -> None:
        process.kill()
        with self._changed:
            self._running.discard(process)
            self._changed.notify_all()
        for left in Path(self._settings.scratch).glob(f"spill-{process.pid}*"):
            shutil.rmtree(left, ignore_errors=True)


def _done(progress: QueryProgress, scans: Mapping[str, FileScan], answer: Answered) -> QueryProgress:
    return replace(
        progress,
        completed_splits=1,
        running_splits=0,
        processed_rows=sum(scan.rows for scan in scans.values()),
        processed_bytes=sum(scan.size for scan in scans.values()),
        cpu_seconds=answer.cpu_seconds,
    )


class _Killer:
    """Kills a process as long as it works for one statement: it goes to another one later."""

    def __init__(self, process: EngineProcess) -> None:
        self._process: EngineProcess | None = process
        self._lock = threading.Lock()

    def kill(self) -> None:
        with self._lock:
            if self._process is not None:
                self._process.kill()

    def disarm(self) -> None:
        with self._lock:
            self._process = None


def _batches(path: str, execution: Execution) -> Iterator[pa.RecordBatch]:
    """The stream in a file whose name goes at once: a coordinator that dies leaves nothing."""
    with Path(path).open("rb") as file:
        Path(path).unlink()
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    seen = 0
    for batch in pa.ipc.open_stream(pa.BufferReader(pa.py_buffer(mapped))):
        execution.check_cancelled()
        yield batch
        seen += batch.nbytes
        if seen >= _FORGOTTEN_BYTES:
            # What was looked at counts as this process's memory until it is told apart; it is read again if needed.
            mapped.madvise(mmap.MADV_DONTNEED)
            seen = 0
