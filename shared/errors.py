"""The one exception type that may reach a client, and Presto's table of error codes.

Source: Presto ``StandardErrorCode``, ``HiveErrorCode``, ``IcebergErrorCode`` and ``NativePlanCheckerErrorCode``.
Ranges: user errors from 0, internal from 0x1_0000, insufficient resources from 0x2_0000, connectors from 0x100_0000.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal

ErrorType = Literal["USER_ERROR", "INTERNAL_ERROR", "INSUFFICIENT_RESOURCES", "EXTERNAL"]


class ErrorCode(Enum):
    """``(code, type, retriable)``; the member's name is the wire's ``errorName``."""

    GENERIC_USER_ERROR = (0, "USER_ERROR", False)
    SYNTAX_ERROR = (1, "USER_ERROR", False)
    ABANDONED_QUERY = (2, "USER_ERROR", False)
    USER_CANCELED = (3, "USER_ERROR", False)
    PERMISSION_DENIED = (4, "USER_ERROR", False)
    NOT_FOUND = (5, "USER_ERROR", False)
    FUNCTION_NOT_FOUND = (6, "USER_ERROR", False)
    INVALID_FUNCTION_ARGUMENT = (7, "USER_ERROR", False)
    DIVISION_BY_ZERO = (8, "USER_ERROR", False)
    INVALID_CAST_ARGUMENT = (9, "USER_ERROR", False)
    OPERATOR_NOT_FOUND = (10, "USER_ERROR", False)
    INVALID_VIEW = (11, "USER_ERROR", False)
    ALREADY_EXISTS = (12, "USER_ERROR", False)
    NOT_SUPPORTED = (13, "USER_ERROR", False)
    INVALID_SESSION_PROPERTY = (14, "USER_ERROR", False)
    INVALID_WINDOW_FRAME = (15, "USER_ERROR", False)
    CONSTRAINT_VIOLATION = (16, "USER_ERROR", False)
    TRANSACTION_CONFLICT = (17, "USER_ERROR", False)
    INVALID_TABLE_PROPERTY = (18, "USER_ERROR", False)
    NUMERIC_VALUE_OUT_OF_RANGE = (19, "USER_ERROR", False)
    UNKNOWN_TRANSACTION = (20, "USER_ERROR", False)
    NOT_IN_TRANSACTION = (21, "USER_ERROR", False)
    READ_ONLY_VIOLATION = (23, "USER_ERROR", False)
    AUTOCOMMIT_WRITE_CONFLICT = (25, "USER_ERROR", False)
    INCOMPATIBLE_CLIENT = (27, "USER_ERROR", False)
    SUBQUERY_MULTIPLE_ROWS = (28, "USER_ERROR", False)
    PROCEDURE_NOT_FOUND = (29, "USER_ERROR", False)
    INVALID_PROCEDURE_ARGUMENT = (30, "USER_ERROR", False)
    QUERY_REJECTED = (31, "USER_ERROR", False)
    INVALID_SCHEMA_PROPERTY = (33, "USER_ERROR", False)
    SCHEMA_NOT_EMPTY = (34, "USER_ERROR", False)
    QUERY_TEXT_TOO_LARGE = (35, "USER_ERROR", False)
    UNSUPPORTED_SUBQUERY = (36, "USER_ERROR", False)
    ADMINISTRATIVELY_KILLED = (38, "USER_ERROR", False)
    INVALID_COLUMN_PROPERTY = (39, "USER_ERROR", False)
    QUERY_HAS_TOO_MANY_STAGES = (40, "USER_ERROR", False)
    INVALID_ANALYZE_PROPERTY = (42, "USER_ERROR", False)
    INVALID_ARGUMENTS = (45, "USER_ERROR", False)
    EXCEEDED_PLAN_NODE_LIMIT = (46, "USER_ERROR", False)
    INVALID_TYPE_DEFINITION = (47, "USER_ERROR", False)
    INVALID_LIMIT_CLAUSE = (49, "USER_ERROR", False)
    COLUMN_NOT_FOUND = (50, "USER_ERROR", False)
    SESSION_CATALOG_NOT_SET = (55, "USER_ERROR", False)
    MERGE_TARGET_ROW_MULTIPLE_MATCHES = (51, "USER_ERROR", False)
    GENERIC_INTERNAL_ERROR = (65536, "INTERNAL_ERROR", False)
    PAGE_TRANSPORT_ERROR = (65539, "INTERNAL_ERROR", True)
    NO_NODES_AVAILABLE = (65541, "INTERNAL_ERROR", False)
    REMOTE_TASK_ERROR = (65542, "INTERNAL_ERROR", True)
    SERVER_SHUTTING_DOWN = (65545, "INTERNAL_ERROR", False)
    FUNCTION_IMPLEMENTATION_MISSING = (65546, "INTERNAL_ERROR", False)
    SERVER_STARTING_UP = (65548, "INTERNAL_ERROR", False)
    PROCEDURE_CALL_FAILED = (65551, "INTERNAL_ERROR", False)
    REMOTE_HOST_GONE = (65558, "INTERNAL_ERROR", True)
    INVALID_RESOURCE_GROUP = (65561, "INTERNAL_ERROR", False)
    RETRY_QUERY_NOT_FOUND = (65569, "INTERNAL_ERROR", False)
    INVALID_PLAN_ERROR = (65572, "INTERNAL_ERROR", False)
    PLAN_SERIALIZATION_ERROR = (65574, "INTERNAL_ERROR", False)
    QUERY_PLANNING_TIMEOUT = (65575, "INTERNAL_ERROR", False)
    GENERIC_INSUFFICIENT_RESOURCES = (131072, "INSUFFICIENT_RESOURCES", False)
    EXCEEDED_GLOBAL_MEMORY_LIMIT = (131073, "INSUFFICIENT_RESOURCES", False)
    QUERY_QUEUE_FULL = (131074, "INSUFFICIENT_RESOURCES", False)
    EXCEEDED_TIME_LIMIT = (131075, "INSUFFICIENT_RESOURCES", False)
    CLUSTER_OUT_OF_MEMORY = (131076, "INSUFFICIENT_RESOURCES", False)
    EXCEEDED_CPU_LIMIT = (131077, "INSUFFICIENT_RESOURCES", False)
    EXCEEDED_LOCAL_MEMORY_LIMIT = (131079, "INSUFFICIENT_RESOURCES", False)
    ADMINISTRATIVELY_PREEMPTED = (131080, "INSUFFICIENT_RESOURCES", False)
    EXCEEDED_OUTPUT_SIZE_LIMIT = (131082, "INSUFFICIENT_RESOURCES", False)
    MISSING_RESOURCE_GROUP_SELECTOR = (131088, "INTERNAL_ERROR", False)
    HIVE_METASTORE_ERROR = (0x0100_0000, "EXTERNAL", False)
    JDBC_ERROR = (0x0400_0000, "EXTERNAL", False)
    ICEBERG_UNKNOWN_TABLE_TYPE = (0x0504_0000, "EXTERNAL", False)
    ICEBERG_INVALID_METADATA = (0x0504_0001, "EXTERNAL", False)
    ICEBERG_BAD_DATA = (0x0504_0004, "EXTERNAL", False)
    ICEBERG_MISSING_DATA = (0x0504_0005, "EXTERNAL", False)
    ICEBERG_CANNOT_OPEN_SPLIT = (0x0504_0006, "EXTERNAL", False)
    ICEBERG_WRITER_OPEN_ERROR = (0x0504_0007, "EXTERNAL", False)
    ICEBERG_FILESYSTEM_ERROR = (0x0504_0008, "EXTERNAL", False)
    ICEBERG_COMMIT_ERROR = (0x0504_000E, "EXTERNAL", False)
    ICEBERG_INVALID_SNAPSHOT_ID = (0x0504_000B, "USER_ERROR", False)
    ICEBERG_INVALID_TABLE_TIMESTAMP = (0x0504_000C, "USER_ERROR", False)
    NATIVEPLANCHECKER_CONNECTION_ERROR = (0x0519_0000, "EXTERNAL", False)
    NATIVEPLANCHECKER_UNKNOWN_CONVERSION_FAILURE = (0x0519_0001, "INTERNAL_ERROR", False)
    NATIVEPLANCHECKER_RESPONSE_MISSING_BODY = (0x0519_0002, "INTERNAL_ERROR", False)

    @property
    def code(self) -> int:
        return self.value[0]

    @property
    def type(self) -> ErrorType:
        return self.value[1]

    @property
    def retriable(self) -> bool:
        return self.value[2]


@dataclass(frozen=True, slots=True)
class ErrorLocation:
    """1-based position in the statement text."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class WireErrorCode:
    """A code that is not in our table, as a sidecar or another service sent it."""

    name: str
    code: int
    type: str
    retriable: bool = False


