"""A projection that only passes on every column of its source goes."""

from __future__ import annotations

from tests.optimizer.rule_cases import RuleCases

RULE = "remove_redundant_projections"


def test_projections_of_all_columns_go(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT n_name FROM (SELECT n_name FROM nation)",
        """
        Output[n_name]
          Project[n_name]
            Project[n_name]
              Scan[nation: n_name]
        """,
        """
        Output[n_name]
          Scan[nation: n_name]
        """,
        first=("prune_unreferenced_outputs",),
    )


def test_the_order_of_columns_says_nothing(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT n_comment, n_name FROM nation",
        """
        Output[n_comment, n_name]
          Project[n_comment, n_name]
            Scan[nation: n_name, n_comment]
        """,
        """
        Output[n_comment, n_name]
          Scan[nation: n_name, n_comment]
        """,
        first=("prune_unreferenced_outputs",),
    )


def test_a_column_twice_is_one_variable(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT n_name, n_name FROM nation",
        """
        Output[n_name, n_name]
          Project[n_name]
            Scan[nation: n_name]
        """,
        """
        Output[n_name, n_name]
          Scan[nation: n_name]
        """,
        first=("prune_unreferenced_outputs",),
    )


def test_another_name_is_kept(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT a, b FROM (SELECT n_name a, n_name b FROM nation)",
        """
        Output[n_name, b]
          Project[n_name, b]
            Project[n_name, b := n_name]
              Project[n_name]
                Scan[nation: n_name]
        """,
        """
        Output[n_name, b]
          Project[n_name, b := n_name]
            Scan[nation: n_name]
        """,
        first=("prune_unreferenced_outputs",),
    )


def test_expressions_stay(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT upper(n_name) FROM nation",
        """
        Output[expr]
          Project[expr := upper(n_name)]
            Scan[nation: n_name]
        """,
        first=("prune_unreferenced_outputs",),
    )


def test_fewer_columns_are_a_change(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT n_name FROM nation WHERE n_regionkey = 1",
        """
        Output[n_name]
          Project[n_name]
            Filter[n_regionkey = 1]
              Scan[nation: n_name, n_regionkey]
        """,
        first=("prune_unreferenced_outputs",),
    )
