"""NOT goes down to comparisons, so that what must hold is a list of terms (Presto's pushNegationToLeaves).

``NOT (a = 1 OR b < 2)`` is ``a <> 1 AND b >= 2``: each term can be asked of one table, and its domain of files.
Exact for all types: NaN is equal to itself and above all other numbers, and NULL stays NULL.
"""

from __future__ import annotations

from msgspec.structs import replace

from coordinator.expressions.builders import NAMESPACE, not_, operator, special
from coordinator.expressions.types import BOOLEAN
from coordinator.optimizer.rule import RuleContext
from shared.plan.expressions import Call, RowExpression, SpecialForm, StaticFunctionHandle
from shared.plan.nodes import FilterNode, JoinNode, PlanNode

KINDS = (FilterNode, JoinNode)
_OPPOSITES = {
    "equal": "<>",
    "not_equal": "=",
    "less_than": ">=",
    "less_than_or_equal": ">",
    "greater_than": "<=",
    "greater_than_or_equal": "<",
}


def rewrite(node: PlanNode, _context: RuleContext) -> PlanNode:
    """The filter or join whose condition has NOT only where nothing else says the same."""
    match node:
        case FilterNode():
            predicate = _pushed(node.predicate)
            return node if predicate == node.predicate else replace(node, predicate=predicate)
        case JoinNode(filter=condition) if condition is not None:
            pushed = _pushed(condition)
            return node if pushed == condition else replace(node, filter=pushed)
        case _:
            return node


def _pushed(expression: RowExpression) -> RowExpression:
    match expression:
        case SpecialForm(form="AND" | "OR"):
            return replace(expression, arguments=tuple(map(_pushed, expression.arguments)))
        case Call(arguments=(inner,)) if _name(expression) == "not":
            return _negated(inner) or expression
        case _:
            return expression


def _negated(expression: RowExpression) -> RowExpression | None:
    """The opposite without a NOT of its own; None where only NOT says it."""
    match expression:
        case SpecialForm(form="AND" | "OR" as form):
            parts = [_negated(part) or not_(part) for part in expression.arguments]
            made = special("OR" if form == "AND" else "AND", BOOLEAN, *parts)
            return replace(made, sourceLocation=expression.sourceLocation)
        case Call(arguments=(inner,)) if _name(expression) == "not":
            return _pushed(inner)
        case Call() if (symbol := _OPPOSITES.get(_name(expression).removeprefix("$operator$"))) is not None:
            return replace(operator(symbol, expression.arguments, BOOLEAN), sourceLocation=expression.sourceLocation)
        case _:
            return None


def _name(call: Call) -> str:
    handle = call.functionHandle
    return handle.signature.name.removeprefix(NAMESPACE) if isinstance(handle, StaticFunctionHandle) else ""
