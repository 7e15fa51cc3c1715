"""FROM: tables, subqueries, VALUES, UNNEST, joins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

from coordinator.analyzer import expressions
from coordinator.analyzer.builders import coerce, conjunction, conjuncts, special, typed
from coordinator.analyzer.context import Context
from coordinator.analyzer.operators import comparison
from coordinator.analyzer.scope import Scope, ScopeField
from coordinator.analyzer.types import common_super_type, type_text
from coordinator.planner.query import joins
from coordinator.planner.query.builder import Builder, RelationPlan, free_variables, with_own_variables
from coordinator.planner.query.collector import Collector, Subquery
from coordinator.planner.query.correlation import NotDecorrelatedError, correlated
from coordinator.planner.query.lateral import lateral_join
from coordinator.planner.query.marked_rows import TRUE
from coordinator.planner.query.no_aggregates import NoAggregates
from coordinator.planner.query.planning import Planning
from coordinator.planner.query.pushdown import deterministic, push_filter
from coordinator.planner.query.samples import sampled
from coordinator.planner.query.subqueries import apply_subqueries
from coordinator.planner.query.table_version import table_version
from coordinator.sql.tree.expressions import Expression, Identifier, SubqueryExpression
from coordinator.sql.tree.node import walk
from coordinator.sql.tree.queries import (
    AliasedRelation,
    Join,
    JoinOn,
    JoinUsing,
    Lateral,
    NaturalJoin,
    Relation,
    SampledRelation,
    Table,
    TableSubquery,
    Unnest,
)
from shared.errors import ErrorCode, ProcessionError
from shared.plan.expressions import RowExpression, SourceLocation, Variable
from shared.plan.nodes import EquiJoinClause, JoinNode, TableScanNode, UnnestNode
from shared.plan.traversal import output_variables
from shared.spi.connector import TableMetadata, ViewMetadata


def plan_relation(planner: Planning, node: Relation, context: Context) -> RelationPlan:
    """One item of FROM, by itself."""
    match node:
        case Table():
            return _table(planner, node, context)
        case TableSubquery():
            return with_own_variables(planner.ids, planner.plan_nested(node.query, context))
        case AliasedRelation():
            return _aliased(planner, plan_relation(planner, node.relation, context), node, context)
        case SampledRelation():
            return sampled(planner.ids, plan_relation(planner, node.relation, context), node, context)
        case Join():
            return _joins(planner, node, context)
        case Unnest():
            return _unnest(planner, node, None, context)
        case Lateral():
            return with_own_variables(planner.ids, planner.plan_nested(node.query, context))
        case _:
            assert_never(node)


def _joins(planner: Planning, node: Join, context: Context) -> RelationPlan:
    """Chains of joins are walked, not recursed."""
    spine: list[Join] = []
    first: Relation = node
    while isinstance(first, Join):
        # Presto looks at the kind of a join before it looks at what is joined.
        if isinstance(first.criteria, NaturalJoin):
            raise context.error(first, "Natural join not supported")
        spine.append(first)
        first = first.left
    plan = plan_relation(planner, first, context)
    for join in reversed(spine):
        plan = _join(planner, plan, join, context)
    return plan


def _aliased(planner: Planning, plan: RelationPlan, node: AliasedRelation, context: Context) -> RelationPlan:
    plan = with_own_variables(planner.ids, plan)
    name = node.alias.value.lower()
    visible = plan.visible
    if node.columns is not None and len(node.columns) != len(visible):
        count = len(node.columns)
        message = f"Column alias list has {count} entries but '{name}' has {len(visible)} columns available"
        raise context.error(node, message)
    names = [f.name for f in visible] if node.columns is None else [c.value for c in node.columns]
    shown = (ScopeField(n, f.variable, (name,)) for n, f in zip(names, visible, strict=True))
    hidden = (ScopeField(f.name, f.variable, (name,), True) for f in plan.fields if f.hidden)
    return RelationPlan(plan.node, (*shown, *hidden))


def _lateral(planner: Planning, node: Relation, lateral: Lateral, left: RelationPlan, context: Context) -> RelationPlan:
    """LATERAL (query), which is ``node`` where it has an alias, beside ``left``, whose columns it may read."""
    scope = Scope(left.fields, context.scope.parent)
    plan = planner.plan_subquery(lateral.query, replace(context, scope=scope))
    plan = with_own_variables(planner.ids, plan)
    if isinstance(node, AliasedRelation):
        plan = _aliased(planner, plan, node, context)
    try:
        joined = lateral_join(planner.ids, left.node, plan.node, set(output_variables(left.node)))
    except NotDecorrelatedError as error:
        message = "Given correlated subquery is not supported"
        raise context.planning_error(lateral.query, message, ErrorCode.UNSUPPORTED_SUBQUERY) from error
    return RelationPlan(joined, (*left.fields, *plan.visible))


def _table(planner: Planning, node: Table, context: Context) -> RelationPlan:
    parts = [part.value for part in node.name]
    name = parts[0].lower()
    if len(parts) > 1 or name not in planner.named:
        return _scan(planner, node, parts, context)
    named = planner.plan_cte(name, context)
    fields = tuple(ScopeField(f.name, f.variable, (name,)) for f in named.visible)
    return with_own_variables(planner.ids, RelationPlan(named.node, fields))


def _scan(planner: Planning, node: Table, parts: list[str], context: Context) -> RelationPlan:
    table = find_relation(planner, node, parts, context)
    if isinstance(table, ViewMetadata):
        return planner.plan_view(table, node, context)
    # Hidden columns belong to the scan only where the statement names one.
    columns = [*table.columns, *(c for c in table.hidden_columns if planner.is_named(c.name))]
    relation = (table.catalog.lower(), table.schema.lower(), table.name.lower())
    fields, assignments = [], {}
    place = context.place(node)
    for column in columns:
        variable = planner.ids.variable(column.name, column.type, place)
        assignments[variable.key] = column.handle
        if column.name in table.distinct_values:
            planner.distinct_values[variable.name] = table.distinct_values[column.name]
        fields.append(ScopeField(column.name, variable, relation, column.hidden))
    shown = tuple(f.variable for f in fields)
    scan = TableScanNode(
        sourceLocation=place,
        id=planner.ids.node(),
        table=table.handle,
        outputVariables=shown,
        assignments=assignments,
    )
    planner.scans[scan.id] = table
    if context.columns is not None:
        context.columns.update(v.name for v in shown)
    return RelationPlan(scan, tuple(fields))


def find_relation(
    planner: Planning, node: Table, parts: Sequence[str], context: Context
) -> TableMetadata | ViewMetadata:
    """The table or view that a name means; raises Presto's errors, which carry no location."""
    session = planner.session
    name = parts[-1].lower()
    schema = parts[-2].lower() if len(parts) > 1 else session.schema
    catalog = parts[-3].lower() if len(parts) > 2 else session.catalog
    if catalog is None:
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, "Catalog must be specified when session catalog is not set")
    if schema is None:
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, "Schema must be specified when session schema is not set")
    for what, part in (("Catalog", catalog), ("Schema", schema), ("Table", name)):
        if not part:
            raise context.error(node, f"{what} name is empty")
    planner.catalogs.connector(catalog)  # raises when there is no such catalog, before anything else is looked at
    version = table_version(node.version, f"{catalog}.{schema}.{name}", context)
    table = planner.catalogs.table(catalog, schema, name, version)
    if table is not None:
        return table
    view = planner.catalogs.view(catalog, schema, name)
    if view is not None:
        if version is not None:
            raise context.unsupported(node, "Time travel on a view")
        return view
    if not planner.catalogs.schema_exists(catalog, schema):
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, f"Schema {schema} does not exist")
    raise ProcessionError(ErrorCode.SYNTAX_ERROR, f"Table {catalog}.{schema}.{name} does not exist")


