"""OFFSET n LIMIT m, which Presto plans with a row number, is one Velox Limit.

Presto C++ looks for Project(identity) / round-robin exchange / Limit / exchange / Filter(row number > n) / exchange /
RowNumber; other forms of OFFSET stay a RowNumber and a Filter.
"""

from __future__ import annotations

from dataclasses import dataclass

from shared.plan.expressions import Call, Constant, Variable
from shared.plan.nodes import ExchangeNode, FilterNode, LimitNode, PlanNode, ProjectNode, RowNumberNode
from sidecar.velox.constants import physical
from sidecar.velox.expressions import column
from sidecar.velox.functions import presto_name
from sidecar.velox.relation import Relation, node


@dataclass(frozen=True, slots=True)
class OffsetLimit:
    """The parts of the pattern: the Limit, how many rows come before it, and what is numbered."""

    limit: LimitNode
    offset: int
    source: PlanNode


def offset_limit(plan: ProjectNode) -> OffsetLimit | None:
    """The pattern under ``plan``, or None."""
    exchange = plan.source
    if not isinstance(exchange, ExchangeNode) or not _is_identity(plan):
        return None
    handle = exchange.partitioningScheme.partitioning.handle.connectorHandle
    limit = _below(exchange)
    if handle.get("function") != "ROUND_ROBIN" or not isinstance(limit, LimitNode):
        return None
    filtered = _below(limit.source)
    numbered = _below(filtered.source) if isinstance(filtered, FilterNode) else None
    if not isinstance(filtered, FilterNode) or not isinstance(numbered, RowNumberNode):
        return None
    if numbered.partitionBy or numbered.maxRowCountPerPartition is not None:
        return None
    offset = _offset(filtered, numbered.rowNumberVariable)
    return None if offset is None else OffsetLimit(limit, offset, numbered.source)


def _is_identity(plan: ProjectNode) -> bool:
    return all(isinstance(e, Variable) and e.key == key for key, e in plan.assignments.assignments.items())


def _below(plan: PlanNode) -> PlanNode:
    """The node under a local exchange of one source."""
    while isinstance(plan, ExchangeNode) and plan.scope == "LOCAL" and len(plan.sources) == 1:
        plan = plan.sources[0]
    return plan


def _offset(plan: FilterNode, row_number: Variable) -> int | None:
    match plan.predicate:
        case Call(arguments=(Variable(name=name), Constant(type="bigint") as count)) if (
            name == row_number.name and presto_name(plan.predicate.functionHandle) == "$operator$greater_than"
        ):
            value = physical(count)
            return value if isinstance(value, int) and value >= 0 else None
    return None


def limited(plan: ProjectNode, found: OffsetLimit, source: Relation) -> Relation | None:
    """Project over Limit with an offset; None when the Project reads more than the numbered rows have."""
    names = [e.name for e in plan.assignments.assignments.values() if isinstance(e, Variable)]
    if any(n not in source.columns for n in names):
        return None
    partial = found.limit.step == "PARTIAL"
    made = node("LimitNode", found.limit.id, [source], partial=partial, offset=found.offset, count=found.limit.count)
    columns = {n: source.columns[n] for n in names}
    projections = [column(n, t) for n, t in columns.items()]
    below = Relation(made, source.columns)
    return Relation(node("ProjectNode", plan.id, [below], names=names, projections=projections), columns)
