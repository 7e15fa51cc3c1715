"""Rewrites by Iceberg's own procedure, through Spark: for tables and options that our kernels do not commit.

Iceberg plans, writes, commits and cleans up after itself: there is no journal entry, and nothing here deletes a file.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from pyiceberg.expressions import AlwaysFalse
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.snapshots import Operation, Snapshot
from pyiceberg.types import IcebergType

from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.failures import CommitOutcomeUnknownError
from coordinator.connectors.iceberg.filters import iceberg_predicate
from coordinator.connectors.iceberg.manifests.metadata_files import CALL_ID
from coordinator.connectors.iceberg.rewrite.asked.arguments import RewriteArguments
from coordinator.connectors.iceberg.rewrite.asked.options import RewriteOptions, option_texts
from coordinator.connectors.iceberg.rewrite.asked.sorted_by import resolved, sort_order_text
from coordinator.connectors.iceberg.rewrite.planning.bloom_filters import unsupported_column
from coordinator.connectors.iceberg.rewrite.planning.stored_columns import unwritable_column
from coordinator.connectors.iceberg.spark_sql import quoted_name, quoted_path, quoted_string, string_map, where_clause
from coordinator.connectors.iceberg.spark_types import unknown_to_spark
from coordinator.connectors.iceberg.table_words import check_for_spark
from coordinator.connectors.iceberg.tables.variant_columns import holds_variant
from shared.errors import ErrorCode, ProcessionError
from shared.spi.procedure import (
    ArgumentError,
    ProcedureContext,
    ProcedureProgress,
    ProcedureResult,
    TableTarget,
)

logger = logging.getLogger(__name__)
_MOST_COMBINED = 12
_SHREDS = "write.parquet.shred-variants"
_CONFLICT = re.compile(r"CommitFailedException|ValidationException|conflicted with another concurrent")
_UNKNOWN = re.compile(r"CommitStateUnknownException|Cannot determine whether the commit was successful")
_REFUSED = re.compile(r"Cannot use column .* in ZOrdering|UnsupportedOperationException")
_TWICE = re.compile(r"data files to be imported already exist within the target table")
_WRONG = re.compile(r"IllegalArgumentException|Cannot use options|NumberFormatException")
_PREFIX = re.compile(r"^Spark failed: (?:\([\w.$]+\)\s*)?")


@dataclass(frozen=True, slots=True)
class Delegated:
    """A call that Iceberg's procedure answers; ``known`` are the snapshots from before it."""

    target: TableTarget
    reason: str
    sql: str
    known: frozenset[int]


def reason_before_planning(table: Table) -> str | None:
    """Why the call is Iceberg's whatever its files are; None when that depends on the files."""
    if table.format_version > 3:
        return f"the table has format version {table.format_version}"
    return None


def reason_of_properties(table: Table) -> str | None:
    """What the table asks of its files that our writers do not do."""
    written = table.properties.get("write.format.default", "parquet").lower()
    if written != "parquet":
        return f"new files of the table are {written.upper()}"
    if column := unwritable_column(table.schema()):
        return column
    if table.properties.get(_SHREDS, "").lower() == "true" and any(map(holds_variant, _types(table))):
        return f"the table wants variants in columns of their own ({_SHREDS})"
    blooming = unsupported_column(table.schema(), table.properties)
    return f"the table wants a Bloom filter inside a list or map: {blooming}" if blooming else None


def _types(table: Table) -> list[IcebergType]:
    return [field.field_type for field in table.schema().fields]


def delegate(
    table: Table,
    catalog: str,
    target: TableTarget,
    arguments: RewriteArguments,
    options: RewriteOptions,
    reason: str,
) -> Delegated | None:
    """The call to make; None when the table is empty or the filter excludes every file. Raises ProcessionError."""
    head = table.snapshot_by_name(arguments.branch or MAIN_BRANCH)
    if head is None:
        return None
    if foreign := unknown_to_spark(table):
        message = f"Table {target.schema}.{target.table} cannot be rewritten: {reason}, and Spark knows no {foreign}"
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, message)
    # With the catalog: Spark takes the first of two names for one when a catalog is called so.
    given = [("table", quoted_string(quoted_path((catalog, *table.name()))))]
    if arguments.strategy == "sort":
        given.append(("strategy", "'sort'"))
        if arguments.sorted_by is not None:
            given.append(("sort_order", quoted_string(sort_order_text(resolved(arguments.sorted_by, table)))))
        elif table.sort_order().is_unsorted:
            raise ArgumentError(
                "strategy",
                f"Cannot sort data without a valid sort order: table {target.schema}.{target.table} is unsorted and "
                "sorted_by is not given",
            )
    if arguments.branch is not None:
        given.append(("branch", quoted_string(arguments.branch)))
    texts = _with_deletes(option_texts(arguments.options or {}, options), head)
    if texts:
        given.append(("options", string_map(texts)))
    if target.filter is not None:
        predicate = iceberg_predicate(target.filter, table.schema())
        if isinstance(predicate, AlwaysFalse):
            return None
        where = where_clause(predicate, table.schema())
        if where is not None:
            given.append(("where", quoted_string(where)))
    check_for_spark(table)
    listed = ", ".join(f"{name} => {value}" for name, value in given)
    sql = f"CALL {quoted_name(catalog)}.system.rewrite_data_files({listed})"
    return Delegated(target, reason, sql, frozenset(s.snapshot_id for s in table.metadata.snapshots))


