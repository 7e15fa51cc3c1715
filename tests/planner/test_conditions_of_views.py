"""Conditions over a subquery, as over a view, reach its tables where that changes no row; and where they must not."""

from __future__ import annotations

from tests.planner.drawn_plans import DrawnPlans


def test_keys_of_groups(plans: DrawnPlans) -> None:
    """What is counted is known above."""
    plans.check(
        "SELECT k, c FROM (SELECT n_regionkey k, count(*) c FROM nation GROUP BY 1) WHERE k = 1 AND c > 2",
        """
        Output[n_regionkey, count]
          Filter[count > 2]
            Aggregate[n_regionkey]
                count := count(*)
              Filter[n_regionkey = 1]
                Scan[nation: n_regionkey]
        """,
    )


def test_an_aggregate_without_keys_keeps_its_row(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT c FROM (SELECT count(*) c FROM nation) WHERE c = 25",
        """
        Output[count]
          Filter[count = 25]
            Aggregate
                count := count(*)
              Scan[nation: ]
        """,
    )


def test_the_empty_grouping_set_keeps_its_row(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT k, c FROM (SELECT n_regionkey k, count(*) c FROM nation GROUP BY GROUPING SETS "
        "((n_regionkey), ())) WHERE k IS NULL OR k = 3",
        """
        Output[n_regionkey_gid, count]
          Project[n_regionkey_gid, count]
            Filter[(IS_NULL(n_regionkey_gid)) OR (n_regionkey_gid = 3)]
              Aggregate[n_regionkey_gid, groupid]
                  count := count(*)
                GroupId[[n_regionkey], []]
                    n_regionkey_gid := n_regionkey
                  Scan[nation: n_regionkey]
        """,
    )


def test_a_single_empty_grouping_set_too(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT k, c FROM (SELECT n_regionkey k, count(*) c FROM nation GROUP BY ROLLUP (n_regionkey)) WHERE k = 77",
        """
        Output[n_regionkey_gid, count]
          Project[n_regionkey_gid, count]
            Filter[n_regionkey_gid = 77]
              Aggregate[n_regionkey_gid, groupid]
                  count := count(*)
                GroupId[[n_regionkey], []]
                    n_regionkey_gid := n_regionkey
                  Scan[nation: n_regionkey]
        """,
    )


def test_distinct_rows(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT k FROM (SELECT DISTINCT n_regionkey k, n_nationkey + 1 x FROM nation) WHERE k = 1 AND x > 4",
        """
        Output[n_regionkey]
          Project[n_regionkey]
            Aggregate[n_regionkey, x]
              Filter[x > 4]
                Project[n_regionkey, x := n_nationkey + 1]
                  Filter[n_regionkey = 1]
                    Scan[nation: n_nationkey, n_regionkey]
        """,
    )


def test_keys_of_all_windows(plans: DrawnPlans) -> None:
    """A row that is left out changes the rank of others, a partition does not."""
    plans.check(
        "SELECT n_name, r FROM (SELECT n_name, n_regionkey k, rank() OVER (PARTITION BY n_regionkey ORDER BY "
        "n_name) r FROM nation) WHERE k = 1 AND n_name > 'B' AND r < 4",
        """
        Output[n_name, rank]
          Project[n_name, rank]
            Filter[(n_name > 'B') AND (rank < 4)]
              Window[partition by n_regionkey, order by (n_name ASC_NULLS_LAST)]
                  rank := rank() RANGE UNBOUNDED_PRECEDING CURRENT_ROW
                Filter[n_regionkey = 1]
                  Scan[nation: n_name, n_regionkey]
        """,
    )


def test_one_window_of_all_rows_stops_it(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT n_name, c FROM (SELECT n_name, n_regionkey k, count(*) OVER () c FROM nation) WHERE k = 1",
        """
        Output[n_name, count]
          Project[n_name, count]
            Filter[n_regionkey = 1]
              Window[]
                  count := count() RANGE UNBOUNDED_PRECEDING CURRENT_ROW
                Scan[nation: n_name, n_regionkey]
        """,
    )


def test_branches_of_a_union(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT a FROM (SELECT n_name a, n_nationkey b FROM nation UNION ALL SELECT r_name, r_regionkey FROM "
        "region) WHERE b < 2 AND a < 'B'",
        """
        Output[a]
          Union[a]
              of n_name
              of r_name
            Project[n_name]
              Filter[(n_nationkey < 2) AND (n_name < 'B')]
                Scan[nation: n_nationkey, n_name]
            Project[r_name]
              Filter[(r_regionkey < 2) AND (r_name < 'B')]
                Scan[region: r_regionkey, r_name]
        """,
    )


def test_branches_of_a_distinct_union(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT b FROM (SELECT n_nationkey b FROM nation UNION SELECT r_regionkey FROM region) WHERE b < 2",
        """
        Output[b]
          Aggregate[b]
            Union[b]
                of n_nationkey
                of r_regionkey
              Filter[n_nationkey < 2]
                Scan[nation: n_nationkey]
              Filter[r_regionkey < 2]
                Scan[region: r_regionkey]
        """,
    )


def test_both_sides_of_except(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT b FROM (SELECT n_nationkey b FROM nation EXCEPT SELECT r_regionkey FROM region) WHERE b < 7",
        """
        Output[b]
          Project[b]
            Filter[(count >= 1) AND (count_1 = 0)]
              Aggregate[b]
                  count := count(expr)
                  count_1 := count(expr_1)
                Union[b, expr, expr_1]
                    of n_nationkey, mark, mark_1
                    of r_regionkey, mark_2, mark_3
                  Project[n_nationkey, mark := true, mark_1 := null]
                    Filter[n_nationkey < 7]
                      Scan[nation: n_nationkey]
                  Project[r_regionkey, mark_2 := null, mark_3 := true]
                    Filter[r_regionkey < 7]
                      Scan[region: r_regionkey]
        """,
    )


def test_columns_of_a_union_that_one_branch_computes(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT b FROM (SELECT n_nationkey + 1 b FROM nation UNION ALL SELECT r_regionkey FROM region) WHERE b < 3",
        """
        Output[b_1]
          Union[b_1]
              of b
              of r_regionkey
            Filter[b < 3]
              Project[b := n_nationkey + 1]
                Scan[nation: n_nationkey]
            Filter[r_regionkey < 3]
              Scan[region: r_regionkey]
        """,
    )


def test_columns_beside_an_unnested_array(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT r_name, x FROM (SELECT r_name, x FROM region CROSS JOIN UNNEST(ARRAY[r_regionkey, 7]) AS t "
        "(x)) WHERE r_name < 'B' AND x > 2",
        """
        Output[r_name, field]
          Filter[field > 2]
            Unnest[unnest] => r_name, field
              Project[r_name, unnest := ARRAY(r_regionkey, 7)]
                Filter[r_name < 'B']
                  Scan[region: r_regionkey, r_name]
        """,
    )


def test_the_right_side_of_a_right_join(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT n_name, r_name FROM (SELECT n_name, r_name FROM nation RIGHT JOIN region ON n_regionkey = "
        "r_regionkey AND n_nationkey > 30) WHERE r_name < 'B' AND n_name IS NULL",
        """
        Output[n_name, r_name]
          Filter[IS_NULL(n_name)]
            RightJoin[n_regionkey = r_regionkey] => n_name, r_name
              Filter[n_nationkey > 30]
                Scan[nation: n_nationkey, n_name, n_regionkey]
              Filter[r_name < 'B']
                Scan[region: r_regionkey, r_name]
        """,
    )


def test_a_limit_chooses_rows_first(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT count(*) FROM (SELECT n_regionkey k FROM nation LIMIT 25) WHERE k = 1",
        """
        Output[count]
          Aggregate
              count := count(*)
            Project[]
              Filter[n_regionkey = 1]
                Limit[25]
                  Scan[nation: n_regionkey]
        """,
    )


def test_so_do_first_rows_of_an_order(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT k FROM (SELECT n_regionkey k FROM nation ORDER BY n_nationkey LIMIT 3) WHERE k = 1",
        """
        Output[n_regionkey]
          Project[n_regionkey]
            Filter[n_regionkey = 1]
              TopN[3 by (n_nationkey ASC_NULLS_LAST)]
                Scan[nation: n_nationkey, n_regionkey]
        """,
    )


def test_a_sample_is_taken_of_what_it_was(plans: DrawnPlans) -> None:
    """Its condition is another for each row and stays above those that are not."""
    plans.check(
        "SELECT n_name FROM (SELECT * FROM nation TABLESAMPLE BERNOULLI (100)) WHERE n_nationkey = 1",
        """
        Output[n_name]
          Project[n_name]
            Filter[(random()) < 1.0]
              Filter[n_nationkey = 1]
                Scan[nation: n_nationkey, n_name]
        """,
    )


def test_a_condition_that_is_another_each_time_is_not_pushed_on(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT n_name FROM (SELECT n_name, n_nationkey, r_name FROM nation, region WHERE n_regionkey = "
        "r_regionkey AND random() - 2 < n_nationkey) WHERE n_nationkey = 1 AND r_name = 'AMERICA'",
        """
        Output[n_name]
          Project[n_name]
            Filter[((random()) - 2.0) < (CAST(n_nationkey AS double))]
              InnerJoin[n_regionkey = r_regionkey] => n_nationkey, n_name
                Filter[n_nationkey = 1]
                  Scan[nation: n_nationkey, n_name, n_regionkey]
                Filter[r_name = 'AMERICA']
                  Scan[region: r_regionkey, r_name]
        """,
    )


def test_a_single_row_of_a_scalar_subquery(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT n_name, x FROM (SELECT n_name, (SELECT max(r_regionkey) FROM region) x FROM nation) WHERE x = "
        "4 AND n_name < 'B'",
        """
        Output[n_name, expr]
          CrossJoin[] => n_name, expr
            Filter[n_name < 'B']
              Scan[nation: n_name]
            Filter[expr = 4]
              Project[expr := max]
                EnforceSingleRow
                  Aggregate
                      max := max(r_regionkey)
                    Scan[region: r_regionkey]
        """,
    )
