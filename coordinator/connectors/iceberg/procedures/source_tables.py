"""What ``source_table`` of snapshot and migrate names: a folder of files, or a table of Spark's own catalog."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from coordinator.connectors.iceberg.procedures.arguments import TableArguments
from coordinator.connectors.iceberg.procedures.table_procedure import Call
from coordinator.connectors.iceberg.procedures.through_spark import run_spark, said_by_spark
from coordinator.connectors.iceberg.spark_sql import quoted_path
from shared.errors import ErrorCode, ProcessionError
from shared.spi.procedure import ArgumentError

_FOLDER = re.compile(r"`?(parquet|orc|avro)`?\.`(.+)`", re.IGNORECASE | re.DOTALL)
_NAME = re.compile(r"(?!`?(?:parquet|orc|avro)`?\.)(?:`[^`]+`|\w+)(?:\.(?:`[^`]+`|\w+))*", re.IGNORECASE)
SPARK_CATALOG = "spark_catalog"
_NOT_FOUND = re.compile(r"\[(TABLE_OR_VIEW|SCHEMA)_NOT_FOUND\]")


@dataclass(frozen=True, slots=True)
class Source:
    """Where the files are. ``table`` is the name in Spark's catalog, None for a folder; ``partition`` as it says."""

    folder: str
    table: tuple[str, ...] | None = None
    managed: bool = False


def folder_of(text: str) -> tuple[str, str] | None:
    """Format and path of `` `parquet`.`path` ``; None for the name of a table."""
    found = _FOLDER.fullmatch(text.strip())
    return None if found is None else (found[1].lower(), found[2])


def check_source(call: Call[TableArguments], text: str, argument: str, *own: str) -> tuple[str, str] | None:
    """Format and path of a folder that may be read, None for the name of a table; raises ArgumentError.

    Spark's parser skips spaces and comments, so whatever is not plainly one or the other is neither.
    """
    folder = folder_of(text)
    if folder is not None and "`" not in folder[1]:
        call.check_free_location(argument, folder[1], *own)
        return folder
    if _NAME.fullmatch(text) is None:
        raise ArgumentError(argument, f"Neither a folder nor the name of a table: {text}")
    return None


def find_source(call: Call[TableArguments], text: str, argument: str) -> Source:
    """Raises ArgumentError for other formats than Parquet, and for tables that Spark does not have."""
    folder = check_source(call, text, argument)
    if folder is not None:
        if folder[0] != "parquet":
            raise ArgumentError(argument, f"Only Parquet folders can be taken in: {text}", ErrorCode.NOT_SUPPORTED)
        return Source(folder[1])
    names = names_of(text)
    return _of_spark(call, names if names[0] == SPARK_CATALOG else (SPARK_CATALOG, *names), argument)


def names_of(text: str) -> tuple[str, ...]:
    """The parts of a name; a point in backquotes divides none, and access control takes it for none either."""
    return tuple(quoted or plain for quoted, plain in re.findall(r"`([^`]+)`|(\w+)", text))


def _of_spark(call: Call[TableArguments], names: Sequence[str], argument: str) -> Source:
    try:
        rows = run_spark(call, f"DESCRIBE TABLE EXTENDED {quoted_path(names)}", "look at the source of")
    except ProcessionError as error:
        if _NOT_FOUND.search(said_by_spark(error)) is None:
            raise
        raise ArgumentError(argument, f"Table {'.'.join(names)} does not exist", ErrorCode.NOT_FOUND) from error
    described = {str(row["col_name"]).strip().lower(): str(row["data_type"]) for row in rows}
    provider = described.get("provider", "unknown")
    if provider.lower() != "parquet" or "location" not in described:
        message = f"Cannot take in {'.'.join(names)}: its provider is {provider}, not parquet"
        raise ArgumentError(argument, message, ErrorCode.NOT_SUPPORTED)
    return Source(described["location"], tuple(names), described.get("type", "").upper() == "MANAGED")
