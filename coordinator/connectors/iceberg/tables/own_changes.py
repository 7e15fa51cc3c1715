"""Changes of rows that Spark does not make, of tables with times of day, or need not, since they are few: an engine
computes which rows and what becomes of them, and one commit takes them out and adds what comes in their place.

Where ``write.*.mode`` asks for copies, as by default, the data files go that hold such rows (``copied_files``);
otherwise, and in tables that Spark does not load, the rows go by deletes (``deleted_positions``).
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import cast

import pyarrow as pa
from pyiceberg.table import Table, Transaction
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.snapshots import Snapshot

from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.failures import mapped
from coordinator.connectors.iceberg.filters import file_filter
from coordinator.connectors.iceberg.manifests.live_files import LiveFile
from coordinator.connectors.iceberg.numbers import number_or
from coordinator.connectors.iceberg.snapshots.metadata_deletes import with_own_names
from coordinator.connectors.iceberg.snapshots.row_delta import Delta, RowDelta
from coordinator.connectors.iceberg.spark_types import unknown_to_spark
from coordinator.connectors.iceberg.storage import storage_of
from coordinator.connectors.iceberg.tables.append_outcome import AppendOutcome
from coordinator.connectors.iceberg.tables.changed_rows import ChangedRows
from coordinator.connectors.iceberg.tables.copied_files import with_copies
from coordinator.connectors.iceberg.tables.deleted_positions import with_deletes
from coordinator.connectors.iceberg.tables.files_to_copy import FilesToCopy, may_copy
from coordinator.connectors.iceberg.tables.open_writes import open_write
from coordinator.connectors.iceberg.tables.own_rows import (
    FEW_FILES,
    Place,
    asks_for_spark,
    check_format,
    may_leave,
    same_layout,
    snapshot_place,
    suits,
    written_files,
)
from coordinator.connectors.iceberg.tables.written_types import check_foreign
from shared.errors import ErrorCode, ProcessionError
from shared.spi.table_writes import RowsOfQuery, TableWrite, WriteContext

_LISTED_FILES = 10_000
"""Data and delete files of a table, by its newest snapshot: the manifests of all of them are read for each change."""
_MADE_UP = frozenset({"_file", "_pos", "_row_id"})
_LOG = logging.getLogger(__name__)
_VERB = {"DELETE": "delete", "UPDATE": "update", "MERGE": "merge"}


def change_own(
    catalog: TableCatalog, place: Place, write: TableWrite, rows: RowsOfQuery, context: WriteContext
) -> int | None:
    """Rows deleted, updated and inserted, by what ``rows`` computes over the snapshot that was planned.

    Its columns are those of ``coordinator.unparser.own_changes``. None, and nothing is changed, where Spark can do it
    and the table or the rows are better left to it. Raises ProcessionError: nothing was committed, unless it says
    otherwise, and what was written is removed.
    """
    if write.kind == "DELETE" and unknown_to_spark(place.table):
        write = replace(write, before="", after="")  # nobody else can, and places are all that is needed
    if write.after and not (_suits(place.table, write) and _few_files(place)):
        return None
    try:
        return _change(catalog, place, write, rows, context)
    except ProcessionError as error:
        if not may_leave(write, error):
            raise
        _LOG.info("%s: Spark changes its rows: %s", context.query_id, error.message)
        return None


def _suits(table: Table, write: TableWrite) -> bool:
    """Whether what Spark would make of the change of a few rows is what is made here."""
    match _mode(table, write):
        case "copy-on-write":
            made = may_copy(table)
        case "merge-on-read":
            deletes = table.properties.get("write.delete.format.default", "parquet")
            made = deletes.lower() == "parquet" and table.format_version > 1
        case _:
            return False
    # Where only rows go, an order is no hindrance: the others stay in it.
    rows = not asks_for_spark(table) if write.kind == "DELETE" else suits(table)
    return made and rows and not _own_names(table)


def _mode(table: Table, write: TableWrite) -> str:
    return table.properties.get(f"write.{write.kind.lower()}.mode", "copy-on-write").lower()


def _copies(table: Table, write: TableWrite) -> bool:
    """Whether files go with their rows; never in tables that Spark does not load, since no engine copies many."""
    return bool(write.after) and _mode(table, write) == "copy-on-write"


def _few_files(place: Place) -> bool:
    """Whether it takes no time to go through the manifests of all of them."""
    head = place.table.snapshot_by_name(place.branch or MAIN_BRANCH)
    totals = {} if head is None or head.summary is None else head.summary.additional_properties
    return sum(number_or(totals.get(f"total-{kind}-files"), 0) for kind in ("data", "delete")) <= _LISTED_FILES


def _own_names(table: Table) -> list[str]:
    """Columns with the names of those that Iceberg makes up."""
    return sorted(f.name for f in table.schema().fields if f.name.lower() in _MADE_UP)


def _change(catalog: TableCatalog, place: Place, write: TableWrite, rows: RowsOfQuery, context: WriteContext) -> int:
    table = place.table
    base = table.snapshot_by_name(place.branch or MAIN_BRANCH)
    _check_changeable(table, write, base)
    context.procedure.check_cancelled()
    write_id = str(uuid.uuid4())
    outcome = AppendOutcome(
        catalog, write.schema, table, write_id, context.query_id, None if base is None else base.snapshot_id
    )
    with (
        catalog.late_writes.recorded(open_write(write_id, write.schema, table), outcome.is_settled),
        mapped(f"{write.schema}.{write.table}"),
    ):
        copied = FilesToCopy(table, base) if _copies(table, write) else None
        changed = ChangedRows(write.kind, bool(write.after), copied.add if copied is not None else lambda _key: None)
        batches = (cast(pa.RecordBatch, batch) for batch in rows())
        width = len(table.schema().fields) + _has_lineage(table)
        new = changed.new_rows(batches, width)
        most = FEW_FILES if write.after else None
        with catalog.row_room.limited(new, has_limits=bool(write.after)) as limited:
            files = list(written_files(table, limited, write_id, context, lineage=_has_lineage(table), most_files=most))
        context.procedure.check_cancelled()
        places = changed.by_file()
        if changed.rows:
            storage = storage_of(table, catalog.settings.storage)
            delta = Delta(base, files, _may_match(table, write))
            if copied is None:
                delta = with_deletes(delta, table, places, write_id, storage)
            else:
                delta = with_copies(delta, copied, places, write_id, storage, context.procedure.check_cancelled)
            context.procedure.check_cancelled()
            _commit(place, delta, context.query_id, outcome)
    return sum(map(len, places.values())) if write.kind == "DELETE" else changed.rows


def _has_lineage(table: Table) -> bool:
    return table.format_version >= 3


def _check_changeable(table: Table, write: TableWrite, base: Snapshot | None) -> None:
    """Raises ProcessionError for a table whose rows are not changed here, or that was changed since it was planned."""
    if write.kind != "DELETE":
        check_foreign(table, write)
    check_format(table, _VERB[write.kind])
    name = f"{write.schema}.{write.table}"
    problem = ""
    if table.format_version < 2 and not _copies(table, write):
        problem = f"format version 1 has no deletes of rows; CALL {write.catalog}.system.upgrade_format_version first"
    elif own := _own_names(table):
        problem = f"it has a column of its own named {own[0]}"
    if problem:
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, f"Cannot {_VERB[write.kind]} rows of table {name}: {problem}")
    if (None if base is None else base.snapshot_id) != write.snapshot_id:
        message = f"Table {name} was changed while the statement was planned; send it again"
        raise ProcessionError(ErrorCode.TRANSACTION_CONFLICT, message, retriable=True)


def _may_match(table: Table, write: TableWrite) -> Callable[[LiveFile], bool] | None:
    """Of rows that others add meanwhile, where the table asks for serializable isolation, as it does by default."""
    isolation = table.properties.get(f"write.{write.kind.lower()}.isolation-level", "serializable")
    if isolation.lower() == "snapshot":
        return None
    if write.row_filter is None:
        return lambda _file: True
    return file_filter(with_own_names(write.row_filter), table)


def _commit(place: Place, delta: Delta, query_id: str, outcome: AppendOutcome) -> None:
    check = same_layout(place.table)
    branch, properties = snapshot_place(place, query_id)

    def stage(table: Table) -> Transaction:
        transaction = table.transaction()
        RowDelta(transaction, delta, check=check, properties=properties, branch=branch).stage()
        return transaction

    outcome.commit(stage)
