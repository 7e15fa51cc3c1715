"""Each kind of subquery as the planner builds it, bare and correlated."""

from __future__ import annotations

from tests.planner.drawn_plans import DrawnPlans


def test_in_a_query(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT n_name FROM nation WHERE n_regionkey IN (SELECT r_regionkey FROM region WHERE r_name < 'B')",
        """
        Output[n_name]
          Project[n_name]
            Filter[expr]
              SemiJoin[expr := n_regionkey IN r_regionkey]
                Scan[nation: n_name, n_regionkey]
                Project[r_regionkey]
                  Filter[r_name < 'B']
                    Scan[region: r_regionkey, r_name]
        """,
    )


def test_not_in_a_query(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT n_name FROM nation WHERE n_regionkey NOT IN (SELECT r_regionkey FROM region WHERE r_name < 'B')",
        """
        Output[n_name]
          Project[n_name]
            Filter[not(expr)]
              SemiJoin[expr := n_regionkey IN r_regionkey]
                Scan[nation: n_name, n_regionkey]
                Project[r_regionkey]
                  Filter[r_name < 'B']
                    Scan[region: r_regionkey, r_name]
        """,
    )


def test_in_as_a_value(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT n_nationkey, n_nationkey IN (SELECT r_regionkey FROM region) FROM nation",
        """
        Output[n_nationkey, expr]
          SemiJoin[expr := n_nationkey IN r_regionkey]
            Scan[nation: n_nationkey]
            Scan[region: r_regionkey]
        """,
    )


def test_exists(plans: DrawnPlans) -> None:
    """One row is enough to know."""
    plans.check(
        "SELECT n_name FROM nation WHERE EXISTS (SELECT 1 FROM region WHERE r_name = 'ASIA')",
        """
        Output[n_name]
          CrossJoin[] => n_name
            Scan[nation: n_name]
            Filter[exists]
              Project[exists := count > 0]
                Aggregate
                    count := count(*)
                  Limit[1]
                    Project[]
                      Filter[r_name = 'ASIA']
                        Scan[region: r_name]
        """,
    )


def test_scalar(plans: DrawnPlans) -> None:
    """It must be a single row."""
    plans.check(
        "SELECT n_name FROM nation WHERE n_nationkey = (SELECT max(r_regionkey) FROM region)",
        """
        Output[n_name]
          InnerJoin[n_nationkey = expr] => n_name
            Scan[nation: n_nationkey, n_name]
            Project[expr := max]
              EnforceSingleRow
                Aggregate
                    max := max(r_regionkey)
                  Scan[region: r_regionkey]
        """,
    )


def test_quantified_all(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT n_name FROM nation WHERE n_nationkey > ALL (SELECT r_regionkey FROM region)",
        """
        Output[n_name]
          Project[n_name]
            Filter[expr]
              Project[n_name, expr := SWITCH(true, WHEN(count_1 = 0, true), WHEN(not(n_nationkey > max), false),
                    IF(count_1 <> count, null, n_nationkey > max))]
                CrossJoin[] => n_nationkey, n_name, max, count, count_1
                  Scan[nation: n_nationkey, n_name]
                  Aggregate
                      max := max(r_regionkey)
                      count := count(r_regionkey)
                      count_1 := count(*)
                    Scan[region: r_regionkey]
        """,
    )


def test_quantified_any(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT n_name FROM nation WHERE n_nationkey < ANY (SELECT r_regionkey FROM region)",
        """
        Output[n_name]
          Project[n_name]
            Filter[expr]
              Project[n_name, expr := SWITCH(true, WHEN(count_1 = 0, false), WHEN(n_nationkey < max, true),
                    IF(count_1 <> count, null, n_nationkey < max))]
                CrossJoin[] => n_nationkey, n_name, max, count, count_1
                  Scan[nation: n_nationkey, n_name]
                  Aggregate
                      max := max(r_regionkey)
                      count := count(r_regionkey)
                      count_1 := count(*)
                    Scan[region: r_regionkey]
        """,
    )


def test_quantified_equal_any_is_in(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT n_name FROM nation WHERE n_nationkey = ANY (SELECT r_regionkey FROM region)",
        """
        Output[n_name]
          Project[n_name]
            Filter[expr]
              SemiJoin[expr := n_nationkey IN r_regionkey]
                Scan[nation: n_nationkey, n_name]
                Scan[region: r_regionkey]
        """,
    )


