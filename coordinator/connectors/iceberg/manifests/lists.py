"""Manifest lists read quickly, and each manifest of them told once: most lists repeat what the one before says.

Of a manifest that was told before, only the path is decoded. Source: Iceberg specification, "Manifest Lists".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from functools import lru_cache
from typing import Any

from pyiceberg.avro.decoder import BinaryDecoder
from pyiceberg.avro.resolver import construct_reader
from pyiceberg.io import FileIO
from pyiceberg.manifest import MANIFEST_LIST_FILE_SCHEMAS, ManifestContent, ManifestFile
from pyiceberg.table.snapshots import Snapshot

from coordinator.connectors.iceberg.manifests.avro_files import decoding, iceberg_schema, open_avro
from coordinator.connectors.iceberg.paths import normalize

_PATH, _CONTENT = 500, 517
_FIELDS = MANIFEST_LIST_FILE_SCHEMAS[2].fields
_PLACES = {field.field_id: place for place, field in enumerate(_FIELDS)}
_CONTENTS = {content.value: content for content in ManifestContent}
_UNREAD = frozenset({507, 519})
"""Bounds of partitions and keys."""
_Step = tuple[int | None, Callable[[BinaryDecoder], object], Callable[[BinaryDecoder], None]]


def manifests_of(io: FileIO, snapshot: Snapshot) -> list[ManifestFile]:
    """The manifests of a snapshot, without row lineage.

    Raises ValueError for a broken list, and what storage raises.
    """
    with decoding(snapshot.manifest_list):
        return snapshot.manifests(io)


def new_manifests(
    io: FileIO, manifest_list: str, reported: set[str], fetched: Future[bytes] | None = None
) -> Iterator[ManifestFile]:
    """The manifests of a list whose normalized paths are not in ``told``, which they are put into.

    They have what is needed to read them; bounds of partitions are left out. ``fetched`` is the list where somebody
    has asked for it already. Raises what PyIceberg raises for files
    that cannot be read.
    """
    with decoding(manifest_list):
        file = open_avro(io.new_input(manifest_list), None if fetched is None else fetched.result())
        steps = _steps(file.schema_text)
        for count, decoder in file.blocks():
            for _ in range(count):
                path = decoder.read_utf8()
                key = normalize(path)
                if key in reported:
                    for _, _, skip in steps[1:]:
                        skip(decoder)
                    continue
                reported.add(key)
                yield _read(path, decoder, steps)


@lru_cache(maxsize=64)
def _steps(schema_text: str) -> tuple[_Step, ...]:
    fields = iceberg_schema(schema_text).fields
    assert fields[0].field_id == _PATH, "manifest_path comes first in every version"
    return tuple(_step(field) for field in fields)


def _step(field: Any) -> _Step:
    reader = construct_reader(field.field_type)
    read, skip = reader.read, reader.skip
    place = None if field.field_id in _UNREAD else _PLACES.get(field.field_id)
    if field.required:
        return place, read, skip
    return place, _optional(read), _optional(skip)


def _optional(step: Callable[[BinaryDecoder], object]) -> Callable[[BinaryDecoder], Any]:
    return lambda decoder: step(decoder) if decoder.read_int() > 0 else None


def _read(path: str, decoder: BinaryDecoder, steps: Sequence[_Step]) -> ManifestFile:
    values: list[Any] = [field.initial_default for field in _FIELDS]
    values[_PLACES[_PATH]] = path
    for place, read, skip in steps[1:]:
        if place is None:
            skip(decoder)
        else:
            values[place] = read(decoder)
    content = values[_PLACES[_CONTENT]]
    values[_PLACES[_CONTENT]] = content if isinstance(content, ManifestContent) else _CONTENTS[content or 0]
    return ManifestFile(*values)
