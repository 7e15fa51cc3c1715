"""Changes of rows that Spark does not make, of tables with times of day, or need not, since they are few: an engine
computes which rows and what becomes of them, and one commit adds their deletes and what comes in their place.

Deleted rows are position deletes of version 2, or deletion vectors of version 3. Where ``write.*.mode`` asks for
copies, few rows are Spark's to change; of a table that it does not load nobody makes any.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table, Transaction
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.snapshots import Snapshot

from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.failures import mapped
from coordinator.connectors.iceberg.filters import file_filter
from coordinator.connectors.iceberg.manifests.delete_index import DeleteIndex
from coordinator.connectors.iceberg.manifests.live_files import LiveFile, read_live
from coordinator.connectors.iceberg.numbers import number_or
from coordinator.connectors.iceberg.paths import normalize
from coordinator.connectors.iceberg.rewrite.equality_conversion import directory_of, position_delete_entry
from coordinator.connectors.iceberg.rewrite.planning.parquet_options import delete_output
from coordinator.connectors.iceberg.rewrite.planning.tasks import position_delete
from coordinator.connectors.iceberg.snapshots.metadata_deletes import with_own_names
from coordinator.connectors.iceberg.snapshots.row_delta import Delta, RowDelta
from coordinator.connectors.iceberg.storage import storage_of
from coordinator.connectors.iceberg.tables.append_outcome import AppendOutcome
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
from coordinator.kernels.deletes import read_positions
from coordinator.kernels.errors import KernelError
from coordinator.kernels.positions import write_positions
from shared.errors import ErrorCode, ProcessionError
from shared.spi.table_writes import LeftToEngineError, RowsOfQuery, TableWrite, WriteContext

Positions = npt.NDArray[np.int64]
_NONE: Positions = np.zeros(0, np.int64)
_DELETED = 2
"""The number of DELETE among the operations of a merge row; 1 is INSERT, 3 UPDATE."""
_MOST_ROWS = 50_000_000
"""That one statement takes out: 8 bytes each in this process."""
_LISTED_FILES = 10_000
"""Data and delete files of a table, by its newest snapshot: the manifests of all of them are read for each change."""
_FEW_ROWS = 1_000_000
"""That go: beyond these Spark's workers are faster, where it can do it."""
_MADE_UP = frozenset({"_file", "_pos", "_row_id"})
_SIDE_BY_SIDE = 8
_LOG = logging.getLogger(__name__)
_VERB = {"DELETE": "delete", "UPDATE": "update", "MERGE": "merge"}


@dataclass(slots=True)
class _Changed:
    """Rows by what becomes of them: those that go by file and position, and how many come."""

    kind: str
    few: bool
    """Whether Spark changes them where they are many."""
    positions: dict[str, list[Positions]] = field(default_factory=dict)
    gone: int = 0
    rows: int = 0

    def new_rows(self, batches: Iterator[pa.RecordBatch], width: int) -> Iterator[pa.RecordBatch]:
        """What is to be written of each batch, its last ``width`` columns; the others are taken note of."""
        for batch in batches:
            self.rows += batch.num_rows
            self._note(batch)
            if self.kind == "DELETE":
                continue
            kept = batch.filter(pc.not_equal(batch.column(2), _DELETED)) if self.kind == "MERGE" else batch
            yield kept.select(list(range(batch.num_columns - width, batch.num_columns)))

    def _note(self, batch: pa.RecordBatch) -> None:
        there = batch.select([0, 1]).filter(pc.is_valid(batch.column(0)))
        self.gone += there.num_rows
        if self.few and self.gone > _FEW_ROWS:
            message = f"{self.gone} rows and more go, of at most {_FEW_ROWS}"
            raise LeftToEngineError(ErrorCode.EXCEEDED_LOCAL_MEMORY_LIMIT, message)
        if self.gone > _MOST_ROWS:
            message = f"More than {_MOST_ROWS} rows of one statement go, which the coordinator would keep in memory"
            raise ProcessionError(ErrorCode.EXCEEDED_LOCAL_MEMORY_LIMIT, message)
        files = pc.cast(there.column(0), pa.string()).dictionary_encode()
        numbers = files.indices.to_numpy(zero_copy_only=False)
        places = pc.cast(there.column(1), pa.int64()).to_numpy(zero_copy_only=False)
        for number, path in enumerate(files.dictionary.to_pylist()):
            self.positions.setdefault(normalize(path), []).append(places[numbers == number])

    def by_file(self) -> dict[str, Positions]:
        """Sorted positions. Raises MERGE_TARGET_ROW_MULTIPLE_MATCHES for a row of which two things are to become."""
        found = {}
        while self.positions:  # which is done with: there may be 8 bytes for each of millions of rows
            path, parts = self.positions.popitem()
            found[path] = np.unique(np.concatenate(parts))
        if self.kind != "DELETE" and sum(map(len, found.values())) != self.gone:
            message = "One MERGE target table row matched more than one source row"
            raise ProcessionError(ErrorCode.MERGE_TARGET_ROW_MULTIPLE_MATCHES, message)
        return found


