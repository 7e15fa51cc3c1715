"""The query that a database is asked stands in the plan."""

from __future__ import annotations

from tests.optimizer.rule_cases import RuleCases

RULE = "show_remote_queries"


def test_a_table(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT name FROM shop.public.people WHERE reverse(city) = 'x'",
        """
        Output[name]
          Project[name]
            Filter[(reverse(city)) = 'x']
              Scan[people: name, city]
        """,
        """
        Output[name]
          Project[name]
            Filter[(reverse(city)) = 'x']
              Scan[people: name, city]
                  remote query: SELECT "T0"."name" AS "name", "T0"."city" AS "city" FROM "public"."people" "T0"
        """,
    )


def test_what_was_pushed_is_in_it(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT name FROM shop.public.people WHERE city = 'Rome'",
        """
        Output[name]
          Scan[people: name]
        """,
        """
        Output[name]
          Scan[people: name]
              remote query: SELECT "T0"."name" AS "name" FROM "public"."people" "T0" WHERE ("T0"."city" =
                    'Rome')
        """,
        first=("prune_unreferenced_outputs", "remove_redundant_projections", "push_into_connector"),
    )


def test_tables_without_a_query(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT n_name FROM nation",
        """
        Output[n_name]
          Scan[nation: n_name]
        """,
    )
