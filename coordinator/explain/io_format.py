"""TYPE IO: the tables that a plan reads, with what is known of their columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from coordinator.explain.json_format import pretty
from coordinator.explain.table import column_domains, domain_ranges, marker_value, table_name
from coordinator.optimizer.cardinality import Estimate
from shared.plan.nodes import PlanNode, TableScanNode
from shared.plan.traversal import walk


def io_json(plan: PlanNode | None, estimate: Estimate | None = None) -> str:
    """``{"inputTableColumnInfos": […], "estimate": {…}}``, each table once a scan.

    The estimate is Trino's, which Superset shows as the cost of a query; costs that nobody knows are left out.
    """
    scans = [] if plan is None else [node for node in walk(plan) if isinstance(node, TableScanNode)]
    shown: dict[str, object] = {"inputTableColumnInfos": [_table(scan) for scan in scans]}
    if estimate is not None:
        shown["estimate"] = {"outputRowCount": estimate.rows, "outputSizeInBytes": estimate.bytes}
    return pretty(shown)


def _table(scan: TableScanNode) -> dict[str, object]:
    schema, table = table_name(scan.table)
    return {
        "table": {"catalog": scan.table.connectorId, "schemaTable": {"schema": schema, "table": table}},
        "columnConstraints": [_constraint(name, domain) for name, domain in column_domains(scan.table).items()],
    }


def _constraint(name: str, domain: Mapping[str, Any]) -> dict[str, object]:
    ranges = [{"low": _end(r["low"]), "high": _end(r["high"])} for r in domain_ranges(domain)]
    return {
        "columnName": name,
        "typeSignature": domain["values"]["type"],
        "domain": {"nullsAllowed": bool(domain.get("nullAllowed")), "ranges": ranges},
    }


def _end(marker: Mapping[str, Any]) -> dict[str, str]:
    value = marker_value(marker)
    return {"bound": marker["bound"]} if value is None else {"value": value, "bound": marker["bound"]}