def encodable(text: str) -> str:
    """What UTF-8 can hold of it: half a surrogate pair, as JSON can have it, is a question mark, as in Java."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


class ProcessionError(Exception):
    """An error written for the person who sent the statement.

    Located messages are prefixed ``line L:C: `` on the wire, once, by ``wire_message``.
    """

    def __init__(
        self,
        code: ErrorCode | WireErrorCode,
        message: str,
        *,
        location: ErrorLocation | None = None,
        retriable: bool | None = None,
    ) -> None:
        message = encodable(message)
        super().__init__(message)
        self.code = code
        self.message = message
        self.location = location
        self.retriable = code.retriable if retriable is None else retriable
        self.calls: tuple[object, ...] = ()
        """Calls of other services until it was raised, where traces are made."""

    @property
    def wire_message(self) -> str:
        """The message as clients see it."""
        if self.location is None:
            return self.message
        return f"line {self.location.line}:{self.location.column}: {self.message}"

    def apart(self) -> ProcessionError:
        """The same error without the frames that it came through, which keep alive what they worked on."""
        return _rebuild(self.code, self.message, self.location, self.retriable)

    def __reduce__(self) -> tuple[object, ...]:
        # Planner processes send errors back by pickle; keyword-only state must survive.
        state = {"calls": self.calls} if self.calls else None
        return (_rebuild, (self.code, self.message, self.location, self.retriable), state)


def _rebuild(
    code: ErrorCode | WireErrorCode, message: str, location: ErrorLocation | None, retriable: bool
) -> ProcessionError:
    return ProcessionError(code, message, location=location, retriable=retriable)
