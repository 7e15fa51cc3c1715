"""What manifests call their files, and no more: a third of the work of reading whole entries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from pyiceberg.io import FileIO
from pyiceberg.manifest import DataFileContent, ManifestEntryStatus, ManifestFile
from pyiceberg.types import NestedField, StructType

from coordinator.connectors.iceberg.manifests.avro_files import decoding, iceberg_schema, open_avro
from coordinator.connectors.iceberg.manifests.reader import STATISTICS, Step, file_reader, skipper, unhurried_garbage

FileName = tuple[str, DataFileContent, int]
"""Location, content and size in bytes of a data or delete file."""
_DATA_FILE = 2
_STATUS, _PATH, _CONTENT, _SIZE, _ELSEWHERE = range(5)
_PLACES = {0: _STATUS, 100: _PATH, 134: _CONTENT, 104: _SIZE}
"""By field id."""
_DELETED = ManifestEntryStatus.DELETED.value


def read_names(io: FileIO, manifest: ManifestFile) -> list[FileName]:
    """Of each live entry only what the file is called, is for, and how large.

    Raises what PyIceberg raises for files that cannot be read, and ValueError for broken ones.
    """
    with unhurried_garbage(), decoding(manifest.manifest_path):
        file = open_avro(io.new_input(manifest.manifest_path))
        steps = _name_steps(file.schema_text)
        found: list[FileName] = []
        values: list[Any] = [None, None, None, None, None]
        for count, decoder in file.blocks():
            for _ in range(count):
                values[_CONTENT] = DataFileContent.DATA
                for place, read in steps:
                    values[place] = read(decoder)
                if values[_STATUS] != _DELETED:
                    found.append((values[_PATH], values[_CONTENT], values[_SIZE]))
        return found


@lru_cache(maxsize=64)
def _name_steps(schema_text: str) -> tuple[Step, ...]:
    steps: list[Step] = []
    for field in iceberg_schema(schema_text).fields:
        if field.field_id == _DATA_FILE and isinstance(field.field_type, StructType):
            steps += _named_steps(field.field_type.fields)
        else:
            steps += _named_steps((field,))
    return tuple(steps)


def _named_steps(fields: Sequence[NestedField]) -> Iterator[Step]:
    skipped: list[NestedField] = []
    for field in fields:
        if field.field_id in STATISTICS:
            skipped.append(field)
            continue
        if skipped:
            yield _ELSEWHERE, skipper(skipped)
            skipped = []
        yield _PLACES.get(field.field_id, _ELSEWHERE), file_reader(field)
    if skipped:
        yield _ELSEWHERE, skipper(skipped)
