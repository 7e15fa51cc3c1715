"""The domains of a scan's layout as an Iceberg predicate that is true for at least the same rows."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any

from pyiceberg.expressions import (
    AlwaysFalse,
    AlwaysTrue,
    And,
    BooleanExpression,
    EqualTo,
    GreaterThan,
    GreaterThanOrEqual,
    IsNull,
    LessThan,
    LessThanOrEqual,
    NotNull,
    Or,
)
from pyiceberg.expressions.visitors import bind
from pyiceberg.schema import Schema

from shared.plan.blocks import decode_constant

_FLOATING = ("real", "double")


def predicate_of(layout: Mapping[str, Any] | None, schema: Schema) -> BooleanExpression:
    """What ``push_predicate_into_table_layout`` wrote; domains that the table's types cannot hold let all through."""
    entries = ((layout or {}).get("domainPredicate") or {}).get("columnDomains") or ()
    terms = [_of_column(schema, str(entry["column"]), entry["domain"]) for entry in entries]
    return reduce(And, terms, AlwaysTrue())


def _of_column(schema: Schema, name: str, domain: Mapping[str, Any]) -> BooleanExpression:
    kind = str(domain["values"]["type"])
    ranges = domain["values"].get("ranges", ())
    if kind in _FLOATING and any("valueBlock" not in each["high"] for each in ranges):
        return AlwaysTrue()  # NaN is above all numbers, and no bound of a file tells of it
    parts = [_of_range(name, each) for each in ranges]
    if domain.get("nullAllowed"):
        parts.append(IsNull(name))
    predicate = reduce(Or, parts, AlwaysFalse())
    try:
        bind(schema, predicate, case_sensitive=True)
    except (ValueError, TypeError, NotImplementedError):
        return AlwaysTrue()
    return predicate


def _of_range(name: str, found: Mapping[str, Any]) -> BooleanExpression:
    low, high = found["low"], found["high"]
    if "valueBlock" not in low and "valueBlock" not in high:
        return NotNull(name)
    if low.get("valueBlock") == high.get("valueBlock"):
        return EqualTo(name, _value(low))
    parts: list[BooleanExpression] = []
    if "valueBlock" in low:
        operator = GreaterThanOrEqual if low["bound"] == "EXACTLY" else GreaterThan
        parts.append(operator(name, _value(low)))
    if "valueBlock" in high:
        below = LessThanOrEqual if high["bound"] == "EXACTLY" else LessThan
        parts.append(below(name, _value(high)))
    return reduce(And, parts)


def _value(marker: Mapping[str, Any]) -> Any:
    return decode_constant(str(marker["valueBlock"]), str(marker["type"]))