def _with_deletes(texts: dict[str, str], head: Snapshot) -> dict[str, str]:
    """As our own path does, delete files that nothing needs any more go; Iceberg keeps them unless it is told."""
    summary = head.summary
    deletes = None if summary is None else summary.additional_properties.get("total-delete-files")
    if deletes == "0" or "remove-dangling-deletes" in texts:
        return texts
    return {**texts, "remove-dangling-deletes": "true"}


def run(delegated: Delegated, context: ProcedureContext) -> Mapping[str, object]:
    """Iceberg's result row; the call is committed when this returns. Raises ProcessionError."""
    name = f"{delegated.target.schema}.{delegated.target.table}"
    logger.info("%s: %s is rewritten by Iceberg's procedure: %s", context.session.query_id, name, delegated.reason)
    context.report(ProcedureProgress(0, 1, f"rewriting by Iceberg's procedure ({delegated.reason})"))
    try:
        rows = context.workers.run_sql(delegated.sql, description=f"rewrite {name}")
    except ProcessionError as error:
        ours = presto_error(error, name)
        if ours is error:
            raise  # with the cause that it has
        raise ours from error
    context.report(ProcedureProgress(1, 1, f"rewriting by Iceberg's procedure ({delegated.reason})"))
    if len(rows) != 1:
        raise ProcessionError(ErrorCode.PROCEDURE_CALL_FAILED, f"Iceberg's procedure gave {len(rows)} rows for {name}")
    return rows[0]


def result(delegated: Delegated, row: Mapping[str, Any], catalog: TableCatalog) -> ProcedureResult:
    """Iceberg's row in our columns. The number of rows is NULL when the call's snapshots are gone already."""
    replaced, added, size = (
        int(row[f"{name}_count"]) for name in ("rewritten_data_files", "added_data_files", "rewritten_bytes")
    )
    rows: int | None = 0
    if replaced:
        table = catalog.open(delegated.target.schema, delegated.target.table)
        rows = rewritten_rows(table.metadata.snapshots, delegated.known, (replaced, added, size))
    failed, removed = int(row["failed_data_files_count"]), int(row.get("removed_delete_files_count") or 0)
    return ProcedureResult(rows=[(replaced, added, size, failed, removed, rows)], update_count=rows)


def rewritten_rows(snapshots: Iterable[Snapshot], known: frozenset[int], totals: tuple[int, int, int]) -> int | None:
    """Rows of the new files, from the summaries of the call's own commits; None when they cannot be told.

    ``totals`` are the files replaced, files added and bytes replaced of the call: among the replacing snapshots that
    are new since it began (``known`` are the old ones), those are its own whose summaries add up to them.
    """
    fresh = [
        s.summary.additional_properties
        for s in snapshots
        if s.snapshot_id not in known and s.summary is not None and s.summary.operation == Operation.REPLACE
    ]
    fresh = [summary for summary in fresh if CALL_ID not in summary and "deleted-data-files" in summary]
    for count in range(1, min(len(fresh), _MOST_COMBINED) + 1):
        for chosen in combinations(fresh, count):
            if _are_of(chosen, totals):
                return _sum(chosen, "added-records")
    return _sum(fresh, "added-records") if _are_of(fresh, totals) else None


def _are_of(summaries: Sequence[Mapping[str, str]], totals: tuple[int, int, int]) -> bool:
    replaced, added, size = totals
    removed = _sum(summaries, "removed-files-size")
    # Bytes of deletion vectors that went with their files are in the summaries, not in the call's count.
    same = removed >= size if _sum(summaries, "removed-delete-files") else removed == size
    return same and (_sum(summaries, "deleted-data-files"), _sum(summaries, "added-data-files")) == (replaced, added)


def _sum(summaries: Iterable[Mapping[str, str]], name: str) -> int:
    return sum(int(summary.get(name, "0")) for summary in summaries)


def presto_error(error: ProcessionError, name: str) -> ProcessionError:
    """Iceberg's own failures, which arrive as text, under the codes that our path gives them."""
    if error.code is not ErrorCode.REMOTE_TASK_ERROR:
        return error
    words = _PREFIX.sub("", error.message)
    # Java's class stands in what Spark said, or is that of the client's exception.
    text = f"{type(error.__cause__).__name__}: {error.__cause__}: {error.message}"
    if _UNKNOWN.search(text):
        return CommitOutcomeUnknownError(
            ErrorCode.PROCEDURE_CALL_FAILED, f"Commit to {name} has an unknown outcome: {words}"
        )
    if _CONFLICT.search(text):
        return ProcessionError(ErrorCode.TRANSACTION_CONFLICT, f"{name}: {words}", retriable=True)
    if _REFUSED.search(text):
        return ProcessionError(ErrorCode.NOT_SUPPORTED, f"{name}: {words}")
    if _WRONG.search(text) or _TWICE.search(text):
        return ProcessionError(ErrorCode.INVALID_PROCEDURE_ARGUMENT, f"{name}: {words}")
    return error
