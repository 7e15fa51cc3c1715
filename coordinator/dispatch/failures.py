"""Errors that the life cycle itself raises, with Presto's texts, and the error object of the protocol."""

from __future__ import annotations

import secrets
from datetime import datetime
from traceback import format_exception

import structlog

from shared.errors import ErrorCode, ErrorLocation, ProcessionError
from shared.protocol.statement import Failure, FailureInfo, Location

_log = structlog.get_logger(__name__)


def internal_error(error: BaseException, **context: str) -> ProcessionError:
    """An unexpected exception as the client may see it: an id that finds the stack in the log, and no stack."""
    error_id = secrets.token_hex(4)
    _log.error("unexpected error", error_id=error_id, stack="".join(format_exception(error)), **context)
    return ProcessionError(
        ErrorCode.GENERIC_INTERNAL_ERROR, f"Internal error {type(error).__name__} (error id {error_id})"
    )


def canceled() -> ProcessionError:
    return ProcessionError(ErrorCode.USER_CANCELED, "Query was canceled")


def killed(message: str) -> ProcessionError:
    return ProcessionError(
        ErrorCode.ADMINISTRATIVELY_KILLED, f"Query killed. Message: {message or 'No message provided.'}"
    )


def preempted(message: str) -> ProcessionError:
    text = f"Query preempted. Message: {message or 'No message provided.'}"
    return ProcessionError(ErrorCode.ADMINISTRATIVELY_PREEMPTED, text)


def abandoned(query_id: str, last_access: datetime, now: datetime) -> ProcessionError:
    return ProcessionError(
        ErrorCode.ABANDONED_QUERY,
        f"Query {query_id} has not been accessed since {last_access.isoformat()}: currentTime {now.isoformat()}",
    )


def text_too_large(length: int, limit: int) -> ProcessionError:
    return ProcessionError(
        ErrorCode.QUERY_TEXT_TOO_LARGE, f"Query text length ({length}) exceeds the maximum length ({limit})"
    )


def _java_class(error: ProcessionError) -> str:
    """What JDBC and the CLI show; a real coordinator's name for the same kind of error."""
    if error.code is not ErrorCode.SYNTAX_ERROR:
        return "com.facebook.presto.spi.PrestoException"
    return "com.facebook.presto.sql.parser.ParsingException"


def _location(location: ErrorLocation | None) -> Location | None:
    return None if location is None else Location(location.line, location.column)


def wire_failure(error: ProcessionError) -> Failure:
    """``error`` of QueryResults and of QueryInfo."""
    location, message = _location(error.location), error.wire_message
    return Failure(
        message=message,
        errorCode=error.code.code,
        errorName=error.code.name,
        errorType=error.code.type,
        retriable=error.retriable,
        errorLocation=location,
        failureInfo=FailureInfo(
            type=_java_class(error), message=message, suppressed=(), stack=(), errorLocation=location
        ),
    )
