# ruff: noqa: ARG002 - the collectors of a context have one shape
"""Takes aggregates, windows and subqueries out of expressions and stands a variable in for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from coordinator.analyzer.aggregate_checks import misplaced
from coordinator.analyzer.context import Context, SortItem
from coordinator.expressions.builders import coerce, constant, not_, operator, special, typed
from coordinator.expressions.types import BIGINT, BOOLEAN, common_super_type, is_comparable, is_orderable
from coordinator.planner.query.builder import Ids, RelationPlan, free_variables
from coordinator.planner.query.named_windows import resolved
from coordinator.planner.query.planning import Planning
from coordinator.planner.query.window_calls import WindowCall, window_call
from coordinator.sql.formatter import format_expression
from coordinator.sql.tree.expressions import (
    ExistsPredicate,
    FunctionCall,
    GroupingOperation,
    InPredicate,
    QuantifiedComparisonExpression,
    SubqueryExpression,
)
from coordinator.sql.tree.expressions import Window as WindowNode
from coordinator.sql.tree.node import Node
from shared.plan.expressions import Call, RowExpression, Variable, type_of
from shared.plan.types import Type

Kind = Literal["scalar", "exists", "in", "quantified"]
SubqueryNode = SubqueryExpression | ExistsPredicate | InPredicate | QuantifiedComparisonExpression

_QUANTIFIED = "Type [{}] must be {} in order to be used in quantified comparison"


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One aggregate of a query block."""

    call: Call
    distinct: bool
    condition: RowExpression | None
    order: tuple[SortItem, ...]


@dataclass(frozen=True, slots=True)
class Quantifier:
    """``symbol ALL`` (``every``) or ``symbol ANY``."""

    symbol: str
    every: bool


@dataclass(frozen=True, slots=True)
class Subquery:
    """A subquery of an expression; ``value`` is what IN and quantified comparisons compare."""

    kind: Kind
    plan: RelationPlan
    variable: Variable
    context: Context
    node: SubqueryNode
    value: RowExpression | None = None
    quantifier: Quantifier | None = None


