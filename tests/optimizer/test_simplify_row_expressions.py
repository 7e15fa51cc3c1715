"""What reads no column is computed while planning; what fails, or is no plain value, stays as it was written."""

from __future__ import annotations

import pytest

from coordinator.expressions.builders import value_of
from shared.plan.expressions import Constant
from shared.plan.nodes import FilterNode
from shared.plan.traversal import expressions, walk, walk_expression
from tests.optimizer.rule_cases import RuleCases

RULE = "simplify_row_expressions"


def test_constants_in_a_condition(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT n_name FROM nation WHERE n_nationkey < 2 * 3 + 1 AND n_name <> upper('fran' || 'ce')",
        """
        Output[n_name]
          Project[n_name]
            Filter[(n_nationkey < (CAST((2 * 3) + 1 AS bigint))) AND ((CAST(n_name AS varchar)) <>
                  (upper(CONCAT('fran', 'ce'))))]
              Scan[nation: n_nationkey, n_name]
        """,
        """
        Output[n_name]
          Project[n_name]
            Filter[(n_nationkey < 7) AND ((CAST(n_name AS varchar)) <> 'FRANCE')]
              Scan[nation: n_nationkey, n_name]
        """,
    )


def test_constants_beside_a_column_in_a_projection(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT n_nationkey + (10 - 3) AS a, IF(n_regionkey = abs(-2), 1, length('abc')) AS b FROM nation",
        """
        Output[a, b]
          Project[a := n_nationkey + (CAST(10 - 3 AS bigint)), b := IF(n_regionkey = (CAST(abs(-2) AS bigint)),
                1, length('abc'))]
            Scan[nation: n_nationkey, n_regionkey]
        """,
        """
        Output[a, b]
          Project[a := n_nationkey + 7, b := IF(n_regionkey = 2, 1, 3)]
            Scan[nation: n_nationkey, n_regionkey]
        """,
    )


def test_what_fails_is_left_to_the_row_that_reaches_it(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT n_name FROM nation WHERE IF(n_nationkey < 0, 1 / 0, n_regionkey) = n_regionkey",
        """
        Output[n_name]
          Project[n_name]
            Filter[(IF(n_nationkey < 0, CAST(1 / 0 AS bigint), n_regionkey)) = n_regionkey]
              Scan[nation: n_nationkey, n_name, n_regionkey]
        """,
    )


def test_what_differs_each_time_and_what_is_nested_stays(rule: RuleCases) -> None:
    before, after = rule.planned(
        RULE, "SELECT contains(ARRAY[1 + 1, 2], n_regionkey), n_nationkey + random() FROM nation"
    )
    assert after is before


def test_a_condition_of_a_join(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT n_name FROM nation JOIN region ON n_regionkey = r_regionkey AND n_nationkey + r_regionkey > 4 * 5",
        """
        Output[n_name]
          InnerJoin[n_regionkey = r_regionkey AND (n_nationkey + r_regionkey) > (CAST(4 * 5 AS bigint))] =>
                n_name
            Scan[nation: n_nationkey, n_name, n_regionkey]
            Scan[region: r_regionkey]
        """,
        """
        Output[n_name]
          InnerJoin[n_regionkey = r_regionkey AND (n_nationkey + r_regionkey) > 20] => n_name
            Scan[nation: n_nationkey, n_name, n_regionkey]
            Scan[region: r_regionkey]
        """,
    )


@pytest.mark.parametrize(
    ("condition", "value"),
    [
        ("o_orderdate < DATE '1998-12-01' - INTERVAL '90' DAY", "1998-09-02"),
        ("o_orderdate < date_trunc('month', DATE '1998-02-28' + INTERVAL '1' MONTH)", "1998-03-01"),
        ("o_totalprice < DECIMAL '1.5' * 2", 3.0),
        ("o_orderkey < CAST('12' AS bigint)", 12),
        ("o_comment < NULLIF('a', 'a')", None),
    ],
)
def test_values(rule: RuleCases, condition: str, value: object) -> None:
    """As a person would compute them."""
    _, after = rule.planned(RULE, f"SELECT 1 FROM orders WHERE {condition}")
    (node,) = (node for node in walk(after) if isinstance(node, FilterNode))
    (predicate,) = expressions(node)
    found = [value_of(part) for part in walk_expression(predicate) if isinstance(part, Constant)]
    assert [str(each) if isinstance(value, str) else each for each in found] == [value]