def _unnest(planner: Planning, node: Unnest, left: RelationPlan | None, context: Context) -> RelationPlan:
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
    kind, place = typed(variable), context.place(tree)
    if kind.base == "map":
        return [ScopeField(None, planner.ids.variable("field", type_text(t), place)) for t in kind.arguments]
    if kind.base != "array":
        raise context.error(tree, f"Cannot unnest type: {variable.type}")
    element = kind.arguments[0]
    if element.base == "row":
        named = ((f.name, planner.ids.variable(f.name or "field", type_text(f.type), place)) for f in element.fields)
        return [ScopeField(name, made) for name, made in named]
    return [ScopeField(None, planner.ids.variable("field", type_text(element), place))]


def _join(planner: Planning, left: RelationPlan, join: Join, context: Context) -> RelationPlan:
    crossed = join.kind in ("IMPLICIT", "CROSS")
    relation = join.right
    while isinstance(relation, AliasedRelation):
        relation = relation.relation
    if isinstance(relation, Unnest | Lateral) and not crossed:
        what = "UNNEST" if isinstance(relation, Unnest) else "LATERAL"
        raise context.error(relation, f"{what} on other than the right side of CROSS JOIN is not supported")
    if isinstance(relation, Unnest):
        plan = _unnest(planner, relation, left, context)
        named = _aliased(planner, plan, join.right, context) if isinstance(join.right, AliasedRelation) else plan
        return RelationPlan(named.node, (*left.fields, *named.fields))
    if isinstance(relation, Lateral):
        return _lateral(planner, join.right, relation, left, context)
    right = plan_relation(planner, join.right, context)
    match join.criteria:
        case JoinOn():
            return _on(planner, join.kind, left, right, join.criteria.expression, context)
        case JoinUsing():
            return _using(planner, join.kind, left, right, join.criteria.columns, context)
        case _:
            return _joined(planner, "INNER", left, right, (), None, context.place(join))


