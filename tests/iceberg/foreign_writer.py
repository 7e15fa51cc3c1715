"""Another engine's commits that PyIceberg has no call for: position and equality delete files."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
)
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation, Summary
from pyiceberg.table.update.snapshot import _FastAppendFiles
from pyiceberg.typedef import Record

from coordinator.connectors.iceberg.snapshots.producer import DeleteManifestWriter

PATH, POS = 2147483546, 2147483545


class _RowDelta(_FastAppendFiles):
    deletes: list[DataFile]

    def _manifests(self) -> list[ManifestFile]:
        spec = self._transaction.table_metadata.specs()[self.deletes[0].spec_id]
        output = self.new_manifest_output()
        with DeleteManifestWriter(spec, self.schema(), output, self._snapshot_id, self._compression) as writer:
            for file in self.deletes:
                writer.add_entry(
                    ManifestEntry.from_args(
                        status=ManifestEntryStatus.ADDED, snapshot_id=self._snapshot_id, data_file=file
                    )
                )
        return [*self._existing_manifests(), writer.to_manifest_file()]

    def _summary(self, snapshot_properties: Any = None) -> Summary:
        parent = self._transaction.table_metadata.snapshot_by_id(self._parent_snapshot_id)
        totals = dict(parent.summary.additional_properties)
        totals = {k: v for k, v in totals.items() if k.startswith("total-")}
        added = {"total-delete-files": len(self.deletes), "total-position-deletes": 0, "total-equality-deletes": 0}
        for file in self.deletes:
            by_position = file.content == DataFileContent.POSITION_DELETES
            added["total-position-deletes" if by_position else "total-equality-deletes"] += file.record_count
        totals |= {key: str(int(totals.get(key, 0)) + more) for key, more in added.items()}
        return Summary(operation=Operation.OVERWRITE, **totals)


def delete_positions(
    table: Table, positions: dict[str, Sequence[int]], partition: Record | None = None, branch: str = "main"
) -> None:
    """One position delete file about the given data files, committed to a branch's head."""
    rows = sorted((path, pos) for path, found in positions.items() for pos in found)
    schema = pa.schema(
        [
            pa.field("file_path", pa.string(), metadata={"PARQUET:field_id": str(PATH)}),
            pa.field("pos", pa.int64(), metadata={"PARQUET:field_id": str(POS)}),
        ]
    )
    data = pa.table([[p for p, _ in rows], [i for _, i in rows]], schema=schema)
    low, high = (f(p for p, _ in rows).encode() for f in (min, max))
    _commit(table, data, DataFileContent.POSITION_DELETES, partition, {PATH: low}, {PATH: high}, None, branch)


def delete_equal(
    table: Table,
    keys: pa.Table,
    partition: Record | None = None,
    branch: str = "main",
    bounds: Mapping[str, tuple[bytes, bytes]] | None = None,
) -> None:
    """One equality delete file: rows equal to one of ``keys`` in its columns, with bounds of the columns named."""
    ids = [table.schema().find_field(name).field_id for name in keys.column_names]
    fields = [field.with_metadata({"PARQUET:field_id": str(i)}) for field, i in zip(keys.schema, ids, strict=True)]
    data = pa.table(keys.columns, schema=pa.schema(fields))
    known = {table.schema().find_field(name).field_id: found for name, found in (bounds or {}).items()}
    low, high = ({number: found[end] for number, found in known.items()} for end in (0, 1))
    _commit(table, data, DataFileContent.EQUALITY_DELETES, partition, low, high, ids, branch)


def _commit(
    table: Table,
    data: pa.Table,
    content: Any,
    partition: Record | None,
    low: Any,
    high: Any,
    ids: Any,
    branch: str,
) -> None:
    location = f"{table.location()}/data/delete-{uuid.uuid4()}.parquet"
    with table.io.new_output(location).create() as sink:
        pq.write_table(data, sink, store_schema=False)
    file = DataFile.from_args(
        content=content,
        file_path=location,
        file_format=FileFormat.PARQUET,
        partition=partition or Record(),
        record_count=data.num_rows,
        file_size_in_bytes=len(table.io.new_input(location)),
        lower_bounds=low,
        upper_bounds=high,
        equality_ids=ids,
        null_value_counts=dict(zip(ids or (), (c.null_count for c in data.columns), strict=False)),
    )
    file.spec_id = table.spec().spec_id
    table.refresh()
    transaction = table.transaction()
    producer = _RowDelta(Operation.OVERWRITE, transaction, table.io, branch=branch)
    producer.deletes = [file]
    producer.commit()
    transaction.commit_transaction()
