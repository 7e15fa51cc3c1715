"""The files that may hold rows of a scan's domains, by what manifests tell of them.

Ranges of integers, dates and texts are compared here where files have no partition values: making PyIceberg's
expressions takes longer than asking a few files. Whatever else is asked is ``filter_of``'s.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyiceberg.conversions import from_bytes
from pyiceberg.manifest import DataFile
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.types import DateType, IntegerType, LongType, PrimitiveType, StringType

from coordinator.connectors.iceberg.filters import FileFilter, filter_of
from coordinator.connectors.iceberg.manifests.live_files import LiveFile
from coordinator.connectors.iceberg.rewrite.planning.groups import Candidate
from coordinator.connectors.iceberg.scans.domains import COMPARED_VALUES, Layout, domains_of, path_filter, predicate_of
from shared.plan.blocks import decode_constant, decode_physical

_COMPARED: Mapping[str, type[PrimitiveType]] = {
    "integer": IntegerType,
    "bigint": LongType,
    "date": DateType,
    "varchar": StringType,
}
"""Types of domains with those of columns whose bounds compare as their values do."""
_Value = Any
"""An integer, or a text: of one column all are alike."""
_End = tuple[_Value, bool] | None
"""Of a range: the value, and whether it belongs to the range. None where the range has no such end."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What is asked of a column, where NULL is not wanted."""

    number: int
    type: PrimitiveType
    required: bool
    ranges: tuple[tuple[_End, _End], ...]


def needed_files(
    files: Sequence[Candidate], layout: Layout, schema: Schema, specs: Callable[[], Mapping[int, PartitionSpec]]
) -> tuple[Candidate, ...]:
    """Those of ``files`` that may hold a row of the layout's domains over ``schema``."""
    if not files or not domains_of(layout):
        return tuple(files)
    wanted = None if any(each.data.partition[1] for each in files) else _wanted(layout, schema)
    by_bounds = filter_of(predicate_of(layout, schema), schema, specs()) if wanted is None else _filter(wanted)
    of_path = path_filter(layout, schema)
    return tuple(each for each in files if of_path(each.data.path) and by_bounds(each.data))


def _wanted(layout: Layout, schema: Schema) -> list[_Wanted] | None:
    """None where another type, or NULL, is asked for."""
    columns = {field.name: field for field in schema.fields}
    found = []
    for entry in domains_of(layout):
        column, domain = columns.get(str(entry["column"])), entry["domain"]
        kind = str(domain["values"]["type"]).partition("(")[0]
        if column is None or domain.get("nullAllowed") or "ranges" not in domain["values"]:
            return None
        stored = column.field_type
        if not isinstance(stored, PrimitiveType) or type(stored) is not _COMPARED.get(kind):
            return None
        found.append(_Wanted(column.field_id, stored, column.required, _ranges(domain["values"]["ranges"], kind)))
    return found


def _ranges(written: Sequence[Mapping[str, Mapping[str, object]]], kind: str) -> tuple[tuple[_End, _End], ...]:
    """Of many single values the least and the greatest: each file is asked for each range."""
    ranges = [(_end(each["low"], kind), _end(each["high"], kind)) for each in written]
    single = sorted(low for low, high in ranges if low is not None and low == high)
    if len(single) <= COMPARED_VALUES:
        return tuple(ranges)
    return ((single[0], single[-1]), *(each for each in ranges if each[0] is None or each[0] != each[1]))


def _end(marker: Mapping[str, object], kind: str) -> _End:
    block, type_ = marker.get("valueBlock"), str(marker["type"])
    if block is None:
        return None
    value = decode_constant(str(block), type_) if kind == "varchar" else decode_physical(str(block), type_)
    return value, marker["bound"] == "EXACTLY"


def _filter(wanted: Sequence[_Wanted]) -> FileFilter:
    def may_match(file: LiveFile) -> bool:
        if file.file.record_count <= 0:
            return file.file.record_count < 0  # which some writers say where they do not know
        try:
            return all(_may_hold(file.file, each) for each in wanted)
        except (struct.error, ValueError, OverflowError):  # a bound that is no value of its type tells nothing
            return True

    return may_match


def _may_hold(file: DataFile, wanted: _Wanted) -> bool:
    if not wanted.required and _is_null_alone(file, wanted.number):
        return False
    least, greatest = (_bound(bounds, wanted) for bounds in (file.lower_bounds, file.upper_bounds))
    return any(_meet(least, greatest, low, high) for low, high in wanted.ranges)


def _is_null_alone(file: DataFile, number: int) -> bool:
    counted = (file.value_counts or {}).get(number)
    return bool(counted) and counted == (file.null_value_counts or {}).get(number)


def _bound(bounds: Mapping[int, bytes] | None, of: _Wanted) -> _Value | None:
    found = (bounds or {}).get(of.number)
    return None if found is None else from_bytes(of.type, found)


def _meet(least: _Value | None, greatest: _Value | None, low: _End, high: _End) -> bool:
    """Whether values of a file between its bounds, where it has them, may be in a range."""
    if low is not None and greatest is not None and (greatest < low[0] or (greatest == low[0] and not low[1])):
        return False
    return high is None or least is None or least < high[0] or (least == high[0] and high[1])
