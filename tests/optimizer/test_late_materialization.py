"""Columns that only the result needs are read after its rows are known, by the positions of the rows."""

from __future__ import annotations

import pytest

from tests.optimizer.rule_cases import RuleCases

RULE = "late_materialization"


def test_first_rows_of_an_order(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT * FROM lake.db.events ORDER BY amount DESC LIMIT 10",
        """
        Output[id, day, customer, amount, city, payload]
          TopN[10 by (amount DESC_NULLS_LAST)]
            Scan[events: id, day, customer, amount, city, payload]
        """,
        """
        Output[id, day, customer, amount, city, payload]
          Fetch[deferred = id, day, customer, city, payload]
            TopN[10 by (amount DESC_NULLS_LAST)]
              Scan[events: amount, $row_source_0, $row_ref_0]
            LookUp[events at $row_source_0, $row_ref_0: id, day, customer, city, payload]
        """,
    )


def test_few_rows_of_a_filter(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT * FROM lake.db.events WHERE id = 5",
        """
        Output[id, day, customer, amount, city, payload]
          Filter[id = 5]
            Scan[events: id, day, customer, amount, city, payload]
        """,
        """
        Output[id, day, customer, amount, city, payload]
          Fetch[deferred = day, customer, amount, city, payload]
            Filter[id = 5]
              Scan[events: id, $row_source_0, $row_ref_0]
            LookUp[events at $row_source_0, $row_ref_0: day, customer, amount, city, payload]
        """,
    )


def test_both_sides_of_a_join(rule: RuleCases) -> None:
    """Its narrow build side is copied."""
    rule.fires(
        RULE,
        "SELECT e.payload, c.address FROM lake.db.events e JOIN lake.db.customers c ON e.customer = c.id "
        "ORDER BY e.amount LIMIT 5",
        """
        Output[payload, address]
          Project[payload, address]
            TopN[5 by (amount ASC_NULLS_LAST)]
              InnerJoin[customer = id_1] => amount, payload, address
                Scan[events: customer, amount, payload]
                Scan[customers: id_1, address]
        """,
        """
        Output[payload, address]
          Fetch[deferred = payload, address]
            Project[$row_source_0, $row_ref_0, $row_source_1, $row_ref_1]
              TopN[5 by (amount ASC_NULLS_LAST)]
                InnerJoin[customer = id_1] => amount, $row_source_0, $row_ref_0, $row_source_1, $row_ref_1
                    REPLICATED
                  Scan[events: customer, amount, $row_source_0, $row_ref_0]
                  Scan[customers: id_1, $row_source_1, $row_ref_1]
            LookUp[events at $row_source_0, $row_ref_0: payload]
            LookUp[customers at $row_source_1, $row_ref_1: address]
        """,
    )


def test_the_side_of_an_outer_join_that_gets_nulls(rule: RuleCases) -> None:
    """A position that is NULL gives NULLs, of which expressions above are computed."""
    rule.fires(
        RULE,
        "SELECT c.address, coalesce(c.address, 'none') FROM lake.db.events e LEFT JOIN lake.db.customers c ON "
        "e.customer = c.id ORDER BY e.amount LIMIT 3",
        """
        Output[address, expr]
          Project[address, expr]
            TopN[3 by (amount ASC_NULLS_LAST)]
              Project[address, expr := COALESCE(address, 'none'), amount]
                LeftJoin[customer = id_1] => amount, address
                  Scan[events: customer, amount]
                  Scan[customers: id_1, address]
        """,
        """
        Output[address, expr]
          Project[address, expr := COALESCE(address, 'none')]
            Fetch[deferred = address]
              Project[$row_source_1, $row_ref_1]
                TopN[3 by (amount ASC_NULLS_LAST)]
                  Project[amount, $row_source_1, $row_ref_1]
                    LeftJoin[customer = id_1] => amount, $row_source_1, $row_ref_1
                        REPLICATED
                      Scan[events: customer, amount]
                      Scan[customers: id_1, $row_source_1, $row_ref_1]
              LookUp[customers at $row_source_1, $row_ref_1: address]
        """,
    )


