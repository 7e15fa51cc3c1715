"""An outer join is an inner one where the filter above drops what it adds."""

from __future__ import annotations

from tests.drawing import drawn
from tests.optimizer.rule_cases import RuleCases

RULE = "outer_joins_to_inner"


def test_left(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT n_name, s_name FROM nation LEFT JOIN supplier ON s_nationkey = n_nationkey WHERE s_acctbal > 9000",
        """
        Output[n_name, s_name]
          Project[n_name, s_name]
            Filter[s_acctbal > 9000.0]
              LeftJoin[n_nationkey = s_nationkey] => n_name, s_name, s_acctbal
                Scan[nation: n_nationkey, n_name]
                Scan[supplier: s_name, s_nationkey, s_acctbal]
        """,
        """
        Output[n_name, s_name]
          Project[n_name, s_name]
            InnerJoin[n_nationkey = s_nationkey] => n_name, s_name, s_acctbal
              Scan[nation: n_nationkey, n_name]
              Filter[s_acctbal > 9000.0]
                Scan[supplier: s_name, s_nationkey, s_acctbal]
        """,
    )


def test_right(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT n_name, s_name FROM supplier RIGHT JOIN nation ON s_nationkey = n_nationkey WHERE s_acctbal "
        "BETWEEN 9000 AND 9500",
        """
        Output[n_name, s_name]
          Project[n_name, s_name]
            Filter[s_acctbal BETWEEN 9000.0 AND 9500.0]
              RightJoin[s_nationkey = n_nationkey] => s_name, s_acctbal, n_name
                Scan[supplier: s_name, s_nationkey, s_acctbal]
                Scan[nation: n_nationkey, n_name]
        """,
        """
        Output[n_name, s_name]
          Project[n_name, s_name]
            InnerJoin[s_nationkey = n_nationkey] => s_name, s_acctbal, n_name
              Filter[s_acctbal BETWEEN 9000.0 AND 9500.0]
                Scan[supplier: s_name, s_nationkey, s_acctbal]
              Scan[nation: n_nationkey, n_name]
        """,
    )


def test_full_without_rows_of_the_right_alone(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT n_name, s_name FROM nation FULL JOIN supplier ON s_nationkey = n_nationkey AND s_acctbal > "
        "9000 WHERE n_name < 'C'",
        """
        Output[n_name, s_name]
          Filter[n_name < 'C']
            FullJoin[n_nationkey = s_nationkey AND s_acctbal > 9000.0] => n_name, s_name
              Scan[nation: n_nationkey, n_name]
              Scan[supplier: s_name, s_nationkey, s_acctbal]
        """,
        """
        Output[n_name, s_name]
          LeftJoin[n_nationkey = s_nationkey AND s_acctbal > 9000.0] => n_name, s_name
            Filter[n_name < 'C']
              Scan[nation: n_nationkey, n_name]
            Scan[supplier: s_name, s_nationkey, s_acctbal]
        """,
    )


def test_full_without_rows_of_the_left_alone(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT n_name, s_name FROM nation FULL JOIN supplier ON s_nationkey = n_nationkey AND s_acctbal > "
        "9000 WHERE s_suppkey < 3",
        """
        Output[n_name, s_name]
          Project[n_name, s_name]
            Filter[s_suppkey < 3]
              FullJoin[n_nationkey = s_nationkey AND s_acctbal > 9000.0] => n_name, s_suppkey, s_name
                Scan[nation: n_nationkey, n_name]
                Scan[supplier: s_suppkey, s_name, s_nationkey, s_acctbal]
        """,
        """
        Output[n_name, s_name]
          Project[n_name, s_name]
            RightJoin[n_nationkey = s_nationkey AND s_acctbal > 9000.0] => n_name, s_suppkey, s_name
              Scan[nation: n_nationkey, n_name]
              Filter[s_suppkey < 3]
                Scan[supplier: s_suppkey, s_name, s_nationkey, s_acctbal]
        """,
    )


def test_full_without_either(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT n_name, s_name FROM nation FULL JOIN supplier ON s_nationkey = n_nationkey AND s_acctbal > "
        "9000 WHERE s_name IS NOT NULL AND n_regionkey = 1",
        """
        Output[n_name, s_name]
          Project[n_name, s_name]
            Filter[(not(IS_NULL(s_name))) AND (n_regionkey = 1)]
              FullJoin[n_nationkey = s_nationkey AND s_acctbal > 9000.0] => n_name, n_regionkey, s_name
                Scan[nation: n_nationkey, n_name, n_regionkey]
                Scan[supplier: s_name, s_nationkey, s_acctbal]
        """,
        """
        Output[n_name, s_name]
          Project[n_name, s_name]
            InnerJoin[n_nationkey = s_nationkey] => n_name, n_regionkey, s_name
              Filter[n_regionkey = 1]
                Scan[nation: n_nationkey, n_name, n_regionkey]
              Filter[(s_acctbal > 9000.0) AND (not(IS_NULL(s_name)))]
                Scan[supplier: s_name, s_nationkey, s_acctbal]
        """,
    )


