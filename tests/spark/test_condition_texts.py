"""Every error condition of the installed Spark reaches users without its class, its SQLSTATE and Spark's settings."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pyspark
import pytest
from pyspark.errors.exceptions.connect import SparkConnectGrpcException

from coordinator.engine.spark.condition_texts import plain_text
from coordinator.engine.spark.failures import map_failure
from shared.errors import ErrorCode

_SPARKS_OWN = re.compile(r"\[_?[A-Z]+_[A-Z0-9_.]+\]|SQLSTATE: |\bspark\.[a-z]\w*\.[a-z]|`try_|bypass this")


@cache
def conditions() -> dict[str, tuple[str, str]]:
    """Message template and SQLSTATE of each condition, from Spark's own list."""
    (jar,) = (Path(pyspark.__file__).parent / "jars").glob("spark-common-utils_*.jar")
    with zipfile.ZipFile(jar) as archive:
        listed = json.loads(archive.read("error/error-conditions.json"))
    found = {}
    for name, condition in listed.items():
        text, state = "\n".join(condition["message"]), condition.get("sqlState", "XX000")
        found[name] = (text, state)
        for below, inner in condition.get("subClass", {}).items():
            found[f"{name}.{below}"] = (f"{text} " + "\n".join(inner["message"]), state)
    return found


def errors() -> Iterator[tuple[str, str, str]]:
    """Each condition as Spark says it, its parameters filled with something plain."""
    for name, (template, state) in conditions().items():
        message = re.sub(r"<(?:config|\w*Conf|ansiConfig|sqlConf|configKey)>", '"spark.sql.some.setting"', template)
        message = re.sub(r"<(\w+)>", r"`\1`", message)
        if message.strip():
            yield name, message, f"[{name}] {message} SQLSTATE: {state}"


def test_no_condition_shows_what_is_sparks_own() -> None:
    shown = {}
    for name, _, text in errors():
        failure = map_failure(SparkConnectGrpcException(text, errorClass=name), server_alive=True)
        shown[name] = failure.message
    assert len(shown) > 1000
    assert {name: text for name, text in shown.items() if _SPARKS_OWN.search(text)} == {}


def test_the_meaning_stays() -> None:
    """The first sentence of each message is there, word for word, unless it names a setting."""
    lost = {}
    for name, message, text in errors():
        first = re.split(r"[.;:\n(]", message)[0].strip()
        if len(first) > 10 and "spark" not in first and first not in plain_text(text):
            lost[name] = (first, plain_text(text))
    assert lost == {}


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        (
            "[NOT_SUPPORTED_CHANGE_COLUMN] ALTER TABLE ALTER/CHANGE COLUMN is not supported for changing `t`'s column "
            '`a` with type "INT" to `a` with type "STRING". SQLSTATE: 0A000; line 1 pos 0;\n\'AlterColumn\n+- Table',
            ErrorCode.NOT_SUPPORTED,
            "ALTER TABLE ALTER/CHANGE COLUMN is not supported for changing `t`'s column "
            '`a` with type "INT" to `a` with type "STRING"',
        ),
        (
            "[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column, variable, or function parameter with name `x` cannot be "
            "resolved. Did you mean one of the following? [`a`, `b`]. SQLSTATE: 42703; line 1 pos 7",
            ErrorCode.REMOTE_TASK_ERROR,
            "Spark failed: A column, variable, or function parameter with name `x` cannot be resolved. "
            "Did you mean one of the following? [`a`, `b`]",
        ),
        (
            "org.apache.spark.SparkDateTimeException: [INVALID_DATETIME_PATTERN.LENGTH] Unrecognized datetime pattern: "
            '`q`. Too many letters in datetime pattern: `q`. You can set "spark.sql.legacy.x.y" to "LEGACY". '
            "SQLSTATE: 22007",
            ErrorCode.GENERIC_USER_ERROR,
            "Unrecognized datetime pattern: `q`. Too many letters in datetime pattern: `q`",
        ),
        (
            "[UNSUPPORTED_FEATURE.X] The feature is not supported: a thing\nof two lines (spark.sql.a.b=true). "
            "SQLSTATE: 0A000",
            ErrorCode.NOT_SUPPORTED,
            "The feature is not supported: a thing of two lines",
        ),
    ],
)
def test_texts(text: str, code: ErrorCode, message: str) -> None:
    found = re.search(r"\[([A-Z_.]+)\]", text)
    assert found is not None
    failure = map_failure(SparkConnectGrpcException(text, errorClass=found[1]), server_alive=True)
    assert (failure.code, failure.message) == (code, message)
    assert not failure.retriable


def test_words_of_users_are_not_taken_for_a_condition() -> None:
    error = SparkConnectGrpcException("Job aborted: [SOME_THING] is what the data say", messageParameters={})
    assert "[SOME_THING]" in map_failure(error, server_alive=True).message


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (
            "(org.apache.iceberg.exceptions.ValidationException) Found conflicting files: a",
            "Found conflicting files: a",
        ),
        ("java.lang.IllegalStateException: Cannot complete import", "Cannot complete import"),
        ("org.apache.spark.SparkException: java.io.IOException: broken pipe", "broken pipe"),
        ("Job aborted: java.util.concurrent.ExecutionException", "Job aborted:"),
        ("File s3a://b/java.io.Error/x.parquet is missing", "File s3a://b/java.io.Error/x.parquet is missing"),
    ],
)
def test_names_of_java_stay_in_the_log(said: str, shown: str) -> None:
    failure = map_failure(SparkConnectGrpcException(said), server_alive=True)
    assert (failure.code, failure.message) == (ErrorCode.REMOTE_TASK_ERROR, f"Spark failed: {shown}")
