"""Why a fragment cannot become a Velox plan, with the type and code that Presto C++ reports.

Source: Presto C++ ``VeloxToPrestoExceptionTranslator``: a user error of kind UNSUPPORTED is NOT_SUPPORTED, other user
errors are GENERIC_USER_ERROR, the rest GENERIC_INTERNAL_ERROR.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from shared.errors import ErrorCode
from shared.plan.expressions import SourceLocation
from shared.protocol.sidecar import Failure, FailureErrorCode, FailureLocation

USER = "VeloxUserError"
RUNTIME = "VeloxRuntimeError"
STD = "std::exception"


class RefusalError(Exception):
    """A refusal on its way to the client; ``locate`` adds where it happened, innermost first."""

    def __init__(
        self, message: str, *, kind: str = RUNTIME, code: ErrorCode = ErrorCode.GENERIC_INTERNAL_ERROR
    ) -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind
        self.code = code
        self.location: SourceLocation | None = None
        self.node_id: str | None = None

    def locate(self, location: SourceLocation | None, node_id: str | None) -> None:
        self.location = self.location or location
        self.node_id = self.node_id or node_id

    def failure(self) -> Failure:
        """The failure as it travels."""
        where = self.location
        return Failure(
            type=self.kind,
            message=self.message,
            errorCode=error_code(self.code),
            errorLocation=FailureLocation(lineNumber=where.line, columnNumber=where.column) if where else msgspec.UNSET,
            planNodeId=self.node_id if self.node_id is not None else msgspec.UNSET,
        )


def error_code(code: ErrorCode) -> FailureErrorCode:
    """The wire form of one of our codes."""
    return FailureErrorCode(code=code.code, name=code.name, type=code.type, retriable=code.retriable)


def unsupported(message: str) -> RefusalError:
    """VELOX_UNSUPPORTED."""
    return RefusalError(message, kind=USER, code=ErrorCode.NOT_SUPPORTED)


def user_error(message: str) -> RefusalError:
    """VELOX_USER_CHECK and VELOX_USER_FAIL."""
    return RefusalError(message, kind=USER, code=ErrorCode.GENERIC_USER_ERROR)


def internal_error(message: str) -> RefusalError:
    """VELOX_CHECK and VELOX_FAIL."""
    return RefusalError(message)


@contextmanager
def of_type(what: str, type_text: str) -> Iterator[None]:
    """For what reads values of blocks, which may be of another type than the plan says."""
    try:
        yield
    except (TypeError, AttributeError, ValueError, ArithmeticError, LookupError) as e:
        raise user_error(f"{what} is not of type {type_text}") from e


@contextmanager
def located(location: SourceLocation | None, node_id: str | None = None) -> Iterator[None]:
    """Says where a refusal inside the block happened."""
    try:
        yield
    except RefusalError as e:
        e.locate(location, node_id)
        raise
