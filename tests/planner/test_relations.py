"""Each kind of relation as the planner builds it, without columns that nobody reads; rows beside those of DuckDB."""

from __future__ import annotations

from tests.planner.drawn_plans import DrawnPlans


def test_table(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT n_name FROM nation",
        """
        Output[n_name]
          Scan[nation: n_name]
        """,
    )


def test_table_with_alias_and_columns(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT t.b FROM nation AS t (a, b, c, d) WHERE t.c = 1",
        """
        Output[n_name]
          Project[n_name]
            Filter[n_regionkey = 1]
              Scan[nation: n_name, n_regionkey]
        """,
    )


def test_no_table(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT 1 AS one, 'a' AS text",
        """
        Output[one, text]
          Project[one := 1, text := 'a']
            Values[: ()]
        """,
    )


def test_values_of_constants(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT * FROM (VALUES (1, 'a'), (2, NULL)) t(x, y)",
        """
        Output[field, field_1]
          Values[field, field_1: (1, 'a'), (2, null)]
        """,
    )


def test_values_of_several_types(plans: DrawnPlans) -> None:
    """The cells have the type that all fit."""
    plans.check(
        "SELECT x FROM (VALUES 1, 2.5, NULL) t(x)",
        """
        Output[field]
          Values[field: (1.0), (2.5), (null)]
        """,
    )


def test_subquery(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT x + 1 AS y FROM (SELECT n_nationkey * 2 AS x FROM nation) WHERE x > 40",
        """
        Output[y]
          Project[y := x + 1]
            Filter[x > 40]
              Project[x := n_nationkey * 2]
                Scan[nation: n_nationkey]
        """,
    )


def test_common_table_expression_twice(plans: DrawnPlans) -> None:
    """Each use is planned by itself, as in Presto."""
    plans.check(
        "WITH t AS (SELECT n_regionkey k FROM nation WHERE n_nationkey < 3) SELECT a.k FROM t a, t b WHERE a.k = b.k",
        """
        Output[n_regionkey]
          InnerJoin[n_regionkey = n_regionkey_1] => n_regionkey
            Project[n_regionkey]
              Filter[n_nationkey < 3]
                Scan[nation: n_nationkey, n_regionkey]
            Project[n_regionkey_1]
              Filter[n_nationkey_1 < 3]
                Scan[nation: n_nationkey_1, n_regionkey_1]
        """,
    )


def test_common_table_expression_of_another(plans: DrawnPlans) -> None:
    plans.check(
        "WITH a AS (SELECT r_regionkey k FROM region), b (z) AS (SELECT k + 1 FROM a) SELECT z FROM b",
        """
        Output[expr]
          Project[expr := r_regionkey + 1]
            Scan[region: r_regionkey]
        """,
    )


def test_cross_join(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT n_name, r_name FROM nation CROSS JOIN region",
        """
        Output[n_name, r_name]
          CrossJoin[] => n_name, r_name
            Scan[nation: n_name]
            Scan[region: r_name]
        """,
    )


def test_comma_with_condition(plans: DrawnPlans) -> None:
    """Conditions of one table stand over it, equalities are criteria."""
    plans.check(
        "SELECT n_name, r_name FROM nation, region WHERE n_regionkey = r_regionkey AND r_name < 'B' AND "
        "n_nationkey > 3",
        """
        Output[n_name, r_name]
          InnerJoin[n_regionkey = r_regionkey] => n_name, r_name
            Filter[n_nationkey > 3]
              Scan[nation: n_nationkey, n_name, n_regionkey]
            Filter[r_name < 'B']
              Scan[region: r_regionkey, r_name]
        """,
    )


def test_inner_join_on_inequality(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT n_name, r_name FROM nation JOIN region ON n_regionkey < r_regionkey",
        """
        Output[n_name, r_name]
          InnerJoin[n_regionkey < r_regionkey] => n_name, r_name
            Scan[nation: n_name, n_regionkey]
            Scan[region: r_regionkey, r_name]
        """,
    )