def _joined(
    planner: Planning,
    kind: str,
    left: RelationPlan,
    right: RelationPlan,
    criteria: tuple[EquiJoinClause, ...],
    condition: RowExpression | None,
    place: SourceLocation | None = None,
) -> RelationPlan:
    node = JoinNode(
        sourceLocation=place or left.node.sourceLocation or right.node.sourceLocation,
        id=planner.ids.node(),
        type=kind,  # type: ignore[arg-type]
        left=left.node,
        right=right.node,
        criteria=criteria,
        outputVariables=(*output_variables(left.node), *output_variables(right.node)),
        filter=condition,
        dynamicFilters={},
    )
    return RelationPlan(node, (*left.fields, *right.fields))


def _on(
    planner: Planning, kind: str, left: RelationPlan, right: RelationPlan, tree: Expression, context: Context
) -> RelationPlan:
    collector = Collector(planner.ids, planner)
    scope = Scope((*left.fields, *right.fields), context.scope.parent)
    refusing = NoAggregates(collector, "JOIN clause", tree)
    inner = replace(context, scope=scope, collector=refusing, clause="JOIN clause")
    condition = expressions.analyze_condition(tree, inner, "JOIN ON clause")
    if collector.subqueries and kind != "INNER":
        left, right = _with_subqueries(planner, left, right, collector.subqueries)
    elif collector.subqueries:
        joined = _joined(planner, kind, left, right, (), None)
        builder = Builder(planner.ids, joined.node)
        apply_subqueries(builder, collector.subqueries, {})
        builder.filter(condition)
        return RelationPlan(builder.node, joined.fields)
    return join_on(planner, kind, left, right, condition)


