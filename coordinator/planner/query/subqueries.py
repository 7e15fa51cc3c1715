"""Subqueries of expressions as joins: scalar, EXISTS, IN and comparisons with ALL and ANY.

What depends on outer columns is decorrelated where that is exact (``correlation``, ``marked_rows``, ``correlated``) and
otherwise refused with Presto's ``Given correlated subquery is not supported``.
"""

from __future__ import annotations

from coordinator.expressions.builders import cast, constant, function_call, not_, operator, special, typed
from coordinator.expressions.types import BIGINT, BOOLEAN
from coordinator.planner.query import correlated as decorrelated
from coordinator.planner.query.builder import Builder, replace
from coordinator.planner.query.collector import Quantifier, Subquery
from coordinator.planner.query.correlation import NotDecorrelatedError, Outer, correlated
from coordinator.planner.query.joins import aggregate, aggregation, count_rows, extend, join, project
from coordinator.planner.query.marked_rows import FALSE, TRUE
from coordinator.planner.query.row_of_outer import row_of_outer
from coordinator.sql.tree.expressions import SubqueryExpression
from shared.errors import ErrorCode
from shared.plan.expressions import RowExpression, Variable
from shared.plan.nodes import EnforceSingleRowNode, LimitNode, SemiJoinNode
from shared.plan.traversal import output_variables


def apply_subqueries(builder: Builder, subqueries: list[Subquery], mapping: dict[RowExpression, RowExpression]) -> None:
    """Joins every subquery to the builder's plan; ``mapping`` is what became of outer expressions by grouping."""
    for subquery in subqueries:
        value = None
        if subquery.value is not None:
            (value,) = builder.add([(replace(subquery.value, mapping), "value")])
        outer = set(output_variables(builder.node))
        try:
            _apply(builder, subquery, value, outer)
        except NotDecorrelatedError as error:
            message = "Given correlated subquery is not supported"
            node = subquery.node
            place = node.query if isinstance(node, SubqueryExpression) else node
            raise subquery.context.planning_error(place, message, ErrorCode.UNSUPPORTED_SUBQUERY) from error


def _apply(builder: Builder, subquery: Subquery, value: Variable | None, outer: Outer) -> None:
    inner, result = subquery.plan.node, subquery.variable
    depends = correlated(inner, outer)
    row = row_of_outer(inner)
    # What reads a query further out is computed here too: that query sees no more of it than of any other expression.
    if row is not None and (depends or row.reads_outer()):
        builder.node = extend(builder.ids, builder.node, {result: row.value(subquery, value)})
        return
    match subquery.kind:
        case "exists" if depends:
            decorrelated.exists(builder, inner, result, outer)
        case "exists":
            _exists(builder, subquery)
        case "scalar" if depends:
            decorrelated.scalar(builder, inner, subquery.plan.visible[0].variable, result, outer)
        case "scalar":
            single = EnforceSingleRowNode(id=builder.ids.node(), source=inner)
            right = project(builder.ids, single, {result.key: subquery.plan.visible[0].variable})
            builder.node = join(builder.ids, "INNER", builder.node, right)
        case "in" if depends:
            assert value is not None
            column = subquery.plan.visible[0].variable
            same = Builder(builder.ids, inner)
            (cast_column,) = same.add([(cast(column, typed(value)), column.name)])
            decorrelated.in_(builder, same.node, cast_column, value, result, outer)
        case "in":
            assert value is not None
            _in(builder, subquery, value)
        case "quantified":
            assert value is not None
            _quantified(builder, subquery, value, outer)


def _exists(builder: Builder, subquery: Subquery) -> None:
    ids = builder.ids
    limited = LimitNode(id=ids.node(), source=subquery.plan.node, count=1, step="FINAL")
    count = ids.variable("count", "bigint")
    counted = aggregate(ids, limited, (), {count.key: count_rows()})
    test = operator(">", (count, constant(0, BIGINT)), BOOLEAN)
    builder.node = join(ids, "INNER", builder.node, project(ids, counted, {subquery.variable.key: test}))


def _in(builder: Builder, subquery: Subquery, source: Variable) -> None:
    inner = Builder(builder.ids, subquery.plan.node)
    column = subquery.plan.visible[0].variable
    (filtering,) = inner.add([(cast(column, typed(source)), column.name)])
    builder.node = SemiJoinNode(
        id=builder.ids.node(),
        source=builder.node,
        filteringSource=inner.node,
        sourceJoinVariable=source,
        filteringSourceJoinVariable=filtering,
        semiJoinOutput=subquery.variable,
        dynamicFilters={},
    )


def _quantified(builder: Builder, subquery: Subquery, value: Variable, outer: Outer) -> None:
    """Compares with the least or the greatest value, as Presto does; NULLs and no rows decide where that does not."""
    ids, quantifier = builder.ids, subquery.quantifier
    assert quantifier is not None
    inner = Builder(ids, subquery.plan.node)
    column = subquery.plan.visible[0].variable
    (compared,) = inner.add([(cast(column, typed(value)), column.name)])
    type_ = typed(compared)
    names = {n: ids.variable(n, compared.type) for n in ("min", "max")}
    known, every = ids.variable("count", "bigint"), ids.variable("count", "bigint")
    made = {v.key: aggregation(function_call(n, (compared,), type_, kind="AGGREGATE")) for n, v in names.items()}
    made[known.key] = aggregation(function_call("count", (compared,), BIGINT, kind="AGGREGATE"))
    made[every.key] = count_rows()
    node = aggregate(ids, inner.node, (), made)
    expression = _compared(quantifier, value, names["min"], names["max"], (known, every))
    if not decorrelated.scalar_aggregate(builder, node, expression, subquery.variable, outer):
        raise NotDecorrelatedError(subquery.kind)


def _compared(
    quantifier: Quantifier, value: Variable, least: Variable, most: Variable, counts: tuple[Variable, Variable]
) -> RowExpression:
    known, every = counts
    symbol, universal = quantifier.symbol, quantifier.every
    if symbol in ("=", "<>"):
        # = ALL: all are equal to it; <> ANY is its negation. = ANY and <> ALL are IN.
        both = special("AND", BOOLEAN, operator("=", (value, least), BOOLEAN), operator("=", (value, most), BOOLEAN))
        test: RowExpression = both if universal else not_(both)
    else:
        bound = most if (symbol in (">", ">=")) == universal else least
        test = operator(symbol, (value, bound), BOOLEAN)
    none = operator("=", (every, constant(0, BIGINT)), BOOLEAN)
    some_null = operator("<>", (every, known), BOOLEAN)
    decided = FALSE if universal else TRUE
    unknown = special("IF", BOOLEAN, some_null, constant(None, BOOLEAN), test)
    # A row decides by itself: for ALL one that is not so, for ANY one that is.
    decisive = special("WHEN", BOOLEAN, not_(test) if universal else test, decided)
    empty = special("WHEN", BOOLEAN, none, TRUE if universal else FALSE)
    return special("SWITCH", BOOLEAN, TRUE, empty, decisive, unknown)
