"""How deep a fragment may nest: a level costs a converter time and stack, so a limit holds before any conversion."""

from __future__ import annotations

from shared.plan.expressions import Call, Lambda, RowExpression, SpecialForm
from shared.plan.fragment import SimplePlanFragment
from shared.plan.nodes import PlanNode
from shared.plan.traversal import expressions, sources
from sidecar.velox.refusal import RefusalError, unsupported

_STRUCT_TAG = b'"@type"'
_FLAT = ("AND", "OR")
"""Chains of these become one call of many arguments, and so have no depth."""


def check_depth(fragment: SimplePlanFragment, body: bytes, limit: int) -> None:
    """Raises RefusalError, located, for a plan or an expression of more than ``limit`` levels."""
    if body.count(_STRUCT_TAG) <= limit:  # nothing in it nests deeper than it has nodes and expressions
        return
    pending: list[tuple[PlanNode, int]] = [(fragment.root, 1)]
    while pending:
        node, level = pending.pop()
        if level > limit:
            raise _refused("plan nodes", limit, node)
        for expression in expressions(node):
            _check_expression(expression, limit, node)
        pending.extend((source, level + 1) for source in sources(node))


def _check_expression(root: RowExpression, limit: int, node: PlanNode) -> None:
    pending = [(root, 1)]
    while pending:
        expression, level = pending.pop()
        if level > limit:
            raise _refused("expressions", limit, node)
        match expression:
            case SpecialForm(form=form) if form in _FLAT:
                pending.extend(
                    (below, level if isinstance(below, SpecialForm) and below.form == form else level + 1)
                    for below in expression.arguments
                )
            case Call() | SpecialForm():
                pending.extend((below, level + 1) for below in expression.arguments)
            case Lambda():
                pending.append((expression.body, level + 1))
            case _:
                pass


def _refused(what: str, limit: int, node: PlanNode) -> RefusalError:
    refusal = unsupported(f"Plan fragment is nested too deeply: more than {limit} levels of {what}")
    refusal.locate(node.sourceLocation, node.id)
    return refusal
