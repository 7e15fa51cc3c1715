"""Writes what a filter says of single columns into the layout of the scan below it, so that files can be skipped.

The Filter stays: a layout's domains select files (and row groups), not rows. Shape: IcebergTableLayoutHandle as
Presto 0.296 sends it with filter pushdown disabled; ``remainingPredicate`` stays TRUE, since a reader applies that to
rows, which for a distributed procedure would lose data (docs/adr/0003).
"""

from __future__ import annotations

from datetime import tzinfo
from typing import Any

from msgspec.structs import replace

from coordinator.analyzer.context import Context
from coordinator.expressions.folding import folded
from coordinator.optimizer.rule import RuleContext
from coordinator.optimizer.tuple_domain import Domain, column_domains
from shared.plan.expressions import Call, Lambda, RowExpression, SpecialForm, Variable
from shared.plan.nodes import FilterNode, PlanNode, TableScanNode
from shared.plan.traversal import free_variables
from shared.spi.handles import column_name


def rewrite(node: PlanNode, context: RuleContext) -> PlanNode:
    """The filter over a scan whose layout carries its domains; connectors without such a layout keep theirs."""
    match node:
        case FilterNode(source=TableScanNode() as scan):
            layout = scan.table.connectorTableLayout
            if layout is None or "domainPredicate" not in layout:
                return node
            domains = column_domains(_with_values(node.predicate, Context(context.session).zone))
            if not domains:
                return node
            table = replace(scan.table, connectorTableLayout=_with_domains(layout, scan, domains))
            return replace(node, source=replace(scan, table=table))
        case _:
            return node


def _with_values(predicate: RowExpression, zone: tzinfo) -> RowExpression:
    """With the values of what is compared: ``current_date - interval '7' day`` excludes files as a literal does."""
    match predicate:
        case SpecialForm(form="AND" | "IN"):
            return replace(predicate, arguments=tuple(_with_values(each, zone) for each in predicate.arguments))
        case Call() if _reads_columns(predicate):
            arguments = [each if _reads_columns(each) else folded(each, zone) for each in predicate.arguments]
            return replace(predicate, arguments=tuple(arguments))
        case Call():
            return folded(predicate, zone)
        case _:
            return predicate


def _reads_columns(expression: RowExpression) -> bool:
    return isinstance(expression, Lambda) or bool(free_variables(expression))


def _with_domains(layout: dict[str, Any], scan: TableScanNode, domains: dict[Variable, Domain]) -> dict[str, object]:
    handles = {variable: scan.assignments.get(variable.key) for variable in domains}
    known = {variable: handle for variable, handle in handles.items() if handle is not None}
    keys = {column_name(handle): handle for handle in layout.get("partitionColumns", ())}
    by_name = {column_name(handle): domains[variable] for variable, handle in known.items()}
    return {
        **layout,
        "domainPredicate": {
            "columnDomains": [{"column": name, "domain": domain.wire()} for name, domain in by_name.items()]
        },
        "predicateColumns": {column_name(handle): handle for handle in known.values()},
        "partitionColumnPredicate": {
            "columnDomains": [
                {"column": keys[name], "domain": domain.wire()} for name, domain in by_name.items() if name in keys
            ]
        },
    }