def test_correlated_exists_by_equality(plans: DrawnPlans) -> None:
    """Distinct keys are joined: no row comes twice."""
    plans.check(
        "SELECT r_name FROM region WHERE EXISTS (SELECT 1 FROM nation WHERE n_regionkey = r_regionkey AND "
        "n_name < 'B')",
        """
        Output[r_name]
          Project[r_name]
            Filter[exists]
              Project[r_name, exists := COALESCE(subquerytrue, false)]
                LeftJoin[r_regionkey = n_regionkey] => r_name, subquerytrue
                  Scan[region: r_regionkey, r_name]
                  Project[n_regionkey, subquerytrue := true]
                    Aggregate[n_regionkey]
                      Project[n_regionkey]
                        Filter[n_name < 'B']
                          Scan[nation: n_name, n_regionkey]
        """,
    )


def test_correlated_exists_by_inequality(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT r_name FROM region WHERE NOT EXISTS (SELECT 1 FROM nation WHERE n_nationkey < r_regionkey)",
        """
        Output[r_name]
          Project[r_name]
            Filter[not(exists)]
              Project[r_name, exists := count > 0]
                Project[r_name, count]
                  Aggregate[r_name, unique]
                      count := count(*) (mask = non_null)
                    LeftJoin[n_nationkey < r_regionkey] => r_name, unique, non_null
                      AssignUniqueId[unique]
                        Scan[region: r_regionkey, r_name]
                      Project[n_nationkey, non_null := true]
                        Scan[nation: n_nationkey]
        """,
    )


def test_correlated_in(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT r_name FROM region WHERE 3 IN (SELECT n_nationkey FROM nation WHERE n_regionkey = r_regionkey)",
        """
        Output[r_name]
          Project[r_name]
            Filter[expr]
              Project[r_name, expr := SWITCH(true, WHEN(count > 0, true), WHEN(count_1 > 0, null), false)]
                Project[r_name, count, count_1]
                  Aggregate[r_name, unique]
                      count := count(*) (mask = matched)
                      count_1 := count(*) (mask = null_matched)
                    Project[r_name, unique, matched := non_null AND (not((IS_NULL(value)) OR
                          (IS_NULL(n_nationkey)))), null_matched := non_null AND ((IS_NULL(value)) OR
                          (IS_NULL(n_nationkey)))]
                      LeftJoin[r_regionkey = n_regionkey AND ((IS_NULL(value)) OR (IS_NULL(n_nationkey))) OR
                            (value = n_nationkey)] => r_name, value, unique, n_nationkey, non_null
                        AssignUniqueId[unique]
                          Project[r_regionkey, r_name, value := 3]
                            Scan[region: r_regionkey, r_name]
                        Project[n_nationkey, n_regionkey, non_null := true]
                          Scan[nation: n_nationkey, n_regionkey]
        """,
    )


def test_correlated_count_of_nothing_is_zero(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT r_name, (SELECT count(*) FROM nation WHERE n_regionkey = r_regionkey AND n_name < 'B') FROM region",
        """
        Output[r_name, expr]
          Project[r_name, expr := COALESCE(count, 0)]
            LeftJoin[r_regionkey = n_regionkey] => r_name, count
              Scan[region: r_regionkey, r_name]
              Aggregate[n_regionkey]
                  count := count(*)
                Project[n_regionkey]
                  Filter[n_name < 'B']
                    Scan[nation: n_name, n_regionkey]
        """,
    )


def test_correlated_maximum_of_nothing_is_null(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT r_name, (SELECT max(n_name) FROM nation WHERE n_regionkey = r_regionkey AND n_name < 'B') FROM region",
        """
        Output[r_name, expr]
          Project[r_name, expr := max]
            LeftJoin[r_regionkey = n_regionkey] => r_name, max
              Scan[region: r_regionkey, r_name]
              Aggregate[n_regionkey]
                  max := max(n_name)
                Filter[n_name < 'B']
                  Scan[nation: n_name, n_regionkey]
        """,
    )


def test_correlated_scalar_of_one_row(plans: DrawnPlans) -> None:
    """Several rows would fail."""
    plans.check(
        "SELECT n_name, (SELECT r_name FROM region WHERE r_regionkey = n_regionkey) FROM nation WHERE n_nationkey < 3",
        """
        Output[n_name, expr]
          Project[n_name, expr := IF(SWITCH(true, WHEN(is_distinct, true), CAST(fail(28, 'Scalar sub-query has
                returned multiple rows') AS boolean)), IF(non_null, r_name, null), null)]
            Filter[SWITCH(true, WHEN(is_distinct, true), CAST(fail(28, 'Scalar sub-query has returned multiple
                  rows') AS boolean))]
              MarkDistinct[distinct=unique:bigint marker=is_distinct]
                LeftJoin[n_regionkey = r_regionkey] => n_name, unique, r_name, non_null
                  AssignUniqueId[unique]
                    Filter[n_nationkey < 3]
                      Scan[nation: n_nationkey, n_name, n_regionkey]
                  Project[r_name, r_regionkey, non_null := true]
                    Scan[region: r_regionkey, r_name]
        """,
    )


