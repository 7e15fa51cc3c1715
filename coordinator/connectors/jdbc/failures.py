"""What a database answers instead of rows, as errors that a user can read; secrets never among their words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from coordinator.connectors.jdbc.settings import JdbcSettings
from shared.errors import ErrorCode, ProcessionError

_REFUSED = ("permission denied", "command denied to user")
"""How PostgreSQL and MySQL begin to say that a table may not be read."""


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
        raise remote_error(settings, _said(error.orig)) from error
    except SQLAlchemyError as error:
        raise remote_error(settings, str(error)) from error


def _said(error: object) -> str:
    """The words of a driver's error; MySQL's come as a number and a text."""
    match getattr(error, "args", ()):
        case (int(), str(text)):
            return text
        case _:
            return str(error)


def remote_error(settings: JdbcSettings, text: str) -> ProcessionError:
    """The database's own first line, with the catalog's name and without the password."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    reason = lines[0] if lines else "no reason given"
    if settings.password:
        reason = reason.replace(settings.password, "***")
    refused = any(words in reason.lower() for words in _REFUSED)
    code = ErrorCode.PERMISSION_DENIED if refused else ErrorCode.JDBC_ERROR
    return ProcessionError(code, f"Catalog {settings.catalog}: {reason}")
