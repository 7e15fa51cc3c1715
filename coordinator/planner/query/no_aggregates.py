"""What a WHERE, ON or GROUP BY clause may hold."""

from __future__ import annotations

from coordinator.analyzer.aggregate_checks import misplaced
from coordinator.analyzer.context import Context, SortItem
from coordinator.planner.query.collector import Collector
from coordinator.sql.tree.expressions import (
    ExistsPredicate,
    Expression,
    FunctionCall,
    GroupingOperation,
    InPredicate,
    QuantifiedComparisonExpression,
    SubqueryExpression,
)
from shared.errors import ProcessionError
from shared.plan.expressions import Call, RowExpression


class NoAggregates:
    """The sinks of a clause where subqueries may stand and aggregates may not; Presto points at its whole ``tree``."""

    def __init__(self, collector: Collector, clause: str, tree: Expression | None = None) -> None:
        self.collector, self.clause, self.tree = collector, clause, tree

    def _refuse(self, node: FunctionCall | GroupingOperation) -> ProcessionError:
        around = self.collector.planner.context
        refusal = misplaced(node, self.clause, around)
        place = around.locate(node if self.tree is None else self.tree)
        return ProcessionError(refusal.code, refusal.message, location=place)

    def aggregate(
        self,
        node: FunctionCall,
        call: Call,  # noqa: ARG002 - the sinks' shape
        *,
        distinct: bool,  # noqa: ARG002
        condition: RowExpression | None,  # noqa: ARG002
        order: tuple[SortItem, ...],  # noqa: ARG002
    ) -> RowExpression:
        raise self._refuse(node)

    def window(self, node: FunctionCall, context: Context) -> RowExpression:  # noqa: ARG002
        raise self._refuse(node)

    def grouping(self, node: GroupingOperation, arguments: tuple[RowExpression, ...]) -> RowExpression:  # noqa: ARG002
        raise self._refuse(node)

    def scalar_subquery(self, node: SubqueryExpression, context: Context) -> RowExpression:
        return self.collector.scalar_subquery(node, context)

    def exists(self, node: ExistsPredicate, context: Context) -> RowExpression:
        return self.collector.exists(node, context)

    def in_subquery(
        self,
        node: InPredicate | QuantifiedComparisonExpression,
        value: RowExpression,
        query: SubqueryExpression,
        context: Context,
    ) -> RowExpression:
        return self.collector.in_subquery(node, value, query, context)

    def quantified(self, node: QuantifiedComparisonExpression, value: RowExpression, context: Context) -> RowExpression:
        return self.collector.quantified(node, value, context)
