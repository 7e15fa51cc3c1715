"""Writes: Spark computes, writes and commits; here the target is prepared and what was committed is accounted for.

Every commit of a statement carries its query id as a snapshot property, so its own snapshot, and from that the exact
number of rows, is found whatever else was committed meanwhile.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.types import TimeType

from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.creation import create, new_table
from coordinator.connectors.iceberg.ddl import appear, remove_unfinished, unfinished_name, upgrade
from coordinator.connectors.iceberg.failures import CommitOutcomeUnknownError
from coordinator.connectors.iceberg.spark_sql import quoted_path
from shared.errors import ErrorCode, ProcessionError
from shared.spi.catalog_changes import TableCreation
from shared.spi.table_writes import TableWrite, WriteContext

QUERY_ID = "procession.query-id"
_MERGED = "spark.merge-into.num-target-rows-"
_CONFLICT = re.compile(r"CommitFailedException|ValidationException|Found conflicting files|conflict", re.IGNORECASE)
_UNKNOWN = re.compile(r"CommitStateUnknownException|Cannot determine whether the commit was successful")
_NULL = re.compile(r"NOT_NULL_ASSERT_VIOLATION.*?field:\s*([^\s.]+)", re.DOTALL)


def write(catalog: TableCatalog, write: TableWrite, context: WriteContext) -> int:
    """Rows of the write. Raises ProcessionError; then nothing was committed, except where the error says otherwise."""
    if write.creation is not None:
        return _create_and_fill(catalog, write, write.creation, context)
    table = catalog.open(write.schema, write.table)
    _check_readable(table, write)
    _run(write, write.table, context)
    return _rows(catalog.open(write.schema, write.table), write, context)


def _create_and_fill(catalog: TableCatalog, write: TableWrite, creation: TableCreation, context: WriteContext) -> int:
    """CTAS: the table gets its name when it is complete, so that nobody sees it half full."""
    new = new_table(creation)
    name = unfinished_name(context.procedure)
    create(catalog, new, write.schema, name, write.table)
    try:
        _check_readable(catalog.open(write.schema, name), write)
        if new.version == 3:
            upgrade(catalog, write.schema, name, context.run)
        if not write.no_rows:
            _run(write, name, context)
        context.procedure.check_cancelled()
        appear(catalog, write.schema, name, write.table)
    except BaseException:
        remove_unfinished(catalog, write.schema, name)
        raise
    return _rows(catalog.open(write.schema, write.table), write, context)


def _check_readable(table: Table, write: TableWrite) -> None:
    if any(isinstance(field.field_type, TimeType) for field in table.schema().fields):
        message = f"Table {write.schema}.{write.table} has a column of type time, which Spark cannot write"
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, message)


def _run(write: TableWrite, name: str, context: WriteContext) -> None:
    target = quoted_path((write.catalog, *write.schema.split("."), name))
    context.procedure.check_cancelled()
    try:
        context.run(f"{write.before} {target} {write.after}")
    except ProcessionError as error:
        raise _told(error, write) from error


def _told(error: ProcessionError, write: TableWrite) -> ProcessionError:
    """Spark's and Iceberg's failures of a write under Presto's codes and texts."""
    if error.code is not ErrorCode.REMOTE_TASK_ERROR:
        return error
    told = f"{type(error.__cause__).__name__}: {error.__cause__}: {error.message}"
    name = f"{write.schema}.{write.table}"
    null = _NULL.search(told)
    if null is not None:
        message = f"NULL value not allowed for NOT NULL column: {null[1]}"
        return ProcessionError(ErrorCode.CONSTRAINT_VIOLATION, message)
    if "MERGE_CARDINALITY_VIOLATION" in told:
        message = "One MERGE target table row matched more than one source row"
        return ProcessionError(ErrorCode.MERGE_TARGET_ROW_MULTIPLE_MATCHES, message)
    if _UNKNOWN.search(told):
        return CommitOutcomeUnknownError(
            ErrorCode.ICEBERG_COMMIT_ERROR, f"It is unknown whether the write to {name} landed"
        )
    if _CONFLICT.search(told):
        reason = error.message.removeprefix("Spark failed: ")
        message = f"The write to {name} conflicts with a concurrent one; send it again: {reason}"
        return ProcessionError(ErrorCode.TRANSACTION_CONFLICT, message, retriable=True)
    return error


def _rows(table: Table, write: TableWrite, context: WriteContext) -> int:
    """From the summary of the statement's own snapshot; no snapshot means that nothing changed."""
    own = [s for s in table.metadata.snapshots if _property(s, QUERY_ID) == context.query_id]
    return sum(_count(_summary(s), write.kind) for s in own)


def _count(summary: Mapping[str, str], kind: str) -> int:
    def number(name: str) -> int:
        return int(summary.get(name, "0"))

    merged = [number(f"{_MERGED}{what}") for what in ("inserted", "updated", "deleted")]
    if any(name.startswith(_MERGED) for name in summary):
        return sum(merged)
    if kind == "DELETE":
        return number("deleted-records") - number("added-records") + _newly_deleted(summary)
    return number("added-records")


def _newly_deleted(summary: Mapping[str, str]) -> int:
    return int(summary.get("added-position-deletes", "0")) - int(summary.get("removed-position-deletes", "0"))


def _summary(snapshot: Snapshot) -> Mapping[str, str]:
    return {} if snapshot.summary is None else snapshot.summary.additional_properties


def _property(snapshot: Snapshot, name: str) -> str | None:
    return _summary(snapshot).get(name)
