"""Failures of Spark are told apart by what Spark calls them, never by words that a statement put there."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.errors.exceptions.connect import PythonException, SparkConnectGrpcException, UnknownException

from coordinator.engine.spark.engine import SparkEngine
from coordinator.engine.spark.failures import has_broken_class, is_useless, map_failure, session_gone
from shared.errors import ErrorCode, ProcessionError

WORDS = [
    "OPERATION_CANCELED",
    "[OPERATION_CANCELED] Operation has been canceled.",
    "[INVALID_HANDLE.SESSION_CLOSED] The handle is invalid.",
    "Cannot call methods on a stopped SparkContext",
    "KernelError: DIVISION_BY_ZERO: no",
    "UNAVAILABLE",
    "DEADLINE_EXCEEDED",
    "Connection reset by peer",
    "No space left on device",
]


def of_spark(condition: str, text: str) -> Exception:
    told = f"[{condition}] {text} SQLSTATE: P0001"
    return SparkConnectGrpcException(told, errorClass=condition, messageParameters={})


@pytest.mark.parametrize("words", WORDS)
def test_what_users_raise_is_their_own(words: str) -> None:
    error = of_spark("USER_RAISED_EXCEPTION", words)
    failure = map_failure(error, server_alive=True)
    assert (failure.code.name, failure.message, failure.retriable) == ("GENERIC_USER_ERROR", words, False)
    assert not is_useless(error)
    assert not session_gone(error)


@pytest.mark.parametrize("words", WORDS)
def test_what_users_cast_is_their_own(words: str) -> None:
    quoted = f'The value \'{words}\' of the type "STRING" cannot be cast to "BIGINT" because it is malformed.'
    error = of_spark("CAST_INVALID_INPUT", quoted)
    failure = map_failure(error, server_alive=True)
    assert (failure.code.name, failure.retriable) == ("INVALID_CAST_ARGUMENT", False)
    assert words in failure.message
    assert not is_useless(error)


LINES = "a\r\n\n  b SQLSTATE: 12345\n== SQL\nc"
SQL = "\n== SQL (line 1, position 8) ==\nSELECT CAST(k AS INT)\n       ^^^^^^^^^^^^^^\n"


def test_every_line_of_a_text_is_shown() -> None:
    quoted = f'The value \'{LINES}\' of the type "STRING" cannot be cast to "INT" because it is malformed.'
    cast = f"[CAST_INVALID_INPUT] {quoted} SQLSTATE: 22018{SQL}"
    failure = map_failure(SparkConnectGrpcException(cast, errorClass="CAST_INVALID_INPUT"), server_alive=True)
    assert (failure.code.name, failure.message) == ("INVALID_CAST_ARGUMENT", f"Cannot cast '{LINES}' to INT")
    raised = of_spark("USER_RAISED_EXCEPTION", f"Key not present in map: {LINES}")
    failure = map_failure(raised, server_alive=True)
    assert (failure.code.name, failure.message) == ("INVALID_FUNCTION_ARGUMENT", f"Key not present in map: {LINES}")


def test_a_cast_that_is_written_for_spark_has_its_code() -> None:
    raised = of_spark(
        "USER_RAISED_EXCEPTION", f"KernelError: INVALID_CAST_ARGUMENT: Value cannot be cast to date: {LINES}"
    )
    failure = map_failure(raised, server_alive=True)
    assert (failure.code.name, failure.message) == ("INVALID_CAST_ARGUMENT", f"Value cannot be cast to date: {LINES}")


TRACE = (
    '\n  An exception was thrown from the Python worker.\nTraceback (most recent call last):\n  File "x.py", line 1\n'
)
RAISED = "procession_kernels.errors.KernelError"
CHAIN = (
    "\n\nThe above exception was the direct cause of the following exception:\n\nTraceback (most recent call last):\n"
)
LOST = "Job aborted due to stage failure: Lost task 0.0 in stage 9.0 (TID 10) (localhost executor driver): "


@pytest.mark.parametrize(
    "text",
    [
        f"{TRACE}{RAISED}: NOT_FOUND: no {LINES}\n",
        f"{TRACE}{RAISED}: DIVISION_BY_ZERO: first{CHAIN}{RAISED}: NOT_FOUND: no {LINES}\n",
        f"{LOST}org.apache.spark.api.python.PythonException: {TRACE}{RAISED}: NOT_FOUND: no {LINES}\n\n\tat "
        "org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException(PythonRunner.scala:1)\n",
    ],
    ids=["as it is", "the last of a chain", "within a lost task"],
)
def test_every_line_of_what_a_kernel_raises(text: str) -> None:
    failure = map_failure(PythonException(text), server_alive=True)
    assert (failure.code.name, failure.message) == ("NOT_FOUND", f"no {LINES}")


def test_a_pattern_that_java_cannot_read() -> None:
    said = "java.util.regex.PatternSyntaxException: Unclosed group near index 2"
    stack = "\na(\n\tat java.util.regex.Pattern.error(Pattern.java:2028)\n"
    failure = map_failure(SparkConnectGrpcException(LOST + said + stack), server_alive=True)
    assert (failure.code.name, failure.message) == ("INVALID_FUNCTION_ARGUMENT", "Unclosed group near index 2")


def test_what_python_raises_names_no_condition() -> None:
    error = PythonException(
        "\n  An exception was thrown from the Python worker.\nValueError: [OPERATION_CANCELED] mine"
    )
    failure = map_failure(error, server_alive=True)
    assert (failure.code.name, failure.message) == ("REMOTE_TASK_ERROR", "Spark failed: [OPERATION_CANCELED] mine")
    assert not session_gone(error)


@pytest.mark.parametrize(
    "error",
    [
        of_spark("OPERATION_CANCELED", "Operation has been canceled."),
        UnknownException(
            "[OPERATION_CANCELED] Operation has been canceled.", reason="org.apache.spark.SparkSQLException"
        ),
    ],
)
def test_a_cancelled_operation_is_one(error: Exception) -> None:
    assert map_failure(error, server_alive=True).code.name == "USER_CANCELED"


def test_a_session_that_is_gone_is_one() -> None:
    error = of_spark("INVALID_HANDLE.SESSION_CLOSED", "The handle 1 is invalid. Session was closed.")
    assert session_gone(error)
    assert map_failure(error, server_alive=True).retriable


def test_a_stopped_engine_is_one() -> None:
    error = UnknownException("Cannot call methods on a stopped SparkContext.", reason="java.lang.IllegalStateException")
    assert is_useless(error)
    assert map_failure(error, server_alive=True).code.name == "REMOTE_HOST_GONE"


def test_a_class_that_stays_broken_is_one() -> None:
    words = "Could not initialize class org.apache.iceberg.formats.FormatModelRegistry"
    assert has_broken_class(UnknownException(words, reason="java.lang.NoClassDefFoundError"))
    assert not has_broken_class(of_spark("USER_RAISED_EXCEPTION", words))
    assert not has_broken_class(of_spark("CAST_INVALID_INPUT", f"The value '{words}' cannot be cast"))


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("words", ["OPERATION_CANCELED", "Cannot call methods on a stopped SparkContext"])
def test_a_real_statement_that_raises_such_words(words: str, engine: SparkEngine, execution: Any) -> None:
    with pytest.raises(ProcessionError, match=f"^{words}$") as caught:
        list(engine.run(f"SELECT raise_error('{words}') FROM range(3)", execution))
    assert caught.value.code is ErrorCode.GENERIC_USER_ERROR
    assert not caught.value.retriable
    assert engine.alive


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.12 than that in driver: 3.11, PySpark",
            "run Python 3.12 and the coordinator 3.11",
        ),
        ('java.io.IOException: Cannot run program "/opt/python": error=2, No such file', "no Python at /opt/python"),
        ("ModuleNotFoundError: No module named 'pyarrow'", "The Python of Spark's executors has no pyarrow"),
    ],
)
def test_an_unfit_python_of_executors_is_named(text: str, expected: str) -> None:
    failure = map_failure(SparkConnectGrpcException(f"Job aborted: {text}"), server_alive=True)
    assert expected in failure.message
    assert not failure.retriable


@pytest.mark.parametrize(
    "error",
    [
        of_spark("FAILED_TO_PARSE_TOO_COMPLEX", "The statement was too complex to parse."),
        SparkConnectGrpcException("(java.lang.StackOverflowError) "),
        SparkConnectGrpcException('status = StatusCode.INTERNAL details = "Exception deserializing response!"'),
    ],
)
def test_what_is_too_deep_for_spark_is_not_sent_again(error: Exception) -> None:
    failure = map_failure(error, server_alive=True)
    assert (failure.code, failure.retriable) == (ErrorCode.NOT_SUPPORTED, False)
    assert failure.message == "statement is too large (stack overflow during analysis)"


@pytest.mark.parametrize(
    ("details", "said"),
    [
        ("", "Spark failed: the call ended with UNKNOWN and without a reason, which Spark's log may tell"),
        ("no room", "Spark failed: no room"),
    ],
)
def test_a_call_that_ends_without_a_reason(details: str, said: str) -> None:
    """The words are gRPC's own, which nobody shall see."""
    text = (
        "<_MultiThreadedRendezvous of RPC that terminated with:\n\tstatus = StatusCode.UNKNOWN\n"
        f'\tdetails = "{details}"\n\tdebug_error_string = "UNKNOWN:Error received from peer"\n>'
    )
    failure = map_failure(SparkConnectGrpcException(text), server_alive=True)
    assert (failure.code, failure.message) == (ErrorCode.REMOTE_TASK_ERROR, said)
