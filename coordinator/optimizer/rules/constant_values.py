"""Rows of VALUES as constants, as Presto plans them; what is no constant moves into a projection above one row.

Workers know only constants in VALUES. A column with something like ``random()`` in it is computed above, chosen by
the number of the row.
"""

from __future__ import annotations

from msgspec.structs import replace

from coordinator.analyzer.context import Context
from coordinator.expressions.builders import constant, operator, special, typed
from coordinator.expressions.folding import folded
from coordinator.expressions.types import BIGINT, BOOLEAN
from coordinator.optimizer.rule import RuleContext
from shared.plan.expressions import Constant, RowExpression, Variable
from shared.plan.nodes import Assignments, PlanNode, ProjectNode, ValuesNode

_MOST_ROWS = 64
"""The choice is one IF inside another."""


def rewrite(node: PlanNode, context: RuleContext) -> PlanNode:
    """The same rows; what fails when it is computed is left to fail at run time."""
    if not isinstance(node, ValuesNode) or all(isinstance(cell, Constant) for row in node.rows for cell in row):
        return node
    zone = Context(context.session).zone
    rows = tuple(tuple(folded(cell, zone) for cell in row) for row in node.rows)
    open_columns = [
        i for i in range(len(node.outputVariables)) if not all(isinstance(row[i], Constant) for row in rows)
    ]
    if not open_columns:
        return replace(node, rows=rows)
    if len(rows) == 1:
        return _projected(node, rows[0], context)
    return _chosen(node, rows, open_columns, context) if len(rows) <= _MOST_ROWS else replace(node, rows=rows)


def _chosen(
    node: ValuesNode, rows: tuple[tuple[RowExpression, ...], ...], open_columns: list[int], context: RuleContext
) -> PlanNode:
    """A number in place of the open columns, and above it the expression of that row."""
    number = Variable(name=f"row_{context.ids.next()}", type="bigint")
    kept = [i for i in range(len(node.outputVariables)) if i not in open_columns]
    values = ValuesNode(
        id=context.ids.next(),
        sourceLocation=node.sourceLocation,
        outputVariables=(number, *(node.outputVariables[i] for i in kept)),
        rows=tuple((constant(n, BIGINT), *(row[i] for i in kept)) for n, row in enumerate(rows)),
    )
    assignments: dict[str, RowExpression] = {v.key: v for v in node.outputVariables}
    for i in open_columns:
        chosen = rows[-1][i]
        for n in range(len(rows) - 2, -1, -1):
            test = operator("=", (number, constant(n, BIGINT)), BOOLEAN)
            chosen = special("IF", typed(chosen), test, rows[n][i], chosen)
        assignments[node.outputVariables[i].key] = chosen
    return ProjectNode(
        id=node.id,
        sourceLocation=node.sourceLocation,
        source=values,
        assignments=Assignments(assignments=assignments),
        locality="LOCAL",
    )


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
