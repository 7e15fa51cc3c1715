"""UNNEST: a column for each array, two for each map, those of its rows for an array of rows."""

from __future__ import annotations

from msgspec.structs import replace

from coordinator.analyzer import expressions
from coordinator.analyzer.context import Context
from coordinator.analyzer.scope import Scope, ScopeField
from coordinator.expressions.builders import typed
from coordinator.expressions.types import type_text
from coordinator.planner.query.builder import Builder, RelationPlan
from coordinator.planner.query.planning import Planning
from coordinator.sql.tree.expressions import Expression, SubqueryExpression
from coordinator.sql.tree.node import walk
from coordinator.sql.tree.queries import Unnest
from shared.plan.expressions import Variable
from shared.plan.nodes import UnnestNode
from shared.plan.traversal import output_variables


def plan_unnest(planner: Planning, node: Unnest, left: RelationPlan | None, context: Context) -> RelationPlan:
    """The columns that UNNEST makes, over the plan of all columns of ``left``, which it may read."""
    source = left if left is not None else planner.no_rows_source()
    scope = Scope(source.fields, context.scope.parent)
    inner = replace(context, scope=scope, collector=None, clause="UNNEST")
    if any(isinstance(part, SubqueryExpression) for e in node.expressions for part in walk(e)):
        raise context.error(node, "Scalar subqueries in UNNEST are not supported")
    values = [expressions.analyze_expression(e, inner) for e in node.expressions]
    builder = Builder(planner.ids, source.node)
    replicated = output_variables(source.node)
    variables = builder.add_each((v, "unnest") for v in values)
    made: dict[str, tuple[Variable, ...]] = {}
    fields: list[ScopeField] = []
    for tree, variable in zip(node.expressions, variables, strict=True):
        produced = _unnested(planner, tree, variable, context)
        made[variable.key] = tuple(f.variable for f in produced)
        fields += produced
    ordinality = None
    if node.with_ordinality:
        ordinality = planner.ids.variable("ordinality", "bigint", context.place(node))
        fields.append(ScopeField("ordinality", ordinality))
    unnest = UnnestNode(
        sourceLocation=context.place(node),
        id=planner.ids.node(),
        source=builder.node,
        replicateVariables=replicated,
        unnestVariables=made,
        ordinalityVariable=ordinality,
    )
    return RelationPlan(unnest, tuple(fields))


def _unnested(planner: Planning, tree: Expression, variable: Variable, context: Context) -> list[ScopeField]:
    type_, place = typed(variable), context.place(tree)
    if type_.base == "map":
        return [ScopeField(None, planner.ids.variable("field", type_text(t), place)) for t in type_.arguments]
    if type_.base != "array":
        raise context.error(tree, f"Cannot unnest type: {variable.type}")
    element = type_.arguments[0]
    if element.base == "row":
        named = ((f.name, planner.ids.variable(f.name or "field", type_text(f.type), place)) for f in element.fields)
        return [ScopeField(name, made) for name, made in named]
    return [ScopeField(None, planner.ids.variable("field", type_text(element), place))]
