"""What every branch of an OR asks of one table of a join is asked before the join."""

from __future__ import annotations

from tests.optimizer.rule_cases import RuleCases

RULE = "infer_predicates_of_or"


def test_each_table_is_asked_for_what_any_branch_wants(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT n1.n_name, n2.n_name FROM nation n1, nation n2 WHERE (n1.n_name = 'FRANCE' AND n2.n_name = "
        "'GERMANY') OR (n1.n_name = 'GERMANY' AND n2.n_name = 'FRANCE')",
        """
        Output[n_name, n_name_1]
          Filter[((n_name = 'FRANCE') AND (n_name_1 = 'GERMANY')) OR ((n_name = 'GERMANY') AND (n_name_1 =
                'FRANCE'))]
            CrossJoin[] => n_name, n_name_1
              Scan[nation: n_name]
              Scan[nation: n_name_1]
        """,
        """
        Output[n_name, n_name_1]
          Filter[((n_name = 'FRANCE') AND (n_name_1 = 'GERMANY')) OR ((n_name = 'GERMANY') AND (n_name_1 =
                'FRANCE'))]
            CrossJoin[] => n_name, n_name_1
              Filter[(n_name = 'FRANCE') OR (n_name = 'GERMANY')]
                Scan[nation: n_name]
              Filter[(n_name_1 = 'GERMANY') OR (n_name_1 = 'FRANCE')]
                Scan[nation: n_name_1]
        """,
    )


def test_a_table_that_one_branch_leaves_open_is_not_asked(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT n_name, r_name FROM nation JOIN region ON (n_nationkey = 1 AND r_name = 'ASIA') OR n_nationkey = 2",
        """
        Output[n_name, r_name]
          InnerJoin[((n_nationkey = 1) AND (r_name = 'ASIA')) OR (n_nationkey = 2)] => n_name, r_name
            Scan[nation: n_nationkey, n_name]
            Scan[region: r_name]
        """,
        """
        Output[n_name, r_name]
          InnerJoin[((n_nationkey = 1) AND (r_name = 'ASIA')) OR (n_nationkey = 2)] => n_name, r_name
            Filter[(n_nationkey = 1) OR (n_nationkey = 2)]
              Scan[nation: n_nationkey, n_name]
            Scan[region: r_name]
        """,
    )


def test_several_ors_over_several_joins(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT n_name, s_name FROM nation, region, supplier WHERE n_nationkey = s_nationkey AND "
        "((n_nationkey = 1 AND r_name = 'ASIA') OR (n_nationkey = 2 AND r_name = 'AFRICA')) AND ((s_suppkey = "
        "3 AND r_regionkey = 1) OR (s_suppkey < 10 AND r_regionkey = 2))",
        """
        Output[n_name, s_name]
          Project[n_name, s_name]
            Filter[((s_suppkey = 3) AND (r_regionkey = 1)) OR ((s_suppkey < 10) AND (r_regionkey = 2))]
              InnerJoin[n_nationkey = s_nationkey] => n_name, r_regionkey, s_suppkey, s_name
                Filter[((n_nationkey = 1) AND (r_name = 'ASIA')) OR ((n_nationkey = 2) AND (r_name = 'AFRICA'))]
                  CrossJoin[] => n_nationkey, n_name, r_regionkey, r_name
                    Scan[nation: n_nationkey, n_name]
                    Scan[region: r_regionkey, r_name]
                Scan[supplier: s_suppkey, s_name, s_nationkey]
        """,
        """
        Output[n_name, s_name]
          Project[n_name, s_name]
            Filter[((s_suppkey = 3) AND (r_regionkey = 1)) OR ((s_suppkey < 10) AND (r_regionkey = 2))]
              InnerJoin[n_nationkey = s_nationkey] => n_name, r_regionkey, s_suppkey, s_name
                Filter[((n_nationkey = 1) AND (r_name = 'ASIA')) OR ((n_nationkey = 2) AND (r_name = 'AFRICA'))]
                  CrossJoin[] => n_nationkey, n_name, r_regionkey, r_name
                    Filter[(n_nationkey = 1) OR (n_nationkey = 2)]
                      Scan[nation: n_nationkey, n_name]
                    Filter[((r_name = 'ASIA') OR (r_name = 'AFRICA')) AND ((r_regionkey = 1) OR (r_regionkey =
                          2))]
                      Scan[region: r_regionkey, r_name]
                Filter[(s_suppkey = 3) OR (s_suppkey < 10)]
                  Scan[supplier: s_suppkey, s_name, s_nationkey]
        """,
    )


def test_nulls_pass_as_they_did(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT n_name, r_name FROM nation, region WHERE (nullif(n_nationkey, 3) = 1 AND r_name = 'ASIA') OR "
        "(nullif(n_nationkey, 3) IS NULL AND r_name = 'AFRICA')",
        """
        Output[n_name, r_name]
          Project[n_name, r_name]
            Filter[(((IF(n_nationkey = 3, null, n_nationkey)) = 1) AND (r_name = 'ASIA')) OR
                  ((IS_NULL(IF(n_nationkey = 3, null, n_nationkey))) AND (r_name = 'AFRICA'))]
              CrossJoin[] => n_nationkey, n_name, r_name
                Scan[nation: n_nationkey, n_name]
                Scan[region: r_name]
        """,
        """
        Output[n_name, r_name]
          Project[n_name, r_name]
            Filter[(((IF(n_nationkey = 3, null, n_nationkey)) = 1) AND (r_name = 'ASIA')) OR
                  ((IS_NULL(IF(n_nationkey = 3, null, n_nationkey))) AND (r_name = 'AFRICA'))]
              CrossJoin[] => n_nationkey, n_name, r_name
                Filter[((IF(n_nationkey = 3, null, n_nationkey)) = 1) OR (IS_NULL(IF(n_nationkey = 3, null,
                      n_nationkey)))]
                  Scan[nation: n_nationkey, n_name]
                Filter[(r_name = 'ASIA') OR (r_name = 'AFRICA')]
                  Scan[region: r_name]
        """,
    )


def test_what_can_fail_is_not_asked_earlier(rule: RuleCases) -> None:
    """A row that no branch would have looked at must not divide."""
    rule.fires(
        RULE,
        "SELECT n_name, r_name FROM nation, region WHERE n_regionkey = r_regionkey AND ((r_name = 'AMERICA' "
        "AND 10 / (n_nationkey + 1) > 1) OR (r_name = 'ASIA' AND n_nationkey > 5))",
        """
        Output[n_name, r_name]
          Project[n_name, r_name]
            Filter[((r_name = 'AMERICA') AND ((10 / (n_nationkey + 1)) > 1)) OR ((r_name = 'ASIA') AND
                  (n_nationkey > 5))]
              InnerJoin[n_regionkey = r_regionkey] => n_nationkey, n_name, r_name
                Scan[nation: n_nationkey, n_name, n_regionkey]
                Scan[region: r_regionkey, r_name]
        """,
        """
        Output[n_name, r_name]
          Project[n_name, r_name]
            Filter[((r_name = 'AMERICA') AND ((10 / (n_nationkey + 1)) > 1)) OR ((r_name = 'ASIA') AND
                  (n_nationkey > 5))]
              InnerJoin[n_regionkey = r_regionkey] => n_nationkey, n_name, r_name
                Scan[nation: n_nationkey, n_name, n_regionkey]
                Filter[(r_name = 'AMERICA') OR (r_name = 'ASIA')]
                  Scan[region: r_regionkey, r_name]
        """,
    )


def test_one_table_is_no_join(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT n_name FROM nation WHERE (n_nationkey = 1 AND n_name = 'A') OR (n_nationkey = 2 AND n_name = 'CANADA')",
        """
        Output[n_name]
          Project[n_name]
            Filter[((n_nationkey = 1) AND (n_name = 'A')) OR ((n_nationkey = 2) AND (n_name = 'CANADA'))]
              Scan[nation: n_nationkey, n_name]
        """,
    )


def test_an_outer_join_keeps_the_rows_of_its_sides(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT n_name, r_name FROM nation LEFT JOIN region ON (n_nationkey = 1 AND r_name = 'ASIA') OR "
        "(n_nationkey = 2 AND r_name = 'AFRICA')",
        """
        Output[n_name, r_name]
          LeftJoin[((n_nationkey = 1) AND (r_name = 'ASIA')) OR ((n_nationkey = 2) AND (r_name = 'AFRICA'))] =>
                n_name, r_name
            Scan[nation: n_nationkey, n_name]
            Scan[region: r_name]
        """,
    )


def test_a_branch_without_a_table_asks_nothing_of_it(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT n_name, r_name FROM nation, region WHERE n_regionkey = r_regionkey AND (n_name = 'PERU' OR "
        "r_name = 'ASIA')",
        """
        Output[n_name, r_name]
          Filter[(n_name = 'PERU') OR (r_name = 'ASIA')]
            InnerJoin[n_regionkey = r_regionkey] => n_name, r_name
              Scan[nation: n_name, n_regionkey]
              Scan[region: r_regionkey, r_name]
        """,
    )


def test_a_condition_that_is_another_each_time_is_not_taken_apart(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT n_name, r_name FROM nation, region WHERE (n_nationkey = 1 AND r_name = 'ASIA') OR "
        "(n_nationkey = 2 AND random() < 2)",
        """
        Output[n_name, r_name]
          Project[n_name, r_name]
            Filter[((n_nationkey = 1) AND (r_name = 'ASIA')) OR ((n_nationkey = 2) AND ((random()) < 2.0))]
              CrossJoin[] => n_nationkey, n_name, r_name
                Scan[nation: n_nationkey, n_name]
                Scan[region: r_name]
        """,
    )


def test_such_a_condition_may_stand_over_a_join(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT n_name, r_name FROM nation, region WHERE random() < 2",
        """
        Output[n_name, r_name]
          Filter[(random()) < 2.0]
            CrossJoin[] => n_name, r_name
              Scan[nation: n_name]
              Scan[region: r_name]
        """,
    )
