"""Filters by keys of several columns: ``(a = 1 AND b = 'x') OR (a = 2 AND b = 'y') OR …``, as programs write them.

DuckDB tries such terms one by one: a million rows by 3,000 of them take half a minute, by a list of rows 0.3 seconds.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from coordinator.unparser.conditions import MANY, compared, terms_of
from shared.plan.expressions import Constant, RowExpression, SpecialForm, Variable

Render = Callable[[RowExpression], exp.Expr]


def row_list(condition: RowExpression, render: Render) -> exp.Expr | None:
    """The condition with a list of rows, where it is one of a filter, to which false and NULL are the same.

    None where it is no such choice. A key that holds NULL is in no list, while the terms say NULL or false of it.
    """
    if not isinstance(condition, SpecialForm) or condition.form != "OR":
        return None
    keys = [_key(term) for term in terms_of(condition, "OR")]
    first = keys[0]
    if len(keys) < MANY or first is None or len(first) < 2:
        return None
    rows: dict[tuple[str, ...], tuple[Constant, ...]] = {}
    for key in keys:
        if key is None or key.keys() != first.keys():
            return None
        row = tuple(key[column] for column in first)
        rows[tuple(value.valueBlock for value in row)] = row
    # The first column by itself tells which parts of files need no look.
    leading = {row[0].valueBlock: row[0] for row in rows.values()}
    listed = exp.In(this=render(next(iter(first))), expressions=[render(value) for value in leading.values()])
    columns = exp.Tuple(expressions=[render(column) for column in first])
    every = [exp.Tuple(expressions=[render(value) for value in row]) for row in rows.values()]
    return exp.And(this=listed, expression=exp.In(this=columns, expressions=every))


def _key(term: RowExpression) -> dict[Variable, Constant] | None:
    """The value of each column in a conjunction of comparisons; None where there is anything else in it."""
    found: dict[Variable, Constant] = {}
    for part in terms_of(term, "AND"):
        one = compared(part, "equal")
        if one is None or one[0] in found:
            return None
        found[one[0]] = one[1]
    return found
