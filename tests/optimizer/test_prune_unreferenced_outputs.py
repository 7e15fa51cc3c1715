"""Columns that nothing reads go, down to the scans."""

from __future__ import annotations

from tests.optimizer.rule_cases import RuleCases

RULE = "prune_unreferenced_outputs"


def test_columns_of_a_table(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT n_name FROM nation WHERE n_regionkey = 1",
        """
        Output[n_name]
          Project[n_name]
            Filter[n_regionkey = 1]
              Scan[nation: n_nationkey, n_name, n_regionkey, n_comment]
        """,
        """
        Output[n_name]
          Project[n_name]
            Filter[n_regionkey = 1]
              Scan[nation: n_name, n_regionkey]
        """,
        first=(),
    )


def test_no_column_is_left_to_count(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT count(*) FROM nation",
        """
        Output[count]
          Project[count]
            Aggregate
                count := count(*)
              Project[]
                Scan[nation: n_nationkey, n_name, n_regionkey, n_comment]
        """,
        """
        Output[count]
          Project[count]
            Aggregate
                count := count(*)
              Project[]
                Scan[nation: ]
        """,
        first=(),
    )


def test_expressions_that_nobody_reads(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT a FROM (SELECT n_name a, upper(n_comment) b FROM nation)",
        """
        Output[n_name]
          Project[n_name]
            Project[n_name, b := upper(n_comment)]
              Scan[nation: n_nationkey, n_name, n_regionkey, n_comment]
        """,
        """
        Output[n_name]
          Project[n_name]
            Project[n_name]
              Scan[nation: n_name]
        """,
        first=(),
    )


def test_columns_of_both_sides_of_a_join(rule: RuleCases) -> None:
    """What its condition reads stays below it."""
    rule.rests(
        RULE,
        "SELECT n_name FROM nation LEFT JOIN region ON n_regionkey = r_regionkey AND r_name < n_name",
        """
        Output[n_name]
          LeftJoin[n_regionkey = r_regionkey AND r_name < n_name] => n_name
            Scan[nation: n_name, n_regionkey]
            Scan[region: r_regionkey, r_name]
        """,
    )