def test_correlated_without_a_table(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT n_name, (SELECT n_nationkey + 1) FROM nation WHERE n_nationkey < 3",
        """
        Output[n_name, expr_1]
          Project[n_name, expr_1 := n_nationkey + 1]
            Filter[n_nationkey < 3]
              Scan[nation: n_nationkey, n_name]
        """,
    )


def test_two_levels(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT r_name FROM region WHERE EXISTS (SELECT 1 FROM nation WHERE n_regionkey = r_regionkey AND "
        "n_nationkey IN (SELECT s_nationkey FROM supplier WHERE s_suppkey < 9))",
        """
        Output[r_name]
          Project[r_name]
            Filter[exists]
              Project[r_name, exists := COALESCE(subquerytrue, false)]
                LeftJoin[r_regionkey = n_regionkey] => r_name, subquerytrue
                  Scan[region: r_regionkey, r_name]
                  Project[n_regionkey, subquerytrue := true]
                    Aggregate[n_regionkey]
                      Project[n_regionkey]
                        Filter[expr]
                          SemiJoin[expr := n_nationkey IN s_nationkey]
                            Scan[nation: n_nationkey, n_regionkey]
                            Project[s_nationkey]
                              Filter[s_suppkey < 9]
                                Scan[supplier: s_suppkey, s_nationkey]
        """,
    )


def test_in_having(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT n_regionkey, count(*) FROM nation GROUP BY n_regionkey HAVING max(n_nationkey) > (SELECT "
        "max(r_regionkey) + 18 FROM region)",
        """
        Output[n_regionkey, count]
          Project[n_regionkey, count]
            Filter[max > expr_1]
              CrossJoin[] => n_regionkey, count, max, expr_1
                Aggregate[n_regionkey]
                    count := count(*)
                    max := max(n_nationkey)
                  Scan[nation: n_nationkey, n_regionkey]
                Project[expr_1 := expr]
                  EnforceSingleRow
                    Project[expr := max_1 + 18]
                      Aggregate
                          max_1 := max(r_regionkey)
                        Scan[region: r_regionkey]
        """,
    )


def test_beside_aggregates(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT count(*) + (SELECT count(*) FROM region) FROM nation",
        """
        Output[expr_1]
          Project[expr_1 := count + expr]
            CrossJoin[] => count, expr
              Aggregate
                  count := count(*)
                Scan[nation: ]
              Project[expr := count_1]
                EnforceSingleRow
                  Aggregate
                      count_1 := count(*)
                    Scan[region: ]
        """,
    )


def test_in_order_by(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT n_name FROM nation WHERE n_nationkey < 4 ORDER BY (SELECT r_name FROM region WHERE "
        "r_regionkey = n_regionkey), n_name",
        """
        Output[n_name]
          Project[n_name]
            Sort[expr ASC_NULLS_LAST, n_name ASC_NULLS_LAST]
              Project[n_name, expr := IF(SWITCH(true, WHEN(is_distinct, true), CAST(fail(28, 'Scalar sub-query
                    has returned multiple rows') AS boolean)), IF(non_null, r_name, null), null)]
                Filter[SWITCH(true, WHEN(is_distinct, true), CAST(fail(28, 'Scalar sub-query has returned
                      multiple rows') AS boolean))]
                  MarkDistinct[distinct=unique:bigint marker=is_distinct]
                    LeftJoin[n_regionkey = r_regionkey] => n_name, unique, r_name, non_null
                      AssignUniqueId[unique]
                        Filter[n_nationkey < 4]
                          Scan[nation: n_nationkey, n_name, n_regionkey]
                      Project[r_name, r_regionkey, non_null := true]
                        Scan[region: r_regionkey, r_name]
        """,
    )


def test_in_the_condition_of_a_join(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT n_name, r_name FROM nation JOIN region ON n_regionkey = r_regionkey AND n_nationkey > (SELECT "
        "max(r_regionkey) + 16 FROM region)",
        """
        Output[n_name, r_name]
          Project[n_name, r_name]
            Filter[(n_regionkey = r_regionkey) AND (n_nationkey > expr_1)]
              CrossJoin[] => n_nationkey, n_name, n_regionkey, r_regionkey, r_name, expr_1
                CrossJoin[] => n_nationkey, n_name, n_regionkey, r_regionkey, r_name
                  Scan[nation: n_nationkey, n_name, n_regionkey]
                  Scan[region: r_regionkey, r_name]
                Project[expr_1 := expr]
                  EnforceSingleRow
                    Project[expr := max + 16]
                      Aggregate
                          max := max(r_regionkey_1)
                        Scan[region: r_regionkey_1]
        """,
    )
