"""Projections: renamed columns and what the database computes exactly; all of a projection or nothing."""

from __future__ import annotations

from msgspec.structs import replace

from coordinator.connectors.jdbc.dialects.dialect import Dialect
from coordinator.connectors.jdbc.pushdown.expressions import Translator
from coordinator.connectors.jdbc.remote_query import nested, remote_query, scan_of
from shared.plan.nodes import PlanNode, ProjectNode, TableScanNode
from shared.plan.traversal import output_variables, variable_of_key


def push_projection(node: ProjectNode, scan: TableScanNode, dialect: Dialect) -> PlanNode:
    """The scan with the projection's columns. Raises NotPushable."""
    query = remote_query(scan, dialect)
    if not query.simple:
        query = nested(query, dialect.quote(f"T{node.id}"), dialect)
    translator = Translator(query.columns, dialect)
    columns = {
        variable_of_key(key).name: translator.column(expression)
        for key, expression in node.assignments.assignments.items()
    }
    return scan_of(scan, replace(query, columns=columns), output_variables(node))
