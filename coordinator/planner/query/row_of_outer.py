"""Subqueries without FROM over outer columns: their one row is computed on the outer row, without any join."""

from __future__ import annotations

from dataclasses import dataclass

from coordinator.expressions.builders import conjunction, conjuncts, constant, operator, special, typed
from coordinator.expressions.types import BOOLEAN
from coordinator.planner.query.builder import free_variables, replace
from coordinator.planner.query.collector import Subquery
from coordinator.planner.query.marked_rows import FALSE, TRUE
from shared.plan.expressions import RowExpression, Variable
from shared.plan.nodes import (
    EnforceSingleRowNode,
    FilterNode,
    LimitNode,
    PlanNode,
    ProjectNode,
    SortNode,
    TopNNode,
    ValuesNode,
)
from shared.plan.traversal import output_variables, variable_of_key

_MOST_PROJECTIONS = 4
"""Of one subquery: expressions are put into one another, which doubles them where one is used twice."""


@dataclass(frozen=True, slots=True)
class RowOfOuter:
    """The one row of a subquery as expressions over the outer row; ``condition``: whether there is a row at all."""

    columns: dict[Variable, RowExpression]
    condition: RowExpression | None

    def reads_outer(self) -> bool:
        """Whether anything in it is of an outer query: of its own it has no columns."""
        conditions = () if self.condition is None else (self.condition,)
        return any(free_variables(expression) for expression in (*self.columns.values(), *conditions))

    def value(self, subquery: Subquery, compared: RowExpression | None) -> RowExpression:
        """What the subquery is worth; ``compared`` is what IN and quantified comparisons compare with its column."""
        if subquery.kind == "exists":
            return TRUE if self.condition is None else special("COALESCE", BOOLEAN, self.condition, FALSE)
        column = self.columns[subquery.plan.visible[0].variable]
        if subquery.kind == "scalar":
            return self._where(column, constant(None, typed(column)))
        assert compared is not None
        quantifier = subquery.quantifier
        symbol = "=" if quantifier is None else quantifier.symbol
        test = operator(symbol, (compared, column), BOOLEAN)
        return self._where(test, TRUE if quantifier is not None and quantifier.every else FALSE)

    def _where(self, value: RowExpression, otherwise: RowExpression) -> RowExpression:
        return value if self.condition is None else special("IF", typed(value), self.condition, value, otherwise)


def row_of_outer(inner: PlanNode) -> RowOfOuter | None:
    """The row of a plan over one row without columns, or None for any other plan."""
    columns: dict[Variable, RowExpression] = {v: v for v in output_variables(inner)}
    conditions: list[RowExpression] = []
    node, projections = inner, 0
    while not isinstance(node, ValuesNode):
        match node:
            case ProjectNode() if projections < _MOST_PROJECTIONS:
                projections += 1
                made: dict[RowExpression, RowExpression] = {
                    variable_of_key(k): e for k, e in node.assignments.assignments.items()
                }
                columns = {v: replace(e, made) for v, e in columns.items()}
                conditions = [replace(c, made) for c in conditions]
            case FilterNode():
                conditions = [*conjuncts(node.predicate), *conditions]
            case SortNode() | EnforceSingleRowNode():
                pass
            case LimitNode() | TopNNode() if node.count > 0:
                pass
            case _:
                return None
        node = node.source
    if node.rows != ((),):
        return None
    return RowOfOuter(columns, conjunction(conditions) if conditions else None)
