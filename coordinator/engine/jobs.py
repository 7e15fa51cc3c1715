"""The log of procedure calls: running ones with their progress in memory, all of them in an SQLite file."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from coordinator.security.redaction import redacted
from shared.errors import ErrorCode, ProcessionError
from shared.spi.jobs import Job, JobState
from shared.spi.procedure import ProcedureProgress

_KEPT = 10_000
_SAVED_SECONDS = 1.0
"""How often the progress of a running job is written down."""
_COLUMNS = "job_id, procedure, table_name, user, state, started, ended, completed, total, phase, error"
_CREATE = (
    "CREATE TABLE IF NOT EXISTS jobs (job_id TEXT PRIMARY KEY, procedure TEXT, table_name TEXT, user TEXT, state TEXT, "
    "started TEXT, ended TEXT, completed INTEGER, total INTEGER, phase TEXT, error TEXT)"
)
_CANCELED = (ErrorCode.USER_CANCELED, ErrorCode.ADMINISTRATIVELY_KILLED, ErrorCode.ABANDONED_QUERY)


@dataclass(slots=True)
class _Running:
    job: Job
    kill: Callable[[str], None]
    saved: float


class JobLog:
    """Implements ``shared.spi.jobs.Jobs``. The file is made on first use; without one only running jobs are known."""

    most = _KEPT

    def __init__(
        self,
        file: Path | None = None,
        redact: Callable[[str], str] = redacted,
        tell: Callable[[Job], None] = lambda _job: None,
    ) -> None:
        """``redact`` takes secrets out of errors; ``tell`` hears of each job whenever it is written down."""
        self._tell = tell
        self._file, self._redact = file, redact
        self._lock = threading.Lock()
        self._running: dict[str, _Running] = {}
        self._opened: sqlite3.Connection | None = None

    @contextmanager
    def running(self, job: Job, kill: Callable[[str], None]) -> Iterator[Callable[[ProcedureProgress], None]]:
        """Log a job around its work; gives what takes its progress."""
        entry = _Running(job, kill, time.monotonic())
        with self._lock:
            self._running[job.job_id] = entry
            self._save(job)

        def progress(seen: ProcedureProgress) -> None:
            entry.job = replace(entry.job, completed=seen.completed, total=seen.total, phase=seen.phase)
            if time.monotonic() - entry.saved >= _SAVED_SECONDS:
                self._save_progress(entry)

        try:
            yield progress
        except BaseException as error:
            self._end(entry, *_outcome(error))
            raise
        else:
            self._end(entry, "FINISHED", None)

    def jobs(self, limit: int, state: str | None = None) -> Sequence[Job]:
        """The newest first, running ones with their present progress."""
        with self._lock:
            running = {job_id: entry.job for job_id, entry in self._running.items()}
            connection = self._connection()
            if connection is None:
                found = sorted(running.values(), key=lambda job: job.started, reverse=True)
            else:
                statement = f"SELECT {_COLUMNS} FROM jobs ORDER BY started DESC LIMIT ?"  # noqa: S608  (a constant)
                rows = connection.execute(statement, (_KEPT if state else limit,)).fetchall()
                found = [running.get(row[0]) or _job(row) for row in rows]
        return [job for job in found if state is None or job.state == state][:limit]

    def kill(self, job_id: str, message: str) -> bool:
        """Stop a running job; False when no such job runs."""
        with self._lock:
            entry = self._running.get(job_id)
        if entry is None:
            return False
        entry.kill(message)
        return True

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._opened is not None:
                self._opened.close()
                self._opened = None

    def _save_progress(self, entry: _Running) -> None:
        """What is known of a job if the coordinator dies now; no work fails because it cannot be written."""
        with self._lock, suppress(sqlite3.Error):
            entry.saved = time.monotonic()
            if entry.job.job_id in self._running:
                self._save(entry.job)

    def _end(self, entry: _Running, state: JobState, error: str | None) -> None:
        shown = None if error is None else self._redact(error)
        job = replace(entry.job, state=state, error=shown, ended=datetime.now(UTC))
        with self._lock:
            self._running.pop(job.job_id, None)
            self._save(job)

    def _save(self, job: Job) -> None:
        self._tell(job)
        connection = self._connection()
        if connection is None:
            return
        values = (
            job.job_id,
            job.procedure,
            job.table,
            job.user,
            job.state,
            job.started.isoformat(),
            None if job.ended is None else job.ended.isoformat(),
            job.completed,
            job.total,
            job.phase,
            job.error,
        )
        marks = ", ".join("?" * len(values))
        with connection:
            connection.execute(f"INSERT OR REPLACE INTO jobs ({_COLUMNS}) VALUES ({marks})", values)  # noqa: S608

    def _connection(self) -> sqlite3.Connection | None:
        if self._file is None or self._opened is not None:
            return self._opened
        self._file.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self._file, check_same_thread=False)
        # History may lose its last moments with the machine, never with the process.
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        with connection:
            connection.execute(_CREATE)
            connection.execute("UPDATE jobs SET state = 'LOST' WHERE state = 'RUNNING'")
            newest = "SELECT job_id FROM jobs ORDER BY started DESC LIMIT ?"
            connection.execute(f"DELETE FROM jobs WHERE job_id NOT IN ({newest})", (_KEPT,))  # noqa: S608
        self._opened = connection
        return connection


def _outcome(error: BaseException) -> tuple[JobState, str]:
    if isinstance(error, ProcessionError):
        return ("CANCELED" if error.code in _CANCELED else "FAILED"), error.message
    return ("CANCELED" if isinstance(error, GeneratorExit) else "FAILED"), type(error).__name__


def _job(row: tuple[object, ...]) -> Job:
    job_id, procedure, table, user, state, started, ended, completed, total, phase, error = row
    return Job(
        job_id=str(job_id),
        procedure=str(procedure),
        table=None if table is None else str(table),
        user=str(user),
        state=state,  # type: ignore[arg-type]
        started=datetime.fromisoformat(str(started)),
        ended=None if ended is None else datetime.fromisoformat(str(ended)),
        completed=int(str(completed)),
        total=int(str(total)),
        phase=str(phase),
        error=None if error is None else str(error),
    )
