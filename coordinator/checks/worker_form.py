"""Which fragments workers run, and in which form the native checker sees them.

Source: Presto's NativePlanChecker and 504 fragments of a real one (facts/presto_peer.md §2).
"""

from __future__ import annotations

import re

from msgspec.structs import replace

from coordinator.checks.fetch_as_join import fetch_as_join
from coordinator.checks.offset_as_row_number import offset_as_row_number
from coordinator.checks.storage_form import rewrites_stored_data, storage_form, stored_variable
from shared.plan.blocks import encode_constant
from shared.plan.expressions import Constant, RowExpression, Variable
from shared.plan.fragment import SimplePlanFragment
from shared.plan.nodes import (
    Assignments,
    CallDistributedProcedureNode,
    DeleteNode,
    DistributedMaintenanceNode,
    FetchNode,
    MergeProcessorNode,
    MergeWriterNode,
    OffsetNode,
    OutputNode,
    PlanNode,
    ProjectNode,
    TableScanNode,
    TableWriterNode,
    UpdateNode,
    ValuesNode,
)
from shared.plan.traversal import output_variables, rewrite_bottom_up, walk
from shared.spi.session import SENT_ROWS

_PATH = re.compile(r"[A-Za-z0-9_:$/@|# -]+")
"""Source: Velox's Tokenizer, isUnquotedPathCharacter."""
_SYSTEM_CATALOGS = ("$system@", "$info_schema@")


def why_not_checked(fragment: SimplePlanFragment) -> str | None:
    """Why no worker will run this fragment on data: COORDINATOR_ONLY, SYSTEM_CONNECTOR or EMPTY; None: check it."""
    nodes = list(walk(fragment.root))
    fetches = any(isinstance(n, FetchNode) for n in nodes)
    if fragment.partitioning.connectorHandle.get("partitioning") == "COORDINATOR_ONLY" and not fetches:
        return "COORDINATOR_ONLY"
    if any(isinstance(n, TableScanNode) and n.table.connectorId.startswith(_SYSTEM_CATALOGS) for n in nodes):
        return "SYSTEM_CONNECTOR"
    if all(isinstance(n, OutputNode) or (isinstance(n, ValuesNode) and not n.rows) for n in nodes):
        return "EMPTY"
    return None


def is_procedure(root: PlanNode) -> bool:
    """Whether workers run a part of a CALL here."""
    return any(isinstance(node, CallDistributedProcedureNode | DistributedMaintenanceNode) for node in walk(root))


def worker_form(fragment: SimplePlanFragment) -> SimplePlanFragment:
    """The fragment with every writer as a projection of dummy constants, Fetch and OFFSET as what workers know.

    What a writer writes to is known only when it is scheduled, so no worker plan can be made of it; what it reads is
    checked all the same. The coordinator starts look-ups, but what they read is checked as any scan is. What a
    distributed procedure copies has the types of its storage.
    """
    if rewrites_stored_data(fragment.root):
        variables = tuple(map(stored_variable, fragment.variables))
        fragment = replace(fragment, root=storage_form(fragment.root), variables=variables)
    root = rewrite_bottom_up(fragment.root, _runnable)
    return fragment if root is fragment.root else replace(fragment, root=root)


def _runnable(node: PlanNode) -> PlanNode:
    match node:
        case FetchNode():
            return fetch_as_join(node)
        case OffsetNode():
            return offset_as_row_number(node)
        case (
            TableWriterNode()
            | CallDistributedProcedureNode()
            | DeleteNode()
            | UpdateNode()
            | MergeProcessorNode()
            | MergeWriterNode()
        ):
            assignments = {variable.key: _dummy(variable) for variable in output_variables(node)}
            return ProjectNode(
                sourceLocation=node.sourceLocation,
                id=node.id,
                source=node.source,
                assignments=Assignments(assignments=assignments),
                locality="UNKNOWN",
            )
        case TableScanNode() if node.table.connectorId != SENT_ROWS:
            return _sayable(node)
        case TableScanNode() | DistributedMaintenanceNode():
            # Rows that come with the statement, or with the call: what is computed of them is checked.
            return ValuesNode(
                sourceLocation=node.sourceLocation, id=node.id, outputVariables=node.outputVariables, rows=()
            )
        case _:
            return node


def _sayable(scan: TableScanNode) -> TableScanNode:
    """Without what the layout says of columns whose names Velox cannot read as a path; the filter above says it too.

    Workers read such columns, and a filter in a plan node takes any name.
    """
    layout = scan.table.connectorTableLayout
    domains = layout.get("domainPredicate", {}).get("columnDomains") if isinstance(layout, dict) else None
    if layout is None or not domains or all(_PATH.fullmatch(str(entry.get("column"))) for entry in domains):
        return scan
    kept = [entry for entry in domains if _PATH.fullmatch(str(entry.get("column")))]
    return replace(
        scan,
        table=replace(scan.table, connectorTableLayout={**layout, "domainPredicate": {"columnDomains": kept}}),
    )


def _dummy(variable: Variable) -> RowExpression:
    # Presto's checker gives varbinary variables a varchar constant; real workers' converters expect just that.
    if variable.type == "bigint":
        return Constant(valueBlock=encode_constant(0, "bigint"), type="bigint")
    if variable.type in ("varbinary", "varchar"):
        return Constant(valueBlock=encode_constant("", "varchar"), type="varchar")
    return Constant(valueBlock=encode_constant(None, variable.type), type=variable.type)
