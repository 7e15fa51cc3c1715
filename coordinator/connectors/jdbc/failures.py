"""What a database answers instead of rows, as errors that a user can read; secrets never among their words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from coordinator.connectors.jdbc.settings import JdbcSettings
from shared.errors import ErrorCode, ProcessionError


@contextmanager
def mapped_failures(settings: JdbcSettings) -> Iterator[None]:
    """Raises ProcessionError in place of the database's or the pool's own errors."""
    try:
        yield
    except PoolTimeoutError as error:
        limit = settings.max_connections
        message = f"Catalog {settings.catalog}: all {limit} connections are in use (jdbc.max-connections)"
        raise ProcessionError(ErrorCode.JDBC_ERROR, message) from error
    except DBAPIError as error:
        raise remote_error(settings, str(error.orig)) from error
    except SQLAlchemyError as error:
        raise remote_error(settings, str(error)) from error


def remote_error(settings: JdbcSettings, text: str) -> ProcessionError:
    """The database's own first line, with the catalog's name and without the password."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    reason = lines[0] if lines else "no reason given"
    if settings.password:
        reason = reason.replace(settings.password, "***")
    code = ErrorCode.PERMISSION_DENIED if "permission denied" in reason.lower() else ErrorCode.JDBC_ERROR
    return ProcessionError(code, f"Catalog {settings.catalog}: {reason}")
