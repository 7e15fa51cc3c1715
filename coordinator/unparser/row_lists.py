"""Filters by keys of several columns: ``(a = 1 AND b = 'x') OR (a = 2 AND b = 'y') OR …``, as programs write them.

DuckDB tries such terms one by one: a million rows by 3,000 of them take half a minute, by a list of rows 0.3 seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from coordinator.expressions.failing import may_fail
from coordinator.unparser.conditions import MANY, compared, joined, terms_of
from shared.plan.expressions import Constant, RowExpression, SpecialForm, Variable

Render = Callable[[RowExpression], exp.Expr]
_Key = dict[Variable, Constant]


def row_list(condition: RowExpression, render: Render) -> exp.Expr | None:
    """The condition with lists of rows, where it is one of a filter, to which false and NULL are the same.

    Terms that name the same columns become one list. None where so few do that nothing is gained. A key that holds NULL
    is in no list, while the terms say NULL or false of it.
    """
    if not isinstance(condition, SpecialForm) or condition.form != "OR":
        return None
    keyed = [(term, _key(term)) for term in terms_of(condition, "OR")]
    alike: dict[frozenset[Variable], list[_Key]] = {}
    for _, key in keyed:
        if key is not None and len(key) > 1:
            alike.setdefault(frozenset(key), []).append(key)
    lists = {columns: keys for columns, keys in alike.items() if len(keys) >= MANY}
    rest = [term for term, key in keyed if key is None or frozenset(key) not in lists]
    if not lists or any(may_fail(term) for term in rest):
        return None
    sides = [_list(keys, render) for keys in lists.values()]
    return exp.paren(exp.or_(*sides, *([render(joined(rest, "OR"))] if rest else []), copy=False), copy=False)


def _list(keys: Sequence[_Key], render: Render) -> exp.Expr:
    """One of these rows. The first column by itself tells which parts of files need no look."""
    first = keys[0]
    rows: dict[tuple[str, ...], tuple[Constant, ...]] = {}
    for key in keys:
        row = tuple(key[column] for column in first)
        rows[tuple(value.valueBlock for value in row)] = row
    leading = {row[0].valueBlock: row[0] for row in rows.values()}
    listed = exp.In(this=render(next(iter(first))), expressions=[render(value) for value in leading.values()])
    columns = exp.Tuple(expressions=[render(column) for column in first])
    every = [exp.Tuple(expressions=[render(value) for value in row]) for row in rows.values()]
    return exp.And(this=listed, expression=exp.In(this=columns, expressions=every))


def _key(term: RowExpression) -> _Key | None:
    """The value of each column in a conjunction of comparisons; None where there is anything else in it."""
    found: _Key = {}
    for part in terms_of(term, "AND"):
        one = compared(part, "equal")
        if one is None or one[0] in found:
            return None
        found[one[0]] = one[1]
    return found
