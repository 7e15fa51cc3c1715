"""The file of the audit log: lines are only ever added, by one thread, which many statements wait for at once."""

from __future__ import annotations

import os
import queue
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import structlog

from coordinator.security.audit_log.digests import BEGINNING, chained, last_digest, read_key
from coordinator.security.audit_log.settings import AuditSettings
from shared.properties import ConfigurationError

_log = structlog.get_logger(__name__)
_MOST_WAITING = 100_000
"""Lines that wait for a disk that does not answer."""
_BATCH = 1000
_COMPLAINT_SECONDS = 30.0
Written = Future[None]


@dataclass(frozen=True, slots=True)
class AuditStats:
    """Lines since the start; ``failing``: the newest could not be written."""

    written: int = 0
    lost: int = 0
    failing: bool = False


class AuditFile:
    """From ``start`` to ``close``; any thread may ``write``, which does not block."""

    def __init__(self, settings: AuditSettings, data_dir: Path) -> None:
        """Raises ConfigurationError."""
        self._settings, self._path = settings, data_dir / settings.file
        self._queue: queue.Queue[tuple[bytes, Written] | None] = queue.Queue()
        self._written = self._lost = 0
        self._failing = self._closed = self._torn = False
        self._complained = self._synced = float("-inf")
        self._key = read_key(settings.digest_key_file) if settings.digests else b""
        self._thread = threading.Thread(target=self._run, name="audit-log", daemon=True)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._opened = self._open()
            self._digest, self._torn = self._last()
        except OSError as error:
            message = f"'audit-log.file': cannot write {self._path}: {error.strerror}"
            raise ConfigurationError(message) from error

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Blocks until every line is written."""
        self._closed = True
        self._queue.put(None)
        if self._thread.is_alive():
            self._thread.join(timeout=30)

    def write(self, line: bytes) -> Written:
        """Done when the line is in the file; fails with OSError when it cannot be."""
        future: Written = Future()
        future.set_running_or_notify_cancel()  # who does not wait any more cannot take a line back
        if self._closed or self._queue.qsize() >= _MOST_WAITING:
            self._lose([future], OSError("nobody writes it any more" if self._closed else "too many lines wait"))
        else:
            self._queue.put((line, future))
        return future

    def stats(self) -> AuditStats:
        """Now."""
        return AuditStats(self._written, self._lost, self._failing)

    def _run(self) -> None:
        going = True
        while going:
            batch, going = self._next()
            if batch:
                self._add([line for line, _ in batch], [future for _, future in batch])
            elif self._settings.sync == "second":
                self._sync_if_possible(1.0)
        self._sync_if_possible(0.0)
        os.close(self._opened)

    def _next(self) -> tuple[list[tuple[bytes, Written]], bool]:
        """What waits, and whether there will be more."""
        batch: list[tuple[bytes, Written]] = []
        try:
            item = self._queue.get(timeout=1.0)
            while item is not None:
                batch.append(item)
                if len(batch) == _BATCH:
                    return batch, True
                item = self._queue.get_nowait()
        except queue.Empty:
            return batch, True
        return batch, False

    def _add(self, lines: list[bytes], waiting: list[Written]) -> None:
        digest = self._digest
        try:
            self._follow()
            if self._settings.digests:
                lines, digest = chained(lines, digest, self._key)
            self._write_whole(b"".join(lines))
            self._digest = digest
            if self._settings.sync != "never":
                self._sync(0.0 if self._settings.sync == "always" else 1.0)
        except OSError as error:
            self._lose(waiting, error)
            return
        self._written += len(lines)
        self._failing = False
        for future in waiting:
            future.set_result(None)

    def _lose(self, waiting: list[Written], error: OSError) -> None:
        self._lost += len(waiting)
        self._failing = True
        self._complain("the audit log cannot be written", error)
        for future in waiting:
            future.set_exception(error)

    def _complain(self, problem: str, error: OSError) -> None:
        now = time.monotonic()
        if now - self._complained > _COMPLAINT_SECONDS:
            self._complained = now
            _log.error(problem, file=str(self._path), reason=str(error), lost=self._lost)

    def _write_whole(self, content: bytes) -> None:
        """All of it or nothing: no line is ever joined to half of another."""
        before = os.fstat(self._opened).st_size
        view = memoryview(b"\n" + content if self._torn else content)
        try:
            while view:
                view = view[os.write(self._opened, view) :]
        except OSError:
            self._torn = True
            os.ftruncate(self._opened, before)
            self._torn = False
            raise
        self._torn = False

    def _follow(self) -> None:
        """A file that is too long is set aside; one that somebody took away is begun anew."""
        size, known = os.fstat(self._opened).st_size, os.fstat(self._opened).st_ino
        try:
            moved = self._path.stat().st_ino != known
        except FileNotFoundError:
            moved = True
        if not moved and size < self._settings.max_size:
            return
        try:
            if not moved:
                self._path.replace(self._aside())
        except OSError as error:  # it goes on growing: where nobody may rename files, lines still count
            self._complain("a file of the audit log cannot be set aside", error)
            return
        opened = self._open()
        os.close(self._opened)
        self._opened = opened
        if not moved:
            if self._settings.digests:
                _log.info("a file of the audit log was set aside", file=str(self._path), last_digest=self._digest)
            self._drop_oldest()

    def _last(self) -> tuple[str, bool]:
        """The digest of the newest line, and whether half a line follows it."""
        digest, torn = last_digest(self._opened)
        if digest == BEGINNING and self._settings.digests and (aside := self._set_aside()):
            opened = os.open(aside[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                digest = last_digest(opened)[0]
            finally:
                os.close(opened)
        return digest, torn

    def _set_aside(self) -> list[Path]:
        """Oldest first."""
        return sorted(self._path.parent.glob(f"{self._path.name}.*Z"))

    def _aside(self) -> Path:
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%fZ")
        return self._path.with_name(f"{self._path.name}.{stamp}")

    def _drop_oldest(self) -> None:
        kept = self._settings.max_files
        if kept:
            try:
                for old in self._set_aside()[:-kept]:
                    old.unlink(missing_ok=True)
            except OSError as error:  # new lines have their file already, and are not to be lost for old ones
                self._complain("an old file of the audit log cannot be deleted", error)

    def _open(self) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(self._path, flags, 0o600)

    def _sync_if_possible(self, seconds: float) -> None:
        try:
            self._sync(seconds)
        except OSError as error:
            self._complain("the audit log cannot be forced to the disk", error)

    def _sync(self, seconds: float) -> None:
        now = time.monotonic()
        if now - self._synced >= seconds:
            self._synced = now
            os.fdatasync(self._opened)