def test_aggregates_with_their_filters(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT a FROM (SELECT n_regionkey a, count(*) b, max(n_name) FILTER (WHERE n_comment > 'a') c FROM "
        "nation GROUP BY 1)",
        """
        Output[n_regionkey]
          Project[n_regionkey]
            Project[n_regionkey, count, max]
              Aggregate[n_regionkey]
                  count := count(*)
                  max := max(n_name) (mask = expr)
                Project[n_regionkey, n_name, expr]
                  Project[n_nationkey, n_name, n_regionkey, n_comment, expr := n_comment > 'a']
                    Scan[nation: n_nationkey, n_name, n_regionkey, n_comment]
        """,
        """
        Output[n_regionkey]
          Project[n_regionkey]
            Project[n_regionkey]
              Aggregate[n_regionkey]
                Project[n_regionkey]
                  Project[n_regionkey]
                    Scan[nation: n_regionkey]
        """,
        first=(),
    )


def test_a_global_aggregation_keeps_its_row(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT 1 FROM (SELECT count(*) b FROM nation)",
        """
        Output[expr]
          Project[expr := 1]
            Project[count]
              Aggregate
                  count := count(*)
                Project[]
                  Scan[nation: n_nationkey, n_name, n_regionkey, n_comment]
        """,
        """
        Output[expr]
          Project[expr := 1]
            Project[]
              Aggregate
                Project[]
                  Scan[nation: ]
        """,
        first=(),
    )


def test_the_order_of_an_aggregate_is_read(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT array_agg(n_name ORDER BY n_comment) FROM nation WHERE n_nationkey < 3",
        """
        Output[array_agg]
          Project[array_agg]
            Aggregate
                array_agg := array_agg(n_name) ORDER BY n_comment ASC_NULLS_LAST
              Project[n_name, n_comment]
                Filter[n_nationkey < 3]
                  Scan[nation: n_nationkey, n_name, n_regionkey, n_comment]
        """,
        """
        Output[array_agg]
          Project[array_agg]
            Aggregate
                array_agg := array_agg(n_name) ORDER BY n_comment ASC_NULLS_LAST
              Project[n_name, n_comment]
                Filter[n_nationkey < 3]
                  Scan[nation: n_nationkey, n_name, n_comment]
        """,
        first=(),
    )


def test_a_window_that_nobody_reads_goes_with_what_it_reads(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT a FROM (SELECT n_name a, rank() OVER (PARTITION BY n_regionkey ORDER BY n_comment) b FROM nation)",
        """
        Output[n_name]
          Project[n_name]
            Project[n_name, rank]
              Window[partition by n_regionkey, order by (n_comment ASC_NULLS_LAST)]
                  rank := rank() RANGE UNBOUNDED_PRECEDING CURRENT_ROW
                Scan[nation: n_nationkey, n_name, n_regionkey, n_comment]
        """,
        """
        Output[n_name]
          Project[n_name]
            Project[n_name]
              Scan[nation: n_name]
        """,
        first=(),
    )


def test_a_window_that_is_read_keeps_what_it_reads(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT a FROM (SELECT n_name a, rank() OVER (PARTITION BY n_regionkey ORDER BY n_comment) b FROM "
        "nation) WHERE b = 1",
        """
        Output[n_name]
          Project[n_name]
            Project[n_name, rank]
              Filter[rank = 1]
                Window[partition by n_regionkey, order by (n_comment ASC_NULLS_LAST)]
                    rank := rank() RANGE UNBOUNDED_PRECEDING CURRENT_ROW
                  Scan[nation: n_nationkey, n_name, n_regionkey, n_comment]
        """,
        """
        Output[n_name]
          Project[n_name]
            Project[n_name]
              Filter[rank = 1]
                Window[partition by n_regionkey, order by (n_comment ASC_NULLS_LAST)]
                    rank := rank() RANGE UNBOUNDED_PRECEDING CURRENT_ROW
                  Scan[nation: n_name, n_regionkey, n_comment]
        """,
        first=(),
    )


def test_columns_of_all_branches_of_a_union(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT a FROM (SELECT n_name a, n_nationkey b FROM nation UNION ALL SELECT r_name, r_regionkey FROM region)",
        """
        Output[a]
          Project[a]
            Union[a, b]
                of n_name, n_nationkey
                of r_name, r_regionkey
              Project[n_name, n_nationkey]
                Scan[nation: n_nationkey, n_name, n_regionkey, n_comment]
              Project[r_name, r_regionkey]
                Scan[region: r_regionkey, r_name, r_comment]
        """,
        """
        Output[a]
          Project[a]
            Union[a]
                of n_name
                of r_name
              Project[n_name]
                Scan[nation: n_name]
              Project[r_name]
                Scan[region: r_name]
        """,
        first=(),
    )


def test_distinct_rows_are_distinct_by_all_columns(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT count(*) FROM (SELECT n_name a, n_nationkey b FROM nation UNION SELECT r_name, r_regionkey "
        "FROM region)",
        """
        Output[count]
          Project[count]
            Aggregate
                count := count(*)
              Project[]
                Aggregate[a, b]
                  Union[a, b]
                      of n_name, n_nationkey
                      of r_name, r_regionkey
                    Project[n_name, n_nationkey]
                      Scan[nation: n_nationkey, n_name, n_regionkey, n_comment]
                    Project[r_name, r_regionkey]
                      Scan[region: r_regionkey, r_name, r_comment]
        """,
        """
        Output[count]
          Project[count]
            Aggregate
                count := count(*)
              Project[]
                Aggregate[a, b]
                  Union[a, b]
                      of n_name, n_nationkey
                      of r_name, r_regionkey
                    Project[n_name, n_nationkey]
                      Scan[nation: n_nationkey, n_name]
                    Project[r_name, r_regionkey]
                      Scan[region: r_regionkey, r_name]
        """,
        first=(),
    )


def test_columns_beside_an_unnested_array(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT x FROM nation CROSS JOIN UNNEST(ARRAY[n_name]) t(x)",
        """
        Output[field]
          Project[field]
            Unnest[unnest] => n_nationkey, n_name, n_regionkey, n_comment, field
              Project[n_nationkey, n_name, n_regionkey, n_comment, unnest := ARRAY(n_name)]
                Scan[nation: n_nationkey, n_name, n_regionkey, n_comment]
        """,
        """
        Output[field]
          Project[field]
            Unnest[unnest] => field
              Project[unnest := ARRAY(n_name)]
                Scan[nation: n_name]
        """,
        first=(),
    )


def test_columns_beside_the_number_of_their_row(rule: RuleCases) -> None:
    """The rows of a correlated subquery are grouped by it: it decides the others."""
    rule.rests(
        RULE,
        "SELECT n_name FROM nation a WHERE NOT EXISTS (SELECT 1 FROM nation b WHERE b.n_regionkey = "
        "a.n_regionkey AND b.n_nationkey > a.n_nationkey)",
        """
        Output[n_name]
          Project[n_name]
            Filter[not(exists)]
              Project[n_name, exists := count > 0]
                Project[n_name, count]
                  Aggregate[n_name, unique]
                      count := count(*) (mask = non_null)
                    LeftJoin[n_regionkey = n_regionkey_1 AND n_nationkey_1 > n_nationkey] => n_name, unique,
                          non_null
                      AssignUniqueId[unique]
                        Scan[nation: n_nationkey, n_name, n_regionkey]
                      Project[n_nationkey_1, n_regionkey_1, non_null := true]
                        Scan[nation: n_nationkey_1, n_regionkey_1]
        """,
    )


def test_columns_beside_distinct_rows(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT n_name, (SELECT r_name FROM region WHERE r_regionkey = n_regionkey) FROM nation",
        """
        Output[n_name, expr]
          Project[n_name, expr]
            Project[n_nationkey, n_name, n_regionkey, n_comment, expr := IF(SWITCH(true, WHEN(is_distinct,
                  true), CAST(fail(28, 'Scalar sub-query has returned multiple rows') AS boolean)), IF(non_null,
                  r_name, null), null)]
              Filter[SWITCH(true, WHEN(is_distinct, true), CAST(fail(28, 'Scalar sub-query has returned multiple
                    rows') AS boolean))]
                MarkDistinct[distinct=unique:bigint marker=is_distinct]
                  LeftJoin[n_regionkey = r_regionkey] => n_nationkey, n_name, n_regionkey, n_comment, unique,
                        r_name, r_regionkey, non_null
                    AssignUniqueId[unique]
                      Scan[nation: n_nationkey, n_name, n_regionkey, n_comment]
                    Project[r_name, r_regionkey, non_null := true]
                      Project[r_name, r_regionkey]
                        Scan[region: r_regionkey, r_name, r_comment]
        """,
        """
        Output[n_name, expr]
          Project[n_name, expr]
            Project[n_name, expr := IF(SWITCH(true, WHEN(is_distinct, true), CAST(fail(28, 'Scalar sub-query has
                  returned multiple rows') AS boolean)), IF(non_null, r_name, null), null)]
              Filter[SWITCH(true, WHEN(is_distinct, true), CAST(fail(28, 'Scalar sub-query has returned multiple
                    rows') AS boolean))]
                MarkDistinct[distinct=unique:bigint marker=is_distinct]
                  LeftJoin[n_regionkey = r_regionkey] => n_name, unique, r_name, non_null
                    AssignUniqueId[unique]
                      Scan[nation: n_name, n_regionkey]
                    Project[r_name, r_regionkey, non_null := true]
                      Project[r_name, r_regionkey]
                        Scan[region: r_regionkey, r_name]
        """,
        first=(),
    )


def test_keys_of_groups_are_read(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT count(*) FROM (SELECT n_regionkey, n_comment, count(*) FROM nation GROUP BY 1, 2)",
        """
        Output[count_1]
          Project[count_1]
            Aggregate
                count_1 := count(*)
              Project[]
                Project[n_regionkey, n_comment, count]
                  Aggregate[n_regionkey, n_comment]
                      count := count(*)
                    Project[n_regionkey, n_comment]
                      Scan[nation: n_nationkey, n_name, n_regionkey, n_comment]
        """,
        """
        Output[count_1]
          Project[count_1]
            Aggregate
                count_1 := count(*)
              Project[]
                Project[]
                  Aggregate[n_regionkey, n_comment]
                    Project[n_regionkey, n_comment]
                      Scan[nation: n_regionkey, n_comment]
        """,
        first=(),
    )


def test_what_in_asks_for(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT n_name FROM nation WHERE n_regionkey IN (SELECT r_regionkey FROM region WHERE r_name < 'B')",
        """
        Output[n_name]
          Project[n_name]
            Filter[expr]
              SemiJoin[expr := n_regionkey IN r_regionkey]
                Scan[nation: n_nationkey, n_name, n_regionkey, n_comment]
                Project[r_regionkey]
                  Filter[r_name < 'B']
                    Scan[region: r_regionkey, r_name, r_comment]
        """,
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
        first=(),
    )


def test_what_rows_are_ordered_by(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT n_name FROM nation ORDER BY n_comment LIMIT 3",
        """
        Output[n_name]
          Project[n_name]
            TopN[3 by (n_comment ASC_NULLS_LAST)]
              Project[n_name, n_comment]
                Scan[nation: n_nationkey, n_name, n_regionkey, n_comment]
        """,
        """
        Output[n_name]
          Project[n_name]
            TopN[3 by (n_comment ASC_NULLS_LAST)]
              Project[n_name, n_comment]
                Scan[nation: n_name, n_comment]
        """,
        first=(),
    )


def test_cells_of_values(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT y FROM (VALUES (1, 'a'), (2, 'b')) t(x, y)",
        """
        Output[field_1]
          Project[field_1]
            Values[field, field_1: (1, 'a'), (2, 'b')]
        """,
        """
        Output[field_1]
          Project[field_1]
            Values[field_1: ('a'), ('b')]
        """,
        first=(),
    )


def test_one_cell_of_values_stays(rule: RuleCases) -> None:
    """There must be as many rows."""
    rule.rests(
        RULE,
        "SELECT 1 FROM (VALUES (1, 'a'), (2, 'b')) t(x, y)",
        """
        Output[expr]
          Project[expr := 1]
            Values[field: (1), (2)]
        """,
    )
