"""What a database computes as we do becomes a part of its query."""

from __future__ import annotations

from tests.optimizer.rule_cases import RuleCases

RULE = "push_into_connector"


def test_a_filter_and_the_columns_that_are_left(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT name FROM shop.public.people WHERE city = 'Rome'",
        """
        Output[name]
          Project[name]
            Filter[city = 'Rome']
              Scan[people: name, city]
        """,
        """
        Output[name]
          Scan[people: name]
              remote query: SELECT "T0"."name" AS "name" FROM "public"."people" "T0" WHERE ("T0"."city" =
                    'Rome')
        """,
        then=("show_remote_queries",),
    )


def test_a_part_of_a_filter(rule: RuleCases) -> None:
    """What only we compute stays above, and EXPLAIN tells why."""
    rule.fires(
        RULE,
        "SELECT name FROM shop.public.people WHERE city = 'Rome' AND reverse(name) = 'x'",
        """
        Output[name]
          Project[name]
            Filter[(city = 'Rome') AND ((reverse(name)) = 'x')]
              Scan[people: name, city]
        """,
        """
        Output[name]
          Project[name]
            Filter[(reverse(name)) = 'x']
              Scan[people: name, city]
                  filter not pushed down: the function reverse
        """,
    )


def test_groups(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT city, count(*), max(id) FROM shop.public.people GROUP BY city",
        """
        Output[city, count, max]
          Aggregate[city]
              count := count(*)
              max := max(id)
            Scan[people: id, city]
        """,
        """
        Output[city, count, max]
          Scan[people: city, count, max]
              remote query: SELECT "T0"."city" AS "city", count(*) AS "count", max("T0"."id") AS "max" FROM
                    "public"."people" "T0" GROUP BY "T0"."city"
        """,
        then=("show_remote_queries",),
    )


def test_an_aggregate_that_is_ours_alone(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT city, approx_distinct(name) FROM shop.public.people GROUP BY city",
        """
        Output[city, approx_distinct]
          Aggregate[city]
              approx_distinct := approx_distinct(name)
            Scan[people: name, city]
        """,
        """
        Output[city, approx_distinct]
          Aggregate[city]
              approx_distinct := approx_distinct(name)
            Scan[people: name, city]
                remote query: SELECT "T0"."name" AS "name", "T0"."city" AS "city" FROM "public"."people" "T0"
                aggregation not pushed down: the aggregate approx_distinct of varchar
        """,
        then=("show_remote_queries",),
    )


def test_first_rows_are_ordered_again(rule: RuleCases) -> None:
    """Engines read in any order."""
    rule.fires(
        RULE,
        "SELECT name FROM shop.public.people ORDER BY name LIMIT 3",
        """
        Output[name]
          TopN[3 by (name ASC_NULLS_LAST)]
            Scan[people: name]
        """,
        """
        Output[name]
          TopN[3 by (name ASC_NULLS_LAST)]
            Scan[people: name]
        """,
    )


def test_in_and_exists(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT name FROM shop.public.people WHERE id IN (SELECT person FROM shop.public.purchases)",
        """
        Output[name]
          Project[name]
            Filter[expr]
              SemiJoin[expr := id IN person]
                Scan[people: id, name]
                Scan[purchases: person]
        """,
        """
        Output[name]
          Scan[people: name]
              remote query: SELECT "T0"."name" AS "name" FROM "public"."people" "T0" WHERE ("T0"."id" IN (SELECT
                    "T1"."person" AS "person" FROM "public"."purchases" "T1"))
        """,
        then=("show_remote_queries",),
    )


def test_tables_that_are_not_adjacent_are_one_query(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT p.name, n_name FROM shop.public.people p, nation, shop.public.people q WHERE p.id = "
        "n_nationkey AND q.id = n_nationkey",
        """
        Output[name, n_name]
          InnerJoin[n_nationkey = id_1] => name, n_name
            InnerJoin[id = n_nationkey] => name, n_nationkey, n_name
              Scan[people: id, name]
              Scan[nation: n_nationkey, n_name]
            Scan[people: id_1]
        """,
        """
        Output[name, n_name]
          InnerJoin[id = n_nationkey AND id_1 = n_nationkey] => name, n_name
            Scan[people: id, name, id_1]
                remote query: SELECT "T0"."id" AS "id", "T0"."name" AS "name", "T3"."id" AS "id_1" FROM
                      "public"."people" "T0", "public"."people" "T3" WHERE ("T0"."id" = "T3"."id")
            Scan[nation: n_nationkey, n_name]
        """,
        then=("show_remote_queries",),
    )


def test_a_join_that_grows_stays(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT name, amount FROM shop.public.people p JOIN shop.public.purchases b ON p.id = b.person",
        """
        Output[name, amount]
          InnerJoin[id = person] => name, amount
            Scan[people: id, name]
            Scan[purchases: person, amount]
        """,
        """
        Output[name, amount]
          InnerJoin[id = person] => name, amount
            Scan[people: id, name]
                remote query: SELECT "T0"."id" AS "id", "T0"."name" AS "name" FROM "public"."people" "T0"
                join not pushed down: the join is estimated at 100000 rows of 32 bytes, its tables at 1616000
                      bytes
            Scan[purchases: person, amount]
                remote query: SELECT "T1"."person" AS "person", "T1"."amount" AS "amount" FROM
                      "public"."purchases" "T1"
                join not pushed down: the join is estimated at 100000 rows of 32 bytes, its tables at 1616000
                      bytes
        """,
        then=("show_remote_queries",),
    )


