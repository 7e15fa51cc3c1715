"""NOT goes down to comparisons, so that a condition is a list of terms."""

from __future__ import annotations

from tests.optimizer.rule_cases import RuleCases

RULE = "push_negations"


def test_not_of_or_is_two_terms(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT n_name FROM nation WHERE NOT (n_regionkey = 1 OR n_name < 'F')",
        """
        Output[n_name]
          Project[n_name]
            Filter[not((n_regionkey = 1) OR (n_name < 'F'))]
              Scan[nation: n_name, n_regionkey]
        """,
        """
        Output[n_name]
          Project[n_name]
            Filter[(n_regionkey <> 1) AND (n_name >= 'F')]
              Scan[nation: n_name, n_regionkey]
        """,
    )


def test_not_of_and_is_an_or(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT n_name FROM nation WHERE NOT (n_nationkey > 5 AND n_regionkey <> 2)",
        """
        Output[n_name]
          Project[n_name]
            Filter[not((n_nationkey > 5) AND (n_regionkey <> 2))]
              Scan[nation: n_nationkey, n_name, n_regionkey]
        """,
        """
        Output[n_name]
          Project[n_name]
            Filter[(n_nationkey <= 5) OR (n_regionkey = 2)]
              Scan[nation: n_nationkey, n_name, n_regionkey]
        """,
    )


def test_two_of_them_cancel(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT n_name FROM nation WHERE NOT (NOT (n_nationkey <= 3))",
        """
        Output[n_name]
          Project[n_name]
            Filter[not(not(n_nationkey <= 3))]
              Scan[nation: n_nationkey, n_name]
        """,
        """
        Output[n_name]
          Project[n_name]
            Filter[n_nationkey <= 3]
              Scan[nation: n_nationkey, n_name]
        """,
    )


def test_what_has_no_opposite_keeps_its_own(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT n_name FROM nation WHERE NOT (n_regionkey IN (1, 2) OR n_name LIKE 'A%' OR n_comment IS NULL)",
        """
        Output[n_name]
          Project[n_name]
            Filter[not(((IN(n_regionkey, 1, 2)) OR (LIKE(n_name, CAST('A%' AS likepattern)))) OR
                  (IS_NULL(n_comment)))]
              Scan[nation: n_name, n_regionkey, n_comment]
        """,
        """
        Output[n_name]
          Project[n_name]
            Filter[((not(IN(n_regionkey, 1, 2))) AND (not(LIKE(n_name, CAST('A%' AS likepattern))))) AND
                  (not(IS_NULL(n_comment)))]
              Scan[nation: n_name, n_regionkey, n_comment]
        """,
    )


def test_null_stays_null(rule: RuleCases) -> None:
    """A row of region 1 passes neither ``= 2`` nor ``<> 2``."""
    rule.fires(
        RULE,
        "SELECT n_name FROM nation WHERE NOT (nullif(n_regionkey, 1) = 2 OR n_nationkey > 10)",
        """
        Output[n_name]
          Project[n_name]
            Filter[not(((IF(n_regionkey = 1, null, n_regionkey)) = 2) OR (n_nationkey > 10))]
              Scan[nation: n_nationkey, n_name, n_regionkey]
        """,
        """
        Output[n_name]
          Project[n_name]
            Filter[((IF(n_regionkey = 1, null, n_regionkey)) <> 2) AND (n_nationkey <= 10)]
              Scan[nation: n_nationkey, n_name, n_regionkey]
        """,
    )


def test_nan_is_above_all_numbers(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT c_custkey FROM customer WHERE NOT (c_acctbal / 0e0 > 1 OR c_custkey > 20)",
        """
        Output[c_custkey]
          Project[c_custkey]
            Filter[not(((c_acctbal / 0.0) > 1.0) OR (c_custkey > 20))]
              Scan[customer: c_custkey, c_acctbal]
        """,
        """
        Output[c_custkey]
          Project[c_custkey]
            Filter[((c_acctbal / 0.0) <= 1.0) AND (c_custkey <= 20)]
              Scan[customer: c_custkey, c_acctbal]
        """,
    )


def test_a_condition_of_a_join(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT n_name, r_name FROM nation LEFT JOIN region ON NOT (n_regionkey <> r_regionkey OR r_name = 'ASIA')",
        """
        Output[n_name, r_name]
          LeftJoin[not((n_regionkey <> r_regionkey) OR (r_name = 'ASIA'))] => n_name, r_name
            Scan[nation: n_name, n_regionkey]
            Scan[region: r_regionkey, r_name]
        """,
        """
        Output[n_name, r_name]
          LeftJoin[(n_regionkey = r_regionkey) AND (r_name <> 'ASIA')] => n_name, r_name
            Scan[nation: n_name, n_regionkey]
            Scan[region: r_regionkey, r_name]
        """,
    )


def test_not_in_has_one_already(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT n_name FROM nation WHERE n_regionkey NOT IN (1, 2)",
        """
        Output[n_name]
          Project[n_name]
            Filter[not(IN(n_regionkey, 1, 2))]
              Scan[nation: n_name, n_regionkey]
        """,
    )


def test_is_distinct_from_has_no_opposite(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT n_name FROM nation WHERE n_regionkey IS DISTINCT FROM 1 AND NOT (n_nationkey IS DISTINCT FROM 7)",
        """
        Output[n_name]
          Project[n_name]
            Filter[(IS_DISTINCT_FROM(n_regionkey, 1)) AND (not(IS_DISTINCT_FROM(n_nationkey, 7)))]
              Scan[nation: n_nationkey, n_name, n_regionkey]
        """,
    )


def test_a_column_of_the_result_is_no_condition(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT NOT (n_regionkey = 1 OR n_nationkey = 2) FROM nation",
        """
        Output[expr]
          Project[expr := not((n_regionkey = 1) OR (n_nationkey = 2))]
            Scan[nation: n_nationkey, n_regionkey]
        """,
    )
