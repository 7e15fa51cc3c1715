"""Correlated subqueries of expressions over ``MarkedRows``: EXISTS, IN, comparisons with ALL and ANY, scalar ones.

All but scalar subqueries without an aggregate count or aggregate the real rows of each outer row under a unique id, as
Presto's rules do; with equalities alone EXISTS and aggregates are grouped by their keys before the join.
"""

from __future__ import annotations

from coordinator.expressions.builders import (
    conjunction,
    conjuncts,
    constant,
    disjunction,
    function_call,
    not_,
    operator,
    special,
    typed,
)
from coordinator.expressions.types import BIGINT, BOOLEAN
from coordinator.planner.query.builder import Builder, free_variables, replace
from coordinator.planner.query.correlation import NotDecorrelatedError, Outer, correlated, equal_sides, pull
from coordinator.planner.query.failures import required
from coordinator.planner.query.joins import aggregate, aggregation, count_rows, extend, join, project
from coordinator.planner.query.marked_rows import FALSE, TRUE, MarkedRows, marked_rows
from shared.errors import ErrorCode
from shared.plan.expressions import RowExpression, Variable
from shared.plan.nodes import (
    Aggregation,
    AggregationNode,
    AssignUniqueId,
    EquiJoinClause,
    FilterNode,
    MarkDistinctNode,
    PlanNode,
    ProjectNode,
)
from shared.plan.traversal import output_variables, variable_of_key

_ZERO = constant(0, BIGINT)
_SEVERAL_ROWS = (ErrorCode.SUBQUERY_MULTIPLE_ROWS, "Scalar sub-query has returned multiple rows")


def _with_id(builder: Builder) -> tuple[AssignUniqueId, Variable]:
    unique = builder.ids.variable("unique", "bigint")
    return AssignUniqueId(id=builder.ids.node(), source=builder.node, idVariable=unique), unique


def exists(builder: Builder, inner: PlanNode, result: Variable, outer: Outer) -> None:
    """Adds ``result``: whether the subquery has a row."""
    if _exists_by_keys(builder, inner, result, outer):
        return
    left, unique = _with_id(builder)
    rows = marked_rows(builder.ids, left, inner, outer)
    count = builder.ids.variable("count", "bigint")
    _grouped(builder, rows, unique, output_variables(left), {count: count_rows(rows.mark)})
    _append(builder, {result: operator(">", (count, _ZERO), BOOLEAN)}, {count})


def _exists_by_keys(builder: Builder, inner: PlanNode, result: Variable, outer: Outer) -> bool:
    ids = builder.ids
    try:
        pulled = pull(ids, inner, outer)
    except NotDecorrelatedError:
        return False
    pairs = [equal_sides(c, outer) for c in pulled.conditions]
    if not pairs or None in pairs:
        return False
    equal = [p for p in pairs if p is not None]
    left_keys = builder.add((o, "expr") for _, o in equal)
    right = Builder(ids, pulled.node)
    right_keys = right.add((i, "expr") for i, _ in equal)
    right.node = aggregate(ids, right.node, tuple(dict.fromkeys(right_keys)), {})
    mark = ids.variable("subquerytrue", "boolean")
    marked = extend(ids, right.node, {mark: TRUE})
    criteria = [EquiJoinClause(left=a, right=b) for a, b in zip(left_keys, right_keys, strict=True)]
    kept = output_variables(builder.node)
    builder.node = join(ids, "LEFT", builder.node, marked, criteria)
    found = special("COALESCE", BOOLEAN, mark, FALSE)
    builder.project({v.key: v for v in kept} | {result.key: found})
    return True


def in_(builder: Builder, inner: PlanNode, column: Variable, value: Variable, result: Variable, outer: Outer) -> None:
    """Adds ``result``: ``value IN (subquery)``, NULL where only a NULL could have matched."""
    ids = builder.ids
    left, unique = _with_id(builder)
    unknown = disjunction([special("IS_NULL", BOOLEAN, value), special("IS_NULL", BOOLEAN, column)])
    same = operator("=", (value, column), BOOLEAN)
    narrowed = FilterNode(id=ids.node(), source=inner, predicate=disjunction([unknown, same]))
    rows = marked_rows(ids, left, narrowed, outer | {value})
    matched, maybe = ids.variable("matched", "boolean"), ids.variable("null_matched", "boolean")
    real = [rows.mark] if rows.mark is not None else []
    masks = {matched: conjunction([*real, not_(unknown)]), maybe: conjunction([*real, unknown])}
    rows = MarkedRows(extend(ids, rows.node, masks), rows.mark, False)
    counts = ids.variable("count", "bigint"), ids.variable("count", "bigint")
    _grouped(
        builder, rows, unique, output_variables(left), {counts[0]: count_rows(matched), counts[1]: count_rows(maybe)}
    )
    tests = [operator(">", (c, _ZERO), BOOLEAN) for c in counts]
    whens = [
        special("WHEN", BOOLEAN, tests[0], TRUE),
        special("WHEN", BOOLEAN, tests[1], constant(None, BOOLEAN)),
    ]
    _append(builder, {result: special("SWITCH", BOOLEAN, TRUE, *whens, FALSE)}, set(counts))


