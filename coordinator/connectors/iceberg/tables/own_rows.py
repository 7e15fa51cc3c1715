"""Rows of tables that Spark does not load, as those with times of day: an engine computes them, and PyIceberg writes
them in this process. One append holds all of them; the names of the files hold the write's id, as Spark's do.
"""

from __future__ import annotations

import itertools
import logging
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import cast

import pyarrow as pa
from pyiceberg.exceptions import ValidationException
from pyiceberg.io.pyarrow import _dataframe_to_data_files, _get_field_from_arrow_table, schema_to_pyarrow
from pyiceberg.manifest import DataFile
from pyiceberg.schema import Schema, index_by_id
from pyiceberg.table import Table, Transaction
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.snapshots import Operation
from pyiceberg.types import LongType, MapType, NestedField

from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.failures import CommitOutcomeUnknownError, mapped
from coordinator.connectors.iceberg.numbers import number_or
from coordinator.connectors.iceberg.snapshots.cherry_pick import STAGED
from coordinator.connectors.iceberg.snapshots.edit_files import Check, EditFiles
from coordinator.connectors.iceberg.snapshots.own import QUERY_ID
from coordinator.connectors.iceberg.spark_types import unknown_to_spark
from coordinator.connectors.iceberg.tables.append_outcome import AppendOutcome
from coordinator.connectors.iceberg.tables.open_writes import open_write
from coordinator.connectors.iceberg.tables.stored_columns import stored_batch
from coordinator.connectors.iceberg.tables.write_audit import Audited
from coordinator.connectors.iceberg.tables.written_types import check_foreign
from coordinator.connectors.iceberg.tables.zeros_apart import zeros_apart
from coordinator.kernels.lineage import ROW_ID
from shared.errors import ErrorCode, ProcessionError
from shared.spi.table_writes import LeftToEngineError, RowsOfQuery, TableWrite, WriteContext

_PART_BYTES = 64 << 20
"""Of rows in memory: each part becomes a file a partition, or several by the table's target size."""
_PARQUET = "parquet"
FEW_FILES = 100
"""Of one statement, beyond which Spark's workers are faster, where it can write them."""
_SMALLEST = 1 << 16
"""Bytes of files that a table may ask for: of smaller ones a statement would make any number."""
_OF_SPARK = ("write.location-provider.", "write.parquet.bloom-filter-", "encryption.")
"""Properties by which Spark writes, and PyIceberg does not."""
_NOT_WRITTEN = (pa.ArrowException, ValueError, TypeError, ArithmeticError, NotImplementedError, LookupError)
"""What types and values beyond PyIceberg's come to, such as years that Python's dates have not."""
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Place:
    """Where rows go: a branch of the table or, with ``audited.wap_id``, a snapshot that nobody reads yet."""

    table: Table
    branch: str | None = None
    audited: Audited = field(default_factory=Audited)


def write_own(catalog: TableCatalog, place: Place, write: TableWrite, rows: RowsOfQuery, context: WriteContext) -> bool:
    """Whatever ``rows`` computes, whose columns are those of the table in its order; no snapshot where there are none.

    False, and nothing is written, where Spark can do it and the table or the rows are better left to it. Raises
    ProcessionError: nothing was committed, unless it says otherwise, and what was written is removed.
    """
    if not write.after:
        check_foreign(place.table, write)
        check_format(place.table, "insert")
    elif not suits(place.table):
        return False
    try:
        _write(catalog, place, write, rows, context)
    except ProcessionError as error:
        if not may_leave(write, error):
            raise
        _LOG.info("%s: Spark writes its rows: %s", context.query_id, error.message)
        return False
    return True


def may_leave(write: TableWrite, error: ProcessionError) -> bool:
    """Whether Spark may do what failed here: what is too much, or met a store that Spark asks for longer."""
    unknown = isinstance(error, CommitOutcomeUnknownError)
    failed = error.code is ErrorCode.ICEBERG_FILESYSTEM_ERROR and not unknown
    return bool(write.after) and (failed or isinstance(error, LeftToEngineError))


def suits(table: Table) -> bool:
    """Whether what Spark would make of few rows is what PyIceberg makes of them."""
    plain = _format(table) == _PARQUET and _target_size(table) >= _SMALLEST and not unknown_to_spark(table)
    checked = {column.field_id for column in table.schema().fields}
    fields = index_by_id(table.schema())
    keys = {f.field_type.key_id for f in fields.values() if isinstance(f.field_type, MapType)}  # always required
    required = any(field.required for number, field in fields.items() if number not in checked | keys)
    return plain and not asks_for_spark(table) and not required and table.sort_order().is_unsorted


def asks_for_spark(table: Table) -> bool:
    """Whether its properties say how to write in ways that only Spark knows."""
    return any(name.startswith(_OF_SPARK) for name in table.properties)


def _write(catalog: TableCatalog, place: Place, write: TableWrite, rows: RowsOfQuery, context: WriteContext) -> None:
    table = place.table
    context.procedure.check_cancelled()
    write_id = str(uuid.uuid4())
    head = table.snapshot_by_name(place.branch or MAIN_BRANCH)
    base = None if head is None else head.snapshot_id
    outcome = AppendOutcome(catalog, write.schema, table, write_id, context.query_id, base)
    with (
        catalog.late_writes.recorded(open_write(write_id, write.schema, table), outcome.is_settled),
        mapped(f"{write.schema}.{write.table}"),
    ):
        batches = (cast(pa.RecordBatch, batch) for batch in rows())
        most = FEW_FILES if write.after else None
        with catalog.row_room.limited(batches, has_limits=bool(write.after)) as limited:
            files = list(written_files(table, limited, write_id, context, most_files=most))
        context.procedure.check_cancelled()
        if files:
            _commit(place, files, context.query_id, outcome)


