"""What goes wrong on Spark, as errors that a client may read. The only place that knows Spark's error texts."""

from __future__ import annotations

import re

import grpc
from pyspark.errors import PySparkException, PythonException

from coordinator.engine.spark.condition_texts import code_of, has_class, plain_text, without_classes
from coordinator.engine.spark.unreadable_files import unreadable_file
from coordinator.vocabulary.nesting import too_deep
from shared.errors import ErrorCode, ProcessionError

_KERNEL = re.compile(r"\bKernelError: ([A-Z_]+): (.*)", re.DOTALL)
_CHAINED = re.compile(r"\n\n(?:During handling of the above|The above exception was)[^\n]*exception[^\n]*:?\n")
_JAVA_STACK = re.compile(r"\n+(?:\tat [\w.$/<>]+\(|Driver stacktrace:|JVM stacktrace:).*", re.DOTALL)
_STATE_AT_END = re.compile(r"\s*SQLSTATE: \w{5}[.;]?\s*(?:\n== (?:SQL|DataFrame)[^\n]*==\n.*)?\Z", re.DOTALL)
_OWN = re.compile(
    r"KernelError: (INVALID_CAST_ARGUMENT|INVALID_FUNCTION_ARGUMENT|NOT_SUPPORTED|NUMERIC_VALUE_OUT_OF_RANGE): "
)
"""What casts, joins and our classes begin their errors with in Spark; nothing else that is raised names a code."""
_BAD_PATTERN = re.compile(r"Lost task [^\n]*: java\.util\.regex\.PatternSyntaxException: ([^\n]*)")
_MOST = 10_000
_PYTHON = re.compile(r"^(?:[\w.]+\.)?\w+(?:Error|Exception): (.*)$", re.MULTILINE)
"""What an exception says, without its class."""
_GONE = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED, grpc.StatusCode.ABORTED)
_CONDITION = re.compile(r"\[(_?[A-Z][A-Z0-9_.]+)\]")
_STOPPED = re.compile(
    r"Cannot call methods on a stopped SparkContext|SparkContext (was|has been) shut ?down|SparkContext is stopped"
)
_BROKEN_CLASS = re.compile(r"Could not initialize class org\.apache\.\w+")
_LOST_TASK = re.compile(
    r"Python worker exited unexpectedly|Python worker failed to connect|ExecutorLostFailure|TaskResultLost|"
    r"FetchFailed|Executor heartbeat timed out|\(executor .*? lost\)|Connection reset by peer|"
    r"barrier stage that requires more slots than"
)
"""What befalls a task whatever its statement says."""
_RPC = re.compile(r'of RPC that terminated with:\s*status = StatusCode\.(\w+)\s*details = "(.*)"\s*debug_error_string')
"""A call of gRPC's, of which the server has said no more."""
_OTHER_PYTHON = re.compile(r"different version: ([\d.]+) than that in driver: ([\d.]+)")
_NO_PYTHON = re.compile(r'Cannot run program "([^"]+)"')
_LACKING = re.compile(r"No module named '(pyarrow|numpy|pyspark|py4j|pandas|google|grpc)\b")
"""What an executor's Python is missing."""
_WORDS = {"add": "addition", "subtract": "subtraction", "multiply": "multiplication", "divide": "division"}
_SIGNS = {"+": "addition", "-": "subtraction", "*": "multiplication"}
_TYPES = {"INT": "integer", "LONG": "bigint", "BYTE": "tinyint", "SHORT": "smallint", "FLOAT": "real"}
_TOO_DEEP = ("StackOverflowError", "Exception deserializing response")
"""The second where types nest deeper than messages of protobuf may."""
_RAISED = {
    "Division by zero": ErrorCode.DIVISION_BY_ZERO,
    "Scalar sub-query has returned multiple rows": ErrorCode.SUBQUERY_MULTIPLE_ROWS,
    "Window frame offset value must not be negative or null": ErrorCode.GENERIC_USER_ERROR,
    "Array subscript": ErrorCode.INVALID_FUNCTION_ARGUMENT,
    "SQL array indices": ErrorCode.INVALID_FUNCTION_ARGUMENT,
    "Key not present in map": ErrorCode.INVALID_FUNCTION_ARGUMENT,
}


def spark_gone(detail: str) -> ProcessionError:
    """The server died or cannot be reached; the client may send the statement again."""
    return ProcessionError(ErrorCode.REMOTE_HOST_GONE, f"The Spark server is gone: {detail}", retriable=True)


def session_gone(error: Exception) -> bool:
    """Whether the server has closed or forgotten the session."""
    return _condition(error).startswith(("INVALID_HANDLE.SESSION", "NO_ACTIVE_SESSION"))


def is_useless(error: Exception) -> bool:
    """Whether ``error`` says that the server's engine has stopped while the server itself lives on."""
    return not _quotes_users(error) and _STOPPED.search(str(error)) is not None


