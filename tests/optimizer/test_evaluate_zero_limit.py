"""LIMIT 0 is no rows, whatever is below it."""

from __future__ import annotations

from tests.optimizer.rule_cases import RuleCases

RULE = "evaluate_zero_limit"


def test_a_limit_of_zero(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT n_name FROM nation LIMIT 0",
        """
        Output[n_name]
          Limit[0]
            Scan[nation: n_name]
        """,
        """
        Output[n_name]
          Values[n_name: no rows]
        """,
    )


def test_an_order_before_it(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT n_name FROM nation ORDER BY n_name LIMIT 0",
        """
        Output[n_name]
          TopN[0 by (n_name ASC_NULLS_LAST)]
            Scan[nation: n_name]
        """,
        """
        Output[n_name]
          Values[n_name: no rows]
        """,
    )


def test_an_offset_before_it(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT n_name FROM nation OFFSET 3 LIMIT 0",
        """
        Output[n_name]
          Limit[0]
            Offset[3]
              Scan[nation: n_name]
        """,
        """
        Output[n_name]
          Values[n_name: no rows]
        """,
    )


def test_the_rows_counted_are_none(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT count(*) FROM (SELECT 1 FROM nation LIMIT 0)",
        """
        Output[count]
          Aggregate
              count := count(*)
            Limit[0]
              Scan[nation: ]
        """,
        """
        Output[count]
          Aggregate
              count := count(*)
            Values[: no rows]
        """,
    )


def test_a_scalar_subquery_is_null(rule: RuleCases) -> None:
    """The single row is made above the limit."""
    rule.fires(
        RULE,
        "SELECT n_name, (SELECT r_name FROM region LIMIT 0) FROM nation",
        """
        Output[n_name, expr]
          CrossJoin[] => n_name, expr
            Scan[nation: n_name]
            Project[expr := r_name]
              EnforceSingleRow
                Limit[0]
                  Scan[region: r_name]
        """,
        """
        Output[n_name, expr]
          CrossJoin[] => n_name, expr
            Scan[nation: n_name]
            Project[expr := r_name]
              EnforceSingleRow
                Values[r_name: no rows]
        """,
    )


def test_nothing_is_in_it(rule: RuleCases) -> None:
    """NOT IN of no rows is true."""
    rule.fires(
        RULE,
        "SELECT n_name FROM nation WHERE n_nationkey NOT IN (SELECT r_regionkey FROM region LIMIT 0)",
        """
        Output[n_name]
          Project[n_name]
            Filter[not(expr)]
              SemiJoin[expr := n_nationkey IN r_regionkey]
                Scan[nation: n_nationkey, n_name]
                Limit[0]
                  Scan[region: r_regionkey]
        """,
        """
        Output[n_name]
          Project[n_name]
            Filter[not(expr)]
              SemiJoin[expr := n_nationkey IN r_regionkey]
                Scan[nation: n_nationkey, n_name]
                Values[r_regionkey: no rows]
        """,
    )


def test_other_limits_stay(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT n_name FROM nation ORDER BY n_name LIMIT 1",
        """
        Output[n_name]
          TopN[1 by (n_name ASC_NULLS_LAST)]
            Scan[nation: n_name]
        """,
    )
