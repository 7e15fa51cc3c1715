"""Damaged and missing data files under Presto's codes, by the stacks that Spark 4.1 and Iceberg 1.11 gave for them."""

from __future__ import annotations

import pytest
from pyspark.errors.exceptions.connect import SparkException

from coordinator.engine.spark.failures import map_failure

TASK = (
    "Job aborted due to stage failure: Task 0 in stage 3.0 failed 1 times, most recent failure: "
    "Lost task 0.0 in stage 3.0 (TID 3) (localhost executor driver): "
)
SHADED = "org.apache.iceberg.shaded.org.apache.parquet"
FILE = "file:/lake/t/data/a.parquet"
IN_SPARK = "\tat org.apache.spark.shuffle.ShuffleWriteProcessor.write(ShuffleWriteProcessor.scala:57)\n"


def of_task(thrown: str, *frames: str, cause: str = "") -> tuple[str, str]:
    told = "".join(f"\tat {frame}(Some.java:1)\n" for frame in frames)
    text = f"{TASK}{thrown}\n{told}{IN_SPARK}{cause}\nDriver stacktrace:"
    failure = map_failure(SparkException(text, messageParameters={}), server_alive=True)
    return failure.code.name, failure.message


DAMAGED = "its metadata are damaged, or it is no Parquet file"
CASES = [
    (of_task(f"{SHADED}.io.ParquetDecodingException: could not decode the dictionary for [id]"),
     "could not decode the dictionary for [id]"),
    (of_task("java.lang.ArrayIndexOutOfBoundsException: Index 24356 out of bounds for length 20000",
             f"{SHADED}.column.values.dictionary.PlainValuesDictionary$PlainLongDictionary.decodeToLong"),
     "Index 24356 out of bounds for length 20000"),
    (of_task("java.lang.IndexOutOfBoundsException", "java.base/java.nio.Buffer.checkIndex",
             f"{SHADED}.bytes.BytesUtils.readIntLittleEndian"),
     "IndexOutOfBoundsException"),
    (of_task("org.apache.iceberg.exceptions.RuntimeIOException: java.io.IOException: can not read class "
             f"{SHADED}.format.PageHeader: Message size exceeds limit: 104857600"), DAMAGED),
    (of_task(f"java.lang.RuntimeException: {FILE} is not a Parquet file (length is too low: 0)"), f"{FILE}: {DAMAGED}"),
    (of_task("java.lang.RuntimeException: footer is too large: 3132733623to be read"), DAMAGED),
    (of_task(f"org.apache.iceberg.exceptions.RuntimeIOException: Failed to open Parquet file: {FILE}",
             cause=f"Caused by: java.io.IOException: can not read class {SHADED}.format.FileMetaData: Socket is closed "
             "by peer."), f"{FILE}: {DAMAGED}"),
]  # fmt: skip


@pytest.mark.parametrize(("failure", "reason"), CASES)
def test_a_damaged_file_is_bad_data(failure: tuple[str, str], reason: str) -> None:
    assert failure == ("ICEBERG_BAD_DATA", f"File cannot be read: {reason}")


def test_a_file_that_is_not_there() -> None:
    failure = of_task(f"org.apache.iceberg.exceptions.NotFoundException: File does not exist: {FILE}")
    assert failure == ("ICEBERG_MISSING_DATA", f"File is missing from storage: {FILE}")


@pytest.mark.parametrize(
    ("thrown", "frames"),
    [
        ("java.lang.IllegalStateException: mine", ["org.apache.spark.sql.Some.method"]),
        ("org.apache.iceberg.exceptions.RuntimeIOException: reset", ["org.apache.iceberg.parquet.ReadConf.newReader"]),
        (f"org.apache.iceberg.exceptions.RuntimeIOException: Failed to open Parquet file: {FILE}", []),
        ("java.net.SocketTimeoutException: slow", [f"{SHADED}.hadoop.ParquetFileReader.readAll"]),
        ("java.lang.ClassCastException: no", ["org.apache.iceberg.parquet.ParquetValueWriters$Some.write"]),
    ],
)
def test_what_is_not_about_the_content_of_a_file(thrown: str, frames: list[str]) -> None:
    assert of_task(thrown, *frames)[0] == "REMOTE_TASK_ERROR"
