"""Correlated subqueries give DuckDB's rows, as planned and after every rule of the optimizer."""

from __future__ import annotations

import pytest

from coordinator.optimizer.optimize import optimize
from shared.errors import ErrorCode, ProcessionError
from shared.plan.nodes import OutputNode
from shared.spi.session import Session
from tests.optimizer.rule_cases import TIDY, RuleCases
from tests.planner.correlated_cases import MANY_ROWS, REFUSED, RELATIONS, statements


@pytest.mark.parametrize("sql", statements())
def test_rows(rule_cases: RuleCases, sql: str) -> None:
    _, plan = rule_cases.planned(TIDY[1], RELATIONS + sql, first=TIDY)
    expected = rule_cases.answer(RELATIONS + sql)
    assert rule_cases.rows(plan) == expected
    optimized, _ = optimize(plan, Session(user="test"))
    assert isinstance(optimized, OutputNode)
    assert rule_cases.rows(optimized) == expected


@pytest.mark.parametrize("sql", MANY_ROWS)
def test_several_rows_of_a_scalar_fail(rule_cases: RuleCases, sql: str) -> None:
    _, plan = rule_cases.planned(TIDY[1], RELATIONS + sql, first=TIDY)
    with pytest.raises(ProcessionError, match="Scalar sub-query has returned multiple rows") as failed:
        rule_cases.rows(plan)
    assert failed.value.code is ErrorCode.SUBQUERY_MULTIPLE_ROWS


@pytest.mark.parametrize("sql", REFUSED)
def test_what_is_refused(rule_cases: RuleCases, sql: str) -> None:
    with pytest.raises(ProcessionError, match="Given correlated subquery is not supported") as refused:
        rule_cases.planned(TIDY[1], RELATIONS + sql)
    assert refused.value.code is ErrorCode.UNSUPPORTED_SUBQUERY
