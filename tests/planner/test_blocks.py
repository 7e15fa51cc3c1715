"""Clauses of a query block as the planner builds them: groups, windows, orders, sets."""

from __future__ import annotations

from tests.planner.drawn_plans import DrawnPlans


def test_group_by_column(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT n_regionkey, count(*) FROM nation GROUP BY n_regionkey",
        """
        Output[n_regionkey, count]
          Aggregate[n_regionkey]
              count := count(*)
            Scan[nation: n_regionkey]
        """,
    )


def test_group_by_expression_and_position(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT n_regionkey + 1, max(n_name) FROM nation GROUP BY 1",
        """
        Output[expr, max]
          Aggregate[expr]
              max := max(n_name)
            Project[n_name, expr := n_regionkey + 1]
              Scan[nation: n_name, n_regionkey]
        """,
    )


def test_group_by_nothing(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT count(*) FROM nation GROUP BY ()",
        """
        Output[count]
          Aggregate
              count := count(*)
            Scan[nation: ]
        """,
    )


def test_having_and_order_by_aggregates(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT n_regionkey FROM nation GROUP BY n_regionkey HAVING count(*) > 4 ORDER BY max(n_name) DESC",
        """
        Output[n_regionkey]
          Project[n_regionkey]
            Sort[max DESC_NULLS_LAST]
              Project[n_regionkey, max]
                Filter[count > 4]
                  Aggregate[n_regionkey]
                      count := count(*)
                      max := max(n_name)
                    Scan[nation: n_name, n_regionkey]
        """,
    )


def test_one_aggregate_written_twice(plans: DrawnPlans) -> None:
    """It is computed once."""
    plans.check(
        "SELECT count(*) + 1, count(*) * 2 FROM nation",
        """
        Output[expr, expr_1]
          Project[expr := count + 1, expr_1 := count * 2]
            Aggregate
                count := count(*)
              Scan[nation: ]
        """,
    )


def test_distinct_aggregate(plans: DrawnPlans) -> None:
    """The rows are made distinct, then counted."""
    plans.check(
        "SELECT count(DISTINCT n_regionkey) FROM nation",
        """
        Output[count]
          Aggregate
              count := count(DISTINCT n_regionkey)
            Scan[nation: n_regionkey]
        """,
    )


def test_distinct_aggregates_of_several_columns(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT count(DISTINCT n_regionkey), count(DISTINCT n_name) FROM nation",
        """
        Output[count, count_1]
          Aggregate
              count := count(DISTINCT n_regionkey)
              count_1 := count(DISTINCT n_name)
            Scan[nation: n_name, n_regionkey]
        """,
    )


def test_filtered_aggregate(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT sum(n_nationkey) FILTER (WHERE n_regionkey = 1) FROM nation",
        """
        Output[sum]
          Aggregate
              sum := sum(n_nationkey) (mask = expr)
            Project[n_nationkey, expr := n_regionkey = 1]
              Scan[nation: n_nationkey, n_regionkey]
        """,
    )


def test_ordered_aggregate(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT min_by(n_name, n_nationkey), count(n_name) FROM nation WHERE n_regionkey = 3",
        """
        Output[min_by, count]
          Aggregate
              min_by := min_by(n_name, n_nationkey)
              count := count(n_name)
            Project[n_name, n_nationkey]
              Filter[n_regionkey = 3]
                Scan[nation: n_nationkey, n_name, n_regionkey]
        """,
    )


def test_grouping_sets(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT n_regionkey, count(*), grouping(n_regionkey) FROM nation GROUP BY GROUPING SETS ((n_regionkey), ())",
        """
        Output[n_regionkey_gid, count, grouping]
          Project[n_regionkey_gid, count, grouping := SWITCH(true, WHEN(groupid = 0, 0), WHEN(groupid = 1, 1),
                null)]
            Aggregate[n_regionkey_gid, groupid]
                count := count(*)
              GroupId[[n_regionkey], []]
                  n_regionkey_gid := n_regionkey
                Scan[nation: n_regionkey]
        """,
    )


