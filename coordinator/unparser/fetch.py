"""A plan with a Fetch as work in two passes: the SQL below it, and the look-ups that the coordinator starts after.

What is computed above the Fetch becomes SQL over the rows that were fetched.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from msgspec.structs import replace

from coordinator.unparser import unparse_for_spark
from coordinator.unparser.kept_zones import with_zones_as_text
from coordinator.vocabulary.planned_statement import ComputeColumns, FetchRows, LikelyRows, RunOnSpark, Work
from shared.plan.expressions import Variable
from shared.plan.nodes import (
    Assignments,
    FetchNode,
    OutputNode,
    PlanNode,
    ProjectNode,
    TableHandle,
    TableScanNode,
)
from shared.plan.traversal import free_variables, output_variables
from shared.spi.relation import RowsRelation


class WorkOf(Protocol):
    """``coordinator.unparser.work_of`` over the session's catalogs."""

    def __call__(self, root: OutputNode, *, copies: bool = False) -> Work: ...


_FETCHED = "$fetched"
_ROW = Variable(name="$row", type="bigint")
"""The number of a fetched row: what is computed of it must not go to another one."""


def fetch_of(root: OutputNode) -> FetchNode | None:
    """The Fetch of a plan; above it are projections of what waited for it."""
    node = root.source
    while isinstance(node, ProjectNode):
        node = node.source
    return node if isinstance(node, FetchNode) else None


def fetch_work(
    root: OutputNode, before: OutputNode, work_of: WorkOf, max_rows: int, likely: tuple[PlanNode, int] | None = None
) -> Work:
    """The work of ``root``, a plan with a Fetch; ``before`` is the same query without it.

    ``likely`` is a faster plan of what is below the Fetch, right when it gives so many rows.

    Only rows that Spark reads have positions: a query that runs elsewhere runs as it was before.
    """
    fetch = fetch_of(root)
    assert fetch is not None
    otherwise = work_of(before)
    if not isinstance(otherwise, RunOnSpark):
        return otherwise
    below = output_variables(fetch.source)

    def pass_over(source: PlanNode) -> RunOnSpark:
        names = tuple(variable.name for variable in below)
        work = work_of(replace(root, source=source, columnNames=names, outputVariables=below), copies=True)
        assert isinstance(work, RunOnSpark), "what reads the same tables runs on the same engine"
        return work

    return FetchRows(
        first=pass_over(fetch.source),
        likely=None if likely is None else LikelyRows(pass_over(likely[0]), likely[1]),
        columns=tuple(variable.name for variable in below),
        look_ups=fetch.lookUps,
        output=tuple(variable.name for variable in root.outputVariables),
        otherwise=otherwise,
        max_rows=max_rows,
        computed=_computed(root, fetch),
    )


def _computed(root: OutputNode, fetch: FetchNode) -> ComputeColumns | None:
    given = {variable.name for variable in fetch.outputVariables}
    made = {v.name: v for v in root.outputVariables if v.name not in given}
    if not made:
        return None
    plan, read = _over_rows(root.source, {_ROW.name: _ROW, **made})
    zoned = with_zones_as_text(
        OutputNode(id=root.id, source=plan, columnNames=(_ROW.name, *made), outputVariables=(_ROW, *made.values()))
    )
    sql, inputs = unparse_for_spark(zoned.source, zoned.outputVariables, _rows_of)
    columns = tuple(v.name for v in read if v.name != _ROW.name)
    return ComputeColumns(sql, inputs[0].name, _ROW.name, columns, tuple(made))


def _over_rows(node: PlanNode, wanted: Mapping[str, Variable]) -> tuple[PlanNode, tuple[Variable, ...]]:
    """The projections that ``wanted`` needs over a scan of the fetched rows, and what it reads of them."""
    if not isinstance(node, ProjectNode):
        read = tuple(wanted.values())
        handle = TableHandle(connectorId=_FETCHED, connectorHandle={"tableName": "rows"})
        assignments = {v.key: {"name": v.name} for v in read}
        return TableScanNode(id="fetched", table=handle, outputVariables=read, assignments=assignments), read
    of = node.assignments.assignments
    assigned = {v.key: of.get(v.key, v) for v in wanted.values()}
    needed = {v.name: v for expression in assigned.values() for v in free_variables(expression)}
    source, read = _over_rows(node.source, needed)
    return replace(node, source=source, assignments=Assignments(assignments=assigned)), read


def _rows_of(scan: TableScanNode) -> RowsRelation:
    return RowsRelation(_FETCHED, scan.table, tuple(v.name for v in scan.outputVariables))
