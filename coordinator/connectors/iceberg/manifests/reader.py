"""Manifests read quickly: one tight loop an entry over PyIceberg's Avro decoder, with statistics only when asked for.

They take less than half the CPU of PyIceberg's own reader, and without statistics, or with those of a few columns, a
third of the memory. The entries are PyIceberg's own objects; what its version 2 has no place for (format version 3) is
in ``extras``.
Source: Avro 1.12 specification; Iceberg specification, "Manifests".
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from pyiceberg.avro.decoder import BinaryDecoder
from pyiceberg.avro.resolver import construct_reader
from pyiceberg.io import FileIO
from pyiceberg.manifest import (
    DATA_FILE_TYPE,
    MANIFEST_LIST_FILE_SCHEMAS,
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
)
from pyiceberg.schema import Schema
from pyiceberg.typedef import Record
from pyiceberg.types import (
    BinaryType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
)
from pyiceberg.utils.lazydict import LazyDict

from coordinator.connectors.iceberg.manifests.avro_files import decoding, iceberg_schema, open_avro

Read = Callable[[BinaryDecoder], Any]
Step = tuple[int, Read]
"""Where in the list of values a field goes, and how it is read."""
_ENTRY_PLACES = {0: 0, 1: 1, 3: 2, 4: 3}
_DATA_FILE, _CONTENT, _FORMAT, _PARTITION = 2, 134, 101, 102
_PLACES = {field.field_id: place for place, field in enumerate(DATA_FILE_TYPE[2].fields)}
_EXTRAS = {142: "first_row_id", 143: "referenced_data_file", 144: "content_offset", 145: "content_size_in_bytes"}
STATISTICS = frozenset({108, 109, 110, 125, 128})
"""Sizes, value and null counts and bounds; counts of NaN stay, they are few."""
_COLUMN_SIZES = 108
Statistics = bool | frozenset[int]
"""Which statistics of columns are kept: all, none, or counts and bounds of those with these field ids."""
_CONTENTS = {content.value: content for content in DataFileContent}
_FORMATS = {found.value: found for found in FileFormat}
_STATUSES = {status.value: status for status in ManifestEntryStatus}
FIRST_ROW_ID = len(MANIFEST_LIST_FILE_SCHEMAS[3].fields) - 1
"""Its place in the record of a manifest file; absent from records of lists of earlier versions."""
_set_data = Record.__dict__["_data"].__set__
"""Around DataFile's own slow way to set attributes."""
_DELETED = ManifestEntryStatus.DELETED.value
_MANY_OBJECTS = 100_000
"""A collection of that many takes a tenth of a second, in which no other thread runs."""


class ManifestDataFile(DataFile):
    """A data or delete file with the fields of format version 3, by name; absent ones are not in ``extras``."""

    extras: dict[str, Any]


def read_entries(
    io: FileIO,
    manifest: ManifestFile,
    *,
    statistics: Statistics = True,
    discard_deleted: bool = True,
    data: bytes | None = None,
) -> list[ManifestEntry]:
    """The entries of a manifest with inherited values, as ``ManifestFile.fetch_manifest_entry`` gives them.

    Without ``statistics``, column sizes, counts (but of NaN) and bounds are None; with those of some columns, sizes
    are. ``data`` is the file where somebody has read it. Raises what PyIceberg raises for files that cannot be read,
    and ValueError for broken ones.
    """
    with unhurried_garbage(), decoding(manifest.manifest_path):
        file = open_avro(io.new_input(manifest.manifest_path), data)
        layout = _layout(file.schema_text, statistics=statistics)
        found: list[ManifestEntry] = []
        for count, decoder in file.blocks():
            for _ in range(count):
                entry = layout.read(decoder, manifest, discard_deleted=discard_deleted)
                if entry is not None:
                    found.append(entry)
        if manifest.content == ManifestContent.DATA and len(manifest._data) > FIRST_ROW_ID:
            _inherit_row_ids(found, first_row_id(manifest))
        return found