def test_join_using(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT k, a.n_name, r_name FROM (SELECT n_regionkey k, n_name FROM nation) a JOIN (SELECT "
        "r_regionkey k, r_name FROM region) b USING (k)",
        """
        Output[n_regionkey, n_name, r_name]
          InnerJoin[n_regionkey = r_regionkey] => n_regionkey, n_name, r_name
            Scan[nation: n_name, n_regionkey]
            Scan[region: r_regionkey, r_name]
        """,
    )


def test_full_join_using(plans: DrawnPlans) -> None:
    """The column of both is whichever is there."""
    plans.check(
        "SELECT k FROM (SELECT n_nationkey k FROM nation WHERE n_nationkey < 2) a FULL JOIN (SELECT "
        "r_regionkey k FROM region) b USING (k)",
        """
        Output[k]
          Project[k := COALESCE(n_nationkey, r_regionkey)]
            FullJoin[n_nationkey = r_regionkey] => n_nationkey, r_regionkey
              Filter[n_nationkey < 2]
                Scan[nation: n_nationkey]
              Scan[region: r_regionkey]
        """,
    )


def test_left_join_filters_its_right_side(plans: DrawnPlans) -> None:
    """What is asked of the left side decides only whether a row has a partner."""
    plans.check(
        "SELECT n_name, r_name FROM nation LEFT JOIN region ON n_regionkey = r_regionkey AND r_name = 'ASIA' "
        "AND n_nationkey > 3",
        """
        Output[n_name, r_name]
          LeftJoin[n_regionkey = r_regionkey AND n_nationkey > 3] => n_name, r_name
            Scan[nation: n_nationkey, n_name, n_regionkey]
            Filter[r_name = 'ASIA']
              Scan[region: r_regionkey, r_name]
        """,
    )


def test_right_join_filters_its_left_side(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT n_name, r_name FROM nation RIGHT JOIN region ON n_regionkey = r_regionkey AND n_nationkey > "
        "20 AND r_name = 'ASIA'",
        """
        Output[n_name, r_name]
          RightJoin[n_regionkey = r_regionkey AND r_name = 'ASIA'] => n_name, r_name
            Filter[n_nationkey > 20]
              Scan[nation: n_nationkey, n_name, n_regionkey]
            Scan[region: r_regionkey, r_name]
        """,
    )


def test_full_join_filters_no_side(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT n_name, r_name FROM nation FULL JOIN region ON n_regionkey = r_regionkey AND n_nationkey > 20 "
        "AND r_name = 'ASIA'",
        """
        Output[n_name, r_name]
          FullJoin[n_regionkey = r_regionkey AND (n_nationkey > 20) AND (r_name = 'ASIA')] => n_name, r_name
            Scan[nation: n_nationkey, n_name, n_regionkey]
            Scan[region: r_regionkey, r_name]
        """,
    )


def test_where_above_left_join(plans: DrawnPlans) -> None:
    """Only what is asked of the left side goes below."""
    plans.check(
        "SELECT n_name FROM nation LEFT JOIN region ON n_regionkey = r_regionkey WHERE r_name = 'ASIA' AND "
        "n_nationkey > 3",
        """
        Output[n_name]
          Project[n_name]
            Filter[r_name = 'ASIA']
              LeftJoin[n_regionkey = r_regionkey] => n_name, r_name
                Filter[n_nationkey > 3]
                  Scan[nation: n_nationkey, n_name, n_regionkey]
                Scan[region: r_regionkey, r_name]
        """,
    )


def test_where_above_full_join(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT n_name FROM nation FULL JOIN region ON n_regionkey = r_regionkey WHERE n_nationkey > 20",
        """
        Output[n_name]
          Project[n_name]
            Filter[n_nationkey > 20]
              FullJoin[n_regionkey = r_regionkey] => n_nationkey, n_name
                Scan[nation: n_nationkey, n_name, n_regionkey]
                Scan[region: r_regionkey]
        """,
    )


def test_joins_of_joins(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT n_name FROM (nation JOIN region ON n_regionkey = r_regionkey) LEFT JOIN supplier ON "
        "s_nationkey = n_nationkey AND s_suppkey < 3",
        """
        Output[n_name]
          LeftJoin[n_nationkey = s_nationkey] => n_name
            InnerJoin[n_regionkey = r_regionkey] => n_nationkey, n_name
              Scan[nation: n_nationkey, n_name, n_regionkey]
              Scan[region: r_regionkey]
            Filter[s_suppkey < 3]
              Scan[supplier: s_suppkey, s_nationkey]
        """,
    )


def test_unnest_of_an_array(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT x FROM UNNEST(ARRAY[1, 2]) AS t (x)",
        """
        Output[field]
          Unnest[unnest] => field
            Project[unnest := ARRAY(1, 2)]
              Values[: ()]
        """,
    )


def test_unnest_beside_a_table(plans: DrawnPlans) -> None:
    """The condition of the elements stays above, that of the table would not."""
    plans.check(
        "SELECT r_name, x FROM region CROSS JOIN UNNEST(ARRAY[r_regionkey, 7]) AS t (x) WHERE x > 2",
        """
        Output[r_name, field]
          Filter[field > 2]
            Unnest[unnest] => r_name, field
              Project[r_name, unnest := ARRAY(r_regionkey, 7)]
                Scan[region: r_regionkey, r_name]
        """,
    )


def test_sample(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT n_name FROM nation TABLESAMPLE BERNOULLI (100)",
        """
        Output[n_name]
          Filter[(random()) < 1.0]
            Scan[nation: n_name]
        """,
    )


def test_lateral_over_columns(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT n_name, y FROM nation CROSS JOIN LATERAL (SELECT n_nationkey * 2 AS y) WHERE y > 40",
        """
        Output[n_name, y]
          Filter[y > 40]
            Project[n_name, y := n_nationkey * 2]
              Scan[nation: n_nationkey, n_name]
        """,
    )


def test_lateral_rows(plans: DrawnPlans) -> None:
    plans.check(
        "SELECT r_name, n FROM region CROSS JOIN LATERAL (SELECT n_name AS n FROM nation WHERE n_regionkey = "
        "r_regionkey AND n_nationkey > 20)",
        """
        Output[r_name, n_name]
          InnerJoin[r_regionkey = n_regionkey] => r_name, n_name
            Scan[region: r_regionkey, r_name]
            Project[n_name, n_regionkey]
              Filter[n_nationkey > 20]
                Scan[nation: n_nationkey, n_name, n_regionkey]
        """,
    )


def test_lateral_aggregate(plans: DrawnPlans) -> None:
    """Rows without partners count none."""
    plans.check(
        "SELECT r_name, c FROM region CROSS JOIN LATERAL (SELECT count(*) AS c FROM nation WHERE n_regionkey "
        "= r_regionkey)",
        """
        Output[r_name, count]
          Project[r_name, count := COALESCE(count, 0)]
            LeftJoin[r_regionkey = n_regionkey] => r_name, count
              Scan[region: r_regionkey, r_name]
              Aggregate[n_regionkey]
                  count := count(*)
                Scan[nation: n_regionkey]
        """,
    )
