"""``sorted_by`` of a rewrite: columns with directions, one ``zorder(a, b)`` or ``hilbert(a, b)``; Presto's rules.

Source: Presto ``SortFieldUtils`` and ``RewriteDataFilesProcedure`` (PR 27561), Iceberg's ``sort_order`` argument.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.sorting import NullOrder, SortDirection, SortField
from pyiceberg.transforms import IdentityTransform

from coordinator.connectors.iceberg.spark_sql import quoted_name
from shared.errors import ErrorCode
from shared.spi.procedure import ArgumentError

_NAME = r'"(?:[^"]|"")+"|[^\s(),"]+'
_COLUMN = re.compile(rf"\s*({_NAME})(?:\s+(ASC|DESC))?(?:\s+NULLS\s+(FIRST|LAST))?\s*", re.IGNORECASE)
_CURVE = re.compile(r"\s*(?:zorder|hilbert)\b", re.IGNORECASE)
_CURVE_CALL = re.compile(rf"\s*(zorder|hilbert)\s*\(\s*((?:{_NAME})(?:\s*,\s*(?:{_NAME}))*)\s*\)\s*", re.IGNORECASE)


Curve = Literal["zorder", "hilbert"]


@dataclass(frozen=True, slots=True)
class SortColumn:
    """One column to sort by. Without a null order, nulls are least, as in Iceberg."""

    name: str
    direction: Literal["ASC", "DESC"] = "ASC"
    nulls: Literal["FIRST", "LAST"] = "FIRST"


@dataclass(frozen=True, slots=True)
class SortedBy:
    """What to sort by; along a ``curve`` through all columns, their directions say nothing."""

    columns: tuple[SortColumn, ...]
    curve: Curve | None = None


def parse_sorted_by(entries: Sequence[str]) -> SortedBy:
    """The parsed argument; raises ProcessionError with Presto's texts. Columns are not looked up."""
    curved = [entry for entry in entries if _CURVE.match(entry) and _COLUMN.fullmatch(entry) is None]
    if not curved:
        return SortedBy(tuple(_sort_column(entry) for entry in entries))
    word = curved[0].split("(")[0].split()[0].lower()
    if len(curved) > 1:
        raise _invalid(f"Multiple {word}(...) expressions are not supported in sorted_by")
    if len(entries) > 1:
        raise _invalid(
            f"Cannot mix {word} function with regular column names in sorted_by. "
            f"Use either columns or a single {word}(...) expression."
        )
    call = _CURVE_CALL.fullmatch(curved[0])
    if call is None:
        raise _invalid(f"Malformed {word}(...) expression: {curved[0]}")
    names = tuple(SortColumn(_unquoted(name)) for name in re.findall(_NAME, call[2]))
    return SortedBy(names, curve="zorder" if word == "zorder" else "hilbert")


def resolved(sorted_by: SortedBy, table: Table) -> SortedBy:
    """With the table's own spelling of each column; raises ProcessionError when one is missing or the order clashes."""
    names = {field.name.lower(): field.name for field in table.schema().fields}
    missing = [column.name for column in sorted_by.columns if column.name.lower() not in names]
    if missing and sorted_by.curve is not None:
        kind = "Z-order" if sorted_by.curve == "zorder" else "Hilbert"
        raise ArgumentError(
            "sorted_by",
            f"{kind} column(s) not found in table: [{', '.join(missing)}]. "
            f"Available columns: [{', '.join(names.values())}]",
            ErrorCode.COLUMN_NOT_FOUND,
        )
    if missing:
        raise ArgumentError("sorted_by", f"Column not found: {missing[0]}", ErrorCode.COLUMN_NOT_FOUND)
    columns = tuple(SortColumn(names[c.name.lower()], c.direction, c.nulls) for c in sorted_by.columns)
    if sorted_by.curve is None and not _satisfies(columns, table.sort_order().fields, table.schema()):
        raise ArgumentError(
            "sorted_by",
            "Specified sort order is incompatible with the target table's internal sort order",
            ErrorCode.NOT_SUPPORTED,
        )
    return SortedBy(columns, sorted_by.curve)


def sort_order_text(sorted_by: SortedBy) -> str:
    """What Iceberg's parser takes as ``sort_order``; raises ProcessionError for a curve that it does not know."""
    if sorted_by.curve == "hilbert":
        raise ArgumentError(
            "sorted_by",
            "hilbert is not known to Iceberg's own procedure, which has to do this rewrite",
            ErrorCode.NOT_SUPPORTED,
        )
    if sorted_by.curve is not None:
        return f"zorder({', '.join(quoted_name(column.name) for column in sorted_by.columns)})"
    return ", ".join(f"{quoted_name(c.name)} {c.direction} NULLS {c.nulls}" for c in sorted_by.columns)


def _satisfies(columns: Sequence[SortColumn], fields: Sequence[SortField], schema: Schema) -> bool:
    """Whether rows in the order of ``columns`` are also in the table's order: that is a prefix of it."""
    if len(columns) < len(fields):
        return False
    return all(
        isinstance(field.transform, IdentityTransform)
        and schema.find_column_name(field.source_id) == column.name
        and (field.direction == SortDirection.ASC) == (column.direction == "ASC")
        and (field.null_order == NullOrder.NULLS_FIRST) == (column.nulls == "FIRST")
        for column, field in zip(columns, fields, strict=False)
    )


def _sort_column(entry: str) -> SortColumn:
    found = _COLUMN.fullmatch(entry)
    if found is None:
        raise _invalid(f"Unable to parse sort field: [{entry}]")
    direction: Literal["ASC", "DESC"] = "DESC" if (found[2] or "").upper() == "DESC" else "ASC"
    nulls = (found[3] or ("FIRST" if direction == "ASC" else "LAST")).upper()
    return SortColumn(_unquoted(found[1]), direction, "FIRST" if nulls == "FIRST" else "LAST")


def _unquoted(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name


def _invalid(message: str) -> ArgumentError:
    return ArgumentError("sorted_by", message)
