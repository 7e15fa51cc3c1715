"""Whether new rows of one table are enough to bring a materialized view up to date, and how: told from the plan.

A projection of filtered rows gets the rows of the new ones. Groups are merged where the merged value is exactly what
the whole table would give: sums of floating point numbers depend on their order, averages cannot be told from averages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from coordinator.expressions.builders import NAMESPACE
from coordinator.expressions.types import read_type
from coordinator.planner.query.builder import RelationPlan
from shared.plan.expressions import StaticFunctionHandle, Variable
from shared.plan.nodes import (
    Aggregation,
    AggregationNode,
    FilterNode,
    PlanNode,
    ProjectNode,
    TableScanNode,
)
from shared.plan.traversal import variable_of_key, walk
from shared.plan.types import Type

Part = Literal["key", "count", "sum", "least", "greatest"]
"""What a column of groups is, by how the values of old and new rows become one."""
_ROW_BY_ROW = (ProjectNode, FilterNode, TableScanNode)
_PARTS: Mapping[str, Part] = {"count": "count", "sum": "sum", "min": "least", "max": "greatest"}
_WHOLE = frozenset(("tinyint", "smallint", "integer", "bigint"))
_ORDERED = _WHOLE | {"decimal", "date", "timestamp", "varchar"}
_KEYS = _ORDERED | {"boolean", "varbinary"}
_MOST_SCALE = 6
"""Digits behind the point up to which Spark adds decimals of 38 digits without losing any."""


@dataclass(frozen=True, slots=True)
class Incremental:
    """``parts`` are the columns of groups that are merged; None where rows are added."""

    parts: Mapping[str, Part] | None = None


def incremental(plan: RelationPlan) -> Incremental | str:
    """How, or why not. The table itself must only have got new rows."""
    if sum(isinstance(node, TableScanNode) for node in walk(plan.node)) != 1:
        return "its query reads other than one table once"
    if _is_row_by_row(plan.node):
        return Incremental()
    node, named = _unnamed(plan.node, {f.variable.name: f.variable for f in plan.visible})
    if not isinstance(node, AggregationNode) or not _is_row_by_row(node.source):
        return "its query is no projection of rows and no grouping of them"
    if node.groupingSets.groupingSetCount != 1 or node.groupIdVariable is not None:
        return "it has grouping sets"
    parts = {key: _part(variable, node) for key, variable in named.items()}
    if odd := next((part for part in parts.values() if isinstance(part, _Not)), None):
        return odd.why
    missing = {v.name for v in node.groupingSets.groupingKeys} - {v.name for v in named.values()}
    if missing:
        return "its groups are not among its columns"
    columns = {f.name or "": parts[f.variable.name] for f in plan.visible}
    return Incremental({name: part for name, part in columns.items() if not isinstance(part, _Not)})


@dataclass(frozen=True, slots=True)
class _Not:
    why: str


def _is_row_by_row(plan: PlanNode) -> bool:
    return all(isinstance(node, _ROW_BY_ROW) for node in walk(plan))


def _unnamed(node: PlanNode, named: dict[str, Variable]) -> tuple[PlanNode, dict[str, Variable]]:
    """Below projections that give columns other names alone: what each is called there."""
    while isinstance(node, ProjectNode):
        assigned = {variable_of_key(key).name: value for key, value in node.assignments.assignments.items()}
        below = {key: assigned.get(variable.name) for key, variable in named.items()}
        kept = {key: value for key, value in below.items() if isinstance(value, Variable)}
        if len(kept) < len(named):
            return node, named
        node, named = node.source, kept
    return node, named


def _part(variable: Variable, node: AggregationNode) -> Part | _Not:
    type_ = read_type(variable.type)
    if any(key.name == variable.name for key in node.groupingSets.groupingKeys):
        return "key" if type_.base in _KEYS else _Not(f"groups of type {variable.type} are not compared exactly")
    for key, aggregation in node.aggregations.items():
        if variable_of_key(key).name == variable.name:
            return _of_aggregation(aggregation, type_, variable.type)
    return _Not("a column is neither a group nor an aggregate")


def _of_aggregation(aggregation: Aggregation, type_: Type, shown: str) -> Part | _Not:
    handle = aggregation.call.functionHandle
    name = handle.signature.name.removeprefix(NAMESPACE) if isinstance(handle, StaticFunctionHandle) else ""
    special = aggregation.distinct is True or aggregation.mask is not None or aggregation.filter is not None
    if special or aggregation.orderBy is not None or name not in _PARTS:
        return _Not(f"{name} of {'chosen' if special else 'all'} rows cannot be told from parts")
    part = _PARTS[name]
    match part:
        case "count":
            return part
        case "sum":
            exact = type_.base == "bigint" or (type_.base == "decimal" and _scale(type_) <= _MOST_SCALE)
            return part if exact else _Not(f"a sum of type {shown} depends on the order of rows")
        case _:
            return part if type_.base in _ORDERED else _Not(f"{name} of type {shown} is not merged")


def _scale(type_: Type) -> int:
    scale = type_.parameters[1]
    assert isinstance(scale, int)
    return scale