def has_broken_class(error: Exception) -> bool:
    """Whether a class of the server cannot be used as long as it lives.

    A statement that is cancelled while it is the first to use a class may leave it so (apache/iceberg #16720).
    """
    return not _quotes_users(error) and _BROKEN_CLASS.search(str(error)) is not None


def _condition(error: Exception) -> str:
    """What Spark calls the failure, empty where it does not say. Texts of users may hold other names further on."""
    declared = error.getCondition() if isinstance(error, PySparkException) else None
    if declared is not None or isinstance(error, PythonException):
        return declared or ""
    first = _CONDITION.search(str(error))
    return "" if first is None else first[1]


def _quotes_users(error: Exception) -> bool:
    """Whether the text repeats what a statement or its data say: nothing may be concluded from its words."""
    return _users(_condition(error).partition(".")[0], "") is not None


def map_failure(error: Exception, *, server_alive: bool) -> ProcessionError:
    """``error`` of a call to Spark; ``server_alive`` is False once the embedded server has ended."""
    if isinstance(error, ProcessionError):
        return error
    text = _without_stack(str(error))
    condition = _condition(error)
    users = _users(condition.partition(".")[0], _said(text))
    if users is not None:
        return ProcessionError(*users)
    if condition == "OPERATION_CANCELED":
        return ProcessionError(ErrorCode.USER_CANCELED, "Query was canceled")
    if not server_alive:
        return spark_gone("it ended while the statement ran")
    if is_useless(error):
        return spark_gone("it could not run statements any more and is started again")
    if (kernel := _of_kernels(str(error))) is not None:
        return kernel
    if session_gone(error):
        return spark_gone("it no longer knows this session")
    if isinstance(error, grpc.RpcError) and getattr(error, "code", lambda: None)() in _GONE:
        return spark_gone(_first_line(getattr(error, "details", lambda: "")() or "connection lost"))
    unfit = _unfit_python(str(error))
    if unfit is not None:
        return ProcessionError(ErrorCode.REMOTE_TASK_ERROR, unfit, retriable=False)
    if condition == "FAILED_TO_PARSE_TOO_COMPLEX" or (not condition and any(words in text for words in _TOO_DEEP)):
        return too_deep()
    if "No space left on device" in text:
        return ProcessionError(ErrorCode.GENERIC_INSUFFICIENT_RESOURCES, "No space left on an executor's disk")
    found = _lost(error, text) or (None if condition else unreadable_file(text)) or _failed(error, text)
    return ProcessionError(found.code, without_classes(found.message), retriable=found.retriable)


def _of_kernels(text: str) -> ProcessionError | None:
    """What a program of the kernels raised; of exceptions that led to one another the last counts."""
    found = _KERNEL.search(_JAVA_STACK.sub("", _CHAINED.split(text)[-1]))
    if found is None or found[1] not in ErrorCode.__members__:
        return None
    return ProcessionError(ErrorCode[found[1]], _said(found[2].rstrip("\r\n")))


def _unfit_python(text: str) -> str | None:
    """What is wrong with the Python of executors that others set up; None for any other failure."""
    remedy = "docs/clusters.md says what executors need, and spark.conf.spark.pyspark.python names their Python"
    if (found := _OTHER_PYTHON.search(text)) is not None:
        return (
            f"Spark's executors run Python {found[1]} and the coordinator {found[2]}: both must be the same. {remedy}"
        )
    if (found := _NO_PYTHON.search(text)) is not None:
        return f"Spark's executors have no Python at {found[1]}: {remedy}"
    if (found := _LACKING.search(text)) is not None:
        return f"The Python of Spark's executors has no {found[1]}: {remedy}"
    return None


def _lost(error: Exception, text: str) -> ProcessionError | None:
    """What sending the statement again may help with; None for anything else."""
    if "DEADLINE_EXCEEDED" in text:
        return spark_gone("it did not answer in time")
    if "UNAVAILABLE" in text or "RETRIES_EXCEEDED" in text or "RetriesExceeded" in type(error).__name__:
        return spark_gone("connection lost")
    if _LOST_TASK.search(text):
        return ProcessionError(ErrorCode.REMOTE_TASK_ERROR, f"Spark lost a task: {_first_line(text)}", retriable=True)
    return None


def _failed(error: Exception, text: str) -> ProcessionError:
    if _condition(error) and has_class(text):
        code, said = code_of(text), plain_text(text)
        return ProcessionError(
            code or ErrorCode.REMOTE_TASK_ERROR, said if code else f"Spark failed: {said}", retriable=False
        )
    if not _condition(error) and (pattern := _BAD_PATTERN.search(text)) is not None:
        return ProcessionError(ErrorCode.INVALID_FUNCTION_ARGUMENT, pattern[1], retriable=False)
    if (ended := _RPC.search(str(error))) is not None:
        reason = ended[2] or f"the call ended with {ended[1]} and without a reason, which Spark's log may tell"
        return ProcessionError(ErrorCode.REMOTE_TASK_ERROR, f"Spark failed: {reason[:1000]}", retriable=False)
    raised = _PYTHON.findall(str(error))
    from_python = raised and type(error).__name__ == "PythonException"
    reason = raised[-1] if from_python else _first_line(text)
    return ProcessionError(ErrorCode.REMOTE_TASK_ERROR, f"Spark failed: {reason}", retriable=False)


