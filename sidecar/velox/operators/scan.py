"""TableScan: every connector's table becomes a Hive table handle, the one kind that this Velox reads from JSON."""

from __future__ import annotations

import msgspec

from shared.plan.expressions import Constant, RowExpression
from shared.plan.nodes import IndexSourceNode, TableHandle, TableScanNode
from shared.spi.handles import column_name as own_name
from shared.spi.handles import schema_name, table_name
from sidecar.velox.constants import physical
from sidecar.velox.expressions import UNCHECKED, expression
from sidecar.velox.filters import subfield_filters
from sidecar.velox.operators.rows import variable_of_key
from sidecar.velox.refusal import RefusalError, unsupported, user_error
from sidecar.velox.relation import Relation, columns_of, row_of
from sidecar.velox.types import Json, hive_type, parse, row_type, velox_type

_COLUMN_KINDS = {
    "REGULAR": "Regular",
    "PARTITION_KEY": "PartitionKey",
    "SYNTHESIZED": "Synthesized",
    "AGGREGATED": "Regular",
}


def table_scan(plan: TableScanNode) -> Relation:
    columns = columns_of(plan.outputVariables)
    handles = {variable_of_key(key)[0]: handle for key, handle in plan.assignments.items()}
    assignments = []
    for name, velox in columns.items():
        handle = handles.get(name)
        if handle is None:
            raise user_error(f"Field not found: {name}. Available fields are: {', '.join(handles)}.")
        assignments.append({"assign": name, "columnHandle": _column_handle(handle, name, velox)})
    layout = plan.table.connectorTableLayout or {}
    if not isinstance(layout, dict):
        raise unsupported("Unexpected layout type")
    assignments += _predicate_columns(layout, assignments)
    made: Json = {
        "name": "TableScanNode",
        "id": plan.id,
        "outputType": row_of(columns),
        "tableHandle": _table_handle(plan.table, layout),
        "assignments": assignments,
    }
    return Relation(made, columns)


def index_source(plan: IndexSourceNode) -> Relation:
    """The look-up side of an index join: a scan of the index's table."""
    scan = TableScanNode(
        id=plan.id, table=plan.tableHandle, outputVariables=plan.outputVariables, assignments=plan.assignments
    )
    return table_scan(scan)


def _text(handle: dict[str, object], *keys: str) -> str | None:
    for key in keys:
        value = handle.get(key)
        if isinstance(value, str):
            return value
    return None


def column_name(handle: dict[str, object], default: str) -> str:
    """The connector's own name of a column."""
    return own_name(handle) or _text(handle, "hiveColumnName") or default


def _column_handle(handle: dict[str, object], name: str, velox: Json) -> Json:
    kind = _COLUMN_KINDS.get(str(handle.get("columnType", "REGULAR")), "Regular")
    subfields = handle.get("requiredSubfields")
    return {
        "name": "HiveColumnHandle",
        "hiveColumnHandleName": column_name(handle, name),
        "columnType": kind,
        "dataType": velox,
        "hiveType": velox,
        "requiredSubfields": [s for s in subfields if isinstance(s, str)] if isinstance(subfields, list) else [],
    }


def _table_handle(table: TableHandle, layout: dict[str, object]) -> Json:
    schema, name = schema_name(table), table_name(table)
    made: Json = {
        "name": "HiveTableHandle",
        "connectorId": table.connectorId,
        "tableName": f"{schema}.{name}" if schema else name,
        "filterPushdownEnabled": True,
        "subfieldFilters": _subfield_filters(layout),
        "tableParameters": _parameters(layout.get("tableParameters")),
    }
    remaining = _remaining(layout.get("remainingPredicate"))
    if remaining is not None:
        made["remainingFilter"] = remaining
    data = _data_columns(layout.get("dataColumns"))
    if data is not None:
        made["dataColumns"] = data
    return made


def _parameters(parameters: object) -> dict[str, str]:
    if not isinstance(parameters, dict):
        return {}
    return {str(k): str(v) for k, v in parameters.items()}


def _subfield_filters(layout: dict[str, object]) -> list[Json]:
    domain = layout.get("domainPredicate")
    return subfield_filters(domain) if isinstance(domain, dict) else []


def _remaining(predicate: object) -> Json | None:
    if not isinstance(predicate, dict):
        return None
    try:
        e = msgspec.convert(predicate, RowExpression)
    except msgspec.ValidationError as error:
        raise user_error(f"Malformed remaining predicate: {error}") from error
    if isinstance(e, Constant) and parse(e.type).base == "boolean":
        if physical(e):
            return None
        raise unsupported("Unexpected always-false remaining predicate")
    return expression(e, UNCHECKED)


def _data_columns(columns: object) -> Json | None:
    if not isinstance(columns, list) or not columns:
        return None
    names, types = [], []
    for column in columns:
        if not isinstance(column, dict) or not isinstance(column.get("type"), str):
            raise user_error("Malformed data column")
        try:
            types.append(hive_type(column["type"]))
        except RefusalError:
            continue  # nobody reads it: a column that is read is checked by its own type
        names.append(str(column.get("name", "")))
    return row_type(names, types)


def _predicate_columns(layout: dict[str, object], present: list[Json]) -> list[Json]:
    """Partition and synthesized columns that only the predicate reads: the scan needs their handles too."""
    predicates = layout.get("predicateColumns")
    if not isinstance(predicates, dict):
        return []
    taken = {a["columnHandle"]["hiveColumnHandleName"] for a in present} | {a["assign"] for a in present}
    added = []
    for name, handle in predicates.items():
        if not isinstance(handle, dict) or handle.get("columnType") not in ("PARTITION_KEY", "SYNTHESIZED"):
            continue
        if name not in taken and isinstance(handle.get("type"), str):
            added.append({"assign": name, "columnHandle": _column_handle(handle, name, velox_type(handle["type"]))})
    return added
