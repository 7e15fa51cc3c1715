"""FROM: tables, subqueries, VALUES, UNNEST, joins."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

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
from shared.errors import ErrorCode, ProcessionError
from shared.plan.expressions import RowExpression, SourceLocation, Variable
from shared.plan.nodes import EquiJoinClause, JoinNode, TableScanNode, UnnestNode
from shared.plan.traversal import output_variables
from shared.spi.connector import TableMetadata, ViewMetadata


def plan_from(planner: Planning, node: Any, joins: list[Any], context: Context) -> RelationPlan:
    """The relation of a FROM item and the joins that follow it."""
    refuse_natural(node, joins, context)
    left = plan_relation(planner, node, context, None)
    for join in joins:
        left = _join(planner, left, join, context)
    return left


def refuse_natural(node: Any, joins: list[Any], context: Context) -> None:
    """Presto looks at the kind of a join before it looks at what is joined."""
    if any(str(join.args.get("method") or "").upper() == "NATURAL" for join in joins):
        raise context.error(node, "Natural join not supported")


def plan_relation(planner: Planning, node: Any, context: Context, left: RelationPlan | None) -> RelationPlan:
    """One relation; ``left`` is what UNNEST may refer to."""
    match type(node).__name__:
        case "Table":
            return _table(planner, node, context)
        case "Subquery":
            context.only(node, "this", "alias", "joins", "with_")
            refuse_natural(node, node.args.get("joins") or [], context)
            if node.args.get("with_"):
                raise context.unsupported(node, "WITH before a parenthesis")
            if _is_relation(node.this):
                inner = plan_relation(planner, node.this, context, None)
            else:
                inner = planner.plan_nested(node.this, context)
            joined = _alias(planner, inner, node, context)
            for join in node.args.get("joins") or []:
                joined = _join(planner, joined, join, context)
            return joined
        case "Values":
            context.only(node, "expressions", "alias")
            return _alias(planner, planner.plan_values(node, context), node, context)
        case "Unnest":
            return _unnest(planner, node, context, left)
        case "Lateral":
            return _lateral(planner, node, context)
        case "Paren":
            return plan_relation(planner, node.this, context, left)
        case name:
            raise context.unsupported(node, f"{name.upper()} in FROM")


def _is_relation(node: Any) -> bool:
    """Whether parentheses hold a relation, and not a query: a table, or a query that has an alias or is joined."""
    if type(node).__name__ == "Subquery":
        return bool(node.args.get("alias") or node.args.get("joins"))
    return type(node).__name__ == "Table"


def _lateral(planner: Planning, node: Any, context: Context, left: RelationPlan | None = None) -> RelationPlan:
    """LATERAL (query) beside ``left``, whose columns it may read; without ``left``, the query alone."""
    context.only(node, "this", "alias")
    if type(node.this).__name__ != "Subquery":
        raise context.unsupported(node, "LATERAL without a subquery")
    if left is None:
        return _alias(planner, planner.plan_nested(node.this.this, context), node, context)
    scope = Scope(left.fields, context.scope.parent)
    plan = _alias(planner, planner.plan_subquery(node.this.this, replace(context, scope=scope)), node, context)
    try:
        joined = lateral_join(planner.ids, left.node, plan.node, set(output_variables(left.node)))
    except NotDecorrelatedError as error:
        message = "Given correlated subquery is not supported"
        raise context.planning_error(node.this.this, message, ErrorCode.UNSUPPORTED_SUBQUERY) from error
    return RelationPlan(joined, (*left.fields, *plan.visible))


def _alias(planner: Planning, plan: RelationPlan, node: Any, context: Context) -> RelationPlan:
    plan = with_own_variables(planner.ids, plan)
    alias = node.args.get("alias")
    if alias is None:
        fields = tuple(ScopeField(f.name, f.variable, (), f.hidden) for f in plan.fields)
        return RelationPlan(plan.node, fields) if type(node).__name__ == "Values" else plan
    context.only(alias, "this", "columns")
    name = str(alias.name).lower()
    columns = alias.args.get("columns") or []
    visible = plan.visible
    if columns and len(columns) != len(visible):
        message = f"Column alias list has {len(columns)} entries but '{name}' has {len(visible)} columns available"
        raise context.error(node, message)
    names: list[str | None] = [str(c.name) for c in columns] or [f.name for f in visible]
    relation = (name,) if name else ()
    shown = (ScopeField(n, f.variable, relation) for n, f in zip(names, visible, strict=True))
    hidden = (ScopeField(f.name, f.variable, relation, True) for f in plan.fields if f.hidden)
    return RelationPlan(plan.node, (*shown, *hidden))


def _table(planner: Planning, node: Any, context: Context) -> RelationPlan:
    context.only(node, "this", "db", "catalog", "alias", "version", "sample", "joins")
    parts = [str(node.args[k].name) for k in ("catalog", "db", "this") if node.args.get(k)]
    if len(parts) == 1 and parts[0].lower() in planner.ctes:
        named = planner.plan_cte(parts[0].lower(), context)
        fields = tuple(ScopeField(f.name, f.variable, (parts[0].lower(),)) for f in named.visible)
        plan = _alias(planner, RelationPlan(named.node, fields), node, context)
    else:
        plan = _alias(planner, _scan(planner, node, parts, context), node, context)
    if node.args.get("sample") is not None:
        plan = sampled(planner.ids, plan, node.args["sample"], context)
    if node.args.get("joins"):
        refuse_natural(node, node.args["joins"], context)
        for join in node.args["joins"]:
            plan = _join(planner, plan, join, context)
    return plan


def _scan(planner: Planning, node: Any, parts: list[str], context: Context) -> RelationPlan:
    table = find_relation(planner, node, parts, context)
    if isinstance(table, ViewMetadata):
        return planner.plan_view(table, node, context)
    # Hidden columns belong to the scan only where the statement names one.
    columns = [*table.columns, *(c for c in table.hidden_columns if c.name in context.text.lower())]
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
    if context.places is not None:
        context.places.columns.update(v.name for v in shown)
    return RelationPlan(scan, tuple(fields))


def find_relation(planner: Planning, node: Any, parts: list[str], context: Context) -> TableMetadata | ViewMetadata:
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
    version = table_version(node.args.get("version"), f"{catalog}.{schema}.{name}", context)
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


def _unnest(planner: Planning, node: Any, context: Context, left: RelationPlan | None) -> RelationPlan:
    context.only(node, "expressions", "alias", "offset")
    source = left if left is not None else planner.no_rows_source()
    scope = Scope(source.fields, context.scope.parent)
    inner = replace(context, scope=scope, sinks=None, clause="UNNEST")
    if any(type(part).__name__ in ("Subquery", "Select") for e in node.expressions for part in e.walk()):
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
    if node.args.get("offset"):
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
    named = _unnest_alias(node, fields, context)
    return RelationPlan(unnest, (*(source.fields if left is not None else ()), *named))


def _unnested(planner: Planning, tree: Any, variable: Variable, context: Context) -> list[ScopeField]:
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


def _unnest_alias(node: Any, fields: list[ScopeField], context: Context) -> list[ScopeField]:
    alias = node.args.get("alias")
    if alias is None:
        return fields
    relation = (str(alias.name).lower(),) if alias.name else ()
    columns = [str(c.name) for c in alias.args.get("columns") or []]
    offset = node.args.get("offset")
    # sqlglot takes the last column alias for the ordinality.
    if columns and offset and type(offset).__name__ == "Identifier":
        columns.append(str(offset.name))
    if columns and len(columns) != len(fields):
        message = f"Column alias list has {len(columns)} entries but '{alias.name}' has {len(fields)} columns available"
        raise context.error(node, message)
    names: list[str | None] = [*columns] or [f.name for f in fields]
    return [ScopeField(n, f.variable, relation) for n, f in zip(names, fields, strict=True)]


def _join(planner: Planning, left: RelationPlan, join: Any, context: Context) -> RelationPlan:
    context.only(join, "this", "side", "kind", "on", "using", "method")
    if join.args.get("method"):
        message = f"{str(join.args['method']).capitalize()} join not supported"
        raise context.error(join.this, message)
    side, kind = str(join.args.get("side") or "").upper(), str(join.args.get("kind") or "").upper()
    condition, using = join.args.get("on"), join.args.get("using")
    if kind not in ("", "CROSS", "INNER", "OUTER"):
        raise context.unsupported(join.this, f"{kind} JOIN")
    relation = join.this
    if type(relation).__name__ == "Unnest":
        if side or condition is not None or using:
            raise context.error(relation, "UNNEST on other than the right side of CROSS JOIN is not supported")
        return plan_relation(planner, relation, context, left)
    if type(relation).__name__ == "Lateral":
        if side or condition is not None or using:
            message = "LATERAL on other than the right side of CROSS JOIN is not supported"
            raise context.error(relation, message)
        return _lateral(planner, relation, context, left)
    right = plan_relation(planner, relation, context, None)
    explicit = side or kind == "INNER" or condition is not None or using
    if (side or kind == "INNER") and condition is None and not using:
        raise context.error(relation, "mismatched input. Expecting: 'ON', 'USING'")
    if not explicit:
        # Presto's place of a comma join is that of the whole query block.
        return _joined(planner, "INNER", left, right, (), None, context.place(join.parent) if join.parent else None)
    if using:
        return _using(planner, side or "INNER", left, right, using, context)
    return _on(planner, side or "INNER", left, right, condition, context)


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
    planner: Planning, kind: str, left: RelationPlan, right: RelationPlan, tree: Any, context: Context
) -> RelationPlan:
    collector = Collector(planner.ids, planner, allow_aggregates=False)
    scope = Scope((*left.fields, *right.fields), context.scope.parent)
    inner = replace(context, scope=scope, sinks=NoAggregates(collector, "JOIN clause", tree), clause="JOIN clause")
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
    planner: Planning, kind: str, left: RelationPlan, right: RelationPlan, names: list[Any], context: Context
) -> RelationPlan:
    terms, shared_fields, used = [], [], set()
    for identifier in names:
        name = str(identifier.name).lower()
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
        shared_fields.append((str(identifier.name), a, b, common))
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
