"""Interval arithmetic and shares of rows, against the rows themselves."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from coordinator.expressions.builders import constant, function_call, operator
from coordinator.optimizer.rules.late_materialization.estimates import share
from coordinator.optimizer.rules.late_materialization.intervals import Interval, interval
from shared.plan.expressions import Lambda, RowExpression, Variable
from shared.plan.types import parse_type

BIGINT, BOOLEAN = parse_type("bigint"), parse_type("boolean")
NUMBERS = st.integers(-50, 50)
ROWS = st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=20)
ARITHMETIC: dict[str, Any] = {"+": int.__add__, "-": int.__sub__, "*": int.__mul__}
COMPARISONS: dict[str, Any] = {"<": int.__lt__, "<=": int.__le__, ">": int.__gt__, ">=": int.__ge__, "=": int.__eq__}

Tree = Any
"""A column's number, ("value", n), or (symbol, left, right)."""


def trees() -> st.SearchStrategy[Tree]:
    leaves = st.sampled_from([0, 1]) | st.tuples(st.just("value"), NUMBERS)
    return st.recursive(leaves, lambda t: st.tuples(st.sampled_from(list(ARITHMETIC)), t, t), max_leaves=4)


def built(tree: Tree) -> RowExpression:
    match tree:
        case int():
            return Variable(name=f"c{tree}", type="bigint")
        case ("value", number):
            return constant(number, BIGINT)
        case symbol, left, right:
            return operator(symbol, [built(left), built(right)], BIGINT)
        case _:
            raise AssertionError(tree)


def evaluated(tree: Tree, row: tuple[int, int]) -> int:
    match tree:
        case int():
            return row[tree]
        case ("value", number):
            return int(number)
        case symbol, left, right:
            return int(ARITHMETIC[symbol](evaluated(left, row), evaluated(right, row)))
        case _:
            raise AssertionError(tree)


def known(rows: list[tuple[int, int]]) -> dict[str, Interval]:
    columns = list(zip(*rows, strict=True))
    return {f"c{i}": Interval(min(values), max(values), whole=True) for i, values in enumerate(columns)}


@settings(deadline=None)
@given(trees(), ROWS)
def test_every_value_is_inside(tree: Tree, rows: list[tuple[int, int]]) -> None:
    found = interval(built(tree), known(rows))
    assert found is not None
    assert all(found.low <= evaluated(tree, row) <= found.high for row in rows)


def test_a_call_of_a_lambda_is_unknown() -> None:
    tried = function_call("$internal$try", (Lambda(argumentTypes=(), arguments=(), body=built(0)),), BIGINT)
    assert interval(tried, {"c0": Interval(1, 100, whole=True)}) is None


@settings(deadline=None)
@given(trees(), st.sampled_from(list(COMPARISONS)), trees(), ROWS)
def test_shares_of_nothing_and_of_all_are_right(left: Tree, symbol: str, right: Tree, rows: Any) -> None:
    """A share between is a guess; that no row or every row passes must be so."""
    condition = operator(symbol, [built(left), built(right)], BOOLEAN)
    passed = [COMPARISONS[symbol](evaluated(left, row), evaluated(right, row)) for row in rows]
    guess = share(condition, known(rows))
    assert 0 <= guess <= 1
    assert not (guess == 0 and any(passed))
    assert not (guess == 1 and not all(passed))


def test_values_spread_evenly() -> None:
    columns = {"c0": Interval(1, 100, whole=True)}
    for symbol, limit, expected in ((">", 90, 0.1), (">=", 91, 0.1), ("<", 11, 0.1), ("<=", 50, 0.5), ("=", 7, 0.01)):
        condition = operator(symbol, [built(0), constant(limit, BIGINT)], BOOLEAN)
        assert abs(share(condition, columns) - expected) < 1e-9, symbol
