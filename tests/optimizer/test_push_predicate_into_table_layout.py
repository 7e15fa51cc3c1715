"""What a filter says of single columns is told to the table, which may skip files by it; the filter stays."""

from __future__ import annotations

from tests.optimizer.rule_cases import RuleCases

RULE = "push_predicate_into_table_layout"


def test_comparisons_lists_and_ranges(rule: RuleCases) -> None:
    """What no domain can say is left to the filter."""
    rule.fires(
        RULE,
        "SELECT id FROM lake.db.events WHERE day >= DATE '2026-01-01' AND amount > 3e0 AND city IN ('b', 'a') "
        "AND length(payload) > 2",
        """
        Output[id]
          Project[id]
            Filter[((day >= (DATE'2026-01-01')) AND (amount > 3.0)) AND ((IN(city, 'b', 'a')) AND
                  ((length(payload)) > 2))]
              Scan[events: id, day, amount, city, payload]
        """,
        """
        Output[id]
          Project[id]
            Filter[((day >= (DATE'2026-01-01')) AND (amount > 3.0)) AND ((IN(city, 'b', 'a')) AND
                  ((length(payload)) > 2))]
              Scan[events: id, day, amount, city, payload]
                  day in [["2026-01-01", <max>)]
                  amount in [("3.0", <max>)]
                  city in [["a"], ["b"]]
        """,
    )


def test_terms_of_one_column_meet(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT id FROM lake.db.events WHERE id <> 3 AND id < 7 AND id BETWEEN 1 AND 100",
        """
        Output[id]
          Filter[((id <> 3) AND (id < 7)) AND (id BETWEEN 1 AND 100)]
            Scan[events: id]
        """,
        """
        Output[id]
          Filter[((id <> 3) AND (id < 7)) AND (id BETWEEN 1 AND 100)]
            Scan[events: id]
                id in [["1", "3"), ("3", "7")]
        """,
    )


def test_nulls(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT id FROM lake.db.events WHERE city IS NULL AND day IS NOT NULL",
        """
        Output[id]
          Project[id]
            Filter[(IS_NULL(city)) AND (not(IS_NULL(day)))]
              Scan[events: id, day, city]
        """,
        """
        Output[id]
          Project[id]
            Filter[(IS_NULL(city)) AND (not(IS_NULL(day)))]
              Scan[events: id, day, city]
                  day in [(<min>, <max>)]
                  city in [NULL]
        """,
    )


def test_contradictions_are_no_values(rule: RuleCases) -> None:
    """A range ends no earlier than it begins: workers refuse others."""
    rule.fires(
        RULE,
        "SELECT id FROM lake.db.events WHERE id BETWEEN 5 AND 3 AND day = DATE '2020-02-02' AND day < DATE "
        "'2020-02-02'",
        """
        Output[id]
          Project[id]
            Filter[((id BETWEEN 5 AND 3) AND (day = (DATE'2020-02-02'))) AND (day < (DATE'2020-02-02'))]
              Scan[events: id, day]
        """,
        """
        Output[id]
          Project[id]
            Filter[((id BETWEEN 5 AND 3) AND (day = (DATE'2020-02-02'))) AND (day < (DATE'2020-02-02'))]
              Scan[events: id, day]
                  id in []
                  day in []
        """,
    )


def test_a_partition_column(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT orderkey FROM lake.db.orders WHERE status = 'F'",
        """
        Output[orderkey]
          Project[orderkey]
            Filter[status = 'F']
              Scan[orders: orderkey, status]
        """,
        """
        Output[orderkey]
          Project[orderkey]
            Filter[status = 'F']
              Scan[orders: orderkey, status]
                  status in [["F"]]
        """,
    )


def test_the_filtered_side_of_an_outer_join(rule: RuleCases) -> None:
    """What the condition says of the side that keeps its rows is not said of its table."""
    rule.fires(
        RULE,
        "SELECT id FROM lake.db.events LEFT JOIN lake.db.orders ON id = orderkey AND status = 'F' AND id > 3",
        """
        Output[id]
          LeftJoin[id = orderkey AND id > 3] => id
            Scan[events: id]
            Filter[status = 'F']
              Scan[orders: orderkey, status]
        """,
        """
        Output[id]
          LeftJoin[id = orderkey AND id > 3] => id
            Scan[events: id]
            Filter[status = 'F']
              Scan[orders: orderkey, status]
                  status in [["F"]]
        """,
    )


def test_a_filter_that_is_another_each_time_is_told_as_far_as_it_is_not(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT id FROM lake.db.events WHERE id > 3 AND random() < 0.5",
        """
        Output[id]
          Filter[(random()) < 0.5]
            Filter[id > 3]
              Scan[events: id]
        """,
        """
        Output[id]
          Filter[(random()) < 0.5]
            Filter[id > 3]
              Scan[events: id]
                  id in [("3", <max>)]
        """,
    )


def test_an_or_says_nothing_of_one_column(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT id FROM lake.db.events WHERE id = 1 OR city = 'a'",
        """
        Output[id]
          Project[id]
            Filter[(id = 1) OR (city = 'a')]
              Scan[events: id, city]
        """,
    )


def test_nor_does_a_negation(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT id FROM lake.db.events WHERE NOT (id = 3)",
        """
        Output[id]
          Filter[not(id = 3)]
            Scan[events: id]
        """,
    )


def test_nor_a_list_with_null(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT id FROM lake.db.events WHERE id IN (1, NULL)",
        """
        Output[id]
          Filter[IN(id, 1, null)]
            Scan[events: id]
        """,
    )


def test_nor_what_null_may_pass(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT id FROM lake.db.events WHERE id IS DISTINCT FROM 3",
        """
        Output[id]
          Filter[IS_DISTINCT_FROM(id, 3)]
            Scan[events: id]
        """,
    )


def test_nor_what_compares_with_nothing(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT id FROM lake.db.events WHERE amount <> nan() AND id = NULL",
        """
        Output[id]
          Project[id]
            Filter[(amount <> (nan())) AND (id = null)]
              Scan[events: id, amount]
        """,
    )


def test_nor_what_is_computed_of_a_column(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT id FROM lake.db.events WHERE CAST(id AS varchar) = '3'",
        """
        Output[id]
          Filter[(CAST(id AS varchar)) = '3']
            Scan[events: id]
        """,
    )


def test_rows_of_a_limit_are_chosen_before(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT id FROM (SELECT id FROM lake.db.events LIMIT 10) WHERE id > 3",
        """
        Output[id]
          Filter[id > 3]
            Limit[10]
              Scan[events: id]
        """,
    )


def test_groups_are_no_columns(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT count(*) FROM lake.db.events HAVING count(*) > 3",
        """
        Output[count]
          Filter[count > 3]
            Aggregate
                count := count(*)
              Scan[events: ]
        """,
    )


def test_a_table_without_such_a_layout(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT n_name FROM nation WHERE n_nationkey = 3",
        """
        Output[n_name]
          Project[n_name]
            Filter[n_nationkey = 3]
              Scan[nation: n_nationkey, n_name]
        """,
    )
