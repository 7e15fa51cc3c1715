"""Rows are numbered without a window, and only those whose numbers are wanted."""

from __future__ import annotations

from tests.optimizer.rule_cases import RuleCases

RULE = "limit_row_numbers"


def test_without_order(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT n_regionkey, row_number() OVER (PARTITION BY n_regionkey) r FROM nation",
        """
        Output[n_regionkey, row_number_1]
          Window[partition by n_regionkey]
              row_number_1 := row_number() RANGE UNBOUNDED_PRECEDING CURRENT_ROW
            Scan[nation: n_regionkey]
        """,
        """
        Output[n_regionkey, row_number_1]
          RowNumber[partition by n_regionkey]
              row_number_1 := row_number()
            Scan[nation: n_regionkey]
        """,
    )


def test_up_to_a_number_needs_no_filter(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT * FROM (SELECT n_regionkey, row_number() OVER (PARTITION BY n_regionkey) r FROM nation) WHERE r <= 3",
        """
        Output[n_regionkey, row_number_1]
          Filter[row_number_1 <= 3]
            Window[partition by n_regionkey]
                row_number_1 := row_number() RANGE UNBOUNDED_PRECEDING CURRENT_ROW
              Scan[nation: n_regionkey]
        """,
        """
        Output[n_regionkey, row_number_1]
          RowNumber[partition by n_regionkey, limit = 3]
              row_number_1 := row_number()
            Scan[nation: n_regionkey]
        """,
    )


def test_below_a_number_keeps_it(rule: RuleCases) -> None:
    """As Presto does."""
    rule.fires(
        RULE,
        "SELECT * FROM (SELECT n_regionkey, row_number() OVER (PARTITION BY n_regionkey) r FROM nation) WHERE r < 3",
        """
        Output[n_regionkey, row_number_1]
          Filter[row_number_1 < 3]
            Window[partition by n_regionkey]
                row_number_1 := row_number() RANGE UNBOUNDED_PRECEDING CURRENT_ROW
              Scan[nation: n_regionkey]
        """,
        """
        Output[n_regionkey, row_number_1]
          Filter[row_number_1 < 3]
            RowNumber[partition by n_regionkey, limit = 2]
                row_number_1 := row_number()
              Scan[nation: n_regionkey]
        """,
    )


