"""Rows that come along with a statement, as a table of its FROM.

No statement of a user reads any: only a session that was made for such rows has them, with a statement of ours.
"""

from __future__ import annotations

from coordinator.analyzer.context import Context
from coordinator.analyzer.scope import ScopeField
from coordinator.connectors.sent_rows import sent_rows_handle
from coordinator.planner.query.builder import RelationPlan
from coordinator.planner.query.planning import Planning
from coordinator.sql.tree.queries import Table
from shared.plan.nodes import TableScanNode
from shared.spi.session import SENT_ROWS, Session


def reads_sent_rows(parts: list[str], session: Session) -> bool:
    """Whether a name of FROM means them."""
    return parts == [SENT_ROWS] and session.sent_columns is not None


def plan_sent_rows(planner: Planning, node: Table, context: Context) -> RelationPlan:
    """Their scan. Nobody is asked whether they may be read: they are the client's own."""
    fields, assignments = [], {}
    place = context.place(node)
    for name, type_ in planner.session.sent_columns or ():
        variable = planner.ids.variable(name, type_, place)
        assignments[variable.key] = {"columnName": name}
        fields.append(ScopeField(name, variable, (SENT_ROWS,)))
    scan = TableScanNode(
        sourceLocation=place,
        id=planner.ids.node(),
        table=sent_rows_handle(),
        outputVariables=tuple(field.variable for field in fields),
        assignments=assignments,
    )
    return RelationPlan(scan, tuple(fields))
