"""Window functions, row numbers, unique ids and marks of first occurrences."""

from __future__ import annotations

from msgspec.structs import replace
from sqlglot import exp

from coordinator.unparser.aggregates import PEERS, window_call
from coordinator.unparser.block import Block, Rendering, passed_on
from coordinator.unparser.compared_maps import compared
from coordinator.unparser.frames import definitions
from coordinator.unparser.ordering import ordered
from coordinator.unparser.trees import binary, call, column, number
from shared.plan.expressions import Variable
from shared.plan.nodes import (
    AssignUniqueId,
    MarkDistinctNode,
    OrderingScheme,
    RowNumberNode,
    TopNRowNumberNode,
    WindowNode,
)
from shared.plan.traversal import output_variables


def window(rendering: Rendering, node: WindowNode) -> Block:
    """Every function of a WindowNode in one SELECT."""
    source = rendering.plain(node.source)
    kept = passed_on(source.variables)
    specification = node.specification
    groups = any(f.frame.type == "GROUPS" for f in node.windowFunctions.values())
    if groups and rendering.dialect == "spark" and specification.orderingScheme is not None:
        # Spark has no GROUPS: a frame of peer groups is a range over their numbers.
        peers = _over("dense_rank", specification.partitionBy, specification.orderingScheme, rendering.dialect)
        source = rendering.wrap(replace(source, columns=(*kept, (peers, PEERS))), source.variables)
    known = definitions(node.source)
    made = [window_call(f, specification, k, rendering.dialect, known) for k, f in node.windowFunctions.items()]
    return replace(source, columns=(*kept, *made), variables=output_variables(node))


def row_number(rendering: Rendering, node: RowNumberNode | TopNRowNumberNode) -> Block:
    """The row's number within its partition, and only the first rows where there is a limit."""
    source = rendering.plain(node.source)
    if isinstance(node, TopNRowNumberNode):
        keys, scheme = node.specification.partitionBy, node.specification.orderingScheme
    else:
        keys, scheme = node.partitionBy, None
    numbered = (_over("row_number", keys, scheme, rendering.dialect), node.rowNumberVariable.name)
    block = replace(source, columns=(*passed_on(source.variables), numbered), variables=output_variables(node))
    if node.maxRowCountPerPartition is None:
        return block
    limited = binary(exp.LTE, column(node.rowNumberVariable.name), number(node.maxRowCountPerPartition))
    outer = rendering.wrap(block, block.variables)
    return replace(outer, where=(limited,))


def mark_distinct(rendering: Rendering, node: MarkDistinctNode) -> Block:
    """Whether a row is the first with its values."""
    source = rendering.plain(node.source)
    first = binary(exp.EQ, _over("row_number", node.distinctVariables, None, rendering.dialect), number(1))
    columns = (*passed_on(source.variables), (first, node.markerVariable.name))
    return replace(source, columns=columns, variables=output_variables(node))


def unique_id(rendering: Rendering, node: AssignUniqueId) -> Block:
    """A number that no other row of the relation has."""
    source = rendering.plain(node.source)
    spark = rendering.dialect == "spark"
    unique = call("monotonically_increasing_id") if spark else exp.Window(this=call("row_number"))
    columns = (*passed_on(source.variables), (unique, node.idVariable.name))
    return replace(source, columns=columns, variables=output_variables(node))


def _over(function: str, keys: tuple[Variable, ...], scheme: OrderingScheme | None, dialect: str) -> exp.Expr:
    """A ranking function; without an order by a constant, which Spark asks for."""
    order = [ordered(o.variable, o.sortOrder) for o in scheme.orderBy] if scheme is not None else []
    return exp.Window(
        this=call(function),
        partition_by=[compared(v, dialect) for v in keys],
        order=exp.Order(expressions=order or [exp.Ordered(this=exp.Null())]),
    )
