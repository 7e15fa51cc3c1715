"""A filter that is always true goes, one that nothing passes is no rows; terms that read no column are computed."""

from __future__ import annotations

from tests.optimizer.rule_cases import RuleCases

RULE = "remove_trivial_filters"


def test_a_true_filter_is_its_source(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT n_name FROM nation WHERE true",
        """
        Output[n_name]
          Filter[true]
            Scan[nation: n_name]
        """,
        """
        Output[n_name]
          Scan[nation: n_name]
        """,
    )


def test_what_is_computed_without_a_row_is_decided(rule: RuleCases) -> None:
    """As clients ask for the columns of a query."""
    rule.fires(
        RULE,
        "SELECT n_name FROM nation WHERE 1 = 0",
        """
        Output[n_name]
          Filter[1 = 0]
            Scan[nation: n_name]
        """,
        """
        Output[n_name]
          Values[n_name: no rows]
        """,
    )


def test_null_passes_nothing(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT n_name FROM nation WHERE n_regionkey = 1 AND NULL",
        """
        Output[n_name]
          Project[n_name]
            Filter[(n_regionkey = 1) AND null]
              Scan[nation: n_name, n_regionkey]
        """,
        """
        Output[n_name]
          Project[n_name]
            Values[n_name, n_regionkey: no rows]
        """,
    )


def test_true_terms_go_and_the_others_stay_in_order(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT n_name FROM nation WHERE n_regionkey = 1 AND 2 > 1 AND n_name < 'F'",
        """
        Output[n_name]
          Project[n_name]
            Filter[((n_regionkey = 1) AND (2 > 1)) AND (n_name < 'F')]
              Scan[nation: n_name, n_regionkey]
        """,
        """
        Output[n_name]
          Project[n_name]
            Filter[(n_regionkey = 1) AND (n_name < 'F')]
              Scan[nation: n_name, n_regionkey]
        """,
    )


def test_a_global_aggregation_over_nothing_keeps_its_row(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT count(*) FROM nation WHERE false",
        """
        Output[count]
          Aggregate
              count := count(*)
            Filter[false]
              Scan[nation: ]
        """,
        """
        Output[count]
          Aggregate
              count := count(*)
            Values[: no rows]
        """,
    )


def test_having(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT count(*) FROM nation HAVING 1 = 0",
        """
        Output[count]
          Filter[1 = 0]
            Aggregate
                count := count(*)
              Scan[nation: ]
        """,
        """
        Output[count]
          Values[count: no rows]
        """,
    )


def test_what_an_or_says_stays(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT n_name FROM nation WHERE 1 = 0 OR n_name = 'PERU'",
        """
        Output[n_name]
          Filter[(1 = 0) OR (n_name = 'PERU')]
            Scan[nation: n_name]
        """,
    )


def test_another_value_for_each_row_is_no_constant(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT n_name FROM nation WHERE random() < 2",
        """
        Output[n_name]
          Filter[(random()) < 2.0]
            Scan[nation: n_name]
        """,
    )


def test_a_condition_of_a_join_is_no_filter(rule: RuleCases) -> None:
    """No row of the left side is lost."""
    rule.rests(
        RULE,
        "SELECT n_name, r_name FROM nation LEFT JOIN region ON n_regionkey = r_regionkey AND 1 = 0",
        """
        Output[n_name, r_name]
          LeftJoin[n_regionkey = r_regionkey AND 1 = 0] => n_name, r_name
            Scan[nation: n_name, n_regionkey]
            Scan[region: r_regionkey, r_name]
        """,
    )


def test_what_fails_fails_when_it_runs(rule: RuleCases) -> None:
    """Of no rows it never runs, so the statement must not fail when it is planned."""
    sql = "SELECT n_name FROM (SELECT * FROM nation LIMIT 0) WHERE 1 / 0 = 1"
    before, after = rule.planned(RULE, sql)
    assert after is before
    assert rule.rows(after) == []


def test_a_branch_of_a_union_is_known_by_its_name(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT name FROM (SELECT n_name AS name, 'n' AS kind FROM nation UNION ALL SELECT r_name, 'r' FROM region) "
        "WHERE kind = 'r'",
        """
        Output[name]
          Union[name]
              of n_name
              of r_name
            Filter[kind = 'r']
              Project[n_name, kind := 'n']
                Scan[nation: n_name]
            Filter[expr = 'r']
              Project[r_name, expr := 'r']
                Scan[region: r_name]
        """,
        """
        Output[name]
          Union[name]
              of n_name
              of r_name
            Values[n_name, kind: no rows]
            Project[r_name, expr := 'r']
              Scan[region: r_name]
        """,
    )


def test_what_reads_a_column_as_well_is_not_decided(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT a FROM (SELECT n_name AS a, n_regionkey + 0 AS b, 1 AS c FROM nation) WHERE b = c",
        """
        Output[n_name]
          Project[n_name]
            Filter[b = (CAST(c AS bigint))]
              Project[n_name, b := n_regionkey + 0, c := 1]
                Scan[nation: n_name, n_regionkey]
        """,
    )
