"""A distributed procedure's fragment with columns as files store them: it copies stored values and reads no others.

Source: Iceberg's specification, "Parquet" under "Data Type Mappings": time is INT64, uuid a fixed array of bytes.
"""

from __future__ import annotations

from msgspec.structs import replace

from shared.plan.expressions import Variable
from shared.plan.kept import kept
from shared.plan.nodes import CallDistributedProcedureNode, PlanNode, TableHandle, TableScanNode
from shared.plan.traversal import rewrite_bottom_up, walk
from shared.plan.types import Field, Type, parse_type

_STORED = {"time": "bigint", "time with time zone": "bigint", "uuid": "varbinary", "char": "varchar"}


def rewrites_stored_data(root: PlanNode) -> bool:
    """Whether a distributed procedure writes the rows of this fragment."""
    return any(isinstance(node, CallDistributedProcedureNode) for node in walk(root))


@kept(4096)
def storage_type(text: str) -> str:
    """The Presto type that says how values of the type ``text`` are stored; itself for most.

    >>> storage_type('map(char(3),array(time))')
    'map(varchar,array(bigint))'
    """
    parsed = parse_type(text)
    stored = _stored(parsed)
    return text if stored == parsed else str(stored)


def _stored(parsed: Type) -> Type:
    if parsed.base in _STORED:
        return Type(_STORED[parsed.base])
    if not parsed.arguments:
        return parsed
    return Type(parsed.base, tuple(_stored_parameter(parameter) for parameter in parsed.parameters))


def _stored_parameter(parameter: int | Type | Field) -> int | Type | Field:
    match parameter:
        case Field():
            return Field(parameter.name, _stored(parameter.type), parameter.delimited)
        case Type():
            return _stored(parameter)
        case _:
            return parameter


def storage_form(root: PlanNode) -> PlanNode:
    """The plan of a distributed procedure whose scans put out stored values, written as they come."""
    return rewrite_bottom_up(root, _as_stored)


def _as_stored(node: PlanNode) -> PlanNode:
    match node:
        case TableScanNode() if any(stored_variable(v) is not v for v in node.outputVariables):
            stored = {v.key: stored_variable(v).key for v in node.outputVariables}
            return replace(
                node,
                outputVariables=tuple(map(stored_variable, node.outputVariables)),
                assignments={stored.get(key, key): _handle(handle) for key, handle in node.assignments.items()},
                table=_without_domains_of_other_types(node),
            )
        case CallDistributedProcedureNode():
            return replace(node, columns=tuple(map(stored_variable, node.columns)))
        case _:
            return node


def stored_variable(variable: Variable) -> Variable:
    """The variable of the same name and its storage type."""
    stored = storage_type(variable.type)
    return variable if stored == variable.type else replace(variable, type=stored)


def _handle(handle: object) -> object:
    """A column's handle, whose own type counts where only the layout names the column."""
    if not isinstance(handle, dict) or not isinstance(handle.get("type"), str):
        return handle
    return {**handle, "type": storage_type(handle["type"])}


def _without_domains_of_other_types(scan: TableScanNode) -> TableHandle:
    """The files are chosen already, and what chose them is no filter of rows; other domains are checked as ever."""
    layout = scan.table.connectorTableLayout
    if not isinstance(layout, dict):
        return scan.table
    domains = (layout.get("domainPredicate") or {}).get("columnDomains") or []
    kept = [entry for entry in domains if not _is_changed(entry)]
    predicates = {name: _handle(handle) for name, handle in (layout.get("predicateColumns") or {}).items()}
    changed = {"predicateColumns": predicates, "domainPredicate": {"columnDomains": kept}}
    return replace(
        scan.table, connectorTableLayout={**layout, **{name: v for name, v in changed.items() if name in layout}}
    )


def _is_changed(entry: object) -> bool:
    values = entry.get("domain", {}).get("values", {}) if isinstance(entry, dict) else {}
    type_ = values.get("type") if isinstance(values, dict) else None
    return isinstance(type_, str) and storage_type(type_) != type_