def test_rollup_of_a_column_named_twice(plans: DrawnPlans) -> None:
    """Two names of one column are two keys."""
    plans.check(
        "SELECT a, b, count(*) FROM (SELECT n_regionkey a, n_regionkey b FROM nation) GROUP BY ROLLUP (a, b)",
        """
        Output[n_regionkey_gid, b_gid, count]
          Project[n_regionkey_gid, b_gid, count]
            Aggregate[n_regionkey_gid, b_gid, groupid]
                count := count(*)
              GroupId[[n_regionkey, b], [n_regionkey], []]
                  n_regionkey_gid := n_regionkey
                  b_gid := b
                Project[n_regionkey, b := n_regionkey]
                  Scan[nation: n_regionkey]
        """,
    )


def test_distinct(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT DISTINCT n_regionkey FROM nation WHERE n_nationkey < 9",
        """
        Output[n_regionkey]
          Aggregate[n_regionkey]
            Project[n_regionkey]
              Filter[n_nationkey < 9]
                Scan[nation: n_nationkey, n_regionkey]
        """,
    )


def test_distinct_and_order_by(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT DISTINCT n_regionkey + 1 AS k FROM nation ORDER BY k LIMIT 2",
        """
        Output[k]
          TopN[2 by (k ASC_NULLS_LAST)]
            Aggregate[k]
              Project[k := n_regionkey + 1]
                Scan[nation: n_regionkey]
        """,
    )


def test_window_with_order(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT n_name, rank() OVER (PARTITION BY n_regionkey ORDER BY n_name DESC) FROM nation",
        """
        Output[n_name, rank]
          Project[n_name, rank]
            Window[partition by n_regionkey, order by (n_name DESC_NULLS_LAST)]
                rank := rank() RANGE UNBOUNDED_PRECEDING CURRENT_ROW
              Scan[nation: n_name, n_regionkey]
        """,
    )


