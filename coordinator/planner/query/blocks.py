"""One query block: FROM, WHERE, GROUP BY, HAVING, windows, SELECT, DISTINCT, ORDER BY, LIMIT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from msgspec import structs

from coordinator.analyzer import calls, expressions
from coordinator.analyzer.context import Context, SortItem
from coordinator.analyzer.scope import MOST_PARTS, Scope, ScopeField
from coordinator.expressions.builders import conjunction, conjuncts
from coordinator.planner.query.aggregation import Grouping, check_grouped, check_groupings, group, plan_grouping
from coordinator.planner.query.builder import Builder, Ids, RelationPlan, free_variables
from coordinator.planner.query.builder import replace as substitute
from coordinator.planner.query.collector import Aggregate, Collector, Subquery
from coordinator.planner.query.correlation import correlated
from coordinator.planner.query.joins import extend
from coordinator.planner.query.named_windows import window_definitions
from coordinator.planner.query.no_aggregates import NoAggregates
from coordinator.planner.query.planning import Planning, SelectItem, ordinal
from coordinator.planner.query.pushdown import push_filter
from coordinator.planner.query.subqueries import apply_subqueries
from coordinator.planner.query.window_calls import substituted
from coordinator.planner.query.windows import plan_windows
from coordinator.sql.tree.expressions import DereferenceExpression, Expression, Identifier
from coordinator.sql.tree.expressions import SortItem as SortItemNode
from coordinator.sql.tree.names import columns, qualified_name
from coordinator.sql.tree.queries import AllColumns, QuerySpecification
from shared.errors import ErrorCode
from shared.plan.expressions import RowExpression, Variable, type_of
from shared.plan.traversal import output_variables


def plan_block(planner: Planning, tree: QuerySpecification, context: Context) -> RelationPlan:
    """The plan of one SELECT."""
    source = planner.no_rows_source() if tree.from_ is None else planner.plan_relation(tree.from_, context)
    scope = Scope(source.fields, context.scope.parent)
    builder = Builder(planner.ids, source.node)
    _where(planner, tree, builder, structs.replace(context, scope=scope))
    collector = Collector(planner.ids, planner, block=tree, definitions=window_definitions(tree))
    inner = structs.replace(context, scope=scope, collector=collector, clause="SELECT clause")
    items = _select_items(tree, source, inner)
    having = _having(tree, inner)
    stand_ins: dict[RowExpression, RowExpression] = {}
    order = _order(tree, items, inner, planner.ids, stand_ins)
    order = [(node, _over_outputs(sort, collector, stand_ins)) for node, sort in order]
    collector.subqueries = [_comparing(s, stand_ins) for s in collector.subqueries]
    grouping = plan_grouping(tree, items, structs.replace(inner, collector=NoAggregates(collector, "GROUP BY clause")))
    check_groupings(tree, grouping, collector, inner)
    mapping: dict[RowExpression, RowExpression] = {}
    _refuse_aggregates_of_outer(collector, tree, inner)
    if grouping is not None or collector.aggregates or collector.groupings:
        below = _with_compared(_read_by_aggregates(collector) | _read_by_keys(grouping), collector.subqueries)
        apply_subqueries(builder, [s for s in collector.subqueries if s.variable in below], {})
        collector.subqueries = [s for s in collector.subqueries if s.variable not in below]
        mapping = group(builder, grouping, collector)
        allowed = _standing_in(collector) | set(mapping.values()) | _outer_variables(context)
        written = [(item.node, item.expression) for item in items]
        written += [] if having is None or tree.having is None else [(tree.having, having)]
        for node, expression in (*written, *((n, sort.expression) for n, sort in order)):
            check_grouped(node, substitute(expression, mapping), allowed, inner)
        for subquery in collector.subqueries:
            _check_read(subquery, {f.variable for f in source.fields} - set(mapping), inner)
    _compute_outputs(builder, collector, stand_ins, mapping)
    late = _reading(collector.subqueries, set(collector.windows.values()))
    apply_subqueries(builder, [s for s in collector.subqueries if s not in late], mapping)
    if having is not None:
        builder.filter(substitute(having, mapping))
    plan_windows(builder, collector.windows, mapping)
    apply_subqueries(builder, late, mapping)
    chosen = [SelectItem(i.name, substitute(i.expression, mapping), i.node) for i in items]
    sorts = [SortItem(substitute(s.expression, mapping), s.order) for _, s in order]
    return _finish(planner, tree, builder, chosen, sorts, inner)


def _over_outputs(sort: SortItem, collector: Collector, stand_ins: dict[RowExpression, RowExpression]) -> SortItem:
    """The item with its windows over what output columns stand for, where ORDER BY names those."""
    same: dict[RowExpression, RowExpression] = {}
    for spec, variable in list(collector.windows.items()):
        over = substituted(spec, stand_ins)
        if over != spec:
            del collector.windows[spec]
            same[variable] = collector.windows.setdefault(over, variable)
    return SortItem(substitute(sort.expression, same), sort.order)


def _comparing(subquery: Subquery, stand_ins: dict[RowExpression, RowExpression]) -> Subquery:
    """The subquery, where ORDER BY compares an output column with it, comparing what that stands for."""
    if subquery.value is None or not free_variables(subquery.value) & stand_ins.keys():
        return subquery
    return replace(subquery, value=substitute(subquery.value, stand_ins))


def _reading(subqueries: list[Subquery], variables: set[Variable]) -> list[Subquery]:
    """Those that compare what reads one of the variables."""
    return [s for s in subqueries if s.value is not None and free_variables(s.value) & variables]


def _with_compared(read: set[Variable], subqueries: list[Subquery]) -> set[Variable]:
    """The variables and those that the subqueries among them compare, which may be of subqueries too."""
    for subquery in reversed(subqueries):  # what one compares was found before it
        if subquery.variable in read and subquery.value is not None:
            read = read | free_variables(subquery.value)
    return read


def _check_read(subquery: Subquery, ungrouped: set[Variable], context: Context) -> None:
    """Refuses a subquery of SELECT, HAVING or ORDER BY that reads a column which is not grouped."""
    given = {f.variable for f in subquery.plan.fields}
    if not (given & ungrouped or correlated(subquery.plan.node, ungrouped)):
        return
    for column, name in columns(subquery.node):
        parts = [part.value.lower() for part in name]
        for count in range(min(len(parts), MOST_PARTS), 0, -1):
            found = context.scope.find(parts[count - 1], tuple(parts[: count - 1]))
            read = {f.variable for f in found} & ungrouped
            if given & read or correlated(subquery.plan.node, read):
                message = f"Subquery uses '{'.'.join(parts[:count])}' which must appear in GROUP BY clause"
                raise context.error(column, message)


def _refuse_aggregates_of_outer(collector: Collector, tree: QuerySpecification, context: Context) -> None:
    """Refuses, as Presto, what other databases aggregate in the outer query: nobody should get other rows here."""
    outer = _outer_variables(context)
    for spec in collector.aggregates:
        read = _read_by(spec)
        if read and read <= outer:
            message = "Given correlated subquery is not supported"
            raise context.planning_error(tree, message, ErrorCode.UNSUPPORTED_SUBQUERY)


def _read_by_aggregates(collector: Collector) -> set[Variable]:
    return {variable for spec in collector.aggregates for variable in _read_by(spec)}


def _read_by(spec: Aggregate) -> set[Variable]:
    found = free_variables(spec.call)
    found |= free_variables(spec.condition) if spec.condition is not None else set()
    return found | {v for item in spec.order for v in free_variables(item.expression)}


def _read_by_keys(grouping: Grouping | None) -> set[Variable]:
    return {v for keys in (() if grouping is None else grouping.sets) for key in keys for v in free_variables(key)}


def _outer_variables(context: Context) -> set[RowExpression]:
    found: set[RowExpression] = set()
    scope = context.scope.parent
    while scope is not None:
        found |= {f.variable for f in scope.fields}
        scope = scope.parent
    return found


def _standing_in(collector: Collector) -> set[RowExpression]:
    variables: set[RowExpression] = set(collector.aggregates.values())
    variables |= set(collector.windows.values()) | set(collector.groupings.values())
    return variables | {s.variable for s in collector.subqueries}


def _where(planner: Planning, tree: QuerySpecification, builder: Builder, context: Context) -> None:
    if tree.where is None:
        return
    collector = Collector(planner.ids, planner, block=tree)
    inner = structs.replace(
        context, collector=NoAggregates(collector, "WHERE clause", tree.where), clause="WHERE clause"
    )
    condition = expressions.analyze_condition(tree.where, inner, "WHERE clause")
    # What needs no subquery filters before the subqueries are joined.
    made = {s.variable for s in collector.subqueries}
    terms = conjuncts(condition)
    first = [t for t in terms if not free_variables(t) & made]
    if first:
        builder.node = push_filter(builder.node, conjunction(first), planner.ids)
    apply_subqueries(builder, collector.subqueries, {})
    rest = [t for t in terms if free_variables(t) & made]
    if rest:
        builder.node = push_filter(builder.node, conjunction(rest), planner.ids)


def _having(tree: QuerySpecification, context: Context) -> RowExpression | None:
    if tree.having is None:
        return None
    return expressions.analyze_condition(tree.having, structs.replace(context, clause="HAVING clause"), "HAVING clause")


def _select_items(tree: QuerySpecification, source: RelationPlan, context: Context) -> list[SelectItem]:
    items: list[SelectItem] = []
    for item in tree.select:
        if isinstance(item, AllColumns):
            items += _star(item, source, context)
            continue
        value = item.expression
        name = _implied_name(value) if item.alias is None else item.alias.value
        items.append(SelectItem(name, expressions.analyze_expression(value, context), value))
    return items


def _implied_name(node: Expression) -> str | None:
    """The name of a column, or of a field reached by names only; nothing else names its result."""
    if isinstance(node, Identifier):
        return node.value
    return node.field.value if isinstance(node, DereferenceExpression) and qualified_name(node) is not None else None


def _star(node: AllColumns, source: RelationPlan, context: Context) -> list[SelectItem]:
    prefix = tuple(part.value.lower() for part in node.prefix)
    fields = [f for f in source.visible if not prefix or f.relation[-len(prefix) :] == prefix]
    if prefix and not Scope(source.fields).relation_exists(prefix):
        raise context.error(node, f"Table '{'.'.join(prefix)}' not found")
    if not fields:
        raise context.error(node, "SELECT * not allowed in queries without FROM clause")
    context.references.update(f.variable.name for f in fields)
    return [SelectItem(f.name, f.variable, node) for f in fields]


def _compute_outputs(
    builder: Builder,
    collector: Collector,
    stand_ins: dict[RowExpression, RowExpression],
    mapping: dict[RowExpression, RowExpression],
) -> None:
    """Computes the output columns that subqueries of ORDER BY read, before those are joined."""
    for variable, expression in stand_ins.items():
        assert isinstance(variable, Variable)
        readers = [s for s in collector.subqueries if correlated(s.plan.node, {variable})]
        if not readers:
            continue
        value = substitute(expression, mapping)
        if free_variables(value) & (set(collector.windows.values()) | {s.variable for s in collector.subqueries}):
            what = "A subquery of ORDER BY over an output column of a window function or a subquery"
            raise readers[0].context.unsupported(readers[0].node, what)
        builder.node = extend(builder.ids, builder.node, {variable: value})


def _order(
    tree: QuerySpecification,
    items: Sequence[SelectItem],
    context: Context,
    ids: Ids,
    stand_ins: dict[RowExpression, RowExpression],
) -> list[tuple[Expression, SortItem]]:
    if tree.order_by is None:
        return []
    # Output names come before source columns of the same name; two outputs of one name are ambiguous.
    fields: list[ScopeField] = []
    for item in items:
        if item.name is None:
            continue
        if isinstance(item.expression, Variable):
            fields.append(ScopeField(item.name, item.expression))
            continue
        variable = ids.variable("output", type_of(item.expression), item.expression.sourceLocation)
        stand_ins[variable] = item.expression
        fields.append(ScopeField(item.name, variable))
    rest = list(context.scope.fields)
    scope = Scope(tuple(fields), Scope(tuple(rest), context.scope.parent))
    inner = structs.replace(context, scope=scope, clause="ORDER BY clause")
    return [(item.sort_key, _order_item(item, items, stand_ins, inner)) for item in tree.order_by.sort_items]


def _order_item(
    node: SortItemNode, items: Sequence[SelectItem], stand_ins: dict[RowExpression, RowExpression], context: Context
) -> SortItem:
    position = ordinal(node.sort_key)
    if position is not None:
        if not 1 <= position <= len(items):
            raise context.error(node.sort_key, f"ORDER BY position {position} is not in select list")
        return calls.sort_item(node, items[position - 1].expression, context)
    expression = substitute(expressions.analyze_expression(node.sort_key, context), stand_ins)
    return calls.sort_item(node, expression, context)


def _finish(
    planner: Planning,
    tree: QuerySpecification,
    builder: Builder,
    items: list[SelectItem],
    sorts: list[SortItem],
    context: Context,
) -> RelationPlan:
    """SELECT's projection, DISTINCT, ORDER BY and LIMIT."""
    chosen = _project(planner, builder, items, sorts)
    if tree.distinct:
        selected = {i.expression for i in items}
        if any(sort.expression not in selected for sort in sorts):
            raise context.error(tree, "For SELECT DISTINCT, ORDER BY expressions must appear in select list")
        builder.project({v.key: v for v in chosen})
        builder.node = planner.distinct(builder.node, tree, context)
    # What reads outer columns alone is the same for all rows of the subquery.
    outer = _outer_variables(context)
    sorts = [s for s in sorts if not (read := free_variables(s.expression)) or not outer.issuperset(read)]
    known: dict[RowExpression, RowExpression] = {}
    for item, variable in zip(items, chosen, strict=True):
        known.setdefault(item.expression, variable)
    ordered = [SortItem(substitute(s.expression, known), s.order) for s in sorts]
    planner.sort_and_limit(builder, ordered, tree, context)
    wanted: dict[str, RowExpression] = {v.key: v for v in chosen}
    if tuple(output_variables(builder.node)) != tuple(dict.fromkeys(chosen)):
        builder.project(wanted)
    return RelationPlan(builder.node, tuple(ScopeField(i.name, v) for i, v in zip(items, chosen, strict=True)))


def _project(planner: Planning, builder: Builder, items: list[SelectItem], sorts: list[SortItem]) -> list[Variable]:
    """Computes the output columns; what the order needs beside them stays below."""
    chosen: list[Variable] = []
    assignments: dict[str, RowExpression] = {}
    seen: dict[RowExpression, Variable] = {}
    own = set(output_variables(builder.node))
    for item in items:
        if item.expression in seen:
            chosen.append(seen[item.expression])
            continue
        if isinstance(item.expression, Variable) and item.expression in own:
            variable = item.expression
        else:
            place = item.expression.sourceLocation
            variable = planner.ids.variable(item.name or "expr", type_of(item.expression), place)
        seen[item.expression] = variable
        chosen.append(variable)
        assignments[variable.key] = item.expression
    needed = {v for s in sorts if s.expression not in seen for v in free_variables(s.expression)} & own
    for variable in sorted(needed, key=lambda v: v.name):
        assignments.setdefault(variable.key, variable)
    builder.project(assignments)
    return chosen