def test_not_of_is_null(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT n_name, s_name FROM nation LEFT JOIN supplier ON s_nationkey = n_nationkey AND s_acctbal > "
        "9000 WHERE NOT (s_suppkey IS NULL OR n_regionkey = 1)",
        """
        Output[n_name, s_name]
          Project[n_name, s_name]
            Filter[not((IS_NULL(s_suppkey)) OR (n_regionkey = 1))]
              LeftJoin[n_nationkey = s_nationkey] => n_name, n_regionkey, s_suppkey, s_name
                Scan[nation: n_nationkey, n_name, n_regionkey]
                Filter[s_acctbal > 9000.0]
                  Scan[supplier: s_suppkey, s_name, s_nationkey, s_acctbal]
        """,
        """
        Output[n_name, s_name]
          Project[n_name, s_name]
            Filter[not((IS_NULL(s_suppkey)) OR (n_regionkey = 1))]
              InnerJoin[n_nationkey = s_nationkey] => n_name, n_regionkey, s_suppkey, s_name
                Scan[nation: n_nationkey, n_name, n_regionkey]
                Filter[s_acctbal > 9000.0]
                  Scan[supplier: s_suppkey, s_name, s_nationkey, s_acctbal]
        """,
    )


def test_the_join_below_keeps_its_rows(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT n_name, s_name, c_name FROM nation LEFT JOIN supplier ON s_nationkey = n_nationkey LEFT JOIN "
        "customer ON c_nationkey = n_nationkey AND c_acctbal > 9990 WHERE c_custkey < 100",
        """
        Output[n_name, s_name, c_name]
          Project[n_name, s_name, c_name]
            Filter[c_custkey < 100]
              LeftJoin[n_nationkey = c_nationkey] => n_name, s_name, c_custkey, c_name
                LeftJoin[n_nationkey = s_nationkey] => n_nationkey, n_name, s_name
                  Scan[nation: n_nationkey, n_name]
                  Scan[supplier: s_name, s_nationkey]
                Filter[c_acctbal > 9990.0]
                  Scan[customer: c_custkey, c_name, c_nationkey, c_acctbal]
        """,
        """
        Output[n_name, s_name, c_name]
          Project[n_name, s_name, c_name]
            InnerJoin[n_nationkey = c_nationkey] => n_name, s_name, c_custkey, c_name
              LeftJoin[n_nationkey = s_nationkey] => n_nationkey, n_name, s_name
                Scan[nation: n_nationkey, n_name]
                Scan[supplier: s_name, s_nationkey]
              Filter[(c_acctbal > 9990.0) AND (c_custkey < 100)]
                Scan[customer: c_custkey, c_name, c_nationkey, c_acctbal]
        """,
    )


def test_is_null_asks_for_the_rows_that_were_added(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT n_name, s_name FROM nation LEFT JOIN supplier ON s_nationkey = n_nationkey WHERE s_acctbal IS NULL",
        """
        Output[n_name, s_name]
          Project[n_name, s_name]
            Filter[IS_NULL(s_acctbal)]
              LeftJoin[n_nationkey = s_nationkey] => n_name, s_name, s_acctbal
                Scan[nation: n_nationkey, n_name]
                Scan[supplier: s_name, s_nationkey, s_acctbal]
        """,
    )


def test_coalesce_may_be_true_of_null(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT n_name, s_name FROM nation LEFT JOIN supplier ON s_nationkey = n_nationkey AND s_acctbal > "
        "9000 WHERE coalesce(s_suppkey, 0) = 0",
        """
        Output[n_name, s_name]
          Project[n_name, s_name]
            Filter[(COALESCE(s_suppkey, 0)) = 0]
              LeftJoin[n_nationkey = s_nationkey] => n_name, s_suppkey, s_name
                Scan[nation: n_nationkey, n_name]
                Filter[s_acctbal > 9000.0]
                  Scan[supplier: s_suppkey, s_name, s_nationkey, s_acctbal]
        """,
    )