def _with_subqueries(
    planner: Planning, left: RelationPlan, right: RelationPlan, subqueries: list[Subquery]
) -> tuple[RelationPlan, RelationPlan]:
    """The sides of an outer join with the values of the subqueries of its condition: the right where that is read."""
    of_left, of_right = set(output_variables(left.node)), set(output_variables(right.node))
    by_side: tuple[list[Subquery], list[Subquery]] = ([], [])
    for subquery in subqueries:
        if subquery.kind == "in":
            raise subquery.context.unsupported(subquery.node, "IN with subquery predicate in join condition")
        value = set() if subquery.value is None else free_variables(subquery.value)
        of_one = [correlated(subquery.plan.node, side) or bool(value & side) for side in (of_left, of_right)]
        if all(of_one):
            message = "Given correlated subquery is not supported"
            raise subquery.context.planning_error(subquery.node, message, ErrorCode.UNSUPPORTED_SUBQUERY)
        by_side[of_one[1]].append(subquery)
    return _applied(planner, left, by_side[0]), _applied(planner, right, by_side[1])


def _applied(planner: Planning, plan: RelationPlan, subqueries: list[Subquery]) -> RelationPlan:
    if not subqueries:
        return plan
    builder = Builder(planner.ids, plan.node)
    apply_subqueries(builder, subqueries, {})
    return RelationPlan(builder.node, plan.fields)


def join_on(
    planner: Planning, kind: str, left: RelationPlan, right: RelationPlan, condition: RowExpression
) -> RelationPlan:
    """A join whose equalities between the sides are its criteria and whose other terms its filter.

    Terms about a side that keeps no row of its own filter that side, before anything is computed of it.
    """
    nodes, rest = [left.node, right.node], conjuncts(condition)
    for side, kinds in ((0, ("INNER", "RIGHT")), (1, ("INNER", "LEFT"))):
        known = set(output_variables(nodes[side]))
        own = [t for t in rest if kind in kinds and (read := free_variables(t)) and read <= known and deterministic(t)]
        if own:
            nodes[side] = push_filter(nodes[side], conjunction(own), planner.ids)
            rest = [t for t in rest if t not in own]
    if rest or kind != "INNER":
        node = joins.join_on(planner.ids, kind, nodes[0], nodes[1], conjunction(rest) if rest else TRUE)
    else:
        node = joins.join(planner.ids, kind, nodes[0], nodes[1])
    return RelationPlan(node, (*left.fields, *right.fields))


def _using(
    planner: Planning, kind: str, left: RelationPlan, right: RelationPlan, names: Sequence[Identifier], context: Context
) -> RelationPlan:
    terms, shared_fields, used = [], [], set()
    for identifier in names:
        name = identifier.value.lower()
        found = [[f for f in p.visible if f.matches(name, ())] for p in (left, right)]
        for side, matches in zip(("left", "right"), found, strict=True):
            if not matches:
                raise context.error(identifier, f"Column '{name}' is missing from {side} side of join")
            if len(matches) > 1:
                raise context.error(identifier, f"Column '{name}' is ambiguous")
        a, b = found[0][0].variable, found[1][0].variable
        terms.append(comparison(identifier, "=", a, b, context))
        common = common_super_type(typed(a), typed(b))
        assert common is not None
        shared_fields.append((identifier.value, a, b, common))
        used |= {a, b}
    joined = join_on(planner, kind, left, right, conjunction(terms))
    builder = Builder(planner.ids, joined.node)
    values: list[tuple[RowExpression, str]] = []
    for name, a, b, common in shared_fields:
        first, second = (coerce(v, common) for v in (a, b))
        merged = {"FULL": special("COALESCE", common, first, second), "RIGHT": second}.get(kind, first)
        values.append((merged, name))
    merged_variables = builder.add(values)
    fields = [ScopeField(n, v) for (_, n), v in zip(values, merged_variables, strict=True)]
    others = [f for f in joined.fields if f.variable not in used]
    return RelationPlan(builder.node, (*fields, *others))
