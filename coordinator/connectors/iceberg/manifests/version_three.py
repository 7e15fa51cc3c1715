"""Manifests and manifest lists of format version 3, which PyIceberg reads in part and does not write.

Row lineage is assigned as Iceberg Java assigns it: a data manifest without a first row id gets the next one when it is
first listed, and its files without one count on from there. Source: Iceberg specification, "Row Lineage".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pyiceberg.avro.file import AvroOutputFile
from pyiceberg.avro.reader import Reader
from pyiceberg.avro.resolver import resolve_reader
from pyiceberg.io import FileIO, OutputFile
from pyiceberg.manifest import (
    DATA_FILE_TYPE,
    MANIFEST_LIST_FILE_SCHEMAS,
    UNASSIGNED_SEQ,
    DataFile,
    ManifestContent,
    ManifestEntry,
    ManifestFile,
    ManifestWriterV2,
    PartitionFieldSummary,
    data_file_with_partition,
    manifest_entry_schema_with_data_file,
)
from pyiceberg.schema import Schema
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.typedef import Record, TableVersion
from pyiceberg.types import IntegerType, ListType, NestedField, StructType

from coordinator.connectors.iceberg.manifests.avro_files import decoding, iceberg_schema, open_avro
from coordinator.connectors.iceberg.manifests.encoding import BlockedAvroFile
from coordinator.connectors.iceberg.manifests.lists import manifests_of
from coordinator.connectors.iceberg.manifests.reader import FIRST_ROW_ID, ManifestDataFile, first_row_id

_LIST_SCHEMA = MANIFEST_LIST_FILE_SCHEMAS[3]
EQUALITY_IDS = NestedField(135, "equality_ids", ListType(136, IntegerType(), element_required=True), required=False)
_OLD_PLACES = {field.field_id: place for place, field in enumerate(DATA_FILE_TYPE[2].fields)}


def list_manifests(io: FileIO, snapshot: Snapshot, version: TableVersion) -> list[ManifestFile]:
    """The manifests of a snapshot, with their first row ids in a table of format version 3."""
    if version < 3:
        return manifests_of(io, snapshot)
    with decoding(snapshot.manifest_list):
        file = open_avro(io.new_input(snapshot.manifest_list))
        reader = _list_reader(file.schema_text)
        return [reader.read(decoder) for count, decoder in file.blocks() for _ in range(count)]


@lru_cache(maxsize=16)
def _list_reader(schema_text: str) -> Reader:
    types: dict[int, Any] = {-1: ManifestFile, 508: PartitionFieldSummary}
    return resolve_reader(iceberg_schema(schema_text), _LIST_SCHEMA, types, {517: ManifestContent})


class ManifestWriterV3(ManifestWriterV2):
    """A manifest of data files, or of delete files with ``deletes``."""

    deletes = False

    def content(self) -> ManifestContent:
        return ManifestContent.DELETES if self.deletes else ManifestContent.DATA

    @property
    def version(self) -> TableVersion:
        return 3

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes" if self.deletes else "data"}

    def _with_partition(self, format_version: TableVersion) -> Schema:  # noqa: ARG002
        # Equality ids are integers: on the longs of PyIceberg's schema Java fails with a ClassCastException.
        file = data_file_with_partition(self._spec.partition_type(self._schema), 3)
        fields = [EQUALITY_IDS if field.field_id == EQUALITY_IDS.field_id else field for field in file.fields]
        return manifest_entry_schema_with_data_file(3, StructType(*fields))

    def new_writer(self) -> AvroOutputFile[ManifestEntry]:
        plain = AvroOutputFile[ManifestEntry](
            output_file=self._output_file,
            file_schema=self._with_partition(3),
            schema_name="manifest_entry",
            metadata=self._meta,
        )
        return BlockedAvroFile.like(plain)

    def prepare_entry(self, entry: ManifestEntry) -> ManifestEntry:
        checked = super().prepare_entry(entry)
        values = [checked.status, checked.snapshot_id, checked.sequence_number, checked.file_sequence_number]
        prepared = ManifestEntry(*values, None)
        prepared._data[4] = _data_file(checked.data_file, keep_row_ids=not self.deletes)
        return prepared


def _data_file(file: DataFile, *, keep_row_ids: bool) -> Record:
    """A data or delete file in the places of version 3."""
    extras = file.extras if isinstance(file, ManifestDataFile) else {}
    if not keep_row_ids:
        extras = {name: value for name, value in extras.items() if name != "first_row_id"}
    return Record(
        *(
            file[_OLD_PLACES[field.field_id]] if field.field_id in _OLD_PLACES else extras.get(field.name)
            for field in DATA_FILE_TYPE[3].fields
        )
    )


@dataclass(frozen=True, slots=True)
class ListedSnapshot:
    """What a manifest list is written for; ``next_row_id`` is the table's."""

    snapshot_id: int
    parent_id: int | None
    sequence_number: int
    next_row_id: int


def write_manifest_list(
    output: OutputFile, manifests: Sequence[ManifestFile], of: ListedSnapshot, compression: str
) -> int:
    """Write the list; how many row ids it assigned (``added-rows`` of the snapshot)."""
    meta = {
        "snapshot-id": str(of.snapshot_id),
        "parent-snapshot-id": "null" if of.parent_id is None else str(of.parent_id),
        "sequence-number": str(of.sequence_number),
        "first-row-id": str(of.next_row_id),
        "format-version": "3",
        "avro.codec": compression,
    }
    listed, assigned = _assigned(manifests, of)
    with AvroOutputFile[Any](
        output_file=output, file_schema=_LIST_SCHEMA, schema_name="manifest_file", metadata=meta
    ) as writer:
        writer.write_block(listed)
    return assigned


def _assigned(manifests: Iterable[ManifestFile], of: ListedSnapshot) -> tuple[list[Record], int]:
    """The manifests as records with sequence numbers and first row ids, and how many row ids that took."""
    records, following = [], of.next_row_id
    for manifest in manifests:
        values = list(manifest._data[:FIRST_ROW_ID])
        for place in (4, 5):
            if values[place] == UNASSIGNED_SEQ:
                values[place] = of.sequence_number
        first = first_row_id(manifest)
        if manifest.content == ManifestContent.DATA and first is None:
            first = following
            following += (manifest.existing_rows_count or 0) + (manifest.added_rows_count or 0)
        records.append(Record(*values, first))
    return records, following - of.next_row_id