def test_the_first_rows_in_order(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT * FROM (SELECT n_name, row_number() OVER (PARTITION BY n_regionkey ORDER BY n_name DESC) r "
        "FROM nation) WHERE r <= 2",
        """
        Output[n_name, row_number_1]
          Project[n_name, row_number_1]
            Filter[row_number_1 <= 2]
              Window[partition by n_regionkey, order by (n_name DESC_NULLS_LAST)]
                  row_number_1 := row_number() RANGE UNBOUNDED_PRECEDING CURRENT_ROW
                Scan[nation: n_name, n_regionkey]
        """,
        """
        Output[n_name, row_number_1]
          Project[n_name, row_number_1]
            TopNRowNumber[partition by n_regionkey, order by (n_name DESC_NULLS_LAST) limit 2]
                row_number_1 := row_number()
              Scan[nation: n_name, n_regionkey]
        """,
    )


def test_one_number(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT * FROM (SELECT n_name, row_number() OVER (ORDER BY n_name) r FROM nation) WHERE r = 2",
        """
        Output[n_name, row_number_1]
          Filter[row_number_1 = 2]
            Window[order by (n_name ASC_NULLS_LAST)]
                row_number_1 := row_number() RANGE UNBOUNDED_PRECEDING CURRENT_ROW
              Scan[nation: n_name]
        """,
        """
        Output[n_name, row_number_1]
          Filter[row_number_1 = 2]
            TopNRowNumber[order by (n_name ASC_NULLS_LAST) limit 2]
                row_number_1 := row_number()
              Scan[nation: n_name]
        """,
    )


def test_the_largest_of_several(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT * FROM (SELECT n_name, row_number() OVER (ORDER BY n_name) r FROM nation) WHERE r IN (2, 7) "
        "AND n_name < 'D'",
        """
        Output[n_name, row_number_1]
          Filter[(IN(row_number_1, 2, 7)) AND (n_name < 'D')]
            Window[order by (n_name ASC_NULLS_LAST)]
                row_number_1 := row_number() RANGE UNBOUNDED_PRECEDING CURRENT_ROW
              Scan[nation: n_name]
        """,
        """
        Output[n_name, row_number_1]
          Filter[(IN(row_number_1, 2, 7)) AND (n_name < 'D')]
            TopNRowNumber[order by (n_name ASC_NULLS_LAST) limit 7]
                row_number_1 := row_number()
              Scan[nation: n_name]
        """,
    )


def test_other_terms_stay_above(rule: RuleCases) -> None:
    """Rows that they drop have numbers too."""
    rule.fires(
        RULE,
        "SELECT * FROM (SELECT n_name, row_number() OVER (ORDER BY n_name) r FROM nation) WHERE r <= 9 AND "
        "n_name < 'D'",
        """
        Output[n_name, row_number_1]
          Filter[(row_number_1 <= 9) AND (n_name < 'D')]
            Window[order by (n_name ASC_NULLS_LAST)]
                row_number_1 := row_number() RANGE UNBOUNDED_PRECEDING CURRENT_ROW
              Scan[nation: n_name]
        """,
        """
        Output[n_name, row_number_1]
          Filter[n_name < 'D']
            TopNRowNumber[order by (n_name ASC_NULLS_LAST) limit 9]
                row_number_1 := row_number()
              Scan[nation: n_name]
        """,
    )


def test_between(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT * FROM (SELECT n_name, row_number() OVER (ORDER BY n_name) r FROM nation) WHERE r BETWEEN 2 AND 4",
        """
        Output[n_name, row_number_1]
          Filter[row_number_1 BETWEEN 2 AND 4]
            Window[order by (n_name ASC_NULLS_LAST)]
                row_number_1 := row_number() RANGE UNBOUNDED_PRECEDING CURRENT_ROW
              Scan[nation: n_name]
        """,
        """
        Output[n_name, row_number_1]
          Filter[row_number_1 BETWEEN 2 AND 4]
            TopNRowNumber[order by (n_name ASC_NULLS_LAST) limit 4]
                row_number_1 := row_number()
              Scan[nation: n_name]
        """,
    )


def test_none(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT * FROM (SELECT n_name, row_number() OVER (ORDER BY n_name) r FROM nation) WHERE r < 1",
        """
        Output[n_name, row_number_1]
          Filter[row_number_1 < 1]
            Window[order by (n_name ASC_NULLS_LAST)]
                row_number_1 := row_number() RANGE UNBOUNDED_PRECEDING CURRENT_ROW
              Scan[nation: n_name]
        """,
        """
        Output[n_name, row_number_1]
          Values[n_name, row_number_1: no rows]
        """,
    )


def test_from_a_number_on(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT * FROM (SELECT n_name, row_number() OVER (ORDER BY n_name) r FROM nation) WHERE r > 22",
        """
        Output[n_name, row_number_1]
          Filter[row_number_1 > 22]
            Window[order by (n_name ASC_NULLS_LAST)]
                row_number_1 := row_number() RANGE UNBOUNDED_PRECEDING CURRENT_ROW
              Scan[nation: n_name]
        """,
    )


def test_rank_may_give_more_rows(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT * FROM (SELECT n_name, rank() OVER (ORDER BY n_name) r FROM nation) WHERE r <= 2",
        """
        Output[n_name, rank]
          Filter[rank <= 2]
            Window[order by (n_name ASC_NULLS_LAST)]
                rank := rank() RANGE UNBOUNDED_PRECEDING CURRENT_ROW
              Scan[nation: n_name]
        """,
    )


def test_another_function_beside_it(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT * FROM (SELECT n_name, row_number() OVER (ORDER BY n_name) r, count(*) OVER (ORDER BY n_name) "
        "c FROM nation) WHERE r <= 2",
        """
        Output[n_name, row_number_1, count]
          Filter[row_number_1 <= 2]
            Window[order by (n_name ASC_NULLS_LAST)]
                row_number_1 := row_number() RANGE UNBOUNDED_PRECEDING CURRENT_ROW
                count := count() RANGE UNBOUNDED_PRECEDING CURRENT_ROW
              Scan[nation: n_name]
        """,
    )


def test_or(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT * FROM (SELECT n_name, row_number() OVER (ORDER BY n_name) r FROM nation) WHERE r <= 2 OR "
        "n_name = 'PERU'",
        """
        Output[n_name, row_number_1]
          Filter[(row_number_1 <= 2) OR (n_name = 'PERU')]
            Window[order by (n_name ASC_NULLS_LAST)]
                row_number_1 := row_number() RANGE UNBOUNDED_PRECEDING CURRENT_ROW
              Scan[nation: n_name]
        """,
    )


def test_more_than_an_integer(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT * FROM (SELECT n_name, row_number() OVER (ORDER BY n_name) r FROM nation) WHERE r <= 3000000000",
        """
        Output[n_name, row_number_1]
          Filter[row_number_1 <= 3000000000]
            Window[order by (n_name ASC_NULLS_LAST)]
                row_number_1 := row_number() RANGE UNBOUNDED_PRECEDING CURRENT_ROW
              Scan[nation: n_name]
        """,
    )
