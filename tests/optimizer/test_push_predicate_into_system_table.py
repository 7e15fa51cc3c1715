"""Of catalogs, schemas and tables only what a filter asks for is listed; the filter stays."""

from __future__ import annotations

from tests.optimizer.rule_cases import RuleCases

RULE = "push_predicate_into_system_table"


def test_one_schema(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT table_name FROM information_schema.tables WHERE table_schema = 'tiny'",
        """
        Output[table_name]
          Project[table_name]
            Filter[table_schema = 'tiny']
              Scan[tables: table_schema, table_name]
                  lists tpch
        """,
        """
        Output[table_name]
          Project[table_name]
            Filter[table_schema = 'tiny']
              Scan[tables: table_schema, table_name]
                  table_schema in [["tiny"]]
                  lists tpch.tiny
        """,
    )


def test_each_schema_with_each_table(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT column_name FROM information_schema.columns WHERE table_schema IN ('tiny', 'sf1') AND "
        "table_name = 'nation'",
        """
        Output[column_name]
          Project[column_name]
            Filter[(IN(table_schema, 'tiny', 'sf1')) AND (table_name = 'nation')]
              Scan[columns: table_schema, table_name, column_name]
                  lists tpch
        """,
        """
        Output[column_name]
          Project[column_name]
            Filter[(IN(table_schema, 'tiny', 'sf1')) AND (table_name = 'nation')]
              Scan[columns: table_schema, table_name, column_name]
                  table_schema in [["sf1"], ["tiny"]]
                  table_name in [["nation"]]
                  lists tpch.sf1.nation
                  lists tpch.tiny.nation
        """,
    )


def test_patterns(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT table_name FROM information_schema.tables WHERE table_schema = 'tiny' AND table_name LIKE "
        "'na!_%' ESCAPE '!'",
        """
        Output[table_name]
          Project[table_name]
            Filter[(table_schema = 'tiny') AND (LIKE(table_name, LIKE_PATTERN('na!_%', '!')))]
              Scan[tables: table_schema, table_name]
                  lists tpch
        """,
        """
        Output[table_name]
          Project[table_name]
            Filter[(table_schema = 'tiny') AND (LIKE(table_name, LIKE_PATTERN('na!_%', '!')))]
              Scan[tables: table_schema, table_name]
                  table_schema in [["tiny"]]
                  lists tpch.tiny
                  table_name like na!_% escape !
        """,
    )


def test_drivers_ask_by_patterns(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT table_name FROM system.jdbc.tables WHERE table_cat = 'tpch' AND table_schem LIKE 'tiny'",
        """
        Output[table_name]
          Project[table_name]
            Filter[(table_cat = 'tpch') AND (LIKE(table_schem, CAST('tiny' AS likepattern)))]
              Scan[tables: table_cat, table_schem, table_name]
        """,
        """
        Output[table_name]
          Project[table_name]
            Filter[(table_cat = 'tpch') AND (LIKE(table_schem, CAST('tiny' AS likepattern)))]
              Scan[tables: table_cat, table_schem, table_name]
                  table_cat in [["tpch"]]
                  table_schem like tiny
        """,
    )


def test_null_is_no_schema_to_list_by(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT table_name FROM information_schema.tables WHERE table_schema IS NULL",
        """
        Output[table_name]
          Project[table_name]
            Filter[IS_NULL(table_schema)]
              Scan[tables: table_schema, table_name]
                  lists tpch
        """,
        """
        Output[table_name]
          Project[table_name]
            Filter[IS_NULL(table_schema)]
              Scan[tables: table_schema, table_name]
                  table_schema in [NULL]
                  lists tpch
        """,
    )


def test_an_or_leaves_everything_open(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT table_name FROM information_schema.tables WHERE table_schema = 'tiny' OR table_name = 'x'",
        """
        Output[table_name]
          Project[table_name]
            Filter[(table_schema = 'tiny') OR (table_name = 'x')]
              Scan[tables: table_schema, table_name]
                  lists tpch
        """,
    )


def test_a_negation_too(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT table_name FROM information_schema.tables WHERE table_name NOT LIKE 'nat%'",
        """
        Output[table_name]
          Filter[not(LIKE(table_name, CAST('nat%' AS likepattern)))]
            Scan[tables: table_name]
                lists tpch
        """,
    )


def test_tables_of_connectors_are_not_listed(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT n_name FROM nation WHERE n_name = 'PERU'",
        """
        Output[n_name]
          Filter[n_name = 'PERU']
            Scan[nation: n_name]
        """,
    )
