"""What the planner knows of a table at one snapshot, said once a metadata file, which never changes."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from dataclasses import replace

from msgspec.structs import replace as changed
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from coordinator.connectors.iceberg.handles import (
    column_handle,
    columns_changed,
    hidden_handle,
    new_transaction,
    partition_key_ids,
    table_handle,
)
from coordinator.connectors.iceberg.numbers import whole_number
from coordinator.connectors.iceberg.row_position import hidden_columns
from coordinator.connectors.iceberg.statistics.columns import distinct_values
from coordinator.connectors.iceberg.types import presto_type
from coordinator.expressions.types import type_text
from coordinator.vocabulary.table_versions import digest
from shared.spi.connector import ColumnMetadata, TableMetadata

_CACHED = 256
_LEAST_LEFT = 0.1
"""The share of its records that a table with deletes is taken to have at least: after a rewrite that left the deletes
of the old files behind, all rows would seem to be gone, and a large table taken for an empty one costs most."""


class Descriptions:
    """The descriptions of one catalog's tables, the latest ones kept; thread-safe.

    A plan looks at each of its tables at least once, and describing one takes longer than finding it.
    """

    def __init__(self, catalog: str) -> None:
        self._catalog = catalog
        self._known: OrderedDict[tuple[object, ...], TableMetadata] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, schema: str, name: str, table: Table, snapshot: Snapshot | None, *, pinned: bool) -> TableMetadata:
        """As ``describe``, with a digest, in a transaction of its own."""
        key = (table.metadata_location, schema, name, None if snapshot is None else snapshot.snapshot_id, pinned)
        with self._lock:
            known = self._known.get(key)
            if known is not None:
                self._known.move_to_end(key)
        if known is not None:
            return replace(known, handle=changed(known.handle, transaction=new_transaction()))
        found = describe(self._catalog, schema, name, table, snapshot, pinned=pinned)
        found = replace(found, digest=digest(found))
        with self._lock:
            self._known[key] = found
            while len(self._known) > _CACHED:
                self._known.popitem(last=False)
        return found


HIDDEN_COLUMNS = (
    ColumnMetadata("$path", "varchar", hidden_handle(2147483646, "$path", "varchar"), nullable=False, hidden=True),
    ColumnMetadata(
        "$data_sequence_number",
        "bigint",
        hidden_handle(2147482646, "$data_sequence_number", "bigint"),
        nullable=False,
        hidden=True,
    ),
    ColumnMetadata(
        "$deleted", "boolean", hidden_handle(2147483644, "$deleted", "boolean"), nullable=False, hidden=True
    ),
)
"""The file of a row, the sequence number of the snapshot that added it, and whether the row is deleted: a query that
reads ``"$deleted"`` sees deleted rows too."""


def _in_paths(table: Table, schema: Schema) -> tuple[str, ...]:
    """The columns that the table is partitioned by, or was when files of it were written."""
    sources = {part.source_id for spec in table.specs().values() for part in spec.fields}
    names = {schema.find_column_name(source) for source in sources} - {None}
    return tuple(
        column.name.lower()
        for column in schema.fields
        if any(name == column.name or str(name).startswith(f"{column.name}.") for name in names)
    )


def describe(
    catalog: str, schema: str, name: str, table: Table, snapshot: Snapshot | None, *, pinned: bool
) -> TableMetadata:
    """What the planner knows of ``table`` at ``snapshot``; ``pinned`` takes that snapshot's schema (time travel)."""
    iceberg_schema = _schema_at(table, snapshot) if pinned else table.schema()
    keys = partition_key_ids(table.spec())
    columns = tuple(
        ColumnMetadata(
            name=field.name.lower(),
            type=type_text(presto_type(field.field_type)),
            handle=column_handle(field, partition_key=field.field_id in keys),
            nullable=field.optional,
            comment=field.doc,
            is_partition_key=field.field_id in keys,
        )
        for field in iceberg_schema.fields
    )
    snapshot_id = None if snapshot is None else snapshot.snapshot_id
    return TableMetadata(
        catalog=catalog,
        schema=schema,
        name=name,
        columns=columns,
        path_tells=_in_paths(table, iceberg_schema),
        handle=table_handle(catalog, schema, name, table.metadata, iceberg_schema, snapshot_id),
        snapshot_id=snapshot_id,
        columns_changed=snapshot is not None and columns_changed(snapshot, iceberg_schema),
        row_count=_live_rows(snapshot),
        size_bytes=_total(snapshot, "total-files-size"),
        comment=table.properties.get("comment"),
        # A table's own columns of these names win.
        hidden_columns=tuple(
            hidden
            for hidden in (*HIDDEN_COLUMNS, *hidden_columns(table))
            if all(hidden.name != column.name for column in columns)
        ),
        distinct_values=distinct_values(table, snapshot),
        location=table.location(),
    )


def _schema_at(table: Table, snapshot: Snapshot | None) -> Schema:
    if snapshot is None or snapshot.schema_id is None:
        return table.schema()
    return table.schemas().get(snapshot.schema_id, table.schema())


def _live_rows(snapshot: Snapshot | None) -> int | None:
    """Rows of a snapshot: without deletes all of them are there, with deletes only reading would tell, and this
    estimates.

    Positions that are deleted twice, or in files that are gone, count in the summary as well: it may know of more
    deletes than there are rows. How many rows an equality delete takes out nobody has counted, so none here.
    """
    records = _total(snapshot, "total-records")
    if not records or _total(snapshot, "total-delete-files") == 0:
        return records
    deleted = _total(snapshot, "total-position-deletes") or 0
    return max(records - deleted, math.ceil(_LEAST_LEFT * records))


def _total(snapshot: Snapshot | None, key: str) -> int | None:
    if snapshot is None:
        return 0
    if snapshot.summary is None:
        return None
    return whole_number(snapshot.summary.additional_properties.get(key))
