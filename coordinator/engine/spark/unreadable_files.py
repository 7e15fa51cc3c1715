"""Data files that are missing or damaged, told from the stack of the task of Spark that met them."""

from __future__ import annotations

import re

from shared.errors import ErrorCode, ProcessionError

_TASK = re.compile(
    r"Lost task \S+ in stage \S+ \(TID \d+\) \((?:[^()]|\([^()]*\))*\): ([\w.$]+)(?:: ([^\n]*))?(?:\n(.*))?", re.DOTALL
)
"""What a task failed with, what that says, and the rest: frames and causes."""
_FRAME = re.compile(r"^\s+at (?:[\w.@-]+/)?([\w.$]+)", re.MULTILINE)
_OF_JAVA = ("java.", "jdk.", "sun.")
_READERS = (
    "org.apache.iceberg.parquet.",
    "org.apache.iceberg.arrow.",
    "org.apache.iceberg.orc.",
    "org.apache.iceberg.avro.",
    "org.apache.iceberg.spark.data.",
    "org.apache.iceberg.shaded.org.apache.parquet.",
    "org.apache.iceberg.shaded.org.apache.orc.",
)
_MISSING = re.compile(r"File does not exist: (\S+)")
_PATH = re.compile(r"Failed to open Parquet file: (\S+)|^(\S+) is not a Parquet file")
_METADATA = re.compile(r"can not read class \S*parquet\.format\.\w+|footer is too large|is not a Parquet file")
_OF_FORMAT = re.compile(r"ParquetDecodingException|FileFormatException|ParquetCryptoRuntimeException")
_OF_STORAGE = re.compile(r"(?:IO|Socket|Timeout|Http|Sdk\w*|S3|Interrupted)\w*Exception$|IOError$")


def unreadable_file(text: str) -> ProcessionError | None:
    """The failure in Presto's codes; None for one that is not about the content of a data file."""
    task = _TASK.search(text)
    if task is None:
        return None
    kind, message, rest = task[1].rpartition(".")[2], task[2] or "", (task[3] or "").partition("Driver stacktrace:")[0]
    if kind in ("NotFoundException", "FileNotFoundException"):
        missing = _MISSING.search(message)
        path = message if missing is None else missing[1]
        return ProcessionError(ErrorCode.ICEBERG_MISSING_DATA, f"File is missing from storage: {path}")
    where = _PATH.search(message)
    path = "" if where is None else f"{where[1] or where[2]}: "
    if _METADATA.search(message) or (path and _METADATA.search(rest)):
        return _bad_data(path, "its metadata are damaged, or it is no Parquet file")
    if _OF_FORMAT.search(kind) or (not _OF_STORAGE.search(kind) and _in_reader(rest)):
        return _bad_data(path, message or kind)
    return None


def _bad_data(path: str, reason: str) -> ProcessionError:
    return ProcessionError(ErrorCode.ICEBERG_BAD_DATA, f"File cannot be read: {path}{reason}")


def _in_reader(stack: str) -> bool:
    """Whether the exception was thrown where files are decoded."""
    frames = _FRAME.findall(stack.partition("Caused by:")[0])
    ours = next((frame for frame in frames if not frame.startswith(_OF_JAVA)), "")
    return ours.startswith(_READERS) and "Writ" not in ours
