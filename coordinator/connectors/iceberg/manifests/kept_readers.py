"""PyIceberg's own reading of manifests and their lists, with what a schema means worked out once.

Its commits, scans and snapshots read files by themselves, and a small file takes as long as it takes to understand its
schema: an eighth of the CPU time of many small commits. Files of a table say the same schema in the same words.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

import pyiceberg.avro.file
from pyiceberg.avro.file import AvroFileHeader
from pyiceberg.avro.reader import Reader
from pyiceberg.avro.resolver import resolve_reader
from pyiceberg.schema import Schema
from pyiceberg.typedef import StructProtocol

from coordinator.connectors.iceberg.manifests.avro_files import iceberg_schema

_KEPT = 256
_readers: dict[tuple[object, ...], tuple[Schema, Schema, Reader]] = {}
"""By the identities of both schemas, which live as long as their reader is kept, and the classes that it makes."""


def keep_readers() -> None:
    """Let PyIceberg keep its readers, in this process."""
    type.__setattr__(AvroFileHeader, "get_schema", _schema)
    names = vars(pyiceberg.avro.file)
    names["resolve_reader"] = _reader
    names["construct_reader"] = lambda schema, types: _reader(schema, schema, types, {})


def _schema(header: AvroFileHeader) -> Schema:
    if "avro.schema" not in header.meta:
        raise ValueError("No schema found in Avro file headers")
    text: str | bytes = header.meta["avro.schema"]
    return iceberg_schema(text if isinstance(text, str) else text.decode())


def _reader(
    file: Schema, wanted: Schema, types: dict[int, Callable[..., StructProtocol]], enums: dict[int, Callable[..., Enum]]
) -> Reader:
    key = (id(file), id(wanted), *types.items(), *enums.items())
    known = _readers.get(key)
    if known is None:
        if len(_readers) >= _KEPT:
            _readers.clear()
        known = file, wanted, resolve_reader(file, wanted, types, enums)
        _readers[key] = known
    return known[2]
