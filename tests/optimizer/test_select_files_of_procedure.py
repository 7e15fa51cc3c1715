"""The filter of a distributed procedure chooses files: the whole predicate stands in the table's layout."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from coordinator.analyzer.procedure_call import bind_call
from coordinator.planner.procedure_call import plan_call
from coordinator.sql import statements
from coordinator.sql.parse_statement import parse_statement
from shared.plan.nodes import PlanNode
from shared.spi.session import Session
from tests.drawing import drawn
from tests.optimizer.rule_cases import RuleCases, alone

RULE = "select_files_of_procedure"
SESSION = Session(user="test", catalog="lake", schema="db")


@dataclass(frozen=True)
class Rewrites:
    """Plans of ``rewrite_data_files`` over the orders of the lake."""

    cases: RuleCases

    def plan(self, arguments: str = "") -> PlanNode:
        call = f"CALL lake.system.rewrite_data_files(schema => 'db', table_name => 'orders'{arguments})"
        tree = parse_statement(call)
        assert isinstance(tree, statements.Call)
        planned = plan_call(bind_call(tree, SESSION, self.cases.catalogs), SESSION, self.cases.catalogs).plan
        assert planned is not None
        return planned


@pytest.fixture
def rewrites(rule: RuleCases) -> Rewrites:
    return Rewrites(rule)


def test_the_whole_predicate_chooses_files(rewrites: Rewrites) -> None:
    """Also what no domain can say."""
    before = rewrites.plan(", filter => 'price > 3 AND length(comment) > 2'")
    lines = [
        "Output[rows_1]",
        "  TableFinish[Optional[lake.db.orders]]",
        "    CallDistributedProcedure",
        "        orderkey := orderkey",
        "        status := status",
        "        price := price",
        "        day := day",
        "        comment := comment",
        "      Filter[(price > 3.00) AND ((length(comment)) > 2)]",
        "        Scan[orders: orderkey, status, price, day, comment]",
    ]
    assert drawn(before).splitlines() == lines
    chosen = "            selects files by (price > 3.00) AND ((length(comment)) > 2)"
    assert drawn(alone(RULE, before)).splitlines() == [*lines, chosen]


def test_without_a_filter_all_files_are_chosen(rewrites: Rewrites) -> None:
    plan = rewrites.plan()
    assert alone(RULE, plan) is plan


def test_filters_of_queries_choose_rows(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT orderkey FROM lake.db.orders WHERE status = 'F'",
        """
        Output[orderkey]
          Project[orderkey]
            Filter[status = 'F']
              Scan[orders: orderkey, status]
        """,
    )
