"""Kernel ``probe:run``: whether the row groups of files can be copied as they are, from their footers alone.

Files can be copied together when each has exactly the table's columns, by field id and type, in the table's order,
and all have one schema and one codec. Source: parquet.thrift (SchemaElement), Iceberg specification, appendix A.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from . import wire
from .deletes import Positions, read_positions
from .equality_reach import chunk_places, may_reach
from .fetching import side_by_side
from .footer import BLOOM_LENGTH, BLOOM_OFFSET, chunk_range, column_meta, columns, read_footer, row_groups, shape
from .lineage import LAST_UPDATED, ROW_ID
from .lineage_chunks import holds_lineage
from .rowgroups import opened
from .schema import FieldJson, arrow_field, parts
from .storage import normalize
from .tasks import DeleteFile, Input, Probed, ProbeTask, RowGroups
from .thrift import Struct, encode

_AT_ONCE = 16
_DECIMALS = ("integers", "fixed")
CODECS = ("uncompressed", "snappy", "gzip", "lzo", "brotli", "lz4", "zstd", "lz4_raw")
_BOOLEAN, _INT32, _INT64, _INT96, _FLOAT, _DOUBLE, _BYTES, _FIXED = range(8)
_PHYSICAL: Mapping[str, int] = {
    "boolean": _BOOLEAN, "int": _INT32, "long": _INT64, "float": _FLOAT, "double": _DOUBLE, "date": _INT32,
    "time": _INT64, "timestamp": _INT64, "timestamptz": _INT64, "timestamp_ns": _INT64, "timestamptz_ns": _INT64,
    "string": _BYTES, "binary": _BYTES, "uuid": _FIXED,
}  # fmt: skip
_ANEW = ("variant", "geometry", "geography")
_UNITS = {"time": 2, "timestamp": 2, "timestamptz": 2, "timestamp_ns": 3, "timestamptz_ns": 3}
_CONVERTED_MICROS = (8, 10)
_LINEAGE = (ROW_ID, LAST_UPDATED)
_MOST_ROWS = 4_000_000
"""Of a row group, for whose ids some 30 bytes a row are needed for a moment."""
_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")


def run(payload: bytes) -> bytes:
    """The Probed of a ProbeTask; the first file that cannot be copied ends the look."""
    task = wire.decode(ProbeTask, payload)
    types: set[str] = set()
    codecs: set[str] = set()
    reason = None
    groups: list[RowGroups] = []
    wanted = {normalize(item.path) for item in task.inputs if item.positions}
    positions = read_positions(task.position_deletes, wanted, task.storage)
    stored = [field for field in task.fields if field["id"] not in _LINEAGE]
    alike, places = set(_DECIMALS), chunk_places(task.fields)
    shapes = {(way, len(of)): shape(_written(of, way)) for way in _DECIMALS for of in (task.fields, stored)}
    for item, footer in _footers(task.inputs, task.storage):
        types.add(_kind(footer))
        codecs |= _codecs(footer)
        holds = holds_lineage(footer)
        fields = task.fields if holds else stored
        reason = _reason(footer, fields) or _reason_of_lineage(item, footer, task.fields)
        if reason is not None:
            reason = f"{reason}: {item.path}"
            break
        name, found = normalize(item.path), shape(footer)
        deleted = [positions[i][name] for i in item.positions if name in positions[i]]
        equal = [task.equality_deletes[number] for number in item.equality]
        groups.append(_row_groups(item.path, footer, deleted, partial(_reached, places=places, deletes=equal)))
        alike = {way for way in alike if shapes[way, len(fields)] == found}
    decimals = [way for way in _DECIMALS if way in alike]
    return wire.encode(Probed(task.group, sorted(types), sorted(codecs), reason, groups, decimals))


def _footers(inputs: Sequence[Input], storage: Mapping[str, str]) -> Iterator[tuple[Input, Struct]]:
    def footer_of(item: Input) -> Struct:
        with opened(item.path, storage) as source:
            return read_footer(source, source.size())

    for start in range(0, len(inputs), _AT_ONCE):
        some = inputs[start : start + _AT_ONCE]
        yield from zip(some, side_by_side(footer_of, some, lambda item: item.path), strict=True)


def _written(fields: Sequence[FieldJson], decimals: str) -> Struct:
    """The footer of a file that we write."""
    sink = io.BytesIO()
    schema = pa.schema([arrow_field(field) for field in fields])
    pq.ParquetWriter(sink, schema, store_schema=False, store_decimal_as_integer=decimals == "integers").close()
    raw = sink.getvalue()
    return read_footer(pa.BufferReader(raw), len(raw))


def _reached(group: Struct, places: Mapping[int, int], deletes: Sequence[DeleteFile]) -> bool:
    return any(may_reach(group, places, delete) for delete in deletes)


def _row_groups(
    path: str, footer: Struct, deleted: Sequence[Positions], reached: Callable[[Struct], bool]
) -> RowGroups:
    sizes, touched = list[int](), list[int]()
    first = 0
    every = np.unique(np.concatenate(deleted)) if deleted else np.zeros(0, np.int64)
    for number, group in enumerate(row_groups(footer)):
        ranges = [chunk_range(chunk) for chunk in columns(group)]
        sizes.append(max(end for _, end in ranges) - min(start for start, _ in ranges))
        rows = group[3][1]
        if np.searchsorted(every, first) < np.searchsorted(every, first + rows) or reached(group):
            touched.append(number)
        first += rows
    return RowGroups(path, sizes, touched)


def _kind(footer: Struct) -> str:
    """A digest of what the files of a copy must share: the schema and the meaning of bounds."""
    return hashlib.sha256(encode({k: footer[k] for k in (2, 7) if k in footer})).hexdigest()[:16]


def _codecs(footer: Struct) -> set[str]:
    found = {column_meta(chunk)[4][1] for group in row_groups(footer) for chunk in columns(group)}
    return {CODECS[number] if number < len(CODECS) else str(number) for number in found}


def _reason(footer: Struct, fields: Sequence[FieldJson]) -> str | None:
    elements: list[Struct] = footer[2][1][1]
    for name, type_ in (leaf for field in fields for leaf in _leaves(field)):
        if type_.startswith(_ANEW):
            return f"column {name} of type {type_} is written anew"
    carried = [element[9][1] for element in elements[1:] if 9 in element]
    if not carried:
        return "a file has no field ids"
    if carried != [number for field in fields for number in _ids(field)]:
        return "a file has other columns than the table has today"
    primitive = [element for element in elements[1:] if not element.get(5, (0, 0))[1]]
    for element, (field, type_) in zip(primitive, (leaf for f in fields for leaf in _leaves(f)), strict=True):
        if not fits(element, type_):
            return f"column {field} has another type in a file"
    for group in row_groups(footer):
        for chunk in columns(group):
            if 8 in chunk or 9 in chunk:
                return "a file is encrypted"
            meta = column_meta(chunk)
            if BLOOM_OFFSET in meta and BLOOM_LENGTH not in meta:
                return "a file has bloom filters of unknown length"
    return None


def _reason_of_lineage(item: Input, footer: Struct, fields: Sequence[FieldJson]) -> str | None:
    """In format version 3: rows without ids, or some that hold their own beside others that do not."""
    if not any(field["id"] == ROW_ID for field in fields):
        return None
    if not holds_lineage(footer):
        if item.first_row_id is None or item.sequence is None:
            return "its rows have no ids yet"
        most = max((group[3][1] for group in row_groups(footer)), default=0)
        return f"a row group has {most} rows, whose ids would all be held at once" if most > _MOST_ROWS else None
    for group in row_groups(footer):
        for chunk in columns(group)[-len(_LINEAGE) :]:
            statistics = column_meta(chunk).get(12, (0, {}))[1]
            if statistics.get(3, (0, 1))[1]:
                return "some of its rows hold no ids of their own"
    return None


def _ids(field: FieldJson) -> Iterator[int]:
    yield field["id"]
    for child in parts(field["type"]):
        yield from _ids(child)


def _leaves(field: FieldJson) -> Iterator[tuple[str, str]]:
    if isinstance(field["type"], str):
        yield field["name"], field["type"]
    for child in parts(field["type"]):
        yield from _leaves(child)


def fits(element: Struct, type_: str) -> bool:
    """Whether a primitive column of a file is stored as Iceberg stores ``type_``."""
    physical = element[1][1]
    if found := _DECIMAL.fullmatch(type_):
        return physical in (_INT32, _INT64, _FIXED) and _decimal(element) == (int(found[1]), int(found[2]))
    if type_.startswith("fixed["):
        return bool(physical == _FIXED and element[2][1] == int(type_[6:-1]))
    if _PHYSICAL.get(type_) != physical:
        return False
    return type_ not in _UNITS or _unit(element) == _UNITS[type_]


def _decimal(element: Struct) -> tuple[int, int]:
    return element[8][1] if 8 in element else 0, element[7][1] if 7 in element else 0


def _unit(element: Struct) -> int | None:
    """2 for microseconds, 3 for nanoseconds: the number in the union of units."""
    logical: dict[int, Any] = element[10][1] if 10 in element else {}
    for number in (7, 8):
        if number in logical:
            unit: Struct = logical[number][1][2][1]
            return next(iter(unit), None)
    return 2 if 6 in element and element[6][1] in _CONVERTED_MICROS else None
