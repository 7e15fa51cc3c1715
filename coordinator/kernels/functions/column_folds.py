"""Aggregates that take whole Arrow columns of a group at once, and so never see its rows one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..types import Type
from .arrow_forms import arrow_type, writer
from .table import Signature

ColumnFold = Callable[[tuple[Type, ...], list[Any]], Any]
"""The kinds of the arguments and their columns to the group's value, None for NULL."""

GroupFold = Callable[[tuple[Type, ...], list[pa.Array], npt.NDArray[np.int64], int], list[object] | None]
"""The same of all groups: with the number of each row's group, and how many there are. None where it has none."""


def row_kinds(signature: Signature) -> tuple[Type, ...]:
    """The types of an aggregate's arguments."""
    return signature.arguments[0].arguments[0].arguments


def of_rows(fold: ColumnFold) -> Callable[[Signature, Any], Any]:
    """The same over rows of Python forms."""

    def call(signature: Signature, rows: Sequence[tuple[Any, ...]] | None) -> Any:
        types = row_kinds(signature)
        columns = []
        for i, type_ in enumerate(types):
            write = writer(type_)
            values = [None if r[i] is None else write(r[i]) for r in rows or ()]
            columns.append(pa.array(values, arrow_type(type_)))
        return fold(types, columns)

    return call


def of_groups(
    fold: ColumnFold, types: tuple[Type, ...], groups: pa.Array, together: GroupFold | None = None
) -> list[object]:
    """The value of each group: of an Arrow array with a list of structs a group."""
    inside = groups.values
    columns = [_column(inside, i, type_) for i, type_ in enumerate(types)]
    bounds = groups.offsets.to_pylist()
    if together is not None and not groups.null_count and bounds:
        parts = [column.slice(bounds[0], bounds[-1] - bounds[0]) for column in columns]
        rows = np.repeat(np.arange(len(groups)), np.diff(bounds))
        found = together(types, parts, rows, len(groups))
        if found is not None:
            return found
    made = []
    for i, known in enumerate(groups.is_valid().to_pylist()):
        start, count = bounds[i], bounds[i + 1] - bounds[i] if known else 0
        made.append(fold(types, [column.slice(start, count) for column in columns]))
    return made


def _column(structs: pa.Array, index: int, type_: Type) -> pa.Array:
    column, wanted = structs.field(index), arrow_type(type_)
    return column if column.type == wanted else column.cast(wanted)


def known_rows(columns: list[pa.Array]) -> list[pa.Array]:
    """The columns without the rows where any value is NULL."""
    for column in columns:
        if column.null_count:
            keep = pc.is_valid(column)
            columns = [other.filter(keep) for other in columns]
            return known_rows(columns)
    return columns
