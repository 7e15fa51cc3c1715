"""Tables, columns and their domains as EXPLAIN prints them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from coordinator.explain.expressions import expression_text, plain_text, type_text
from shared.plan.blocks import decode_constant
from shared.plan.expressions import RowExpression, SourceLocation
from shared.plan.nodes import PartitioningHandle, TableHandle, TableScanNode
from shared.plan.traversal import variable_of_key

_MAX_RANGES = 32
"""Above this only the span of a domain is printed, as Presto does."""


def table_text(table: TableHandle) -> str:
    """``TableHandle {connectorId='iceberg', connectorHandle='orders$data@715…', layout='Optional[…]'}``"""
    name = _handle_text(table.connectorHandle)
    layout = "Optional.empty" if table.connectorTableLayout is None else f"Optional[{name}]"
    return f"TableHandle {{connectorId='{table.connectorId}', connectorHandle='{name}', layout='{layout}'}}"


def handle_text(handle: PartitioningHandle) -> str:
    """``SINGLE``, ``HASH``, ``SOURCE``, ``COORDINATOR_ONLY``, or ``connector:table:rows``."""
    system = handle.connectorHandle
    if system.get("@type") != "$remote":
        parts = (handle.connectorId, system.get("table"), system.get("totalRows"))
        return ":".join(str(part) for part in parts if part is not None)
    partitioning, function = str(system["partitioning"]), str(system["function"])
    return function if partitioning == "FIXED" else partitioning


def _handle_text(handle: Mapping[str, object]) -> str:
    iceberg = handle.get("icebergTableName")
    if isinstance(iceberg, Mapping):
        snapshot = f"@{iceberg['snapshotId']}" if "snapshotId" in iceberg else ""
        return f"{iceberg.get('tableName')}${str(iceberg.get('tableType', 'DATA')).lower()}{snapshot}"
    schema, table = handle.get("schemaName"), handle.get("tableName") or handle.get("table")
    if "scaleFactor" in handle:
        return f"{table}:sf{handle['scaleFactor']}"
    return str(table) if schema is None else f"{schema}.{table}"


def selection_text(table: TableHandle) -> str | None:
    """The predicate by which a distributed procedure chooses files, None when it takes all."""
    predicate = (table.connectorTableLayout or {}).get("fileSelectionPredicate")
    return None if predicate is None else expression_text(msgspec.convert(predicate, RowExpression))


def scan_columns(scan: TableScanNode) -> list[str]:
    """A line a column, without what the layout knows of it."""
    locations = {v.key: v.sourceLocation for v in scan.outputVariables}
    return [
        f"{variable_of_key(key).name} := {_column_text(scan, handle, key)}{_place(locations.get(key))}"
        for key, handle in scan.assignments.items()
    ]


def scan_lines(scan: TableScanNode) -> list[str]:
    """A line a column, then what the table layout knows of it; columns that are only filtered on come last."""
    domains = column_domains(scan.table)
    locations = {v.key: v.sourceLocation for v in scan.outputVariables}
    lines: list[str] = []
    for key, handle in scan.assignments.items():
        lines.append(f"{variable_of_key(key).name} := {_column_text(scan, handle, key)}{_place(locations.get(key))}")
        lines.extend(_domain_lines(domains.pop(_column_name(handle), None)))
    layout = scan.table.connectorTableLayout or {}
    for name, domain in domains.items():
        handle = layout.get("predicateColumns", {}).get(name, {"name": name})
        lines.append(_column_text(scan, handle, None))
        lines.extend(_domain_lines(domain))
    return [*lines, *_remote_lines(layout)]


def _remote_lines(layout: Mapping[str, Any]) -> list[str]:
    """What a JDBC catalog asks of its database, and what it does not ask, and why."""
    remote = layout.get("remoteSql")
    asked = [] if remote is None else [f"remote query: {remote}"]
    guessed = layout.get("withoutStatistics", ())
    asked += [f"no statistics of {', '.join(guessed)}: the database guesses"] if guessed else []
    return asked + [f"{kind} not pushed down: {why}" for kind, why in layout.get("notPushed", {}).items()]


def _place(location: SourceLocation | None) -> str:
    return "" if location is None else f" ({location.line}:{location.column})"


def _column_name(handle: Mapping[str, Any]) -> str:
    return str(handle.get("columnName") or handle.get("columnIdentity", handle).get("name", ""))


def _column_text(scan: TableScanNode, handle: Mapping[str, object], key: str | None) -> str:
    identity = handle.get("columnIdentity")
    if isinstance(identity, Mapping):
        return f"{identity.get('id')}:{identity.get('name')}:{type_text(str(handle.get('type', 'unknown')))}"
    name = handle.get("name") or handle.get("columnName") or ("" if key is None else variable_of_key(key).name)
    return f"{scan.table.connectorId}:{name}"


def column_domains(table: TableHandle) -> dict[str, Mapping[str, object]]:
    """The domains that a layout carries, by column name."""
    layout = table.connectorTableLayout or {}
    predicate = layout.get("domainPredicate") or layout.get("predicate") or {}
    entries = predicate.get("columnDomains", ()) if isinstance(predicate, Mapping) else ()
    return {_domain_column(entry["column"]): entry["domain"] for entry in entries}


def _domain_column(column: object) -> str:
    if not isinstance(column, Mapping):
        return str(column)
    return str(column.get("columnName") or _column_name(column))


def _domain_lines(domain: Mapping[str, object] | None) -> list[str]:
    if domain is None:
        return []
    ranges = domain_ranges(domain)
    if len(ranges) > _MAX_RANGES:
        ranges = [{"low": ranges[0]["low"], "high": ranges[-1]["high"]}]
    shown = [_range_text(r) for r in ranges]
    if domain.get("nullAllowed"):
        shown.insert(0, "NULL")
    return [f"    :: [{', '.join(shown)}]"]


def domain_ranges(domain: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The ranges of a sortable value set."""
    ranges: Sequence[Mapping[str, object]] = domain["values"].get("ranges", ())
    return ranges


def marker_value(marker: Mapping[str, Any]) -> str | None:
    """The text of a range's end, None when it is open."""
    block = marker.get("valueBlock")
    return None if block is None else plain_text(decode_constant(block, marker["type"]))


def _range_text(bounds: Mapping[str, Any]) -> str:
    low, high = marker_value(bounds["low"]), marker_value(bounds["high"])
    if low is not None and low == high:
        return f'["{low}"]'
    left = "[" if bounds["low"]["bound"] == "EXACTLY" else "("
    right = "]" if bounds["high"]["bound"] == "EXACTLY" else ")"
    shown_low = "<min>" if low is None else f'"{low}"'
    shown_high = "<max>" if high is None else f'"{high}"'
    return f"{left}{shown_low}, {shown_high}{right}"


def qualified_table(scan: TableScanNode) -> str:
    """``catalog.schema.table`` of a scan, as far as its handle tells."""
    return table_of(scan.table)


def table_of(handle: TableHandle) -> str:
    """The same of a handle."""
    schema, table = table_name(handle)
    return ".".join(part for part in (handle.connectorId, schema, table) if part)


def table_name(handle: TableHandle) -> tuple[str, str]:
    """Schema and table."""
    named: Mapping[str, Any] = handle.connectorHandle
    iceberg = named.get("icebergTableName") or {}
    return str(named.get("schemaName", "")), str(named.get("tableName") or iceberg.get("tableName") or "")
