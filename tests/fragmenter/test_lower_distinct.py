"""DISTINCT aggregates as workers run them: the plans, and their rows beside DuckDB's of the statement."""

from __future__ import annotations

import textwrap

import pytest

from coordinator.fragmenter.lower_distinct import lower_distinct
from coordinator.vocabulary.identifiers import PlanNodeIds
from shared.plan.nodes import OutputNode
from tests.drawing import drawn
from tests.optimizer.rule_cases import TIDY, RuleCases


@pytest.fixture
def cases(rule_cases: RuleCases) -> RuleCases:
    return rule_cases


def lowered(cases: RuleCases, sql: str) -> tuple[OutputNode, OutputNode]:
    """The plans before and after, whose rows are those of the statement."""
    _, before = cases.planned(TIDY[1], sql)
    after = lower_distinct(before, PlanNodeIds.after(before))
    assert isinstance(after, OutputNode)
    cases.same_rows(sql, before, after)
    assert cases.rows(after) is not None
    return before, after


def plan(text: str) -> str:
    return textwrap.dedent(text).strip("\n")


def test_one_set_of_columns_is_grouped_first(cases: RuleCases) -> None:
    sql = "SELECT c_nationkey, count(DISTINCT c_mktsegment) FROM customer GROUP BY c_nationkey"
    assert drawn(lowered(cases, sql)[1]) == plan(
        """
        Output[c_nationkey, count]
          Aggregate[c_nationkey]
              count := count(c_mktsegment)
            Aggregate[c_nationkey, c_mktsegment]
              Scan[customer: c_nationkey, c_mktsegment]
        """
    )


def test_several_are_marked_one_after_the_other(cases: RuleCases) -> None:
    """As a Presto server does: the mark of each says whether a row is the first of its group with the value."""
    sql = (
        "SELECT c_nationkey, count(DISTINCT c_mktsegment), sum(c_acctbal), sum(DISTINCT c_custkey), "
        "max(DISTINCT c_mktsegment) FROM customer GROUP BY c_nationkey"
    )
    assert drawn(lowered(cases, sql)[1]) == plan(
        """
        Output[c_nationkey, count, sum, sum_1, max]
          Aggregate[c_nationkey]
              count := count(c_mktsegment) (mask = c_mktsegment_1)
              sum := sum(c_acctbal)
              sum_1 := sum(c_custkey) (mask = c_custkey_2)
              max := max(c_mktsegment) (mask = c_mktsegment_1)
            MarkDistinct[distinct=c_nationkey:bigint, c_custkey:bigint marker=c_custkey_2]
              MarkDistinct[distinct=c_nationkey:bigint, c_mktsegment:varchar(10) marker=c_mktsegment_1]
                Scan[customer: c_custkey, c_nationkey, c_acctbal, c_mktsegment]
        """
    )


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(DISTINCT c_nationkey), count(*) FROM customer",
        "SELECT count(DISTINCT c_nationkey) FROM customer WHERE c_custkey < 0",
        "SELECT count(DISTINCT nullif(c_nationkey, 3)), count(DISTINCT c_mktsegment) FROM customer",
        "SELECT count(DISTINCT n_regionkey), avg(DISTINCT n_regionkey) FROM nation",
        "SELECT n_regionkey, count(DISTINCT n_regionkey), count(n_name) FROM nation GROUP BY n_regionkey",
        "SELECT n_regionkey, count(DISTINCT n_nationkey % 2), count(DISTINCT n_nationkey % 3) FROM nation GROUP BY 1",
        "SELECT sum(k), count(DISTINCT k) FROM "
        "(SELECT count(DISTINCT c_mktsegment) k FROM customer GROUP BY c_nationkey)",
    ],
)
def test_rows(cases: RuleCases, sql: str) -> None:
    before, after = lowered(cases, sql)
    assert after is not before


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(DISTINCT c_nationkey) FILTER (WHERE c_custkey < 9), count(*) FROM customer",
        "SELECT count(*), sum(c_acctbal) FROM customer",
        "SELECT array_agg(DISTINCT n_regionkey ORDER BY n_regionkey), count(*) FROM nation",
    ],
)
def test_what_has_a_condition_or_an_order_stays(cases: RuleCases, sql: str) -> None:
    before, after = lowered(cases, sql)
    assert after is before
