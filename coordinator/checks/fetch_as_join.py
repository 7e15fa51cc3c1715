"""A Fetch in the form of nodes that workers know: a left join with scans of the looked-up columns, by position."""

from __future__ import annotations

from shared.plan.expressions import RowExpression, Variable
from shared.plan.nodes import (
    Assignments,
    EquiJoinClause,
    FetchNode,
    JoinNode,
    LookUpNode,
    PlanNode,
    ProjectNode,
    TableScanNode,
)
from shared.plan.traversal import output_variables


def fetch_as_join(fetch: FetchNode) -> PlanNode:
    """The rows of ``fetch``, as joins; where look-ups share a variable the first one's is taken, for its type."""
    joined = fetch.source
    assigned: dict[str, RowExpression] = {v.key: v for v in output_variables(fetch.source)}
    for look_up in fetch.lookUps:
        scan = _scan(look_up)
        position = (look_up.rowPosition.rowSource, *look_up.rowPosition.refColumns)
        keys = scan.outputVariables[: len(position)]
        clauses = tuple(EquiJoinClause(left=a, right=b) for a, b in zip(position, keys, strict=True))
        read = scan.outputVariables[len(position) :]
        joined = JoinNode(
            id=f"{fetch.id}_{look_up.id}",
            type="LEFT",
            left=joined,
            right=scan,
            criteria=clauses,
            outputVariables=(*output_variables(joined), *read),
            distributionType="REPLICATED",
            dynamicFilters={},
        )
        for variable, made in zip(look_up.outputVariables, read, strict=True):
            assigned.setdefault(variable.key, made)
    wanted = {variable.key: assigned[variable.key] for variable in fetch.outputVariables}
    return ProjectNode(id=fetch.id, source=joined, assignments=Assignments(assignments=wanted), locality="LOCAL")


def _scan(look_up: LookUpNode) -> TableScanNode:
    """A scan of the position's columns and the looked-up ones, under names of their own."""
    position = look_up.rowPosition
    handles = {}
    keys = []
    for variable in (position.rowSource, *position.refColumns):
        key = Variable(name=f"{variable.name}_{look_up.id}", type=variable.type)
        keys.append(key)
        handles[key.key] = {
            "@type": "iceberg",
            "name": variable.name,
            "type": variable.type,
            "columnType": "SYNTHESIZED",
        }
    made = [Variable(name=f"{v.name}_{look_up.id}", type=v.type) for v in look_up.outputVariables]
    for old, new in zip(look_up.outputVariables, made, strict=True):
        handles[new.key] = look_up.assignments[old.key]
    return TableScanNode(
        id=look_up.id,
        sourceLocation=look_up.sourceLocation,
        table=look_up.table,
        outputVariables=(*keys, *made),
        assignments=handles,
    )
