"""What is computed of no rows is no rows, but for what has a row of its own."""

from __future__ import annotations

from tests.optimizer.rule_cases import RuleCases

RULE = "simplify_empty_relations"


def test_groups_of_nothing_are_none(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT n_regionkey, count(*) FROM nation WHERE false GROUP BY 1",
        """
        Output[n_regionkey, count]
          Aggregate[n_regionkey]
              count := count(*)
            Values[n_regionkey: no rows]
        """,
        """
        Output[n_regionkey, count]
          Values[n_regionkey, count: no rows]
        """,
        first=("remove_trivial_filters", "prune_unreferenced_outputs", "remove_redundant_projections"),
    )


def test_distinct_rows_of_nothing_are_none(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT DISTINCT n_name FROM nation WHERE false",
        """
        Output[n_name]
          Aggregate[n_name]
            Values[n_name: no rows]
        """,
        """
        Output[n_name]
          Values[n_name: no rows]
        """,
        first=("remove_trivial_filters", "prune_unreferenced_outputs", "remove_redundant_projections"),
    )


def test_windows_and_orders_go_too(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT n_name, rank() OVER (ORDER BY n_name) FROM nation WHERE false ORDER BY 1",
        """
        Output[n_name, rank]
          Sort[n_name ASC_NULLS_LAST]
            Window[order by (n_name ASC_NULLS_LAST)]
                rank := rank() RANGE UNBOUNDED_PRECEDING CURRENT_ROW
              Values[n_name: no rows]
        """,
        """
        Output[n_name, rank]
          Values[n_name, rank: no rows]
        """,
        first=("remove_trivial_filters", "prune_unreferenced_outputs", "remove_redundant_projections"),
    )


def test_expressions_of_nothing_are_not_computed(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT 1 / n_nationkey FROM nation WHERE false ORDER BY 1 LIMIT 3",
        """
        Output[expr]
          TopN[3 by (expr ASC_NULLS_LAST)]
            Project[expr := 1 / n_nationkey]
              Values[n_nationkey: no rows]
        """,
        """
        Output[expr]
          Values[expr: no rows]
        """,
        first=("remove_trivial_filters", "prune_unreferenced_outputs", "remove_redundant_projections"),
    )


def test_a_global_aggregation_has_a_row(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT count(*), max(n_name) FROM nation WHERE false",
        """
        Output[count, max]
          Aggregate
              count := count(*)
              max := max(n_name)
            Values[n_name: no rows]
        """,
        first=("remove_trivial_filters", "prune_unreferenced_outputs", "remove_redundant_projections"),
    )


def test_so_has_the_empty_grouping_set(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT n_regionkey, count(*) FROM nation WHERE false GROUP BY GROUPING SETS ((n_regionkey), ())",
        """
        Output[n_regionkey_gid, count]
          Project[n_regionkey_gid, count]
            Aggregate[n_regionkey_gid, groupid]
                count := count(*)
              GroupId[[n_regionkey], []]
                  n_regionkey_gid := n_regionkey
                Values[n_regionkey: no rows]
        """,
        first=("remove_trivial_filters", "prune_unreferenced_outputs", "remove_redundant_projections"),
    )


def test_a_scalar_subquery_has_a_row(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT n_name, (SELECT r_name FROM region WHERE false) FROM nation",
        """
        Output[n_name, expr]
          CrossJoin[] => n_name, expr
            Scan[nation: n_name]
            Project[expr := r_name]
              EnforceSingleRow
                Values[r_name: no rows]
        """,
        first=("remove_trivial_filters", "prune_unreferenced_outputs", "remove_redundant_projections"),
    )


def test_an_outer_join_keeps_its_rows(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT n_name, r_name FROM nation LEFT JOIN (SELECT * FROM region WHERE false) ON n_regionkey = r_regionkey",
        """
        Output[n_name, r_name]
          LeftJoin[n_regionkey = r_regionkey] => n_name, r_name
            Scan[nation: n_name, n_regionkey]
            Values[r_regionkey, r_name: no rows]
        """,
        first=("remove_trivial_filters", "prune_unreferenced_outputs", "remove_redundant_projections"),
    )


def test_a_union_keeps_the_other_branch(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT n_name FROM nation WHERE false UNION ALL SELECT r_name FROM region",
        """
        Output[n_name_1]
          Union[n_name_1]
              of n_name
              of r_name
            Values[n_name: no rows]
            Scan[region: r_name]
        """,
        """
        Output[n_name_1]
          Project[n_name_1 := r_name]
            Scan[region: r_name]
        """,
        first=("remove_trivial_filters", "prune_unreferenced_outputs", "remove_redundant_projections"),
    )


def test_a_union_keeps_its_other_branches(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT n_name FROM nation UNION ALL SELECT n_name FROM nation WHERE false UNION ALL SELECT r_name FROM region",
        """
        Output[n_name_2]
          Union[n_name_2]
              of n_name
              of n_name_1
              of r_name
            Scan[nation: n_name]
            Values[n_name_1: no rows]
            Scan[region: r_name]
        """,
        """
        Output[n_name_2]
          Union[n_name_2]
              of n_name
              of r_name
            Scan[nation: n_name]
            Scan[region: r_name]
        """,
        first=("remove_trivial_filters", "prune_unreferenced_outputs", "remove_redundant_projections"),
    )


def test_a_union_of_nothing_is_nothing(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT n_name FROM nation WHERE false UNION ALL SELECT r_name FROM region WHERE false",
        """
        Output[n_name_1]
          Union[n_name_1]
              of n_name
              of r_name
            Values[n_name: no rows]
            Values[r_name: no rows]
        """,
        """
        Output[n_name_1]
          Values[n_name_1: no rows]
        """,
        first=("remove_trivial_filters", "prune_unreferenced_outputs", "remove_redundant_projections"),
    )


def test_a_join_with_nothing_is_nothing(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT n_name FROM nation JOIN (SELECT * FROM region WHERE false) ON n_regionkey = r_regionkey",
        """
        Output[n_name]
          InnerJoin[n_regionkey = r_regionkey] => n_name
            Scan[nation: n_name, n_regionkey]
            Values[r_regionkey: no rows]
        """,
        """
        Output[n_name]
          Values[n_name: no rows]
        """,
        first=("remove_trivial_filters", "prune_unreferenced_outputs", "remove_redundant_projections"),
    )


def test_an_outer_join_with_nothing_keeps_its_rows(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT n_name, r_name FROM nation LEFT JOIN (SELECT * FROM region WHERE false) ON n_regionkey = r_regionkey",
        """
        Output[n_name, r_name]
          LeftJoin[n_regionkey = r_regionkey] => n_name, r_name
            Scan[nation: n_name, n_regionkey]
            Values[r_regionkey, r_name: no rows]
        """,
        first=("remove_trivial_filters", "prune_unreferenced_outputs", "remove_redundant_projections"),
    )