def test_expressions_of_that_side_are_computed_there(rule: RuleCases) -> None:
    """Above it they would make something of the NULLs."""
    rule.rests(
        RULE,
        "SELECT y FROM lake.db.events e LEFT JOIN (SELECT id, coalesce(address, 'none') y FROM "
        "lake.db.customers) c ON e.customer = c.id ORDER BY e.amount LIMIT 3",
        """
        Output[y]
          Project[y]
            TopN[3 by (amount ASC_NULLS_LAST)]
              LeftJoin[customer = id_1] => amount, y
                Scan[events: customer, amount]
                Project[id_1, y := COALESCE(address, 'none')]
                  Scan[customers: id_1, address]
        """,
    )


def test_expressions_of_few_rows_wait(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT upper(payload), city FROM lake.db.events ORDER BY amount LIMIT 5",
        """
        Output[expr, city]
          Project[expr, city]
            TopN[5 by (amount ASC_NULLS_LAST)]
              Project[expr := upper(payload), city, amount]
                Scan[events: amount, city, payload]
        """,
        """
        Output[expr, city]
          Project[expr := upper(payload), city]
            Fetch[deferred = payload, city]
              Project[$row_source_0, $row_ref_0]
                TopN[5 by (amount ASC_NULLS_LAST)]
                  Project[amount, $row_source_0, $row_ref_0]
                    Scan[events: amount, $row_source_0, $row_ref_0]
              LookUp[events at $row_source_0, $row_ref_0: payload, city]
        """,
    )


def test_what_is_another_each_time_does_not_wait(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT payload, random() + id FROM lake.db.events ORDER BY amount LIMIT 3",
        """
        Output[payload, expr]
          Project[payload, expr]
            TopN[3 by (amount ASC_NULLS_LAST)]
              Project[payload, expr := (random()) + (CAST(id AS double)), amount]
                Scan[events: id, amount, payload]
        """,
        """
        Output[payload, expr]
          Fetch[deferred = payload]
            Project[expr, $row_source_0, $row_ref_0]
              TopN[3 by (amount ASC_NULLS_LAST)]
                Project[expr := (random()) + (CAST(id AS double)), amount, $row_source_0, $row_ref_0]
                  Scan[events: id, amount, $row_source_0, $row_ref_0]
            LookUp[events at $row_source_0, $row_ref_0: payload]
        """,
    )


