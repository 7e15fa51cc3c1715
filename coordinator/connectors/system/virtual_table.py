"""Tables whose rows the coordinator makes when a query reads them: description, plan handles, rows."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import Context, copy_context
from dataclasses import dataclass
from itertools import islice
from typing import Any, cast

import pyarrow as pa

from coordinator.connectors.system.wanted import Wanted, wanted_of
from coordinator.values.arrow_types import source_type
from shared.plan.nodes import TableHandle, TableScanNode
from shared.spi.connector import ColumnMetadata, TableMetadata
from shared.spi.relation import ArrowStream, RowsRelation

_BATCH_ROWS = 8192


Rows = Callable[[Wanted], Iterable[Sequence[Any]]]
Described = tuple[str, Mapping[str, str], Rows]
"""Name, columns with their Presto types, rows."""


@dataclass(frozen=True, slots=True)
class VirtualTable:
    """``columns`` maps names to Presto types; ``rows`` makes Python values in that order, at least those wanted."""

    schema: str
    name: str
    columns: Mapping[str, str]
    rows: Rows


def varchars(names: str) -> dict[str, str]:
    """Columns of type varchar, from their names parted by blanks."""
    return dict.fromkeys(names.split(), "varchar")


def typed(columns: str) -> dict[str, str]:
    """Columns from ``name type, name type``; a name alone is a varchar."""
    parts = (entry.strip().partition(" ") for entry in columns.split(","))
    return {name: type_ or "varchar" for name, _, type_ in parts}


def system_table(catalog: str, table: VirtualTable) -> TableMetadata:
    """As the planner sees a table of a connector's system tables: Presto's SystemTableHandle and its layout."""
    connector_id = f"$system@{catalog}"
    head = {"@type": "system", "connectorId": connector_id}
    handle = {**head, "schemaName": table.schema, "tableName": table.name}
    columns = tuple(ColumnMetadata(name, type_, {**head, "columnName": name}) for name, type_ in table.columns.items())
    transaction = {"@type": "$system", "connectorId": connector_id, "transactionId": str(uuid.uuid4())}
    layout = {**head, "table": handle, "constraint": {"columnDomains": []}}
    return TableMetadata(
        catalog,
        table.schema,
        table.name,
        columns,
        TableHandle(
            connectorId=connector_id,
            connectorHandle=handle,
            transaction=transaction,
            connectorTableLayout=layout,
        ),
    )


def rows_relation(scan: TableScanNode, table: VirtualTable) -> RowsRelation:
    """What a scan of the table reads: at least one column, since Arrow cannot count rows that have none."""
    wanted = dict.fromkeys(str(handle["columnName"]) for handle in scan.assignments.values())
    return RowsRelation(scan.table.connectorId, scan.table, tuple(wanted) or (next(iter(table.columns)),))


def read_rows(table: VirtualTable, relation: RowsRelation) -> ArrowStream:
    """The wanted rows as a stream of batches with the columns of ``relation``. Raises what making the rows raises."""
    places = {name: index for index, name in enumerate(table.columns)}
    indexes = [places[name] for name in relation.columns]
    schema = pa.schema([(name, source_type(table.columns[name])) for name in relation.columns])
    rows = iter(table.rows(wanted_of(relation.handle)))
    # Engines take the batches on threads of their own, which know nothing of whose statement it is.
    whose = copy_context()
    return cast(ArrowStream, pa.RecordBatchReader.from_batches(schema, _batches(rows, indexes, schema, whose)))


def _batches(
    rows: Iterator[Sequence[object]], indexes: Sequence[int], schema: pa.Schema, whose: Context
) -> Iterator[pa.RecordBatch]:
    while chunk := whose.run(lambda: list(islice(rows, _BATCH_ROWS))):
        arrays = [pa.array([row[i] for row in chunk], field.type) for i, field in zip(indexes, schema, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)
