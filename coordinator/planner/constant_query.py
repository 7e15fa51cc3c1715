"""Queries over constants alone (``SELECT 1``, VALUES): answered while they are planned, without an engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from coordinator.analyzer.context import Context
from coordinator.analyzer.interpreter import NotConstantError, evaluate
from coordinator.planner.planned_statement import ReturnRows
from shared.errors import ErrorCode, ProcessionError
from shared.plan.expressions import Call, Lambda, RowExpression, SpecialForm, Variable
from shared.plan.nodes import FilterNode, LimitNode, OutputNode, PlanNode, ProjectNode, ValuesNode
from shared.plan.traversal import variable_of_key
from shared.spi.session import Session

MAX_ROWS = 10_000

Row = Mapping[str, RowExpression]


def constant_rows(plan: PlanNode, session: Session) -> ReturnRows | None:
    """The rows of an optimized query, None when it needs an engine; raises what Presto raises at run time."""
    try:
        return ReturnRows(_rows(plan, session))
    except NotConstantError:
        return None
    except ProcessionError as error:
        if error.code is ErrorCode.NOT_SUPPORTED:
            # Nothing of the query's: what Python does not evaluate, an engine does.
            return None
        raise


def _rows(plan: PlanNode, session: Session) -> tuple[tuple[Any, ...], ...]:
    if not isinstance(plan, OutputNode):
        raise NotConstantError(type(plan).__name__)
    zone = Context("", session).zone
    return tuple(
        tuple(evaluate(row[variable.name], zone) for variable in plan.outputVariables)
        for row in _relation(plan.source, zone)
    )


def _relation(node: PlanNode, zone: Any) -> list[Row]:
    """Rows whose cells are constant expressions, not yet evaluated."""
    match node:
        case ValuesNode() if len(node.rows) <= MAX_ROWS:
            names = [variable.name for variable in node.outputVariables]
            return [dict(zip(names, row, strict=True)) for row in node.rows]
        case ProjectNode():
            assigned = {variable_of_key(key).name: e for key, e in node.assignments.assignments.items()}
            return [{name: _put_in(e, row) for name, e in assigned.items()} for row in _relation(node.source, zone)]
        case FilterNode():
            rows = _relation(node.source, zone)
            return [row for row in rows if evaluate(_put_in(node.predicate, row), zone) is True]
        case LimitNode():
            return _relation(node.source, zone)[: node.count]
        case _:
            raise NotConstantError(type(node).__name__)


def _put_in(expression: RowExpression, row: Row) -> RowExpression:
    match expression:
        case Variable():
            return row.get(expression.name, expression)
        case Call() | SpecialForm():
            return replace(expression, arguments=tuple(_put_in(a, row) for a in expression.arguments))
        case Lambda():
            visible = {name: e for name, e in row.items() if name not in expression.arguments}
            return replace(expression, body=_put_in(expression.body, visible))
        case _:
            return expression
