"""Which row groups equality deletes may reach, by bounds alone: those of the deleted keys and those in the footer."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from .footer import column_meta, columns, single_value, value_order
from .schema import FieldJson, leaves
from .tasks import DeleteFile
from .thrift import Struct

_NO_ORDER = ("float", "double")
"""NaN is in no bounds."""


def chunk_places(fields: Sequence[FieldJson]) -> Mapping[int, int]:
    """The number of the column chunk of each field that is one."""
    return {leaf.id: place for place, leaf in enumerate(leaves(fields)) if leaf.names is not None}


def may_reach(group: Struct, places: Mapping[int, int], delete: DeleteFile) -> bool:
    """False where no row of the row group has a deleted key: one column whose values lie apart is enough."""
    chunks = columns(group)
    return not any(
        _apart(column_meta(chunks[places[field["id"]]]), field["type"], delete.bounds[str(field["id"])])
        for field in delete.fields
        if field["id"] in places and str(field["id"]) in delete.bounds
    )


def _apart(meta: Struct, type_: str, bounds: tuple[str, str, bool]) -> bool:
    lower, upper, nulls = bounds
    found = meta.get(12, (0, {}))[1]
    if type_ in _NO_ORDER or 3 not in found or (nulls and found[3][1]):
        return False
    if found[3][1] == meta[5][1]:
        return True
    if 5 not in found or 6 not in found:
        return False
    least, greatest = (single_value(type_, meta[1][1], found[number][1]) for number in (6, 5))
    order = value_order(type_)
    try:
        return bool(order(greatest) < order(bytes.fromhex(lower)) or order(least) > order(bytes.fromhex(upper)))
    except struct.error:  # of keys that were written under a narrower type
        return False
