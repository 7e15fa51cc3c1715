"""UNION, INTERSECT and EXCEPT, the latter two by counting marks, as Presto's optimizer rewrites them."""

from __future__ import annotations

from collections.abc import Sequence

from coordinator.analyzer.context import Context
from coordinator.analyzer.scope import ScopeField
from coordinator.expressions.builders import coerce, conjunction, constant, function_call, operator, typed
from coordinator.expressions.types import BIGINT, BOOLEAN, common_super_type, is_comparable, type_text
from coordinator.planner.query.builder import Builder, RelationPlan
from coordinator.planner.query.planning import Planning
from coordinator.sql.tree.node import Node
from coordinator.sql.tree.queries import QueryBody, SetOperation
from shared.plan.expressions import RowExpression
from shared.plan.nodes import (
    Aggregation,
    AggregationNode,
    ExchangeNode,
    GroupingSets,
    Partitioning,
    PartitioningHandle,
    PartitioningScheme,
    PlanNode,
)
from shared.plan.traversal import output_variables
from shared.plan.types import Type

_SINGLE = PartitioningHandle(connectorHandle={"@type": "$remote", "partitioning": "SINGLE", "function": "SINGLE"})


def plan_set_operation(planner: Planning, tree: SetOperation, context: Context) -> RelationPlan:
    """The operation without the ORDER BY and LIMIT that follow it. Chains are walked, not recursed."""
    spine: list[SetOperation] = []
    first: QueryBody = tree
    while isinstance(first, SetOperation):
        if first.kind != "UNION" and not first.distinct:
            raise context.error(first, f"{first.kind} ALL not yet implemented")
        spine.append(first)
        first = first.left
    spine.reverse()
    plan = planner.plan_body(first, context)
    while spine:
        run = _run(spine)
        del spine[: len(run)]
        plans = [plan, *(planner.plan_body(operation.right, context) for operation in run)]
        plan = _combined(planner, plans, run, context)
    return plan


def _run(spine: Sequence[SetOperation]) -> list[SetOperation]:
    """The operations at the beginning that are one node: UNIONs of one kind."""
    first = spine[0]
    if first.kind != "UNION":
        return [first]
    for position, operation in enumerate(spine):
        if operation.kind != "UNION" or operation.distinct != first.distinct:
            return list(spine[:position])
    return list(spine)


def _combined(planner: Planning, plans: list[RelationPlan], run: list[SetOperation], context: Context) -> RelationPlan:
    if run[0].kind != "UNION":
        return _marked(planner, plans, run, context)
    plan = _union(planner, plans, run, context)
    if run[0].distinct:
        plan = RelationPlan(planner.distinct(plan.node, run[-1], context), plan.fields)
    return plan


def _marked(planner: Planning, plans: list[RelationPlan], run: list[SetOperation], context: Context) -> RelationPlan:
    """One union in which each side marks its rows; a group belongs to the result by its counts of marks."""
    width = len(plans[0].visible)
    sides = []
    for number, plan in enumerate(plans):
        marks = {
            planner.ids.variable("mark", "boolean"): constant(True if i == number else None, BOOLEAN)
            for i in range(len(plans))
        }
        builder = Builder(planner.ids, plan.node)
        kept: dict[str, RowExpression] = {f.variable.key: f.variable for f in plan.visible}
        builder.project(kept | {variable.key: mark for variable, mark in marks.items()})
        sides.append(RelationPlan(builder.node, (*plan.visible, *(ScopeField(None, v) for v in marks))))
    union = _union(planner, sides, run, context)
    keys = tuple(f.variable for f in union.fields[:width])
    counts = [planner.ids.variable("count", "bigint") for _ in plans]
    aggregations = {}
    for count, field in zip(counts, union.fields[width:], strict=True):
        call = function_call("count", (field.variable,), BIGINT, kind="AGGREGATE")
        aggregations[count.key] = Aggregation(call=call, distinct=False, arguments=call.arguments)
    grouped = AggregationNode(
        id=planner.ids.node(),
        source=union.node,
        aggregations=aggregations,
        groupingSets=GroupingSets(groupingKeys=tuple(dict.fromkeys(keys)), groupingSetCount=1, globalGroupingSets=()),
        preGroupedVariables=(),
        step="SINGLE",
    )
    builder = Builder(planner.ids, grouped)
    one, zero = constant(1, BIGINT), constant(0, BIGINT)
    terms = [operator(">=", (counts[0], one), BOOLEAN)]
    terms += [
        operator(">=", (c, one), BOOLEAN) if run[0].kind == "INTERSECT" else operator("=", (c, zero), BOOLEAN)
        for c in counts[1:]
    ]
    builder.filter(conjunction(terms))
    builder.project({v.key: v for v in keys})
    return RelationPlan(builder.node, union.fields[:width])


def _common_types(plans: list[RelationPlan], run: list[SetOperation], context: Context) -> list[Type]:
    first = plans[0].visible
    types = [typed(f.variable) for f in first]
    for operation, plan in zip(run, plans[1:], strict=True):
        if len(plan.visible) != len(first):
            message = f"{operation.kind} query has different number of fields: {len(first)}, {len(plan.visible)}"
            raise context.error(operation, message)
        for position, f in enumerate(plan.visible):
            common = common_super_type(types[position], typed(f.variable))
            if common is None:
                shown = f"{type_text(types[position])}, {f.variable.type}"
                column = f"column {position + 1} in {operation.kind} query has incompatible types: {shown}"
                raise context.error(operation, column)
            types[position] = common
    return types


def _union(planner: Planning, plans: list[RelationPlan], run: list[SetOperation], context: Context) -> RelationPlan:
    first = plans[0].visible
    types = _common_types(plans, run, context)
    inputs, sources = [], []
    for plan in plans:
        builder = Builder(planner.ids, plan.node)
        values = [(coerce(f.variable, t), f.variable.name) for f, t in zip(plan.visible, types, strict=True)]
        inputs.append(tuple(builder.add(values)))
        sources.append(builder.node)
    place = context.place(run[-1])
    layout = tuple(
        planner.ids.variable(f.name or "expr", type_text(t), f.variable.sourceLocation or place)
        for f, t in zip(first, types, strict=True)
    )
    scheme = PartitioningScheme(
        partitioning=Partitioning(handle=_SINGLE, arguments=()),
        outputLayout=layout,
        replicateNullsAndAny=False,
        scaleWriters=False,
        encoding="COLUMNAR",
    )
    # Presto's UnionNode is no wire node; its optimizer makes this local gathering exchange of it.
    node = ExchangeNode(
        sourceLocation=place,
        id=planner.ids.node(),
        type="GATHER",
        scope="LOCAL",
        partitioningScheme=scheme,
        sources=tuple(sources),
        inputs=tuple(inputs),
        ensureSourceOrdering=False,
    )
    return RelationPlan(node, tuple(ScopeField(f.name, v) for f, v in zip(first, layout, strict=True)))


def distinct_rows(planner: Planning, node: PlanNode, tree: Node, context: Context) -> AggregationNode:
    """The distinct rows of a plan."""
    keys = output_variables(node)
    for key in keys:
        if not is_comparable(typed(key)):
            message = f"DISTINCT can only be applied to comparable types (actual: {key.type})"
            raise context.error(tree, message)
    return AggregationNode(
        id=planner.ids.node(),
        source=node,
        aggregations={},
        groupingSets=GroupingSets(groupingKeys=keys, groupingSetCount=1, globalGroupingSets=()),
        preGroupedVariables=(),
        step="SINGLE",
    )