def test_it_goes_with_what_makes_it_small(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT count(*) FROM shop.public.people p JOIN shop.public.purchases b ON p.id = b.person",
        """
        Output[count]
          Aggregate
              count := count(*)
            InnerJoin[id = person] =>
              Scan[people: id]
              Scan[purchases: person]
        """,
        """
        Output[count]
          Scan[people: count]
              remote query: SELECT count(*) AS "count" FROM "public"."people" "T0", "public"."purchases" "T1"
                    WHERE ("T0"."id" = "T1"."person")
        """,
        then=("show_remote_queries",),
    )


def test_it_goes_where_it_is_wanted(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT name, amount FROM shop.public.people p LEFT JOIN shop.public.purchases b ON p.id = b.person",
        """
        Output[name, amount]
          LeftJoin[id = person] => name, amount
            Scan[people: id, name]
            Scan[purchases: person, amount]
        """,
        """
        Output[name, amount]
          Scan[people: name, amount]
              remote query: SELECT "T0"."name" AS "name", "T1"."amount" AS "amount" FROM "public"."people" "T0"
                    LEFT JOIN "public"."purchases" "T1" ON ("T0"."id" = "T1"."person")
        """,
        then=("show_remote_queries",),
        session={"join_pushdown_strategy": "EAGER"},
    )


def test_a_condition_of_a_preserved_side_stays_a_condition(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT name, amount FROM shop.public.people p LEFT JOIN shop.public.purchases b ON p.id = b.person "
        "AND p.city = 'Rome' AND b.amount > 1",
        """
        Output[name, amount]
          LeftJoin[id = person AND city = 'Rome'] => name, amount
            Scan[people: id, name, city]
            Filter[amount > 1.0]
              Scan[purchases: person, amount]
        """,
        """
        Output[name, amount]
          Scan[people: name, amount]
              remote query: SELECT "T0"."name" AS "name", "T3"."amount" AS "amount" FROM "public"."people" "T0"
                    LEFT JOIN (SELECT "T1"."person" AS "person", "T1"."amount" AS "amount" FROM
                    "public"."purchases" "T1" WHERE ("T1"."amount" > CAST(1.0 AS double precision))) "T3" ON
                    ("T0"."id" = "T3"."person") AND ("T0"."city" = 'Rome')
        """,
        then=("show_remote_queries",),
        session={"join_pushdown_strategy": "EAGER"},
    )


def test_an_inequality_alone_is_no_join(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT p.name FROM shop.public.people p, shop.public.people q WHERE p.name <> q.name",
        """
        Output[name]
          Project[name]
            Filter[name <> name_1]
              CrossJoin[] => name, name_1
                Scan[people: name]
                Scan[people: name_1]
        """,
        """
        Output[name]
          Project[name]
            Filter[name <> name_1]
              CrossJoin[] => name, name_1
                Scan[people: name]
                    remote query: SELECT "T0"."name" AS "name" FROM "public"."people" "T0"
                    join not pushed down: no condition that the database computes connects it with another table
                          of the catalog
                Scan[people: name_1]
                    remote query: SELECT "T1"."name" AS "name" FROM "public"."people" "T1"
                    join not pushed down: no condition that the database computes connects it with another table
                          of the catalog
        """,
        then=("show_remote_queries",),
    )


def test_tables_of_others_are_not_joined(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT name, n_name FROM shop.public.people JOIN nation ON id = n_nationkey",
        """
        Output[name, n_name]
          InnerJoin[id = n_nationkey] => name, n_name
            Scan[people: id, name]
            Scan[nation: n_nationkey, n_name]
        """,
    )


def test_a_filter_that_is_another_each_time(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT name FROM shop.public.people WHERE random() < 0.5",
        """
        Output[name]
          Filter[(random()) < 0.5]
            Scan[people: name]
        """,
        """
        Output[name]
          Filter[(random()) < 0.5]
            Scan[people: name]
                remote query: SELECT "T0"."name" AS "name" FROM "public"."people" "T0"
                filter not pushed down: the function random
        """,
        then=("show_remote_queries",),
    )


def test_an_offset_counts_rows_here(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT name FROM shop.public.people OFFSET 3",
        """
        Output[name]
          Offset[3]
            Scan[people: name]
        """,
    )


def test_a_limit_below_a_filter_comes_first(rule: RuleCases) -> None:
    """The filter of its rows must not choose the rows."""
    rule.fires(
        RULE,
        "SELECT name FROM (SELECT * FROM shop.public.people LIMIT 3) WHERE city = 'Rome'",
        """
        Output[name]
          Project[name]
            Filter[city = 'Rome']
              Limit[3]
                Scan[people: name, city]
        """,
        """
        Output[name]
          Project[name]
            Filter[city = 'Rome']
              Limit[3]
                Scan[people: name, city]
        """,
    )


def test_a_kind_that_is_switched_off(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT name FROM shop.public.people WHERE city = 'Rome'",
        """
        Output[name]
          Project[name]
            Filter[city = 'Rome']
              Scan[people: name, city]
        """,
        session={"filter_pushdown_enabled": "false"},
    )


def test_joins_that_are_switched_off_say_so(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT p.name FROM shop.public.people p JOIN shop.public.people q ON p.id = q.id",
        """
        Output[name]
          InnerJoin[id = id_1] => name
            Scan[people: id, name]
            Scan[people: id_1]
        """,
        """
        Output[name]
          InnerJoin[id = id_1] => name
            Scan[people: id, name]
                remote query: SELECT "T0"."id" AS "id", "T0"."name" AS "name" FROM "public"."people" "T0"
                join not pushed down: optimizer_inner_join_pushdown_enabled is false
            Scan[people: id_1]
                remote query: SELECT "T1"."id" AS "id" FROM "public"."people" "T1"
                join not pushed down: optimizer_inner_join_pushdown_enabled is false
        """,
        then=("show_remote_queries",),
        session={"optimizer_inner_join_pushdown_enabled": "false"},
    )