def _grouped(
    builder: Builder,
    rows: MarkedRows,
    unique: Variable,
    keys: tuple[Variable, ...],
    aggregations: dict[Variable, Aggregation],
) -> None:
    grouped = aggregate(builder.ids, rows.node, keys, {v.key: a for v, a in aggregations.items()})
    kept: dict[str, RowExpression] = {v.key: v for v in output_variables(grouped) if v != unique}
    builder.node = project(builder.ids, grouped, kept)


def _append(builder: Builder, more: dict[Variable, RowExpression], without: Outer) -> None:
    kept: dict[str, RowExpression] = {v.key: v for v in output_variables(builder.node) if v not in without}
    builder.project(kept | {v.key: e for v, e in more.items()})


def scalar(builder: Builder, inner: PlanNode, column: Variable, result: Variable, outer: Outer) -> None:
    """Adds ``result``: the subquery's one value, NULL for no row, an error for several."""
    if scalar_aggregate(builder, inner, column, result, outer):
        return
    ids = builder.ids
    kept = output_variables(builder.node)
    left, unique = _with_id(builder)
    rows, check = marked_rows(ids, left, inner, outer), None
    if not rows.single:
        if rows.mixed:
            rows, check = _only(builder, rows, unique, column, output_variables(left))
            column = output_variables(rows.node)[-1]
        else:
            rows, check = _each_once(builder, rows, unique)
    builder.node = rows.node
    value = rows.real(column)
    if check is not None:
        value = special("IF", typed(value), check, value, constant(None, typed(value)))
    builder.project({v.key: v for v in kept} | {result.key: value})


def _each_once(builder: Builder, rows: MarkedRows, unique: Variable) -> tuple[MarkedRows, RowExpression]:
    """The rows filtered by a check that there is one an outer row, and the check.

    The value depends on it too: an engine may ask a condition on the value before the filter below it.
    """
    ids = builder.ids
    distinct = ids.variable("is_distinct", "boolean")
    marked = MarkDistinctNode(id=ids.node(), source=rows.node, markerVariable=distinct, distinctVariables=(unique,))
    check = required(distinct, *_SEVERAL_ROWS)
    return MarkedRows(FilterNode(id=ids.node(), source=marked, predicate=check), rows.mark, True), check


def _only(
    builder: Builder, rows: MarkedRows, unique: Variable, column: Variable, keys: tuple[Variable, ...]
) -> tuple[MarkedRows, RowExpression]:
    """One row an outer row: the value of its one real row; and the check of that, as ``_each_once``."""
    ids = builder.ids
    count, value = ids.variable("count", "bigint"), ids.variable("arbitrary", column.type)
    call = function_call("arbitrary", (column,), typed(column), kind="AGGREGATE")
    made = {count.key: count_rows(rows.mark), value.key: aggregation(call, rows.mark)}
    grouped = aggregate(ids, rows.node, keys, made)
    one = operator("<=", (count, constant(1, BIGINT)), BOOLEAN)
    check = required(one, *_SEVERAL_ROWS)
    filtered = FilterNode(id=ids.node(), source=grouped, predicate=check)
    kept: dict[str, RowExpression] = {v.key: v for v in (*keys, count, value) if v != unique}
    return MarkedRows(project(ids, filtered, kept), None, True), check


def scalar_aggregate(builder: Builder, inner: PlanNode, column: RowExpression, result: Variable, outer: Outer) -> bool:
    """The same for a subquery that is an aggregation without GROUP BY; False where it is none."""
    kept = output_variables(builder.node)
    found = _global_aggregate(builder, inner, [column], outer)
    if found is None:
        return False
    (expression,), having = found
    if having != TRUE:
        expression = special("IF", typed(expression), having, expression, constant(None, typed(expression)))
    builder.project({v.key: v for v in kept} | {result.key: expression})
    return True


