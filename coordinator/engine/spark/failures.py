"""What goes wrong on Spark, as errors that a client may read. The only place that knows Spark's error texts."""

from __future__ import annotations

import re

import grpc
from pyspark.errors import PySparkException

from shared.errors import ErrorCode, ProcessionError

_KERNEL = re.compile(r"KernelError: ([A-Z_]+): (.*)")
_PYTHON = re.compile(r"^(?:[\w.]+\.)?(\w+(?:Error|Exception)): (.*)$", re.MULTILINE)
_GONE = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED, grpc.StatusCode.ABORTED)
_USER = {
    "DIVIDE_BY_ZERO": ErrorCode.DIVISION_BY_ZERO,
    "ARITHMETIC_OVERFLOW": ErrorCode.NUMERIC_VALUE_OUT_OF_RANGE,
    "BINARY_ARITHMETIC_OVERFLOW": ErrorCode.NUMERIC_VALUE_OUT_OF_RANGE,
    "NUMERIC_VALUE_OUT_OF_RANGE": ErrorCode.NUMERIC_VALUE_OUT_OF_RANGE,
    "CAST_INVALID_INPUT": ErrorCode.INVALID_CAST_ARGUMENT,
    "CAST_OVERFLOW": ErrorCode.INVALID_CAST_ARGUMENT,
    "INVALID_ARRAY_INDEX": ErrorCode.INVALID_FUNCTION_ARGUMENT,
}


def spark_gone(detail: str) -> ProcessionError:
    """The server died or cannot be reached; the client may send the statement again."""
    return ProcessionError(ErrorCode.REMOTE_HOST_GONE, f"The Spark server is gone: {detail}", retriable=True)


def map_failure(error: Exception, *, server_alive: bool) -> ProcessionError:
    """``error`` of a call to Spark; ``server_alive`` is False once the embedded server has ended."""
    if isinstance(error, ProcessionError):
        return error
    text = _without_stack(str(error))
    if "OPERATION_CANCELED" in text:
        return ProcessionError(ErrorCode.USER_CANCELED, "Query was canceled")
    if not server_alive:
        return spark_gone("it ended while the statement ran")
    kernel = _KERNEL.search(str(error))
    if kernel is not None and kernel[1] in ErrorCode.__members__:
        return ProcessionError(ErrorCode[kernel[1]], kernel[2].strip())
    if isinstance(error, grpc.RpcError) and getattr(error, "code", lambda: None)() in _GONE:
        return spark_gone(_first_line(getattr(error, "details", lambda: "")() or "connection lost"))
    if "INVALID_HANDLE.SESSION" in text:
        return spark_gone("it no longer knows this session")
    if "UNAVAILABLE" in text or "RETRIES_EXCEEDED" in text or "RetriesExceeded" in type(error).__name__:
        return spark_gone("connection lost")
    condition = error.getCondition() if isinstance(error, PySparkException) else None
    if condition is not None and condition.partition(".")[0] in _USER:
        return ProcessionError(_USER[condition.partition(".")[0]], _first_line(text))
    if "No space left on device" in text:
        return ProcessionError(ErrorCode.GENERIC_INSUFFICIENT_RESOURCES, "No space left on an executor's disk")
    raised = _PYTHON.findall(str(error))
    reason = ": ".join(raised[-1]) if raised and type(error).__name__ == "PythonException" else _first_line(text)
    return ProcessionError(ErrorCode.REMOTE_TASK_ERROR, f"Spark failed: {reason}", retriable=False)


def _without_stack(text: str) -> str:
    return text.partition("JVM stacktrace:")[0].strip()


def _first_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0][:1000] if lines else "no reason given"