def test_the_other_branch_of_an_or(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT n_name, s_name FROM nation LEFT JOIN supplier ON s_nationkey = n_nationkey AND s_acctbal > "
        "9000 WHERE s_suppkey = 3 OR n_regionkey = 1",
        """
        Output[n_name, s_name]
          Project[n_name, s_name]
            Filter[(s_suppkey = 3) OR (n_regionkey = 1)]
              LeftJoin[n_nationkey = s_nationkey] => n_name, n_regionkey, s_suppkey, s_name
                Scan[nation: n_nationkey, n_name, n_regionkey]
                Filter[s_acctbal > 9000.0]
                  Scan[supplier: s_suppkey, s_name, s_nationkey, s_acctbal]
        """,
    )


def test_is_distinct_from_is_true_of_null(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT n_name, s_name FROM nation LEFT JOIN supplier ON s_nationkey = n_nationkey AND s_acctbal > "
        "9000 WHERE s_suppkey IS DISTINCT FROM 3",
        """
        Output[n_name, s_name]
          Project[n_name, s_name]
            Filter[IS_DISTINCT_FROM(s_suppkey, 3)]
              LeftJoin[n_nationkey = s_nationkey] => n_name, s_suppkey, s_name
                Scan[nation: n_nationkey, n_name]
                Filter[s_acctbal > 9000.0]
                  Scan[supplier: s_suppkey, s_name, s_nationkey, s_acctbal]
        """,
    )


def test_case_of_null(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT n_name, s_name FROM nation LEFT JOIN supplier ON s_nationkey = n_nationkey AND s_acctbal > "
        "9000 WHERE (CASE WHEN s_suppkey IS NULL THEN 1 ELSE 0 END) = 1",
        """
        Output[n_name, s_name]
          Project[n_name, s_name]
            Filter[(SWITCH(true, WHEN(IS_NULL(s_suppkey), 1), 0)) = 1]
              LeftJoin[n_nationkey = s_nationkey] => n_name, s_suppkey, s_name
                Scan[nation: n_nationkey, n_name]
                Filter[s_acctbal > 9000.0]
                  Scan[supplier: s_suppkey, s_name, s_nationkey, s_acctbal]
        """,
    )


def test_a_range_with_a_bound_that_is_null_may_be_false(rule: RuleCases) -> None:
    """Found by the fuzz: ``1 BETWEEN NULL AND 0`` is FALSE, so that what compares it with TRUE may be TRUE."""
    for join in ("LEFT", "FULL"):
        sql = (
            f"SELECT n_name FROM nation {join} JOIN supplier ON s_nationkey = n_nationkey AND s_acctbal > 1e9 "
            "WHERE (n_nationkey BETWEEN CAST(NULL AS bigint) AND 0) < (n_regionkey = 1)"
        )
        before, after = rule.planned(RULE, sql)
        assert "InnerJoin" not in drawn(after)
        rule.same_rows(sql, before, after)


def test_what_a_projection_computes_of_nulls(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT n_name, twice FROM (SELECT n_name, s_acctbal * 2 AS twice FROM nation LEFT JOIN supplier ON "
        "s_nationkey = n_nationkey) WHERE twice > 9000",
        """
        Output[n_name, twice]
          Filter[twice > 9000.0]
            Project[n_name, twice := s_acctbal * 2.0]
              LeftJoin[n_nationkey = s_nationkey] => n_name, s_acctbal
                Scan[nation: n_nationkey, n_name]
                Scan[supplier: s_nationkey, s_acctbal]
        """,
        """
        Output[n_name, twice]
          Filter[twice > 9000.0]
            Project[n_name, twice := s_acctbal * 2.0]
              InnerJoin[n_nationkey = s_nationkey] => n_name, s_acctbal
                Scan[nation: n_nationkey, n_name]
                Scan[supplier: s_nationkey, s_acctbal]
        """,
    )


def test_what_a_projection_makes_of_nulls_otherwise(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT n_name, twice FROM (SELECT n_name, coalesce(s_acctbal, 0) - 1 AS twice FROM nation LEFT JOIN "
        "supplier ON s_nationkey = n_nationkey) WHERE twice > -5000",
        """
        Output[n_name, twice]
          Filter[twice > (-5000.0)]
            Project[n_name, twice := (COALESCE(s_acctbal, 0.0)) - 1.0]
              LeftJoin[n_nationkey = s_nationkey] => n_name, s_acctbal
                Scan[nation: n_nationkey, n_name]
                Scan[supplier: s_nationkey, s_acctbal]
        """,
    )
