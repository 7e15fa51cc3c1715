"""What a WHERE, ON or GROUP BY clause may hold."""

from __future__ import annotations

from typing import Any

from coordinator.analyzer.aggregate_checks import misplaced
from coordinator.analyzer.context import Context
from coordinator.planner.query.collector import Collector
from shared.errors import ProcessionError
from shared.plan.expressions import Call, RowExpression


class NoAggregates:
    """The sinks of a clause where subqueries may stand and aggregates may not; Presto points at its whole ``tree``."""

    def __init__(self, collector: Collector, clause: str, tree: Any = None) -> None:
        self.collector, self.clause, self.tree = collector, clause, tree

    def _refuse(self, node: Any, context: Context | None = None) -> ProcessionError:
        around: Context = context or self.collector.planner.context
        refusal = misplaced(node, self.clause, around)
        place = around.locate(node if self.tree is None else self.tree)
        return ProcessionError(refusal.code, refusal.message, location=place)

    def aggregate(self, node: Any, call: Call, **_rest: Any) -> RowExpression:  # noqa: ARG002 - the sinks' shape
        raise self._refuse(node)

    def window(self, node: Any, context: Context) -> RowExpression:
        raise self._refuse(node, context)

    def grouping(self, node: Any, _arguments: tuple[RowExpression, ...]) -> RowExpression:
        raise self._refuse(node)

    def scalar_subquery(self, node: Any, context: Context) -> RowExpression:
        return self.collector.scalar_subquery(node, context)

    def exists(self, node: Any, context: Context) -> RowExpression:
        return self.collector.exists(node, context)

    def in_subquery(self, node: Any, value: RowExpression, query: Any, context: Context) -> RowExpression:
        return self.collector.in_subquery(node, value, query, context)

    def quantified(
        self, node: Any, symbol: str, value: RowExpression, every: bool, query: Any, context: Context
    ) -> RowExpression:
        return self.collector.quantified(node, symbol, value, every, query, context)