def _users(condition: str, said: str) -> tuple[ErrorCode, str] | None:
    """Presto's code and text for an error of the user's data, None for any other condition."""
    text = re.sub(r"^\[[\w.]+\]\s*", "", said)
    match condition:
        case "DIVIDE_BY_ZERO" | "REMAINDER_BY_ZERO":
            return ErrorCode.DIVISION_BY_ZERO, "/ by zero"
        case "ARITHMETIC_OVERFLOW" | "BINARY_ARITHMETIC_OVERFLOW":
            return ErrorCode.NUMERIC_VALUE_OUT_OF_RANGE, _overflow(text)
        case "CAST_OVERFLOW":
            found = re.search(r"The value (\S+?)[LDS]? of the type .* to \"(\w+)\"", text)
            shown = f"Out of range for {_type(found[2])}: {found[1]}" if found else plain_text(text)
            return ErrorCode.NUMERIC_VALUE_OUT_OF_RANGE, shown
        case "CAST_INVALID_INPUT":
            return ErrorCode.INVALID_CAST_ARGUMENT, _invalid_cast(text)
        case "NUMERIC_VALUE_OUT_OF_RANGE":
            return _not_representable(text)
        case "USER_RAISED_EXCEPTION":
            if (own := _OWN.match(text)) is not None:
                return ErrorCode[own[1]], text[own.end() :]
            codes = (code for start, code in _RAISED.items() if text.startswith(start))
            return next(codes, ErrorCode.GENERIC_USER_ERROR), text
        case "INVALID_INDEX_OF_ZERO":
            return ErrorCode.INVALID_FUNCTION_ARGUMENT, "SQL array indices start at 1"
        case "INVALID_ARRAY_INDEX" | "INVALID_PARAMETER_VALUE":
            return ErrorCode.INVALID_FUNCTION_ARGUMENT, _parameter(text)
        case _:
            return None


def _parameter(text: str) -> str:
    group = re.search(r"group index between 0 and (\d+), but got (\d+)", text)
    return plain_text(text) if group is None else f"Pattern has {group[1]} groups. Cannot access group {group[2]}"


def _type(spark: str) -> str:
    return _TYPES.get(spark.upper(), spark.lower())


def _overflow(text: str) -> str:
    small = re.search(r"(-?\d+)[YS] ([-+*]) (-?\d+)[YS] caused overflow", text)
    if small is not None:
        a, b = int(small[1]), int(small[3])
        # Spark writes both types alike, but what is too large for the smaller one fits into the other.
        kind = "tinyint" if -(1 << 15) <= {"+": a + b, "-": a - b, "*": a * b}[small[2]] < 1 << 15 else "smallint"
        return f"{kind} {_SIGNS[small[2]]} overflow: {a} {small[2]} {b}"
    found = re.search(r"(\w+) overflow\. Use ['`]try_(\w+)['`]", text)
    if found is None:
        return "Decimal overflow" if "decimal" in text.lower() else plain_text(text)
    return f"{_type(found[1])} {_WORDS.get(found[2], found[2])} overflow"


def _invalid_cast(text: str) -> str:
    found = re.search(r"The value '?(.*?)'? of the type \"\w+\" cannot be cast to \"([^\"]+)\"", text, re.DOTALL)
    if found is None:
        return plain_text(text)
    kind = {"TIMESTAMP_NTZ": "timestamp", "TIMESTAMP": "timestamp with time zone", "DATE": "date"}.get(found[2])
    if kind is not None:
        return f"Value cannot be cast to {kind}: {found[1]}"
    return f"Cannot cast '{found[1]}' to {'INT' if found[2] == 'INT' else _type(found[2]).upper()}"


def _not_representable(text: str) -> tuple[ErrorCode, str]:
    found = re.search(r"(\S+) cannot be represented as Decimal\((\d+), (\d+)\)", text)
    if found is None or found[2] == "38":
        return ErrorCode.NUMERIC_VALUE_OUT_OF_RANGE, "Decimal overflow"
    return ErrorCode.INVALID_CAST_ARGUMENT, f"Cannot cast DECIMAL '{found[1]}' to DECIMAL({found[2]}, {found[3]})"


def _without_stack(text: str) -> str:
    return text.partition("JVM stacktrace:")[0].strip()


def _said(text: str) -> str:
    """A message with all of its lines, which may be a user's, without SQLSTATE and without a part of Spark's SQL."""
    return _STATE_AT_END.sub("", text)[:_MOST]


def _first_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0][:1000] if lines else "no reason given"
