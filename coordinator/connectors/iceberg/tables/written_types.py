"""Columns of types that Spark's Iceberg has not: who writes tables with them."""

from __future__ import annotations

from pyiceberg.table import Table

from coordinator.connectors.iceberg.spark_types import times_of, unknown_to_spark
from shared.errors import ErrorCode, ProcessionError
from shared.spi.table_writes import TableWrite


def check_types(table: Table, write: TableWrite) -> None:
    """Of a table that Spark is to write. Raises NOT_SUPPORTED with the columns that it does not know."""
    check_foreign(table, write)
    if times := times_of(table):
        raise _refused(write, f"Spark cannot write columns of type time ({', '.join(times)})")


def check_foreign(table: Table, write: TableWrite) -> None:
    """Raises NOT_SUPPORTED with the columns that neither Spark nor this process writes."""
    if foreign := unknown_to_spark(table):
        raise _refused(write, f"Spark knows no {foreign}")


def _refused(write: TableWrite, why: str) -> ProcessionError:
    what = "delete some of the rows of a file of" if write.kind == "DELETE" else f"{write.kind.lower()} rows of"
    message = f"Cannot {what} table {write.schema}.{write.table}: {why}"
    return ProcessionError(ErrorCode.NOT_SUPPORTED, message)
