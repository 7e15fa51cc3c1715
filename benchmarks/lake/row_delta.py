"""Commits as other engines make them, which PyIceberg has no call for: rows and deletes in one snapshot.

Flink's upserts are a data file beside an equality delete file; Spark's MERGE is a data file beside deletion vectors,
each in place of the one that its data file had.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.exceptions import ValidationException
from pyiceberg.io.pyarrow import _dataframe_to_data_files
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat, ManifestContent, ManifestFile
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation, Summary
from pyiceberg.typedef import Record

from coordinator.connectors.iceberg.manifests.fetching import each_entries
from coordinator.connectors.iceberg.manifests.live_files import LiveFile, holds_live, live
from coordinator.connectors.iceberg.manifests.reader import ManifestDataFile
from coordinator.connectors.iceberg.snapshots.producer import SnapshotProducer
from coordinator.connectors.iceberg.snapshots.summary import summarize
from coordinator.kernels.vector_blob import Positions, puffin_with


class RowDelta(SnapshotProducer["RowDelta"]):
    """Adds data and delete files; ``replaced`` vectors go. Every data file of ``about`` must still be live."""

    def __init__(
        self,
        table: Table,
        data: Sequence[DataFile],
        deletes: Sequence[DataFile] = (),
        about: Sequence[LiveFile] = (),
        replaced: Sequence[LiveFile] = (),
    ) -> None:
        transaction = table.transaction()
        super().__init__(Operation.OVERWRITE if deletes else Operation.APPEND, transaction, table.io)
        self._data, self._deletes = list(data), list(deletes)
        self._about, self._replaced = list(about), list(replaced)

    def land(self) -> None:
        """Commit. Raises CommitFailedException, and ValidationException where a file of ``about`` is gone."""
        self.commit()
        self._transaction.commit_transaction()

    def _manifests(self) -> list[ManifestFile]:
        head = self._transaction.table_metadata.snapshot_by_name("main")
        listed = [] if head is None else [m for m in self.listed(head) if holds_live(m)]
        self._check(listed)
        deletes = [m for m in listed if m.content == ManifestContent.DELETES]
        added = self.added_manifests(self._data, ManifestContent.DATA)
        added += self.added_manifests(self._deletes, ManifestContent.DELETES)
        return [*added, *self.remade(listed, self.touched(deletes, self._replaced))]

    def _check(self, listed: Sequence[ManifestFile]) -> None:
        """As Iceberg's ``validateDataFilesExist`` and ``validateAddedDVs``."""
        if not self._about:
            return
        found = [live(entry) for _, entries in each_entries(self._io, listed) for entry in entries]
        known = {file.key for file in found}
        if gone := [file.path for file in self._about if file.key not in known]:
            raise ValidationException(f"Cannot commit, missing data files: {gone[:3]}")
        about, replaced = {file.key for file in self._about}, {file.key for file in self._replaced}
        if any(f.only_data_file in about and f.key not in replaced for f in found if f.is_position_delete):
            raise ValidationException("Cannot commit, found concurrently added vector")

    def _summary(self, snapshot_properties: Mapping[str, str] | None = None) -> Summary:
        return summarize(
            self._transaction.table_metadata,
            self._parent_snapshot_id,
            self._operation,
            added=[*self._data, *self._deletes],
            removed=[file.file for file in self._replaced],
            properties=snapshot_properties,
        )


def make_version_three(table: Table) -> None:
    """A new table in format version 3, which PyIceberg does not write: nobody has read its metadata yet."""
    file = Path(table.metadata_location.removeprefix("file://"))
    file.write_text(json.dumps({**json.loads(file.read_text()), "format-version": 3, "next-row-id": 0}))


def data_files(table: Table, rows: pa.Table) -> list[DataFile]:
    """Rows in files that no snapshot has yet."""
    found = list(_dataframe_to_data_files(table.metadata, rows, table.io, uuid.uuid4()))
    for file in found:
        file.spec_id = table.spec().spec_id
    return found


def equality_file(table: Table, keys: Sequence[int]) -> DataFile:
    """A delete file of the rows whose ``id`` is one of ``keys``, as Flink writes it."""
    number = table.schema().find_field("id").field_id
    schema = pa.schema([pa.field("id", pa.int64(), metadata={"PARQUET:field_id": str(number)})])
    location = f"{table.location()}/data/equality-{uuid.uuid4()}.parquet"
    with table.io.new_output(location).create() as sink:
        pq.write_table(pa.table([list(keys)], schema=schema), sink, store_schema=False)
    file = DataFile.from_args(
        content=DataFileContent.EQUALITY_DELETES,
        file_path=location,
        file_format=FileFormat.PARQUET,
        partition=Record(),
        record_count=len(keys),
        file_size_in_bytes=len(table.io.new_input(location)),
        equality_ids=[number],
        null_value_counts={number: 0},
    )
    file.spec_id = table.spec().spec_id
    return file


def vector_file(table: Table, data: LiveFile, positions: Positions) -> DataFile:
    """A deletion vector of one data file, alone in its Puffin file."""
    content, offset, length = puffin_with(np.sort(positions), data.path)
    location = f"{table.location()}/data/vector-{uuid.uuid4()}.puffin"
    with table.io.new_output(location).create() as sink:
        sink.write(content)
    common: dict[str, Any] = {"file_path": location, "partition": data.file.partition}
    file = ManifestDataFile.from_args(
        content=DataFileContent.POSITION_DELETES,
        file_format=FileFormat.PUFFIN,
        record_count=len(positions),
        file_size_in_bytes=len(content),
        **common,
    )
    file.__dict__["extras"] = {
        "referenced_data_file": data.path,
        "content_offset": offset,
        "content_size_in_bytes": length,
    }
    file.spec_id = data.file.spec_id
    return file
