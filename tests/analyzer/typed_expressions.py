"""What an expression over a nation becomes in a plan."""

from __future__ import annotations

from coordinator.explain.expressions import expression_text, type_text
from coordinator.planner.query import plan_query
from coordinator.sql.parse_statement import parse_statement
from coordinator.sql.tree.queries import Query
from shared.plan.expressions import RowExpression
from shared.plan.nodes import AggregationNode, PlanNode, ProjectNode
from shared.plan.traversal import variable_of_key, walk
from shared.spi.session import Session
from tests.fixed_catalogs import FixedCatalogs

SESSION = Session(user="test", catalog="tpch", schema="tiny")


def typed_expression(text: str, catalogs: FixedCatalogs) -> tuple[str, str]:
    """Its type, and its text with the casts that coercions are."""
    tree = parse_statement(f"SELECT {text} AS made FROM nation")
    assert isinstance(tree, Query)
    root = plan_query(tree, SESSION, catalogs).root
    (made,) = root.outputVariables
    found = [expression for name, expression in _assigned(root) if name == made.name]
    return type_text(made.type), expression_text(found[-1])


def _assigned(root: PlanNode) -> list[tuple[str, RowExpression]]:
    found: list[tuple[str, RowExpression]] = []
    for node in walk(root):
        if isinstance(node, ProjectNode):
            found += [(variable_of_key(key).name, value) for key, value in node.assignments.assignments.items()]
        elif isinstance(node, AggregationNode):
            found += [(variable_of_key(key).name, each.call) for key, each in node.aggregations.items()]
    return found
