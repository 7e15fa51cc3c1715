"""CallDistributedProcedureValidator: a procedure's plan moves rows and does nothing else to them.

A filter that the connector did not turn into a choice of files would lose the rows that it drops, so it is refused.
In the final phase a filter may still stand on a scan whose layout carries the choice of files; fragmenting removes it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from coordinator.checks.built_in.failure import invalid_plan, located
from shared.errors import ErrorCode, ProcessionError
from shared.plan.blocks import decode_constant
from shared.plan.nodes import (
    CallDistributedProcedureNode,
    ExchangeNode,
    FilterNode,
    OutputNode,
    PlanNode,
    ProjectNode,
    RemoteSourceNode,
    TableFinishNode,
    TableScanNode,
    ValuesNode,
)
from shared.plan.traversal import node_name, walk

_ALLOWED = (
    TableScanNode,
    ValuesNode,
    ProjectNode,
    CallDistributedProcedureNode,
    OutputNode,
    ExchangeNode,
    RemoteSourceNode,
    TableFinishNode,
)
_FILTER_FOUND = (
    "Unexpected FilterNode found in plan; probably connector was not able to handle provided WHERE expression"
)
Phase = Literal["FINAL", "FRAGMENT"]


def check(plans: Iterable[PlanNode], phase: Phase) -> None:
    """``plans``: the logical plan, or the roots of all fragments. Raises NOT_SUPPORTED for a filter that would lose
    rows and INVALID_PLAN_ERROR for any other node; plans without a procedure pass."""
    nodes = [node for plan in plans for node in walk(plan)]
    if not any(isinstance(node, CallDistributedProcedureNode) for node in nodes):
        return
    for node in nodes:
        if isinstance(node, FilterNode):
            if phase == "FINAL" and isinstance(node.source, TableScanNode) and selects_files(node.source):
                continue
            at = located(node.predicate.sourceLocation or node.sourceLocation)
            raise ProcessionError(ErrorCode.NOT_SUPPORTED, _FILTER_FOUND, location=at)
        if not isinstance(node, _ALLOWED):
            message = f"Unexpected {node_name(node)} found in the plan of a distributed procedure"
            raise invalid_plan(message, node.sourceLocation)


def selects_files(scan: TableScanNode) -> bool:
    """Whether the scan's layout carries a predicate, so that the connector will choose files by it."""
    layout = scan.table.connectorTableLayout or {}
    if layout.get("fileSelectionPredicate") is not None or layout.get("partitionColumnPredicate", {}).get(
        "columnDomains"
    ):
        return True
    return bool(layout.get("domainPredicate", {}).get("columnDomains")) or not _is_true(
        layout.get("remainingPredicate")
    )


def _is_true(predicate: object) -> bool:
    """Whether a predicate in JSON is absent or the constant TRUE, which selects everything."""
    if not isinstance(predicate, dict):
        return True
    if predicate.get("@type") != "constant":
        return False
    return decode_constant(predicate["valueBlock"], "boolean") is True
