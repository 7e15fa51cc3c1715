"""SQLite files that a service keeps for itself, and that must not keep it from starting."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from sqlite3 import DatabaseError, OperationalError, connect

import structlog

_log = structlog.get_logger(__name__)


def set_aside_if_damaged(file: Path, what: str) -> None:
    """Put a database that cannot be read beside its place, so that a new one is begun; ``what`` names it in the log."""
    if not file.exists():
        return
    try:
        connection = connect(f"file:{file}?mode=ro", uri=True)
        try:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        finally:
            connection.close()
    except OperationalError:
        return  # busy, or a write-ahead log that only a writer may read
    except DatabaseError as error:
        aside = file.with_name(f"{file.name}.damaged-{datetime.now(UTC):%Y%m%d%H%M%S}")
        file.replace(aside)
        for end in ("-wal", "-shm"):
            with suppress(OSError):
                file.with_name(file.name + end).unlink()
        _log.error(f"the {what} was damaged; a new one is begun", kept_as=str(aside), problem=str(error))