def change_own(
    catalog: TableCatalog, place: Place, write: TableWrite, rows: RowsOfQuery, context: WriteContext
) -> int | None:
    """Rows deleted, updated and inserted, by what ``rows`` computes over the snapshot that was planned.

    Its columns are those of ``coordinator.unparser.own_changes``. None, and nothing is changed, where Spark can do it
    and the table or the rows are better left to it. Raises ProcessionError: nothing was committed, unless it says
    otherwise, and what was written is removed.
    """
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
    mode = table.properties.get(f"write.{write.kind.lower()}.mode", "")
    deletes = table.properties.get("write.delete.format.default", "parquet")
    made = mode.lower() == "merge-on-read" and deletes.lower() == "parquet" and table.format_version > 1
    rows = not asks_for_spark(table) if write.kind == "DELETE" else suits(table)
    return made and rows and not _own_names(table)


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
    changed = _Changed(write.kind, few=bool(write.after))
    with (
        catalog.late_writes.recorded(open_write(write_id, write.schema, table), outcome.is_settled),
        mapped(f"{write.schema}.{write.table}"),
    ):
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
            delta = _delta(table, base, places, files, write, write_id, storage)
            context.procedure.check_cancelled()
            _commit(place, delta, context.query_id, outcome)
    return sum(map(len, places.values())) if write.kind == "DELETE" else changed.rows


def _has_lineage(table: Table) -> bool:
    return table.format_version >= 3


def _check_changeable(table: Table, write: TableWrite, base: Snapshot | None) -> None:
    """Raises ProcessionError for a table whose rows are not changed here, or that was changed since it was planned."""
    check_foreign(table, write)
    check_format(table, _VERB[write.kind])
    name = f"{write.schema}.{write.table}"
    problem = ""
    if table.format_version < 2:
        problem = f"format version 1 has no deletes of rows; CALL {write.catalog}.system.upgrade_format_version first"
    elif own := _own_names(table):
        problem = f"it has a column of its own named {own[0]}"
    if problem:
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, f"Cannot {_VERB[write.kind]} rows of table {name}: {problem}")
    if (None if base is None else base.snapshot_id) != write.snapshot_id:
        message = f"Table {name} was changed while the statement was planned; send it again"
        raise ProcessionError(ErrorCode.TRANSACTION_CONFLICT, message, retriable=True)


def _delta(
    table: Table,
    base: Snapshot | None,
    positions: Mapping[str, Positions],
    files: Sequence[DataFile],
    write: TableWrite,
    write_id: str,
    storage: Mapping[str, str],
) -> Delta:
    lives = read_live(table, base, statistics=False)
    index = DeleteIndex(lives.deletes, table.specs())
    changed = {file.key: file for file in lives.data if file.key in positions}
    if missing := positions.keys() - changed.keys():
        raise ProcessionError(ErrorCode.ICEBERG_MISSING_DATA, f"No data file of the table: {min(missing)}")
    vectors = table.format_version > 2
    known = (
        {key: [d for d in index.of(file) if d.is_position_delete] for key, file in changed.items()} if vectors else {}
    )
    directory = directory_of(table)

    def deleted(numbered: tuple[int, LiveFile]) -> DataFile:
        number, file = numbered
        before = read_positions([position_delete(d) for d in known.get(file.key, ())], {file.key}, storage)
        all_ = np.unique(np.concatenate([positions[file.key], *(b.get(file.key, _NONE) for b in before)]))
        output = delete_output(table.properties, directory, f"{number:05d}-{write_id}-deletes")
        written = write_positions(output, storage, file.path, all_, vectors=vectors)
        return position_delete_entry(written, file, vectors=vectors)

    with ThreadPoolExecutor(_SIDE_BY_SIDE, "deletes") as pool:
        try:
            deletes = list(pool.map(deleted, enumerate(changed.values())))
        except KernelError as error:
            raise ProcessionError(ErrorCode[error.name], error.message) from error
    replaced = [d for found in known.values() for d in found if d.vector is not None]
    return Delta(base, files, deletes, tuple(changed.values()), replaced, _may_match(table, write))


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
