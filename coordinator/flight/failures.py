"""What goes wrong, as gRPC says it."""

from __future__ import annotations

import grpc

from shared.errors import ErrorCode, ProcessionError

_BY_CODE = {
    ErrorCode.PERMISSION_DENIED: grpc.StatusCode.PERMISSION_DENIED,
    ErrorCode.USER_CANCELED: grpc.StatusCode.CANCELLED,
    ErrorCode.NOT_FOUND: grpc.StatusCode.NOT_FOUND,
    ErrorCode.NOT_SUPPORTED: grpc.StatusCode.UNIMPLEMENTED,
    ErrorCode.ALREADY_EXISTS: grpc.StatusCode.ALREADY_EXISTS,
    ErrorCode.SERVER_SHUTTING_DOWN: grpc.StatusCode.UNAVAILABLE,
    ErrorCode.EXCEEDED_TIME_LIMIT: grpc.StatusCode.DEADLINE_EXCEEDED,
    ErrorCode.ABANDONED_QUERY: grpc.StatusCode.DEADLINE_EXCEEDED,
}
_BY_TYPE = {
    "USER_ERROR": grpc.StatusCode.INVALID_ARGUMENT,
    "INTERNAL_ERROR": grpc.StatusCode.INTERNAL,
    "INSUFFICIENT_RESOURCES": grpc.StatusCode.RESOURCE_EXHAUSTED,
    "EXTERNAL": grpc.StatusCode.INTERNAL,
}
_OF_HTTP = {
    400: grpc.StatusCode.INVALID_ARGUMENT,
    401: grpc.StatusCode.UNAUTHENTICATED,
    403: grpc.StatusCode.PERMISSION_DENIED,
    503: grpc.StatusCode.UNAVAILABLE,
}
_LONGEST = 4_000
"""Characters of a text: it travels in a header."""


class CallError(Exception):
    """Ends a call."""

    def __init__(self, status: grpc.StatusCode, text: str, error_name: str | None = None) -> None:
        super().__init__(text)
        self.status = status
        self.text = text[:_LONGEST]
        self.error_name = error_name


def invalid(text: str) -> CallError:
    return CallError(grpc.StatusCode.INVALID_ARGUMENT, text)


def not_found(text: str) -> CallError:
    return CallError(grpc.StatusCode.NOT_FOUND, text)


def unsupported(what: str) -> CallError:
    return CallError(grpc.StatusCode.UNIMPLEMENTED, f"Not supported: {what}")


def refused(status: int, text: str) -> CallError:
    """What would be an HTTP status."""
    return CallError(_OF_HTTP.get(status, grpc.StatusCode.INTERNAL), text)


def statement_failure(error: ProcessionError) -> CallError:
    """The error of a statement; its name goes along as a trailer."""
    special = _BY_CODE.get(error.code) if isinstance(error.code, ErrorCode) else None
    status = _BY_TYPE[error.code.type] if special is None else special
    return CallError(status, f"{error.code.name}: {error.wire_message}", error.code.name)
