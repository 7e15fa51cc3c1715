"""The rule ``late_materialization`` (StarRocks' LateMaterializationRewriter; DESIGN §7)."""

from __future__ import annotations

from coordinator.optimizer.rule import RuleContext
from coordinator.optimizer.rules.late_materialization.collector import ColumnCollector
from coordinator.optimizer.rules.late_materialization.gates import (
    SWITCH,
    Settings,
    reason_against,
    reason_of_plan,
    too_narrow,
)
from coordinator.optimizer.rules.late_materialization.narrow_joins import with_copied_sides
from coordinator.optimizer.rules.late_materialization.rewriter import Deferral, PlanRewriter, UnionConflictError
from shared.plan.nodes import OutputNode, PlanNode, TableScanNode
from shared.plan.traversal import variable_of_key
from shared.spi.handles import column_name, table_name


def apply(plan: PlanNode, context: RuleContext) -> PlanNode:
    """The plan with a Fetch below its output; the plan itself, and a note why, when that does not pay."""
    settings = Settings.of(context.session)
    if not settings.enabled or not isinstance(plan, OutputNode) or context.row_position is None:
        return plan
    collector = ColumnCollector()
    collector.collect(plan)
    early: set[tuple[str, str]] = set()
    if collector.carried:  # before any table is asked
        reason = reason_of_plan(plan, settings)
        if reason is not None:
            context.note(reason)
            return plan
    while True:
        deferrals = _deferrals(collector, context, settings, early)
        if not deferrals:
            return plan
        reason = reason_against(plan, list(deferrals.values()), settings, context)
        if reason is not None:
            context.note(reason)
            return plan
        try:
            return with_copied_sides(PlanRewriter(plan, deferrals, collector.waiting, context.ids).rewrite(), context)
        except UnionConflictError as conflict:
            early |= conflict.origins


def _deferrals(
    collector: ColumnCollector, context: RuleContext, settings: Settings, early: set[tuple[str, str]]
) -> dict[str, Deferral]:
    """What can and should be fetched later, by scan id."""
    found: dict[str, Deferral] = {}
    for scan_id, carried in collector.carried.items():
        scan = collector.scans[scan_id]
        deferral = _deferral(scan, frozenset(n for n in carried if (scan_id, n) not in early), context)
        if deferral is None:
            continue
        if too_narrow(deferral, settings):
            context.note(f"only {_count(deferral)} of {table_name(scan.table)} would be fetched")
        else:
            found[scan_id] = deferral
    if not found and collector.scans and not collector.carried and SWITCH in context.session.properties:
        context.note("every column is read before the result")
    return found


def _deferral(scan: TableScanNode, carried: frozenset[str], context: RuleContext) -> Deferral | None:
    if not carried or context.row_position is None:
        return None
    descriptor = context.row_position(scan)
    if descriptor is None and SWITCH in context.session.properties:
        descriptor = f"rows of catalog {scan.table.connectorId} have no position"
    if descriptor is None:
        return None
    if isinstance(descriptor, str):
        context.note(descriptor)
        return None
    columns = {variable_of_key(key).name: column_name(handle) for key, handle in scan.assignments.items()}
    names = frozenset(name for name in carried if columns[name] in descriptor.deferrable)
    if not names:
        context.note(f"no column of {table_name(scan.table)} that only the result needs can be fetched by position")
        return None
    return Deferral(scan, descriptor, names)


def _count(deferral: Deferral) -> str:
    return "1 narrow column" if len(deferral.names) == 1 else f"{len(deferral.names)} narrow columns"
