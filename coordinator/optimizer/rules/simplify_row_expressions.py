"""What reads no column in filters, projections and join conditions is a constant (Presto's SimplifyRowExpressions).

``l_shipdate <= DATE '1998-12-01' - INTERVAL '90' DAY`` compares with ``DATE '1998-09-02'``: workers, databases and
engines are told the value, and plans that differ in such values alone have one verdict of the native checker.
"""

from __future__ import annotations

from datetime import tzinfo
from typing import assert_never

from msgspec.structs import replace

from coordinator.analyzer.context import Context
from coordinator.expressions.folding import folded
from coordinator.optimizer.rule import RuleContext
from shared.plan.expressions import Call, Constant, Lambda, RowExpression, SpecialForm, Variable
from shared.plan.nodes import Assignments, FilterNode, JoinNode, PlanNode, ProjectNode

KINDS = (FilterNode, JoinNode, ProjectNode)
_PLAIN = frozenset(
    {"boolean", "tinyint", "smallint", "integer", "bigint", "real", "double", "date", "timestamp", "varchar"}
    | {"varbinary", "interval day to second", "interval year to month"}
)
"""Types whose constants every engine and database writes as a literal; nested ones may be long."""
_LONGEST = 1 << 10
"""Characters of a constant's block."""


def rewrite(node: PlanNode, context: RuleContext) -> PlanNode:
    """The node with constants; what fails when it is computed is left to fail when a row reaches it."""
    zone = Context(context.session).zone
    match node:
        case FilterNode():
            predicate = _simplified(node.predicate, zone)
            return node if predicate is node.predicate else replace(node, predicate=predicate)
        case JoinNode(filter=condition) if condition is not None:
            simple = _simplified(condition, zone)
            return node if simple is condition else replace(node, filter=simple)
        case ProjectNode():
            made = node.assignments.assignments
            assigned = {key: _simplified(expression, zone) for key, expression in made.items()}
            if all(assigned[key] is made[key] for key in made):
                return node
            return replace(node, assignments=Assignments(assignments=assigned))
        case _:
            return node


def _simplified(expression: RowExpression, zone: tzinfo) -> RowExpression:
    simple, reads = _parts(expression, zone)
    return simple if reads else _constant(simple, zone)


def _parts(expression: RowExpression, zone: tzinfo) -> tuple[RowExpression, bool]:
    """The expression, and whether it reads a column; if it does, its largest parts that do not are constants."""
    match expression:
        case Variable() | Lambda():
            return expression, True
        case Constant():
            return expression, False
        case Call() | SpecialForm():
            parts = [_parts(argument, zone) for argument in expression.arguments]
            if not any(reads for _, reads in parts):
                return expression, False
            arguments = tuple(part if reads else _constant(part, zone) for part, reads in parts)
            changed = any(new is not old for new, old in zip(arguments, expression.arguments, strict=True))
            return (replace(expression, arguments=arguments) if changed else expression), True
        case _:
            assert_never(expression)


def _constant(expression: RowExpression, zone: tzinfo) -> RowExpression:
    if isinstance(expression, Constant | Variable | Lambda) or not _is_plain(expression.returnType):
        return expression
    made = folded(expression, zone)
    if not isinstance(made, Constant) or len(made.valueBlock) > _LONGEST:
        return expression
    return replace(made, sourceLocation=expression.sourceLocation)


def _is_plain(type_text: str) -> bool:
    return type_text in _PLAIN or type_text.partition("(")[0] in ("decimal", "varchar")
