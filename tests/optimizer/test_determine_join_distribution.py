"""Small build sides are copied to all tasks, the others spread by key."""

from __future__ import annotations

from tests.optimizer.rule_cases import RuleCases

RULE = "determine_join_distribution"


def test_a_small_build_side_is_copied(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT n_name, s_name FROM supplier JOIN nation ON s_nationkey = n_nationkey",
        """
        Output[n_name, s_name]
          InnerJoin[s_nationkey = n_nationkey] => s_name, n_name
            Scan[supplier: s_name, s_nationkey]
            Scan[nation: n_nationkey, n_name]
        """,
        """
        Output[n_name, s_name]
          InnerJoin[s_nationkey = n_nationkey] => s_name, n_name
              REPLICATED
            Scan[supplier: s_name, s_nationkey]
            Scan[nation: n_nationkey, n_name]
        """,
    )


def test_a_larger_one_is_spread(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT n_name, s_name FROM nation JOIN supplier ON s_nationkey = n_nationkey",
        """
        Output[n_name, s_name]
          InnerJoin[n_nationkey = s_nationkey] => n_name, s_name
            Scan[nation: n_nationkey, n_name]
            Scan[supplier: s_name, s_nationkey]
        """,
        """
        Output[n_name, s_name]
          InnerJoin[n_nationkey = s_nationkey] => n_name, s_name
              PARTITIONED
            Scan[nation: n_nationkey, n_name]
            Scan[supplier: s_name, s_nationkey]
        """,
    )


def test_the_right_side_of_a_left_join_too(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT n_name, s_name FROM supplier LEFT JOIN nation ON s_nationkey = n_nationkey",
        """
        Output[n_name, s_name]
          LeftJoin[s_nationkey = n_nationkey] => s_name, n_name
            Scan[supplier: s_name, s_nationkey]
            Scan[nation: n_nationkey, n_name]
        """,
        """
        Output[n_name, s_name]
          LeftJoin[s_nationkey = n_nationkey] => s_name, n_name
              REPLICATED
            Scan[supplier: s_name, s_nationkey]
            Scan[nation: n_nationkey, n_name]
        """,
    )


def test_the_limit_is_a_session_property(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT n_name, s_name FROM supplier JOIN nation ON s_nationkey = n_nationkey",
        """
        Output[n_name, s_name]
          InnerJoin[s_nationkey = n_nationkey] => s_name, n_name
            Scan[supplier: s_name, s_nationkey]
            Scan[nation: n_nationkey, n_name]
        """,
        """
        Output[n_name, s_name]
          InnerJoin[s_nationkey = n_nationkey] => s_name, n_name
              PARTITIONED
            Scan[supplier: s_name, s_nationkey]
            Scan[nation: n_nationkey, n_name]
        """,
        session={"join_max_broadcast_table_size": "100B"},
    )


def test_what_keeps_rows_of_the_build_side_is_never_copied(rule: RuleCases) -> None:
    """Each copy would give a row without a partner."""
    rule.rests(
        RULE,
        "SELECT n_name, s_name FROM supplier RIGHT JOIN nation ON s_nationkey = n_nationkey",
        """
        Output[n_name, s_name]
          RightJoin[s_nationkey = n_nationkey] => s_name, n_name
            Scan[supplier: s_name, s_nationkey]
            Scan[nation: n_nationkey, n_name]
        """,
    )


def test_nor_by_full_joins(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT n_name, s_name FROM supplier FULL JOIN nation ON s_nationkey = n_nationkey",
        """
        Output[n_name, s_name]
          FullJoin[s_nationkey = n_nationkey] => s_name, n_name
            Scan[supplier: s_name, s_nationkey]
            Scan[nation: n_nationkey, n_name]
        """,
    )


def test_a_cross_join_has_nothing_to_spread_by(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT n_name, s_name FROM supplier, nation",
        """
        Output[n_name, s_name]
          CrossJoin[] => s_name, n_name
            Scan[supplier: s_name]
            Scan[nation: n_name]
        """,
    )


def test_unknown_sizes_decide_nothing(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT n_name, k FROM nation JOIN (SELECT k FROM UNNEST(ARRAY[BIGINT '1']) t(k)) ON k = n_nationkey",
        """
        Output[n_name, field]
          InnerJoin[n_nationkey = field] => n_name, field
            Scan[nation: n_nationkey, n_name]
            Unnest[unnest] => field
              Project[unnest := ARRAY(1)]
                Values[: ()]
        """,
    )


def test_whoever_chose_is_heard(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT n_name, s_name FROM supplier JOIN nation ON s_nationkey = n_nationkey",
        """
        Output[n_name, s_name]
          InnerJoin[s_nationkey = n_nationkey] => s_name, n_name
            Scan[supplier: s_name, s_nationkey]
            Scan[nation: n_nationkey, n_name]
        """,
        session={"join_distribution_type": "PARTITIONED"},
    )