def first_row_id(manifest: ManifestFile) -> int | None:
    """The first row id that the manifest list gives a manifest; None for lists of earlier versions."""
    data = manifest._data
    return data[FIRST_ROW_ID] if len(data) > FIRST_ROW_ID else None


def _inherit_row_ids(entries: Iterable[ManifestEntry], following: int | None) -> None:
    """Give data files without a first row id the next ones; without one of the manifest, none has any."""
    for entry in entries:
        assert isinstance(entry.data_file, ManifestDataFile)
        extras = entry.data_file.extras
        if following is None:
            extras.pop("first_row_id", None)
        elif entry.status != ManifestEntryStatus.DELETED and "first_row_id" not in extras:
            extras["first_row_id"] = following
            following += entry.data_file.record_count


@contextmanager
def unhurried_garbage() -> Iterator[None]:
    """Without the collector, which would walk all entries again and again while they are made.

    Nor does it walk very many of them at the end: they go to the oldest generation at once, and so does what a service
    froze at its start, which full collections, rare as they are, then walk again.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            if gc.get_count()[0] > _MANY_OBJECTS:
                gc.freeze()
                gc.unfreeze()
            gc.enable()


class _Layout:
    """How the entries of one manifest are read: a step a field, in the order in which they were written."""

    def __init__(self, written: Schema, *, statistics: Statistics) -> None:
        self._before: list[Step] = []
        self._after: list[Step] = []
        self._file: list[Step] = []
        self._extras: list[tuple[int, str]] = []
        steps = self._before
        for field in written.fields:
            if field.field_id == _DATA_FILE:
                assert isinstance(field.field_type, StructType)
                self._file = self._file_steps(field.field_type, statistics=statistics)
                steps = self._after
            else:
                # What has no place is read into the last one, where the data file comes in the end.
                steps.append((_ENTRY_PLACES.get(field.field_id, 4), _reader(field.field_type, field.required)))

    def _file_steps(self, written: StructType, *, statistics: Statistics) -> list[Step]:
        steps: list[Step] = []
        skipped: list[NestedField] = []
        columns = statistics if isinstance(statistics, frozenset) else None
        unread = STATISTICS if not statistics else frozenset() if columns is None else {_COLUMN_SIZES}
        for field in written.fields:
            if field.field_id in unread:
                skipped.append(field)
                continue
            if skipped:
                steps.append((len(_PLACES), skipper(skipped)))
                skipped = []
            place, name = _PLACES.get(field.field_id), _EXTRAS.get(field.field_id)
            if place is None:
                place = len(_PLACES) + len(self._extras) + 1 if name is not None else len(_PLACES)
            if name is not None:
                self._extras.append((place, name))
            read = file_reader(field)
            if columns is not None and field.field_id in STATISTICS:
                read = _of_columns(read, columns)
            steps.append((place, read))
        return [*steps, (len(_PLACES), skipper(skipped))] if skipped else steps

    def read(self, decoder: BinaryDecoder, manifest: ManifestFile, *, discard_deleted: bool) -> ManifestEntry | None:
        values: list[Any] = [None, None, None, None, None]
        for place, read in self._before:
            values[place] = read(decoder)
        file = self._read_file(decoder)
        for place, read in self._after:
            values[place] = read(decoder)
        status = values[0]
        if discard_deleted and status == _DELETED:
            return None
        if values[1] is None:
            values[1] = manifest.added_snapshot_id
        if values[2] is None or values[3] is None:
            self._inherit(values, manifest)
        values[0] = _STATUSES[status]
        file.__dict__["_spec_id"] = manifest.partition_spec_id
        values[4] = file
        entry = _new_entry(ManifestEntry)
        _set_data(entry, values)
        return entry

    @staticmethod
    def _inherit(values: list[object], manifest: ManifestFile) -> None:
        if manifest.sequence_number != 0 and values[0] != 1:
            return
        for place in (2, 3):
            if values[place] is None:
                values[place] = manifest.sequence_number

    def _read_file(self, decoder: BinaryDecoder) -> ManifestDataFile:
        values: list[object] = [None] * (len(_PLACES) + len(self._extras) + 1)
        values[0] = DataFileContent.DATA
        for place, read in self._file:
            values[place] = read(decoder)
        extras = {name: values[place] for place, name in self._extras if values[place] is not None}
        del values[len(_PLACES) :]
        file = _new_file(ManifestDataFile)
        _set_data(file, values)
        file.__dict__["extras"] = extras
        return file


@lru_cache(maxsize=64)
def _layout(schema_text: str, *, statistics: Statistics) -> _Layout:
    return _Layout(iceberg_schema(schema_text), statistics=statistics)


_new_entry, _new_file = ManifestEntry.__new__, ManifestDataFile.__new__


def file_reader(field: NestedField) -> Read:
    match field.field_id:
        case number if number == _CONTENT:
            return lambda decoder: _CONTENTS[decoder.read_int()]
        case number if number == _FORMAT:
            return _read_format
        case number if number == _PARTITION:
            return _optional(construct_reader(field.field_type).read, field.required)
        case _:
            return _reader(field.field_type, field.required)


def _read_format(decoder: BinaryDecoder) -> FileFormat:
    return _FORMATS.get(text := decoder.read_utf8()) or FileFormat(text)


def _optional(read: Read, required: bool) -> Read:
    if required:
        return read
    return lambda decoder: read(decoder) if decoder.read_int() > 0 else None


def _reader(type_: IcebergType, required: bool) -> Read:
    match type_:
        case IntegerType() | LongType():
            return _read_int if required else _read_optional_int
        case StringType():
            return _optional(_read_text, required)
        case BinaryType():
            return _optional(_read_bytes, required)
        case MapType(key_type=IntegerType(), value_type=LongType()):
            return _optional(_read_counts, required)
        case MapType(key_type=IntegerType(), value_type=BinaryType()):
            return _optional(_read_bounds, required)
        case ListType(element_type=IntegerType() | LongType()):
            return _optional(_read_numbers, required)
        case _:
            return _optional(construct_reader(type_).read, required)


def skipper(fields: Sequence[NestedField]) -> Read:
    """Reads over maps of statistics that follow one another: most of what a manifest holds goes this way."""
    steps = [
        (field.required, isinstance(field.field_type, MapType) and isinstance(field.field_type.value_type, BinaryType))
        for field in fields
    ]

    def skip(decoder: BinaryDecoder) -> None:
        read_int = decoder.read_int
        for required, has_bounds in steps:
            if not required and read_int() == 0:
                continue
            while count := read_int():
                if count < 0:
                    decoder.skip(read_int())
                elif has_bounds:
                    decoder.read_int_bytes_dict(count, {})
                else:
                    decoder.read_ints(2 * count)

    return skip


def _read_int(decoder: BinaryDecoder) -> int:
    return decoder.read_int()


def _read_optional_int(decoder: BinaryDecoder) -> int | None:
    return decoder.read_int() if decoder.read_int() > 0 else None


def _read_text(decoder: BinaryDecoder) -> str:
    return decoder.read_utf8()


def _read_bytes(decoder: BinaryDecoder) -> bytes:
    return decoder.read_bytes()


def _of_columns(read: Read, columns: frozenset[int]) -> Read:
    """Reads a map by field id and keeps what it says of ``columns``."""

    def some(decoder: BinaryDecoder) -> dict[int, object] | None:
        found = read(decoder)
        return None if found is None else {column: found[column] for column in columns if column in found}

    return some


def _counts(decoder: BinaryDecoder) -> Iterator[int]:
    """Sizes of the blocks of an array; a negative one is followed by its length in bytes."""
    while count := decoder.read_int():
        if count < 0:
            decoder.skip_int()
        yield abs(count)


def _read_counts(decoder: BinaryDecoder) -> Mapping[int, int]:
    blocks = [decoder.read_ints(2 * count) for count in _counts(decoder)]
    return LazyDict(blocks) if blocks else {}


def _read_bounds(decoder: BinaryDecoder) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    for count in _counts(decoder):
        decoder.read_int_bytes_dict(count, found)
    return found


def _read_numbers(decoder: BinaryDecoder) -> list[int]:
    return [number for count in _counts(decoder) for number in decoder.read_ints(count)]
