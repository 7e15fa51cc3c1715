"""The domains of a scan's layout as an Iceberg predicate that is true for at least the same rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import itemgetter
from typing import Any

from pyiceberg.expressions import (
    AlwaysFalse,
    AlwaysTrue,
    And,
    BooleanExpression,
    EqualTo,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNull,
    LessThan,
    LessThanOrEqual,
    NotNull,
    Or,
)
from pyiceberg.expressions.visitors import bind
from pyiceberg.schema import Schema
from pyiceberg.types import TimestampNanoType, TimestamptzNanoType

from coordinator.connectors.iceberg.filters import is_infinite
from coordinator.connectors.iceberg.opaque_types import is_opaque
from coordinator.connectors.iceberg.scans.columns import PATHS
from coordinator.kernels.row_groups_needed import Ranges
from shared.plan.blocks import decode_constant

Layout = Mapping[str, Any] | None
"""A scan's connectorTableLayout."""
_Range = Mapping[str, Mapping[str, object]]
"""Its markers, low and high."""
_FLOATING = ("real", "double")
_RANGED = frozenset(["tinyint", "smallint", "integer", "bigint", "date", "varchar"])
_MAKE: Mapping[str, Any] = {
    "=": EqualTo, ">=": GreaterThanOrEqual, ">": GreaterThan, "<=": LessThanOrEqual, "<": LessThan,
    "null": IsNull, "not null": NotNull, "in": In,
}  # fmt: skip
"""Whose types do not tell that a column's name is taken for the column."""
COMPARED_VALUES = 200
"""Source: PyIceberg's IN_PREDICATE_LIMIT."""


def domains_of(layout: Layout) -> Sequence[Mapping[str, Any]]:
    """What ``push_predicate_into_table_layout`` wrote: a column, by name, and the domain of its values."""
    return ((layout or {}).get("domainPredicate") or {}).get("columnDomains") or ()


def predicate_of(layout: Layout, schema: Schema) -> BooleanExpression:
    """A layout's domains; those that the table's types cannot hold let all through."""
    terms = [_of_column(schema, str(entry["column"]), entry["domain"]) for entry in domains_of(layout)]
    everything: BooleanExpression = AlwaysTrue()
    return reduce(_and, terms, everything)


def ranges_of(layout: Layout, schema: Schema) -> Ranges:
    """The same for the kernels, by field id: of integers, dates and texts, where NULL is not wanted."""
    entries = domains_of(layout)
    numbers = {field.name: field.field_id for field in schema.fields}
    found = {}
    for entry in entries:
        values = entry["domain"]["values"]
        plain = str(values["type"]).partition("(")[0] in _RANGED
        number = numbers.get(str(entry["column"]))  # columns of row lineage are in no schema
        if number is not None and plain and "ranges" in values and not entry["domain"].get("nullAllowed"):
            found[number] = tuple((_bound(each["low"]), _bound(each["high"])) for each in values["ranges"])
    return found


def path_filter(layout: Layout, schema: Schema) -> Callable[[str], bool]:
    """Whether rows of the file at a path may be wanted, by what is asked of ``$path``.

    A column of the table's own of such a name is not meant.
    """
    entries = [entry for entry in domains_of(layout) if entry["column"] in PATHS]
    if not entries:
        return lambda _path: True
    paths = set(PATHS) - {field.name.lower() for field in schema.fields}
    wanted: list[list[tuple[str | None, str | None]]] = []
    for entry in entries:
        values = entry["domain"]["values"]
        if entry["column"] in paths and "ranges" in values and str(values["type"]).startswith("varchar"):
            wanted.append([(_bound(each["low"]), _bound(each["high"])) for each in values["ranges"]])
    return lambda path: all(any(_is_within(path, each) for each in ranges) for ranges in wanted)


def _is_within(path: str, bounds: tuple[str | None, str | None]) -> bool:
    low, high = bounds
    return (low is None or low <= path) and (high is None or path <= high)


def _bound(marker: Mapping[str, object]) -> Any:
    """None for what is not bounded."""
    return decode_constant(str(marker["valueBlock"]), str(marker["type"])) if "valueBlock" in marker else None


def _of_column(schema: Schema, name: str, domain: Mapping[str, Any]) -> BooleanExpression:
    if _is_foreign(schema, name):
        return AlwaysTrue()  # its bounds are no values of the type that is shown
    kind = str(domain["values"]["type"])
    ranges = domain["values"].get("ranges", ())
    if kind in _FLOATING and any("valueBlock" not in each["high"] for each in ranges):
        return AlwaysTrue()  # NaN is above all numbers, and no bound of a file tells of it
    if kind == "real" and any(is_infinite(_bound(each[end])) for each in ranges for end in ("low", "high")):
        return AlwaysTrue()
    single = [each for each in ranges if _is_single(each)]
    parts = [_of_range(name, each) for each in ranges if not _is_single(each)] + _of_values(name, single)
    if domain.get("nullAllowed"):
        parts.append(_MAKE["null"](name))
    nothing: BooleanExpression = AlwaysFalse()
    predicate = reduce(_or, parts, nothing)
    try:
        bind(schema, predicate, case_sensitive=True)
    except (ValueError, TypeError, NotImplementedError):
        return AlwaysTrue()
    return predicate


def _is_single(found: _Range) -> bool:
    return "valueBlock" in found["low"] and found["low"]["valueBlock"] == found["high"].get("valueBlock")


def _of_values(name: str, ranges: Sequence[_Range]) -> list[BooleanExpression]:
    """The single values as one list. Of long ones PyIceberg compares no bounds of files: the least and the greatest."""
    if len(ranges) < 2:
        return [_of_range(name, each) for each in ranges]
    found = [(_bound(each["low"]), each["low"]) for each in ranges]
    listed: BooleanExpression = _MAKE["in"](name, [value for value, _ in found])
    if len(found) <= COMPARED_VALUES:
        return [listed]
    ordered = sorted(found, key=itemgetter(0))
    return [_and(listed, _and(_made(">=", name, ordered[0][1]), _made("<=", name, ordered[-1][1])))]


def _is_foreign(schema: Schema, name: str) -> bool:
    field = next((field for field in schema.fields if field.name == name), None)
    if field is None:
        return False
    return is_opaque(field.field_type) or isinstance(field.field_type, TimestampNanoType | TimestamptzNanoType)


def _of_range(name: str, found: _Range) -> BooleanExpression:
    low, high = found["low"], found["high"]
    if "valueBlock" not in low and "valueBlock" not in high:
        return _null_free(name)
    if low.get("valueBlock") == high.get("valueBlock"):
        return _made("=", name, low)
    parts: list[BooleanExpression] = []
    if "valueBlock" in low:
        parts.append(_made(">=" if low["bound"] == "EXACTLY" else ">", name, low))
    if "valueBlock" in high:
        parts.append(_made("<=" if high["bound"] == "EXACTLY" else "<", name, high))
    return reduce(_and, parts)


def _and(left: BooleanExpression, right: BooleanExpression) -> BooleanExpression:
    return And(left, right)


def _or(left: BooleanExpression, right: BooleanExpression) -> BooleanExpression:
    return Or(left, right)


def _null_free(name: str) -> BooleanExpression:
    made: BooleanExpression = _MAKE["not null"](name)
    return made


def _made(symbol: str, name: str, marker: Mapping[str, object]) -> BooleanExpression:
    value = decode_constant(str(marker["valueBlock"]), str(marker["type"]))
    made: BooleanExpression = _MAKE[symbol](name, value)
    return made
