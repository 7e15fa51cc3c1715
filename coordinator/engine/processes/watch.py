"""A watch over the memory of processes that run statements, for the limits of each query and of all together."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

from coordinator.engine.execution import Execution, QueryProgress
from coordinator.engine.processes.memory import cpu_seconds, resident_bytes
from coordinator.engine.processes.pool import Killer
from coordinator.engine.processes.process import EngineProcess
from shared.errors import ErrorCode, ProcessionError
from shared.units import format_data_size

_SECONDS = 0.1


@dataclass(slots=True)
class _Watched:
    execution: Execution
    killer: Killer
    resident: int
    """When the statement began: what is beyond that is its own."""
    cpu: float
    progress: Callable[[], QueryProgress]
    peak: int = 0


class MemoryWatch:
    """Tells executions what they take; above ``total_bytes`` together, the largest process is ended. Thread-safe."""

    def __init__(self, total_bytes: int) -> None:
        self._total_bytes = total_bytes
        self._watched: dict[EngineProcess, _Watched] = {}
        self._ended: set[EngineProcess] = set()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = threading.Event()

    def add(
        self,
        process: EngineProcess,
        execution: Execution,
        killer: Killer,
        progress: Callable[[], QueryProgress] = QueryProgress,
    ) -> None:
        """A statement begins; ``progress`` tells what else there is to tell."""
        watched = _Watched(execution, killer, resident_bytes(process.pid), cpu_seconds(process.pid), progress)
        with self._changed:
            self._watched[process] = watched
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="memory-watch", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def remove(self, process: EngineProcess) -> int:
        """The statement has ended; nothing is told of it any more. The most bytes that were seen; 0 when unknown."""
        with self._changed:
            watched = self._watched.pop(process, None)
            self._ended.discard(process)
        return 0 if watched is None else watched.peak

    def verdict(self, process: EngineProcess) -> ProcessionError:
        """Why a process that is still watched ended."""
        if process in self._ended:
            limit = format_data_size(self._total_bytes)
            message = (
                f"Query killed because all queries on the local engine together exceeded {limit} of memory."
                " Please try again in a few minutes."
            )
            return ProcessionError(ErrorCode.CLUSTER_OUT_OF_MEMORY, message)
        message = "The process that ran the query ended, most likely because it exceeded its memory limit"
        return ProcessionError(ErrorCode.EXCEEDED_LOCAL_MEMORY_LIMIT, message)

    def close(self) -> None:
        """Ends the watch."""
        self._closed.set()
        with self._changed:
            self._changed.notify_all()

    def _watch(self) -> None:
        while not self._closed.wait(_SECONDS):
            with self._changed:
                while not self._watched and not self._closed.is_set():
                    self._changed.wait()
                watched = dict(self._watched)
            taken = {process: self._look(process, one) for process, one in watched.items()}
            if sum(taken.values()) > self._total_bytes:
                self._end(max(taken, key=lambda process: taken[process]))

    def _look(self, process: EngineProcess, watched: _Watched) -> int:
        """Bytes that the statement takes now."""
        bytes_now = max(0, resident_bytes(process.pid) - watched.resident)
        cpu = max(0.0, cpu_seconds(process.pid) - watched.cpu)
        progress = watched.progress()
        with self._changed:
            if self._watched.get(process) is not watched:
                return 0  # it has ended meanwhile: what it reported last stands
            watched.peak = max(watched.peak, bytes_now)
            progress = replace(progress, cpu_seconds=cpu, peak_memory_bytes=watched.peak)
            watched.execution.report_progress(progress)
        return bytes_now

    def _end(self, process: EngineProcess) -> None:
        with self._changed:
            found = self._watched.get(process)
            if found is None:
                return
            self._ended.add(process)
        found.killer.kill()
