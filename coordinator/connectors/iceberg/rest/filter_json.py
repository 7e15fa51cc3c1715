"""A predicate as the REST protocol has it (Iceberg's REST specification, ``Expression``).

Columns go by their ids to the names that the table has for them now, and values are written as Iceberg's single values
in JSON (specification, appendix D), which PyIceberg does for values of Iceberg's own types alone.
"""

from __future__ import annotations

from pyiceberg.conversions import to_json
from pyiceberg.expressions import (
    AlwaysFalse,
    And,
    BooleanExpression,
    BoundEqualTo,
    BoundGreaterThan,
    BoundGreaterThanOrEqual,
    BoundIn,
    BoundIsNull,
    BoundLessThan,
    BoundLessThanOrEqual,
    BoundNotNull,
    BoundPredicate,
    Or,
)
from pyiceberg.expressions.visitors import bind
from pyiceberg.schema import Schema
from pyiceberg.types import PrimitiveType

_Json = dict[str, object] | bool
_COMPARISONS: dict[type[BoundPredicate], str] = {
    BoundEqualTo: "eq",
    BoundGreaterThan: "gt",
    BoundGreaterThanOrEqual: "gt-eq",
    BoundLessThan: "lt",
    BoundLessThanOrEqual: "lt-eq",
}
_TESTS: dict[type[BoundPredicate], str] = {BoundIsNull: "is-null", BoundNotNull: "not-null"}


def filter_json(predicate: BooleanExpression, schema: Schema, now: Schema) -> _Json:
    """``predicate`` over ``schema``, by the names of ``now``; what cannot be said lets all rows through."""
    return _json(bind(schema, predicate, case_sensitive=True), now)


def _json(found: BooleanExpression, now: Schema) -> _Json:
    match found:
        case And(left=left, right=right):
            return _joined("and", _json(left, now), _json(right, now), neutral=True)
        case Or(left=left, right=right):
            return _joined("or", _json(left, now), _json(right, now), neutral=False)
        case AlwaysFalse():
            return False
        case BoundPredicate():
            return _predicate(found, now)
        case _:
            return True


def _joined(word: str, left: _Json, right: _Json, *, neutral: bool) -> _Json:
    """Without ``neutral`` sides; the other constant decides alone."""
    if (not neutral) in (left, right):
        return not neutral
    if left == neutral:
        return right
    return left if right == neutral else {"type": word, "left": left, "right": right}


def _predicate(found: BoundPredicate, now: Schema) -> _Json:
    field = found.term.ref().field
    name = now.find_column_name(field.field_id)
    if name is None or not isinstance(field.field_type, PrimitiveType):
        return True
    try:
        if isinstance(found, BoundIn):
            values = sorted((to_json(field.field_type, each.value) for each in found.literals), key=str)
            return {"type": "in", "term": name, "values": values}
        if (word := _COMPARISONS.get(type(found))) is not None:
            return {"type": word, "term": name, "value": to_json(field.field_type, found.literal.value)}  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        return True
    return {"type": _TESTS[type(found)], "term": name} if type(found) in _TESTS else True
