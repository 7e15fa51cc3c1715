"""Aggregations, grouping sets and unions."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace
from sqlglot import exp

from coordinator.unparser.aggregates import aggregate_call
from coordinator.unparser.block import Block, Rendering, select_of
from coordinator.unparser.compared_maps import compared, holds_map
from coordinator.unparser.trees import call, cast, column, name, number
from shared.plan.expressions import Variable
from shared.plan.nodes import AggregationNode, ExchangeNode, GroupIdNode
from shared.plan.traversal import output_variables
from shared.plan.types import parse_type

_ONE_ROW = (call("count", exp.Star()), "procession_rows")
"""Makes a SELECT without keys and without aggregates one row, which nobody reads."""


def aggregation(rendering: Rendering, node: AggregationNode) -> Block:
    """GROUP BY with its aggregates."""
    if isinstance(node.source, GroupIdNode):
        return _grouping_sets(rendering, node, node.source)
    source = rendering.plain(node.source)
    keys = [compared(v, rendering.dialect) for v in node.groupingSets.groupingKeys]
    columns = [(_key(v), v.name) for v in node.groupingSets.groupingKeys]
    columns += [aggregate_call(a, key, rendering.dialect) for key, a in node.aggregations.items()]
    if not columns:
        columns = [_ONE_ROW]
    return replace(source, columns=tuple(columns), group=tuple(keys), variables=output_variables(node))


def _key(variable: Variable) -> exp.Expr:
    """A key as a column of the result; of equal maps any will do."""
    value = column(variable.name)
    return call("any_value", value) if holds_map(parse_type(variable.type)) else value


def _grouping_sets(rendering: Rendering, node: AggregationNode, group: GroupIdNode) -> Block:
    """One SELECT a grouping set: the engines' own GROUPING SETS cannot tell equal sets apart."""
    origin = {k.partition("<")[0]: v for k, v in group.groupingColumns.items()}
    dialect = rendering.dialect
    selects = []
    for number_of_set, keys in enumerate(group.groupingSets):
        source = rendering.plain(group.source)
        present = {k.name for k in keys}
        columns: list[tuple[exp.Expr, str]] = []
        for key in node.groupingSets.groupingKeys:
            type_ = parse_type(key.type)
            if key == group.groupIdVariable:
                value: exp.Expr = cast(number(number_of_set), type_, dialect)
            elif key.name in present:
                value = _key(origin[key.name])
            else:
                value = cast(exp.Null(), type_, dialect)
            columns.append((value, key.name))
        columns += [aggregate_call(a, key, dialect) for key, a in node.aggregations.items()]
        if not node.aggregations and not all(group.groupingSets):
            columns.append(_ONE_ROW)
        block = replace(
            source,
            columns=tuple(columns),
            group=tuple(compared(origin[k.name], dialect) for k in keys),
            variables=output_variables(node),
        )
        selects.append(select_of(block))
    return _union_of(rendering, selects, output_variables(node))


def union(rendering: Rendering, node: ExchangeNode) -> Block:
    """UNION ALL of the sources, column by column."""
    layout = node.partitioningScheme.outputLayout
    selects = []
    for source, inputs in zip(node.sources, node.inputs, strict=True):
        block = rendering.wrap(rendering.block(source), output_variables(source))
        columns = tuple((column(i.name), o.name) for i, o in zip(inputs, layout, strict=True))
        selects.append(select_of(replace(block, columns=columns)))
    return _union_of(rendering, selects, layout)


def _union_of(rendering: Rendering, selects: Sequence[exp.Expr], variables: tuple[Variable, ...]) -> Block:
    tree = selects[0]
    for select in selects[1:]:
        tree = exp.Union(this=tree, expression=select, distinct=False)
    alias = exp.TableAlias(this=name(rendering.alias()))
    return Block(exp.Subquery(this=tree, alias=alias), variables)