def test_windows_of_one_partition_share_it(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT n_name, row_number() OVER w, max(n_name) OVER w FROM nation WINDOW w AS (PARTITION BY "
        "n_regionkey ORDER BY n_name)",
        """
        Output[n_name, row_number_1, max]
          Project[n_name, row_number_1, max]
            Window[partition by n_regionkey, order by (n_name ASC_NULLS_LAST)]
                row_number_1 := row_number() RANGE UNBOUNDED_PRECEDING CURRENT_ROW
                max := max(n_name) RANGE UNBOUNDED_PRECEDING CURRENT_ROW
              Scan[nation: n_name, n_regionkey]
        """,
    )


def test_window_over_groups(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT n_regionkey, sum(count(*)) OVER (ORDER BY n_regionkey) FROM nation GROUP BY n_regionkey",
        """
        Output[n_regionkey, sum]
          Project[n_regionkey, sum]
            Window[order by (n_regionkey ASC_NULLS_LAST)]
                sum := sum(count) RANGE UNBOUNDED_PRECEDING CURRENT_ROW
              Aggregate[n_regionkey]
                  count := count(*)
                Scan[nation: n_regionkey]
        """,
    )


def test_frame_with_values(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT n_name, sum(n_nationkey) OVER (ORDER BY n_nationkey ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING) "
        "FROM nation",
        """
        Output[n_name, sum]
          Project[n_name, sum]
            Window[order by (n_nationkey ASC_NULLS_LAST)]
                sum := sum(n_nationkey) ROWS 2 PRECEDING 1 FOLLOWING
              Project[n_nationkey, n_name, frame, frame_1 := 1]
                Project[n_nationkey, n_name, frame := 2]
                  Scan[nation: n_nationkey, n_name]
        """,
    )


def test_order_by_what_is_not_shown(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT n_name FROM nation ORDER BY n_regionkey, n_nationkey DESC",
        """
        Output[n_name]
          Project[n_name]
            Sort[n_regionkey ASC_NULLS_LAST, n_nationkey DESC_NULLS_LAST]
              Scan[nation: n_nationkey, n_name, n_regionkey]
        """,
    )


def test_order_by_alias_before_column(plans: DrawnPlans) -> None:
    """An output's name is meant before a column's."""
    plans.check(
        "SELECT n_nationkey AS n_name FROM nation ORDER BY n_name LIMIT 3",
        """
        Output[n_nationkey]
          TopN[3 by (n_nationkey ASC_NULLS_LAST)]
            Scan[nation: n_nationkey]
        """,
    )


def test_limit_and_offset(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT n_nationkey FROM nation ORDER BY n_nationkey OFFSET 3 LIMIT 2",
        """
        Output[n_nationkey]
          Limit[2]
            Offset[3]
              Sort[n_nationkey ASC_NULLS_LAST]
                Scan[nation: n_nationkey]
        """,
    )


def test_order_by_with_limit_is_top_n(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT n_name FROM nation ORDER BY n_name LIMIT 3",
        """
        Output[n_name]
          TopN[3 by (n_name ASC_NULLS_LAST)]
            Scan[nation: n_name]
        """,
    )


def test_order_of_a_subquery_without_limit(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT count(*) FROM (SELECT n_name FROM nation ORDER BY n_name)",
        """
        Output[count]
          Aggregate
              count := count(*)
            Project[]
              Sort[n_name ASC_NULLS_LAST]
                Scan[nation: n_name]
        """,
    )


def test_union_all(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT n_name FROM nation UNION ALL SELECT r_name FROM region",
        """
        Output[n_name_1]
          Union[n_name_1]
              of n_name
              of r_name
            Scan[nation: n_name]
            Scan[region: r_name]
        """,
    )


def test_union_of_types(plans: DrawnPlans) -> None:
    """Columns have the type that both fit."""
    plans.check(
        "SELECT n_nationkey FROM nation WHERE n_nationkey < 2 UNION ALL SELECT 2.5",
        """
        Output[n_nationkey_2]
          Union[n_nationkey_2]
              of n_nationkey_1
              of expr_1
            Project[n_nationkey_1 := CAST(n_nationkey AS decimal(20,1))]
              Filter[n_nationkey < 2]
                Scan[nation: n_nationkey]
            Project[expr_1 := CAST(expr AS decimal(20,1))]
              Project[expr := 2.5]
                Values[: ()]
        """,
    )


def test_union_distinct(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT n_regionkey FROM nation UNION SELECT r_regionkey FROM region",
        """
        Output[n_regionkey_1]
          Aggregate[n_regionkey_1]
            Union[n_regionkey_1]
                of n_regionkey
                of r_regionkey
              Scan[nation: n_regionkey]
              Scan[region: r_regionkey]
        """,
    )


def test_intersect(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT n_nationkey FROM nation INTERSECT SELECT r_regionkey FROM region",
        """
        Output[n_nationkey_1]
          Project[n_nationkey_1]
            Filter[(count >= 1) AND (count_1 >= 1)]
              Aggregate[n_nationkey_1]
                  count := count(expr)
                  count_1 := count(expr_1)
                Union[n_nationkey_1, expr, expr_1]
                    of n_nationkey, mark, mark_1
                    of r_regionkey, mark_2, mark_3
                  Project[n_nationkey, mark := true, mark_1 := null]
                    Scan[nation: n_nationkey]
                  Project[r_regionkey, mark_2 := null, mark_3 := true]
                    Scan[region: r_regionkey]
        """,
    )


def test_except(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT n_nationkey FROM nation WHERE n_nationkey < 8 EXCEPT SELECT r_regionkey FROM region",
        """
        Output[n_nationkey_1]
          Project[n_nationkey_1]
            Filter[(count >= 1) AND (count_1 = 0)]
              Aggregate[n_nationkey_1]
                  count := count(expr)
                  count_1 := count(expr_1)
                Union[n_nationkey_1, expr, expr_1]
                    of n_nationkey, mark, mark_1
                    of r_regionkey, mark_2, mark_3
                  Project[n_nationkey, mark := true, mark_1 := null]
                    Filter[n_nationkey < 8]
                      Scan[nation: n_nationkey]
                  Project[r_regionkey, mark_2 := null, mark_3 := true]
                    Scan[region: r_regionkey]
        """,
    )


def test_union_of_a_column_named_twice(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT a, b FROM (SELECT n_nationkey a, n_nationkey b FROM nation WHERE n_nationkey < 2) UNION ALL "
        "SELECT 7, 8",
        """
        Output[a, b_1]
          Union[a, b_1]
              of n_nationkey, b
              of expr_2, expr_1_1
            Project[n_nationkey, b := n_nationkey]
              Filter[n_nationkey < 2]
                Scan[nation: n_nationkey]
            Project[expr_2 := CAST(expr AS bigint), expr_1_1 := CAST(expr_1 AS bigint)]
              Project[expr := 7, expr_1 := 8]
                Values[: ()]
        """,
    )