def lateral_aggregate(builder: Builder, inner: PlanNode, outer: Outer) -> bool:
    """Adds the columns of a query that is an aggregation without GROUP BY; False where it is none."""
    kept, made = output_variables(builder.node), output_variables(inner)
    found = _global_aggregate(builder, inner, list(made), outer)
    if found is None:
        return False
    columns, having = found
    if having != TRUE:
        builder.filter(having)
    builder.project({v.key: v for v in kept} | {v.key: e for v, e in zip(made, columns, strict=True)})
    return True


def _global_aggregate(
    builder: Builder, inner: PlanNode, columns: list[RowExpression], outer: Outer
) -> tuple[list[RowExpression], RowExpression] | None:
    """Joins the aggregates of a global aggregation; gives ``columns`` and the HAVING condition over them."""
    columns, having, node = _above_aggregation(inner, columns)
    if node is None or outer & {v for a in node.aggregations.values() for v in free_variables(a.call)}:
        return None
    ids = builder.ids
    if not correlated(node, outer):
        builder.node = join(ids, "INNER", builder.node, node)
    elif not _aggregate_by_keys(builder, node, outer):
        left, unique = _with_id(builder)
        rows = marked_rows(ids, left, node.source, outer)
        source, aggregations = _masked(builder, rows, node)
        _grouped(builder, MarkedRows(source, None, False), unique, output_variables(left), aggregations)
    else:
        counts = _zero_counts(node)
        columns, having = [replace(e, counts) for e in columns], replace(having, counts)
    return columns, having


def _above_aggregation(
    inner: PlanNode, columns: list[RowExpression]
) -> tuple[list[RowExpression], RowExpression, AggregationNode | None]:
    """What projections and filters above a global aggregation make of ``columns``, and the aggregation."""
    having: list[RowExpression] = []
    node = inner
    while isinstance(node, ProjectNode | FilterNode):
        if isinstance(node, FilterNode):
            having = [*having, *conjuncts(node.predicate)]
        else:
            assigned: dict[RowExpression, RowExpression] = {
                variable_of_key(k): e for k, e in node.assignments.assignments.items()
            }
            columns = [replace(c, assigned) for c in columns]
            having = [replace(h, assigned) for h in having]
        node = node.source
    if not isinstance(node, AggregationNode) or node.groupingSets.groupingKeys:
        return columns, TRUE, None
    return columns, conjunction(having) if having else TRUE, node


def _masked(builder: Builder, rows: MarkedRows, node: AggregationNode) -> tuple[PlanNode, dict[Variable, Aggregation]]:
    """The aggregates of ``node`` over the real rows alone."""
    made: dict[Variable, Aggregation] = {}
    both: dict[Variable, RowExpression] = {}
    for key, spec in node.aggregations.items():
        mask = spec.mask if rows.mark is None else rows.mark
        if spec.mask is not None and rows.mark is not None:
            mask = builder.ids.variable("mask", "boolean")
            both[mask] = conjunction([rows.mark, spec.mask])
        made[variable_of_key(key)] = Aggregation(
            call=spec.call,
            orderBy=spec.orderBy,
            distinct=spec.distinct,
            mask=mask,
            arguments=spec.arguments,
            functionHandle=spec.functionHandle,
        )
    return extend(builder.ids, rows.node, both), made


def _aggregate_by_keys(builder: Builder, node: AggregationNode, outer: Outer) -> bool:
    ids = builder.ids
    try:
        pulled = pull(ids, node.source, outer)
    except NotDecorrelatedError:
        return False
    pairs = [equal_sides(c, outer) for c in pulled.conditions]
    if not pairs or None in pairs or pulled.deferred:
        return False
    equal = [p for p in pairs if p is not None]
    left_keys = builder.add((o, "expr") for _, o in equal)
    right = Builder(ids, pulled.node)
    right_keys = right.add((i, "expr") for i, _ in equal)
    grouped = aggregate(ids, right.node, tuple(dict.fromkeys(right_keys)), node.aggregations)
    criteria = [EquiJoinClause(left=a, right=b) for a, b in zip(left_keys, right_keys, strict=True)]
    builder.node = join(ids, "LEFT", builder.node, grouped, criteria)
    return True


def _zero_counts(node: AggregationNode) -> dict[RowExpression, RowExpression]:
    """COUNTs that found no row are 0, not NULL."""
    counts = {"count", "count_if", "approx_distinct"}
    return {
        variable_of_key(key): special("COALESCE", BIGINT, variable_of_key(key), _ZERO)
        for key, spec in node.aggregations.items()
        if spec.call.displayName in counts
    }