@dataclass(slots=True)
class Collector:
    """What stands in the expressions of one query block; ``planner`` plans the subqueries.

    ``block``: where Presto points for a window that may not be. ``definitions`` are those of the WINDOW clause.
    """

    ids: Ids
    planner: Planning
    block: Node | None = None
    definitions: Mapping[str, WindowNode] = field(default_factory=dict)
    aggregates: dict[Aggregate, Variable] = field(default_factory=dict)
    windows: dict[WindowCall, Variable] = field(default_factory=dict)
    subqueries: list[Subquery] = field(default_factory=list)
    groupings: dict[tuple[RowExpression, ...], Variable] = field(default_factory=dict)
    grouping_nodes: dict[tuple[RowExpression, ...], GroupingOperation] = field(default_factory=dict)

    def aggregate(
        self,
        node: FunctionCall,
        call: Call,
        *,
        distinct: bool,
        condition: RowExpression | None,
        order: tuple[SortItem, ...],
    ) -> RowExpression:
        spec = Aggregate(call, distinct, condition, order)
        if spec not in self.aggregates:
            self.aggregates[spec] = self.ids.variable(call.displayName, call.returnType, call.sourceLocation)
        return self.aggregates[spec]

    def grouping(self, node: GroupingOperation, arguments: tuple[RowExpression, ...]) -> RowExpression:
        if arguments not in self.groupings:
            self.grouping_nodes[arguments] = node
            self.groupings[arguments] = self.ids.variable("grouping", "bigint" if len(arguments) > 31 else "integer")
        return self.groupings[arguments]

    def window(self, node: FunctionCall, context: Context) -> RowExpression:
        if context.clause == "HAVING clause":
            raise context.error(node, "HAVING clause cannot contain window functions")
        if context.lambdas:
            raise misplaced(node, "Lambda expression", context)
        block = self.block or node
        spec = window_call(node, resolved(node, self.definitions, context), block, context)
        read = {v for e in (*spec.call.arguments, *spec.partition) for v in free_variables(e)}
        read |= {v for item in spec.order for v in free_variables(item.expression)}
        if read & set(self.windows.values()):
            text = format_expression(node)
            message = f"Cannot nest window functions inside window function '{text}': [{text}]"
            raise context.error(block, message)
        if spec not in self.windows:
            self.windows[spec] = self.ids.variable(
                spec.call.displayName, spec.call.returnType, spec.call.sourceLocation
            )
        return self.windows[spec]

    def scalar_subquery(self, node: SubqueryExpression, context: Context) -> RowExpression:
        plan = self._single_column(node, node, context)
        return self._subquery("scalar", plan, plan.visible[0].variable.type, context, node)

    def exists(self, node: ExistsPredicate, context: Context) -> RowExpression:
        plan = self.planner.plan_subquery(node.subquery.query, context)
        return self._subquery("exists", plan, "boolean", context, node)

    def _subquery(
        self,
        kind: Kind,
        plan: RelationPlan,
        type_text: str,
        context: Context,
        node: SubqueryNode,
        value: RowExpression | None = None,
        quantifier: Quantifier | None = None,
    ) -> Variable:
        hint = "exists" if kind == "exists" else "expr"
        variable = self.ids.variable(hint, type_text, context.place(node))
        self.subqueries.append(Subquery(kind, plan, variable, context, node, value, quantifier))
        return variable

    def _single_column(self, node: SubqueryNode, subquery: SubqueryExpression, context: Context) -> RelationPlan:
        plan = self.planner.plan_subquery(subquery.query, context)
        count = len(plan.visible)
        if count != 1:
            raise context.error(node, f"Multiple columns returned by subquery are not yet supported. Found {count}")
        return plan

    def in_subquery(
        self,
        node: InPredicate | QuantifiedComparisonExpression,
        value: RowExpression,
        query: SubqueryExpression,
        context: Context,
    ) -> RowExpression:
        plan = self._single_column(node, query, context)
        column = plan.visible[0].variable
        common = common_super_type(typed(value), typed(column))
        if common is None:
            types = f"{type_of(value)} vs {column.type}"
            message = f"value and result of subquery must be of the same type for IN expression: {types}"
            raise context.error(node, message)
        return self._subquery("in", plan, "boolean", context, node, coerce(value, common, context.zone))

    def quantified(self, node: QuantifiedComparisonExpression, value: RowExpression, context: Context) -> RowExpression:
        symbol, every = node.operator, node.quantifier == "ALL"
        if (symbol, every) in (("=", False), ("<>", True)):
            if not is_comparable(typed(value)):
                raise context.error(node, _QUANTIFIED.format(type_of(value), "comparable"))
            found = self.in_subquery(node, value, node.subquery, context)
            return not_(found) if every else found
        plan = self._single_column(node, node.subquery, context)
        common = self._comparable(node, value, plan, context)
        coerced = coerce(value, common, context.zone)
        return self._subquery("quantified", plan, "boolean", context, node, coerced, Quantifier(symbol, every))

    def _comparable(
        self, node: QuantifiedComparisonExpression, value: RowExpression, plan: RelationPlan, context: Context
    ) -> Type:
        column = plan.visible[0].variable
        common = common_super_type(typed(value), typed(column))
        if common is None:
            raise context.error(node, f"'{node.operator}' cannot be applied to {type_of(value)}, {column.type}")
        ordered = node.operator not in ("=", "<>")
        if not (is_orderable(common) if ordered else is_comparable(common)):
            what = "orderable" if ordered else "comparable"
            raise context.error(node, _QUANTIFIED.format(type_of(value), what))
        return common


def grouping_value(
    group_id: Variable, sets: Sequence[Sequence[RowExpression]], arguments: Sequence[RowExpression], type_: Type
) -> RowExpression:
    """``grouping(…)`` from the number of the grouping set: a bit for each argument, set where it is not grouped."""
    whens = []
    for number, keys in enumerate(sets):
        bits = 0
        for argument in arguments:
            bits = bits * 2 + (argument not in keys)
        condition = operator("=", (group_id, constant(number, BIGINT)), BOOLEAN)
        whens.append(special("WHEN", type_, condition, constant(bits, type_)))
    return special("SWITCH", type_, constant(True, BOOLEAN), *whens, constant(None, type_))
