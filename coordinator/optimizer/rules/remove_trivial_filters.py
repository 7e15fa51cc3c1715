"""``Filter(TRUE)`` is its source; a filter that is FALSE or NULL is no rows (Presto's RemoveTrivialFilters).

Terms that read no column are computed first (its SimplifyExpressions): clients ask for the columns of a query by
``WHERE 1 = 0``, which shall not read a table.
"""

from __future__ import annotations

from msgspec.structs import replace

from coordinator.analyzer.context import Context
from coordinator.expressions.builders import conjunction, conjuncts, value_of
from coordinator.expressions.folding import folded
from coordinator.optimizer.rule import RuleContext
from shared.plan.expressions import Constant, RowExpression
from shared.plan.nodes import FilterNode, PlanNode, ValuesNode
from shared.plan.traversal import free_variables, output_variables


def rewrite(node: PlanNode, context: RuleContext) -> PlanNode:
    """The source, empty Values with the source's output, or the filter without what is always true."""
    if not isinstance(node, FilterNode):
        return node
    terms = conjuncts(node.predicate)
    if all(free_variables(term) for term in terms):
        return node
    decided = [_decided(term, context) for term in terms]
    if any(isinstance(term, Constant) and value_of(term) is not True for term in decided):
        return ValuesNode(
            id=context.ids.next(),
            sourceLocation=node.sourceLocation,
            outputVariables=output_variables(node),
            rows=(),
        )
    left = [term for term in decided if not isinstance(term, Constant)]
    if not left:
        return node.source
    return node if left == terms else replace(node, predicate=conjunction(left))


def _decided(term: RowExpression, context: RuleContext) -> RowExpression:
    """The value of a term that reads nothing; what fails is left to fail at run time."""
    return term if free_variables(term) else folded(term, Context(context.session).zone)
