"""The first rows of an order, looked for only where they are likely to be.

``ORDER BY k LIMIT 10`` needs no row whose ``k`` is beyond the tenth; the bounds that files keep of ``k`` say about
where that is. A first pass with ``k <= guess`` over the scan reads and sorts a small part. If it gives as many rows as
the LIMIT asks for, these are the right ones: all rows left out come after them. If it gives fewer, the guess was too
low and the pass runs again without it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from coordinator.expressions.builders import constant, operator
from coordinator.optimizer.rule import ColumnBoundsOf
from coordinator.optimizer.rules.late_materialization.estimates import share_left
from coordinator.optimizer.rules.late_materialization.intervals import intervals
from coordinator.vocabulary.identifiers import PlanNodeIds
from shared.plan import nodes
from shared.plan.expressions import RowExpression, Variable
from shared.plan.nodes import PlanNode
from shared.plan.traversal import output_variables, sources, with_sources
from shared.plan.types import Type, parse_type
from shared.spi.handles import column_name
from shared.spi.table_statistics import ValueRange

_MARGIN = 1.5
_LEAST_ROWS = 1000
"""A guess for fewer would be wrong too often, and no cheaper."""
_MOST_SHARE = 0.5
"""Of the table's rows: to leave out fewer is not worth the risk."""
_EPOCH = datetime(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class LikelyRows:
    """``plan`` gives the rows of the plan that it stands for, provided that it gives ``rows`` rows.

    ``condition`` is that in words.
    """

    plan: PlanNode
    rows: int
    condition: str


def likely_rows(plan: PlanNode, bounds_of: ColumnBoundsOf) -> LikelyRows | None:
    """``plan`` with a filter over the scan of its first sort key; None where that is impossible or does not pay."""
    top = plan
    while isinstance(top, nodes.ProjectNode):
        top = top.source
    asked = _asked(top)
    if asked is None:
        return None
    rows, skipped, scheme, source = asked
    order = scheme.orderBy[0]
    ascending = order.sortOrder == "ASC_NULLS_LAST"
    if rows == 0 or order.sortOrder not in ("ASC_NULLS_LAST", "DESC_NULLS_LAST"):
        return None
    chain = _chain(source, order.variable)
    if chain is None:
        return None
    path, key = chain
    scan = path[-1]
    assert isinstance(scan, nodes.TableScanNode)
    ranges = bounds_of(scan).get(_column(scan, key))
    if not ranges:
        return None
    share = share_left(path, intervals(source, bounds_of))
    wanted = (rows + skipped) / max(share, 1e-6) * _MARGIN + _LEAST_ROWS
    limit = _limit(ranges, wanted, ascending=ascending)
    value = None if limit is None else _value(limit, parse_type(key.type), ascending=ascending)
    if value is None:
        return None
    sign = "<=" if ascending else ">="
    predicate = operator(sign, [key, constant(value, parse_type(key.type))], parse_type("boolean"))
    filtered = _filtered(plan, scan, predicate, PlanNodeIds.after(plan))
    return LikelyRows(filtered, rows, f"{_column(scan, key)} {sign} {value}")


def _asked(top: PlanNode) -> tuple[int, int, nodes.OrderingScheme, PlanNode] | None:
    """Rows, rows before them, order and source of a plan's top, where it is an order with a LIMIT."""
    match top:
        case nodes.TopNNode():
            return top.count, 0, top.orderingScheme, top.source
        case nodes.LimitNode(source=nodes.SortNode() as sort):
            return top.count, 0, sort.orderingScheme, sort.source
        case nodes.LimitNode(source=nodes.OffsetNode(source=nodes.SortNode() as sort) as offset):
            return top.count, offset.count, sort.orderingScheme, sort.source
        case _:
            return None


def _chain(node: PlanNode, key: Variable) -> tuple[list[PlanNode], Variable] | None:
    """The nodes from ``node`` down to the scan of ``key``, and the scan's variable.

    Only through nodes for which leaving out rows of the scan leaves out just their rows of the result.
    """
    match node:
        case nodes.TableScanNode():
            return [node], key
        case nodes.FilterNode() | nodes.SemiJoinNode():
            below = _chain(node.source, key) if key in output_variables(node.source) else None
        case nodes.ProjectNode():
            expression = node.assignments.assignments.get(key.key)
            below = _chain(node.source, expression) if isinstance(expression, Variable) else None
        case nodes.JoinNode():
            kept = {"INNER": (node.left, node.right), "LEFT": (node.left,), "RIGHT": (node.right,)}.get(node.type, ())
            side = next((s for s in kept if key in output_variables(s)), None)
            below = None if side is None else _chain(side, key)
        case _:
            below = None
    return None if below is None else ([node, *below[0]], below[1])


def _column(scan: nodes.TableScanNode, key: Variable) -> str:
    return column_name(scan.assignments[key.key])


def _limit(ranges: Sequence[ValueRange], wanted: float, *, ascending: bool) -> float | None:
    """The value up to which (or from which on) about ``wanted`` rows are, if values are spread evenly in each file."""
    total = sum(r.rows for r in ranges)
    if wanted > total * _MOST_SHARE:
        return None
    low, high = min(r.low for r in ranges), max(r.high for r in ranges)
    for _ in range(64):
        middle = (low + high) / 2
        below = sum(_rows_below(r, middle) for r in ranges)
        enough = below >= wanted if ascending else total - below >= wanted
        if enough == ascending:
            high = middle
        else:
            low = middle
    return high if ascending else low


def _rows_below(one: ValueRange, value: float) -> float:
    if value >= one.high:
        return one.rows
    return 0.0 if value <= one.low else one.rows * (value - one.low) / (one.high - one.low)


def _value(limit: float, type_: Type, *, ascending: bool) -> object | None:
    """``limit`` as a value of the key's type, rounded so that no row is lost."""
    whole: Callable[[float], int] = math.ceil if ascending else math.floor
    match type_.base:
        case "tinyint" | "smallint" | "integer" | "bigint":
            return whole(limit)
        case "double":
            return limit
        case "decimal":
            scale = type_.numbers[1] if len(type_.numbers) > 1 else 0
            rounding = ROUND_CEILING if ascending else ROUND_FLOOR
            return Decimal(limit).quantize(Decimal(1).scaleb(-scale), rounding)
        case "date":
            return date(1970, 1, 1) + timedelta(days=whole(limit))
        case "timestamp":
            return _EPOCH + timedelta(milliseconds=whole(limit / 1000))
        case _:
            return None


def _filtered(node: PlanNode, scan: nodes.TableScanNode, predicate: RowExpression, ids: PlanNodeIds) -> PlanNode:
    if node is scan:
        return nodes.FilterNode(id=ids.next(), source=node, predicate=predicate)
    return with_sources(node, [_filtered(source, scan, predicate, ids) for source in sources(node)])
