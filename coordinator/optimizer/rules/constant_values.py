"""Rows of VALUES as constants, as Presto plans them; what is no constant moves into a projection above one row.

Workers know only constants in VALUES. Several rows with something like ``random()`` in them stay as they are.
"""

from __future__ import annotations

from msgspec.structs import replace

from coordinator.analyzer.builders import constant, typed
from coordinator.analyzer.context import Context
from coordinator.analyzer.interpreter import NotConstantError, evaluate
from coordinator.optimizer.rule import RuleContext
from shared.errors import ProcessionError
from shared.plan.expressions import Constant, RowExpression
from shared.plan.nodes import Assignments, PlanNode, ProjectNode, ValuesNode


def rewrite(node: PlanNode, context: RuleContext) -> PlanNode:
    """The same rows; what fails when it is computed is left to fail at run time."""
    if not isinstance(node, ValuesNode) or all(isinstance(cell, Constant) for row in node.rows for cell in row):
        return node
    rows = tuple(tuple(_folded(cell, context) for cell in row) for row in node.rows)
    if len(rows) == 1 and not all(isinstance(cell, Constant) for cell in rows[0]):
        return _projected(node, rows[0], context)
    return replace(node, rows=rows)


def _folded(cell: RowExpression, context: RuleContext) -> RowExpression:
    if isinstance(cell, Constant):
        return cell
    try:
        return constant(evaluate(cell, Context("", context.session).zone), typed(cell))
    except (NotConstantError, ProcessionError, NotImplementedError, ValueError, TypeError, KeyError):
        return cell


def _projected(node: ValuesNode, row: tuple[RowExpression, ...], context: RuleContext) -> PlanNode:
    single = ValuesNode(id=context.ids.next(), sourceLocation=node.sourceLocation, outputVariables=(), rows=((),))
    assignments = {variable.key: cell for variable, cell in zip(node.outputVariables, row, strict=True)}
    return ProjectNode(
        id=node.id,
        sourceLocation=node.sourceLocation,
        source=single,
        assignments=Assignments(assignments=assignments),
        locality="LOCAL",
    )
