"""GROUP BY: keys, grouping sets, aggregates and their check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import assert_never

from msgspec.structs import replace

from coordinator.analyzer import expressions
from coordinator.analyzer.context import Context
from coordinator.expressions.builders import constant, typed
from coordinator.expressions.types import is_comparable
from coordinator.planner.query.builder import Builder, free_variables
from coordinator.planner.query.collector import Aggregate, Collector, grouping_value
from coordinator.planner.query.joins import aggregate
from coordinator.planner.query.planning import SelectItem, ordinal
from coordinator.sql.formatter import format_expression
from coordinator.sql.tree import queries as sql
from coordinator.sql.tree.expressions import Expression, Row
from coordinator.sql.tree.names import qualified_name
from coordinator.sql.tree.queries import AllColumns, GroupingElement, QuerySpecification
from shared.plan.expressions import Call, Constant, Lambda, RowExpression, Variable, type_of
from shared.plan.nodes import Aggregation, AggregationNode, GroupIdNode, GroupingSets, Ordering, OrderingScheme
from shared.plan.traversal import output_variables
from shared.plan.types import parse_type

_MAX_SETS = 2048
_MOST_COUNTED = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class Grouping:
    """The grouping sets of a query block, each a tuple of key expressions."""

    sets: tuple[tuple[RowExpression, ...], ...]


def plan_grouping(tree: QuerySpecification, items: Sequence[SelectItem], context: Context) -> Grouping | None:
    """What GROUP BY says, or None."""
    clause = tree.group_by
    if clause is None:
        return None
    inner = replace(context, clause="GROUP BY clause")
    count = 1
    for element in clause.elements:
        count *= _size(element)
    if count > _MAX_SETS:
        number = count if count <= _MOST_COUNTED else f"more than {_MOST_COUNTED}"
        message = f"GROUP BY has {number} grouping sets but can contain at most {_MAX_SETS}"
        raise context.error(clause.elements[0], message)
    parts = [_element(element, items, inner) for element in clause.elements]
    sets = [tuple(dict.fromkeys(k for keys in choice for k in keys)) for choice in product(*parts)]
    if clause.distinct:
        sets = list({frozenset(keys): keys for keys in reversed(sets)}.values())[::-1]
    return Grouping(tuple(sets))


def check_groupings(
    tree: QuerySpecification, grouping: Grouping | None, collector: Collector, context: Context
) -> None:
    """Refuses ``grouping(…)`` without GROUP BY, and over what is no key of it."""
    if collector.groupings and grouping is None:
        clauses = "GROUPING SET/CUBE/ROLLUP/GROUP BY"
        raise context.error(tree, f"A GROUPING() operation can only be used with a corresponding {clauses} clause")
    keys = {key for keys in (() if grouping is None else grouping.sets) for key in keys}
    for arguments, node in collector.grouping_nodes.items():
        for argument, written in zip(arguments, node.columns, strict=True):
            if argument not in keys:
                shown = format_expression(written)
                where = "referenced by the GROUP BY at the associated query level"
                message = f"The arguments to GROUPING() must be expressions {where}. Mismatch due to {shown}."
                raise context.error(node, message)


def _size(element: GroupingElement) -> int:
    match element:
        case sql.Cube():
            return 1 << len(element.columns)
        case sql.Rollup():
            return len(element.columns) + 1
        case sql.GroupingSets():
            return sum(_size(member) for member in element.sets)
        case sql.SimpleGroupBy():
            return 1
        case _:
            assert_never(element)


def _element(
    element: GroupingElement, items: Sequence[SelectItem], context: Context, *, columns_only: bool = False
) -> list[tuple[RowExpression, ...]]:
    match element:
        case sql.SimpleGroupBy():
            return [_joined([_keys(e, items, context, columns_only=columns_only) for e in element.columns])]
        case sql.GroupingSets():
            return [s for member in element.sets for s in _element(member, items, context, columns_only=True)]
        case sql.Rollup():
            groups = [_keys(e, items, context, columns_only=True) for e in element.columns]
            return [_joined(groups[:n]) for n in range(len(groups), -1, -1)]
        case sql.Cube():
            groups = [_keys(e, items, context, columns_only=True) for e in element.columns]
            width = len(groups)
            masks = range((1 << width) - 1, -1, -1)
            return [_joined([g for i, g in enumerate(groups) if mask >> (width - 1 - i) & 1]) for mask in masks]
        case _:
            assert_never(element)


def _joined(groups: Sequence[tuple[RowExpression, ...]]) -> tuple[RowExpression, ...]:
    return tuple(k for g in groups for k in g)


def _keys(
    element: Expression, items: Sequence[SelectItem], context: Context, *, columns_only: bool = False
) -> tuple[RowExpression, ...]:
    if isinstance(element, Row) and not element.keyword:
        return _joined([_keys(e, items, context, columns_only=columns_only) for e in element.items])
    if columns_only and ordinal(element) is None and qualified_name(element) is None:
        message = f"GROUP BY expression must be a column reference: {format_expression(element)}"
        raise context.error(element, message)
    return (_key(element, items, context),)


def _key(node: Expression, items: Sequence[SelectItem], context: Context) -> RowExpression:
    position = ordinal(node)
    if position is not None:
        if not 1 <= position <= len(items):
            raise context.error(node, f"GROUP BY position {position} is not in select list")
        expression = items[position - 1].expression
    else:
        expression = expressions.analyze_expression(node, context)
    if not is_comparable(typed(expression)):
        message = f"{type_of(expression)} is not comparable, and therefore cannot be used in GROUP BY"
        raise context.error(node, message)
    return expression


def group(builder: Builder, grouping: Grouping | None, collector: Collector) -> dict[RowExpression, RowExpression]:
    """Puts the aggregation on top; gives what became of the key expressions."""
    sets = grouping.sets if grouping is not None else ((),)
    keys = list(dict.fromkeys(k for s in sets for k in s))
    needed = [(k, _hint(k)) for k in keys] + _inputs(collector)
    variables = builder.add(needed)
    assigned = dict(zip((e for e, _ in needed), variables, strict=True))
    used: dict[str, RowExpression] = {v.key: v for v in variables}
    builder.project(used)
    if len(sets) == 1:
        key_variables = tuple(dict.fromkeys(assigned[k] for k in keys))
        _aggregate(builder, collector, assigned, key_variables, 1, () if key_variables else (0,), None)
        if collector.groupings:  # every argument is a key of the one set
            kept: dict[str, RowExpression] = {v.key: v for v in output_variables(builder.node)}
            zeros = {v.key: constant(0, parse_type(v.type)) for v in collector.groupings.values()}
            builder.project(kept | zeros)
        return {k: assigned[k] for k in keys}
    return _grouping_sets(builder, collector, assigned, sets, keys)


def _grouping_sets(
    builder: Builder,
    collector: Collector,
    assigned: dict[RowExpression, Variable],
    sets: Sequence[tuple[RowExpression, ...]],
    keys: list[RowExpression],
) -> dict[RowExpression, RowExpression]:
    ids = builder.ids
    group_id = ids.variable("groupid", "bigint")
    renamed = {k: ids.variable(f"{assigned[k].name}_gid", assigned[k].type, assigned[k].sourceLocation) for k in keys}
    arguments = tuple(dict.fromkeys(assigned[e] for e, _ in _inputs(collector)))
    builder.node = GroupIdNode(
        id=ids.node(),
        source=builder.node,
        groupingSets=tuple(tuple(renamed[k] for k in s) for s in sets),
        groupingColumns={renamed[k].key: assigned[k] for k in keys},
        aggregationArguments=arguments,
        groupIdVariable=group_id,
    )
    empty = tuple(i for i, s in enumerate(sets) if not s)
    key_variables = (*(renamed[k] for k in keys), group_id)
    _aggregate(builder, collector, assigned, key_variables, len(sets), empty, group_id)
    if collector.groupings:
        kept: dict[str, RowExpression] = {v.key: v for v in key_variables}
        kept |= {v.key: v for v in collector.aggregates.values()}
        for asked, variable in collector.groupings.items():
            kept[variable.key] = grouping_value(group_id, sets, asked, parse_type(variable.type))
        builder.project(kept)
    return dict(renamed)


def _hint(expression: RowExpression) -> str:
    return expression.name if isinstance(expression, Variable) else "expr"


def _inputs(collector: Collector) -> list[tuple[RowExpression, str]]:
    needed: list[tuple[RowExpression, str]] = []
    for spec in collector.aggregates:
        needed += [(a, _hint(a)) for a in spec.call.arguments if not isinstance(a, Constant | Lambda)]
        needed += [
            (a, "expr") for a in spec.call.arguments if isinstance(a, Constant) and len(spec.call.arguments) == 1
        ]
        if spec.condition is not None:
            needed.append((spec.condition, "expr"))
        needed += [(s.expression, _hint(s.expression)) for s in spec.order]
    return needed


def _aggregate(
    builder: Builder,
    collector: Collector,
    assigned: dict[RowExpression, Variable],
    keys: tuple[Variable, ...],
    count: int,
    empty: tuple[int, ...],
    group_id: Variable | None,
) -> None:
    aggregations = {v.key: _aggregation(s, assigned) for s, v in collector.aggregates.items()}
    once = _values_once(aggregations) if group_id is None else None
    if once is not None:
        # As Presto: no worker takes DISTINCT together with an order, so the different values are grouped first.
        apart = tuple(dict.fromkeys((*keys, *once)))
        builder.node = aggregate(builder.ids, builder.node, apart, {})
        aggregations = {k: replace(a, distinct=False) for k, a in aggregations.items()}
    builder.node = AggregationNode(
        id=builder.ids.node(),
        source=builder.node,
        aggregations=aggregations,
        groupingSets=GroupingSets(groupingKeys=keys, groupingSetCount=count, globalGroupingSets=empty),
        preGroupedVariables=(),
        step="SINGLE",
        groupIdVariable=group_id,
    )


def _values_once(aggregations: dict[str, Aggregation]) -> tuple[Variable, ...] | None:
    """The columns that all aggregates take the different values of, where one of them orders these; otherwise None."""
    found = {a.arguments for a in aggregations.values()}
    if len(found) != 1 or all(a.orderBy is None for a in aggregations.values()):
        return None
    (arguments,) = found
    plain = all(a.distinct is True and a.mask is None for a in aggregations.values())
    columns = tuple(v for v in arguments or () if isinstance(v, Variable))
    return columns if plain and columns and len(columns) == len(arguments or ()) else None


def _aggregation(spec: Aggregate, assigned: dict[RowExpression, Variable]) -> Aggregation:
    arguments = tuple(assigned.get(a, a) for a in spec.call.arguments)
    call = Call(
        sourceLocation=spec.call.sourceLocation,
        displayName=spec.call.displayName,
        functionHandle=spec.call.functionHandle,
        returnType=spec.call.returnType,
        arguments=arguments,
    )
    order = [Ordering(variable=assigned[s.expression], sortOrder=s.order) for s in spec.order]  # type: ignore[arg-type]
    return Aggregation(
        call=call,
        distinct=spec.distinct,
        arguments=arguments,
        functionHandle=call.functionHandle,
        mask=None if spec.condition is None else assigned[spec.condition],
        orderBy=OrderingScheme(orderBy=tuple(order)) if order else None,
    )


def check_grouped(
    node: Expression | AllColumns, expression: RowExpression, allowed: set[RowExpression], context: Context
) -> None:
    """Refuses an expression that reads a column which is neither grouped nor aggregated."""
    stray = free_variables(expression) - allowed
    if stray:
        message = f"'{_shown(node)}' must be an aggregate expression or appear in GROUP BY clause"
        raise context.error(node, message)


def _shown(node: Expression | AllColumns) -> str:
    if isinstance(node, AllColumns):
        return ".".join([*(part.value for part in node.prefix), "*"])
    return format_expression(node)
