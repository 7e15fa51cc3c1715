"""``Filter(TRUE)`` is its source; a filter that is FALSE or NULL is no rows (Presto's RemoveTrivialFilters).

Terms that read no column are computed first (its SimplifyExpressions): clients ask for the columns of a query by
``WHERE 1 = 0``, which shall not read a table. So are those that read only what a projection below makes constant, such
as the name of a branch of a UNION.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from msgspec.structs import replace

from coordinator.analyzer.context import Context
from coordinator.expressions.builders import conjunction, conjuncts, value_of
from coordinator.expressions.folding import folded
from coordinator.optimizer.rule import RuleContext
from shared.plan.expressions import Call, Constant, Lambda, RowExpression, SpecialForm, Variable
from shared.plan.nodes import FilterNode, PlanNode, ProjectNode, ValuesNode
from shared.plan.traversal import free_variables, output_variables

_MOST_PROJECTIONS = 8


def rewrite(node: PlanNode, context: RuleContext) -> PlanNode:
    """The source, empty Values with the source's output, or the filter without what is always true."""
    if not isinstance(node, FilterNode):
        return node
    terms, known = conjuncts(node.predicate), _constants(node.source)
    if not known and all(free_variables(term) for term in terms):
        return node
    decided = [_decided(term, known, context) for term in terms]
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


def _decided(term: RowExpression, known: Mapping[str, Constant], context: RuleContext) -> RowExpression:
    """The value of a term that reads nothing that is not known; what fails is left to fail at run time."""
    if any(variable.key not in known for variable in free_variables(term)):
        return term
    made = folded(_with_values(term, known), Context(context.session).zone)
    return made if isinstance(made, Constant) else term


def _with_values(expression: RowExpression, known: Mapping[str, Constant]) -> RowExpression:
    match expression:
        case Variable():
            return known.get(expression.key, expression)
        case Call() | SpecialForm():
            return replace(expression, arguments=tuple(_with_values(a, known) for a in expression.arguments))
        case Constant() | Lambda():
            return expression
        case _:
            assert_never(expression)


def _constants(node: PlanNode) -> Mapping[str, Constant]:
    """The columns that are the same in all rows, as projections right below say."""
    projections: list[ProjectNode] = []
    while isinstance(node, FilterNode | ProjectNode) and len(projections) < _MOST_PROJECTIONS:
        if isinstance(node, ProjectNode):
            projections.append(node)
        node = node.source
    known: dict[str, Constant] = {}
    for projection in reversed(projections):
        below, known = known, {}
        for key, made in projection.assignments.assignments.items():
            value = below.get(made.key) if isinstance(made, Variable) else made
            if isinstance(value, Constant):
                known[key] = value
    return known