def check_format(table: Table, verb: str) -> None:
    """Raises NOT_SUPPORTED for files that are not made here. ``verb``: what is to be done with its rows."""
    file_format, size = _format(table), _target_size(table)
    if file_format != _PARQUET or size < _SMALLEST:
        made = file_format if file_format != _PARQUET else f"of {size} bytes"
        message = f"Cannot {verb} rows of table {'.'.join(table.name())}: its files are to be {made}"
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, message)


def _format(table: Table) -> str:
    return table.properties.get("write.format.default", _PARQUET).lower()


def _target_size(table: Table) -> int:
    return number_or(table.properties.get("write.target-file-size-bytes"), _SMALLEST)


def written_files(
    table: Table,
    rows: Iterable[pa.RecordBatch],
    write_id: str,
    context: WriteContext,
    *,
    lineage: bool = False,
    most_files: int | None = None,
) -> Iterator[DataFile]:
    """The files of rows, whose columns are those of the table; ``lineage``: behind the row id that each keeps.

    Raises ProcessionError for values that are not written here, and for more files than ``most_files``.
    """
    written = 0
    numbers = itertools.count()
    metadata = _with_row_ids(table.metadata) if lineage else table.metadata
    try:
        schema = schema_to_pyarrow(metadata.schema(), include_field_ids=False)
        for part in _parts(rows, schema):
            written += _partitions(metadata, part) if most_files is not None else 0
            if most_files is not None and written > most_files:  # before any of them is written
                message = f"Rows of table {'.'.join(table.name())} go into more than {most_files} files"
                raise LeftToEngineError(ErrorCode.EXCEEDED_LOCAL_MEMORY_LIMIT, message)
            for piece in zeros_apart(part, metadata.schema(), metadata.spec()):
                for file in _dataframe_to_data_files(metadata, piece, table.io, uuid.UUID(write_id), numbers):
                    context.procedure.check_cancelled()  # those that other threads still write are looked for later
                    file.spec_id = table.metadata.default_spec_id  # which PyIceberg gives and does not keep
                    yield file
    except _NOT_WRITTEN as error:
        message = f"Rows of table {'.'.join(table.name())} cannot be written: {error}"
        raise LeftToEngineError(ErrorCode.NOT_SUPPORTED, message) from error


def _partitions(metadata: TableMetadata, part: pa.Table) -> int:
    """How many partitions its rows go into."""
    schema, spec = metadata.schema(), metadata.spec()
    keys = {}
    for each in spec.fields:
        column = _get_field_from_arrow_table(part, str(schema.find_column_name(each.source_id)))
        made = each.transform.pyarrow_transform(schema.find_field(each.source_id).field_type)
        keys[str(each.field_id)] = made(column)
    return int(pa.table(keys).group_by(list(keys)).aggregate([]).num_rows) if keys else 1


def _with_row_ids(metadata: TableMetadata) -> TableMetadata:
    """With the reserved column of row ids before all others, for files of rows that had one before."""
    schema = metadata.schema()
    fields = [NestedField(ROW_ID, "_row_id", LongType(), required=False), *schema.fields]
    extended = Schema(*fields, schema_id=schema.schema_id, identifier_field_ids=schema.identifier_field_ids)
    others = [each for each in metadata.schemas if each.schema_id != schema.schema_id]
    return metadata.model_copy(update={"schemas": [*others, extended]})


def _parts(rows: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.Table]:
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in rows:
        if not batch.num_rows:
            continue
        made = stored_batch(batch, schema)
        _check_not_null(made, schema)
        held.append(made)
        size += made.nbytes
        if size >= _PART_BYTES:
            yield pa.Table.from_batches(held)
            held, size = [], 0
    if held:
        yield pa.Table.from_batches(held)


def _check_not_null(batch: pa.RecordBatch, schema: pa.Schema) -> None:
    for kept, column in zip(schema, batch.columns, strict=True):
        if not kept.nullable and column.null_count:
            message = f"NULL value not allowed for NOT NULL column: {kept.name}"
            raise ProcessionError(ErrorCode.CONSTRAINT_VIOLATION, message)


def _commit(place: Place, files: list[DataFile], query_id: str, outcome: AppendOutcome) -> None:
    check = same_layout(place.table)
    branch, properties = snapshot_place(place, query_id)

    def stage(table: Table) -> Transaction:
        transaction = table.transaction()
        EditFiles(transaction, Operation.APPEND, added=files, check=check, properties=properties, branch=branch).stage()
        return transaction

    outcome.commit(stage)


def same_layout(table: Table) -> Check:
    """Refuses to commit files that were written for the columns and partitions of ``table`` where it has others."""
    written, spec = table.schema().fields, table.spec()

    def check(newest: TableMetadata) -> None:
        # New columns beside the written ones are NULL.
        known = {column.field_id: column.field_type for column in newest.schema().fields}
        kept = all(known.get(column.field_id) == column.field_type for column in written)
        if not kept or newest.specs().get(spec.spec_id) != spec:
            raise ValidationException("columns or partitions of the table were changed meanwhile")

    return check


def snapshot_place(place: Place, query_id: str) -> tuple[str | None, Mapping[str, str]]:
    """The branch that a statement's snapshot goes to, None for one that nobody reads yet, and its properties."""
    properties: Mapping[str, str] = {QUERY_ID: query_id, "engine-name": "procession"}
    if place.audited.wap_id is not None:
        return None, {**properties, STAGED: place.audited.wap_id}
    return place.branch or MAIN_BRANCH, properties
