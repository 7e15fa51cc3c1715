"""Writes what a filter says of single columns into the layout of the system table below it.

So ``information_schema`` and ``system`` list only what is asked for. Shape: SystemTableLayoutHandle's ``constraint``
and InformationSchemaTableLayoutHandle's ``prefixes``; ``patterns`` (LIKE) are ours, since drivers ask by LIKE for one
table. The Filter stays: a layout leaves out what nobody wants, the filter decides.
"""

from __future__ import annotations

from msgspec.structs import replace

from coordinator.expressions.builders import conjuncts
from coordinator.optimizer.rule import RuleContext
from coordinator.optimizer.tuple_domain import Domain, column_domains
from shared.plan.blocks import decode_constant
from shared.plan.expressions import Call, Constant, RowExpression, Variable
from shared.plan.nodes import FilterNode, PlanNode, TableScanNode

_INFORMATION_SCHEMA = "$info_schema"
_MAX_PREFIXES = 100


def rewrite(node: PlanNode, _context: RuleContext) -> PlanNode:
    """The filter over a scan of a system table whose layout carries its predicates."""
    match node:
        case FilterNode(source=TableScanNode() as scan) if scan.table.connectorId.startswith("$"):
            layout = _layout(scan, node.predicate)
            return node if layout is None else replace(node, source=_with_layout(scan, layout))
        case _:
            return node


def _with_layout(scan: TableScanNode, layout: dict[str, object]) -> TableScanNode:
    return replace(scan, table=replace(scan.table, connectorTableLayout=layout))


def _layout(scan: TableScanNode, predicate: RowExpression) -> dict[str, object] | None:
    domains = {v: d for v, d in column_domains(predicate).items() if v.key in scan.assignments}
    patterns = _patterns(scan, predicate)
    if not domains and not patterns:
        return None
    layout = dict(scan.table.connectorTableLayout or {})
    entries = [{"column": scan.assignments[v.key], "domain": domain.wire()} for v, domain in domains.items()]
    layout["constraint"] = {"columnDomains": entries}
    if patterns:
        layout["patterns"] = patterns
    if layout.get("@type") == _INFORMATION_SCHEMA:
        layout["prefixes"] = _prefixes(str(layout["table"]["catalogName"]), domains)
    return layout


def _prefixes(catalog: str, domains: dict[Variable, Domain]) -> list[dict[str, str]]:
    """Presto's: the schemas and tables that equalities name, the whole catalog where there are none or too many."""
    schemas, tables = (_values(domains, name) for name in ("table_schema", "table_name"))
    if schemas is None or len(schemas) * len(tables or ()) > _MAX_PREFIXES:
        return [{"catalogName": catalog}]
    if tables is None:
        return [{"catalogName": catalog, "schemaName": schema} for schema in schemas]
    return [{"catalogName": catalog, "schemaName": s, "tableName": t} for s in schemas for t in tables]


def _values(domains: dict[Variable, Domain], name: str) -> list[str] | None:
    domain = next((d for v, d in domains.items() if v.name == name), None)
    if domain is None or domain.ranges is None or domain.null_allowed:
        return None
    values = [r.low.value for r in domain.ranges if r.low is not None and r.high is not None and r.low == r.high]
    return values if len(values) == len(domain.ranges) else None


def _patterns(scan: TableScanNode, predicate: RowExpression) -> dict[str, list[list[str | None]]]:
    found: dict[str, list[list[str | None]]] = {}
    for term in conjuncts(predicate):
        match term:
            case Call(displayName="LIKE", arguments=(Variable() as v, Call(arguments=arguments))) if (
                v.key in scan.assignments
            ):
                texts = [_text(argument) for argument in arguments]
                if None not in texts and all(len(text or "") == 1 for text in texts[1:]):
                    column = str(scan.assignments[v.key]["columnName"])
                    found.setdefault(column, []).append([texts[0], texts[1] if len(texts) > 1 else None])
            case _:
                pass
    return found


def _text(expression: RowExpression) -> str | None:
    while isinstance(expression, Call) and expression.displayName == "CAST":
        (expression,) = expression.arguments
    if not isinstance(expression, Constant):
        return None
    value = decode_constant(expression.valueBlock, expression.type)
    return value if isinstance(value, str) else None
