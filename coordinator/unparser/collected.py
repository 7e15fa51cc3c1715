"""Aggregates that Spark builds from a collected array: Presto keeps NULLs and an order, ``collect_list`` neither."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from coordinator.unparser.trees import binary, call, case, column, is_null, name, number, text
from shared.plan.nodes import Ordering

_ITEM, _OTHER = "procession_x", "procession_y"


def _structs(values: Sequence[exp.Expr]) -> exp.Expr:
    pairs = [part for i, value in enumerate(values) for part in (text(f"v{i}"), value)]
    return call("named_struct", *pairs)


def _field(item: str, field: str) -> exp.Expr:
    return exp.Dot(this=column(item), expression=name(field))


def _lambda(body: exp.Expr, *parameters: str) -> exp.Expr:
    return exp.Lambda(this=body, expressions=[name(p) for p in parameters])


def _values(collected: exp.Expr, index: int = 0) -> exp.Expr:
    return call("transform", collected, _lambda(_field(_ITEM, f"v{index}"), _ITEM))


def _or_null(collected: exp.Expr, result: exp.Expr) -> exp.Expr:
    """Presto gives NULL for a group without rows, not an empty collection."""
    return case([(binary(exp.GT, call("size", collected.copy()), number(0)), result)])


def _compare(position: int, item: Ordering) -> list[tuple[exp.Expr, exp.Expr]]:
    left, right = _field(_ITEM, f"v{position}"), _field(_OTHER, f"v{position}")
    direction, _, nulls = item.sortOrder.partition("_NULLS_")
    first = number(-1 if nulls == "FIRST" else 1)
    last = number(1 if nulls == "FIRST" else -1)
    less, more = (number(1), number(-1)) if direction == "DESC" else (number(-1), number(1))
    left_null, right_null = is_null(left), is_null(right)
    return [
        (exp.And(this=left_null, expression=exp.Not(this=right_null)), first),
        (exp.And(this=exp.Not(this=left_null.copy()), expression=right_null.copy()), last),
        (binary(exp.LT, left.copy(), right.copy()), less),
        (binary(exp.GT, left.copy(), right.copy()), more),
    ]


def _sorted(collected: exp.Expr, order: Sequence[Ordering], offset: int) -> exp.Expr:
    branches = [branch for i, item in enumerate(order) for branch in _compare(offset + i, item)]
    return call("array_sort", collected, _lambda(case(branches, number(0)), _ITEM, _OTHER))


def collect(
    values: list[exp.Expr], *, distinct: bool, condition: exp.Expr | None, order: Sequence[Ordering]
) -> exp.Expr:
    """The array of the group's rows, as structs ``v0``, ``v1`` …, those of ``order`` last."""
    structs = _structs([*values, *(column(o.variable.name) for o in order)])
    collected = call("collect_list", exp.Distinct(expressions=[structs]) if distinct else structs)
    if condition is not None:
        collected = exp.Filter(this=collected, expression=exp.Where(this=condition))
    return _sorted(collected, order, len(values)) if order else collected


def _array_agg(collected: exp.Expr) -> exp.Expr:
    return _or_null(collected, _values(collected))


def _set_agg(collected: exp.Expr) -> exp.Expr:
    return _or_null(collected, call("array_distinct", _values(collected)))


def _map_agg(collected: exp.Expr) -> exp.Expr:
    known = call("filter", collected, _lambda(exp.Not(this=is_null(_field(_ITEM, "v0"))), _ITEM))
    pairs = call("struct", _field(_ITEM, "v0"), _field(_ITEM, "v1"))
    return _or_null(known, call("map_from_entries", call("transform", known, _lambda(pairs, _ITEM))))


COLLECTED: dict[str, Callable[[exp.Expr], exp.Expr]] = {
    "array_agg": _array_agg,
    "set_agg": _set_agg,
    "map_agg": _map_agg,
}


def collected_call(
    function: str, values: list[exp.Expr], *, distinct: bool, condition: exp.Expr | None, order: Sequence[Ordering]
) -> exp.Expr:
    """One of ``COLLECTED`` on Spark."""
    return COLLECTED[function](collect(values, distinct=distinct, condition=condition, order=order))
