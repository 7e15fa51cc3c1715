"""Columns of Arrow from one form into another: instants in texts, UUIDs."""

from __future__ import annotations

import uuid

import pyarrow as pa
import pyarrow.compute as pc


def plain(array: pa.Array) -> pa.Array:
    """Without an extension or a dictionary around it."""
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def is_text(type_: pa.DataType) -> bool:
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_))


def instants_of_texts(texts: pa.Array, target: pa.DataType) -> pa.Array:
    """Texts such as ``2024-01-01 00:00:00.000 Europe/Berlin``, as engines show times with a zone."""
    parts = pc.split_pattern(texts, " ", max_splits=1, reverse=True)
    local = pc.cast(pc.list_element(parts, 0), pa.timestamp(target.unit), safe=False)
    zones = pc.list_element(parts, 1)
    found = pa.nulls(len(texts), target)
    for zone in (each for each in zones.unique().to_pylist() if each is not None):
        instants = pc.cast(pc.assume_timezone(local, zone, ambiguous="earliest", nonexistent="earliest"), target)
        found = pc.if_else(pc.equal(zones, zone), instants, found)
    return found


def uuid_bytes(array: pa.Array) -> pa.Array:
    """UUIDs, in whatever form an engine gives them, as 16 bytes each."""
    if pa.types.is_fixed_size_binary(array.type):
        return array
    values = [None if v is None else v if isinstance(v, bytes) else uuid.UUID(v).bytes for v in array.to_pylist()]
    return pa.array(values, pa.binary(16))