def test_branches_of_a_union_have_positions_of_their_own(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT city, payload FROM (SELECT city, payload, day FROM lake.db.events UNION ALL SELECT name, "
        "address, DATE '2020-01-01' FROM lake.db.customers) ORDER BY day LIMIT 4",
        """
        Output[city_1, payload_1]
          Project[city_1, payload_1]
            TopN[4 by (day_1 ASC_NULLS_LAST)]
              Union[city_1, payload_1, day_1]
                  of city, payload, day
                  of name, address, expr
                Scan[events: day, city, payload]
                Project[name, address, expr := DATE'2020-01-01']
                  Scan[customers: name, address]
        """,
        """
        Output[city_1, payload_1]
          Fetch[deferred = city_1, payload_1]
            Project[$row_source_0_1, $row_ref_0_1, $row_source_2_1, $row_ref_2_1]
              TopN[4 by (day_1 ASC_NULLS_LAST)]
                Union[day_1, $row_source_0_1, $row_ref_0_1, $row_source_2_1, $row_ref_2_1]
                    of day, $row_source_0, $row_ref_0, $row_source_2_1_1, $row_ref_2_1_1
                    of expr, $row_source_0_1_1, $row_ref_0_1_1, $row_source_2, $row_ref_2
                  Project[day, $row_source_0, $row_ref_0, $row_source_2_1_1 := null, $row_ref_2_1_1 := null]
                    Scan[events: day, $row_source_0, $row_ref_0]
                  Project[expr, $row_source_2, $row_ref_2, $row_source_0_1_1 := null, $row_ref_0_1_1 := null]
                    Project[expr := DATE'2020-01-01', $row_source_2, $row_ref_2]
                      Scan[customers: $row_source_2, $row_ref_2]
            LookUp[events at $row_source_0_1, $row_ref_0_1: city_1, payload_1]
            LookUp[customers at $row_source_2_1, $row_ref_2_1: city_1, payload_1]
        """,
    )


def test_rows_beside_an_unnested_array(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT x, payload FROM lake.db.events CROSS JOIN UNNEST(ARRAY[city]) t(x) ORDER BY amount LIMIT 3",
        """
        Output[field, payload]
          Project[field, payload]
            TopN[3 by (amount ASC_NULLS_LAST)]
              Unnest[unnest] => amount, payload, field
                Project[amount, payload, unnest := ARRAY(city)]
                  Scan[events: amount, city, payload]
        """,
        """
        Output[field, payload]
          Fetch[deferred = payload]
            Project[field, $row_source_0, $row_ref_0]
              TopN[3 by (amount ASC_NULLS_LAST)]
                Unnest[unnest] => amount, $row_source_0, $row_ref_0, field
                  Project[amount, unnest := ARRAY(city), $row_source_0, $row_ref_0]
                    Scan[events: amount, city, $row_source_0, $row_ref_0]
            LookUp[events at $row_source_0, $row_ref_0: payload]
        """,
    )


def test_what_in_asks_for_is_read(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT payload FROM lake.db.events WHERE customer IN (SELECT id FROM lake.db.customers WHERE name = "
        "'x') ORDER BY amount LIMIT 3",
        """
        Output[payload]
          Project[payload]
            TopN[3 by (amount ASC_NULLS_LAST)]
              Project[payload, amount]
                Filter[expr]
                  SemiJoin[expr := customer IN id_1]
                    Scan[events: customer, amount, payload]
                    Project[id_1]
                      Filter[name = 'x']
                        Scan[customers: id_1, name]
        """,
        """
        Output[payload]
          Fetch[deferred = payload]
            Project[$row_source_0, $row_ref_0]
              TopN[3 by (amount ASC_NULLS_LAST)]
                Project[amount, $row_source_0, $row_ref_0]
                  Filter[expr]
                    SemiJoin[expr := customer IN id_1]
                      Scan[events: customer, amount, $row_source_0, $row_ref_0]
                      Project[id_1]
                        Filter[name = 'x']
                          Scan[customers: id_1, name]
            LookUp[events at $row_source_0, $row_ref_0: payload]
        """,
    )


def test_what_rows_are_ordered_by_is_read(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT payload FROM lake.db.events ORDER BY payload LIMIT 3",
        """
        Output[payload]
          TopN[3 by (payload ASC_NULLS_LAST)]
            Scan[events: payload]
        """,
    )


def test_what_is_distinct_is_read(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT DISTINCT payload FROM lake.db.events ORDER BY payload LIMIT 3",
        """
        Output[payload]
          TopN[3 by (payload ASC_NULLS_LAST)]
            Aggregate[payload]
              Scan[events: payload]
        """,
    )


def test_what_is_aggregated_is_read(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT max(payload) FROM lake.db.events GROUP BY city ORDER BY 1 LIMIT 3",
        """
        Output[max]
          TopN[3 by (max ASC_NULLS_LAST)]
            Project[max]
              Aggregate[city]
                  max := max(payload)
                Scan[events: city, payload]
        """,
    )


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("SELECT * FROM lake.db.events", "every row of the table is in the result"),
        ("SELECT * FROM lake.db.events LIMIT 10", "the scan stops at the LIMIT by itself"),
        ("SELECT comment FROM lake.db.orders ORDER BY price LIMIT 3", "no table has 16MB to read"),
        ("SELECT day FROM lake.db.events ORDER BY amount LIMIT 3", "only 1 narrow column of events would be fetched"),
        (
            "SELECT payload FROM lake.db.events ORDER BY amount LIMIT 200000",
            "up to 200000 rows are in the result, more than global_late_materialization_max_rows",
        ),
    ],
)
def test_explain_says_why_not(rule: RuleCases, sql: str, reason: str) -> None:
    before, after = rule.planned(RULE, sql)
    assert after is before
    assert rule.notes == [reason]
