"""A materialized view in FROM: its query is planned as that of any view, so that all who read it need what they need of
a view; where its rows are kept and still are what the query means, they are read instead.

Source of rules: Presto's ``MaterializedViewRewrite`` and its Iceberg connector's ``getMaterializedViewStatus``. Beyond
Presto, rows are read only while the query means what it meant when they were made: the same views, row filters, column
masks and columns below it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from coordinator.analyzer.context import Context
from coordinator.analyzer.determinism import deterministic
from coordinator.analyzer.scope import ScopeField
from coordinator.connectors.registry import Catalogs
from coordinator.expressions.builders import coerce
from coordinator.expressions.types import read_type
from coordinator.planner.query.builder import Builder, Ids, RelationPlan
from coordinator.planner.query.planning import Planning
from coordinator.planner.query.view_expansion import name_of
from coordinator.sql.tree.expressions import CurrentTime
from coordinator.sql.tree.node import walk as nodes_of
from coordinator.sql.tree.queries import Query, Table
from coordinator.vocabulary.session_properties import session_flag, session_value
from shared.errors import ErrorCode, ProcessionError
from shared.plan.expressions import RowExpression
from shared.plan.nodes import PlanNode, SampleNode, TableScanNode
from shared.plan.traversal import expressions, rewrite_bottom_up, walk
from shared.spi.connector import TableMetadata, ViewMetadata
from shared.spi.materialized_views import BaseTable, Materialization, MaterializedViews
from shared.units import format_duration, parse_duration

_OF_TIME = (b"time", b"iso8601")
_HIDDEN = "SYNTHESIZED"
"""The kind of a column that is in no file."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A view's query, planned by itself. ``lasting``: it means the same at any time; ``of_user``: not to everybody."""

    plan: RelationPlan
    scans: Mapping[str, TableMetadata]
    meaning: str
    lasting: bool
    of_user: bool
    ids: Ids
    """From which a plan around it takes its own."""
    distinct_values: Mapping[str, float]


def materialized_views_of(catalogs: Catalogs, catalog: str) -> MaterializedViews:
    """What a catalog can do of them. Raises ProcessionError NOT_SUPPORTED where that is nothing."""
    found = catalogs.capabilities(catalog).materialized_views
    if found is None:
        message = "This connector does not support creating materialized views"
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, message)
    return found


def meaning_of(plan: PlanNode, time_zone: str) -> str:
    """Equal for plans that give the same rows of the same snapshots, in every process.

    What engines do with the session's time zone is in no plan: it counts wherever a type or a function has to do with
    time, ``from_unixtime`` and ``to_iso8601`` among them.
    """
    said = msgspec.json.encode(rewrite_bottom_up(plan, _without_versions))
    zone = time_zone.encode() if any(word in said for word in _OF_TIME) else b""
    return hashlib.blake2b(said + zone, digest_size=16).hexdigest()


def _without_versions(node: PlanNode) -> PlanNode:
    if not isinstance(node, TableScanNode):
        return node
    handle = node.table.connectorHandle
    named = handle.get("icebergTableName")
    table = named.get("tableName") if isinstance(named, dict) else handle.get("tableName")
    plain = msgspec.structs.replace(
        node.table,
        connectorHandle={"schema": handle.get("schemaName"), "table": table},
        transaction={},
        connectorTableLayout=None,
    )
    columns = {key: {k: v for k, v in handle.items() if k != "comment"} for key, handle in node.assignments.items()}
    return msgspec.structs.replace(node, table=plain, assignments=columns)


def is_lasting(plan: PlanNode) -> bool:
    """Whether nothing in a plan gives another value each time, or after a compaction: files and places of rows."""
    for node in walk(plan):
        if isinstance(node, SampleNode):
            return False
        if isinstance(node, TableScanNode) and any(h.get("columnType") == _HIDDEN for h in node.assignments.values()):
            return False
        if not all(map(deterministic, expressions(node))):
            return False
    return True


def asks_for_user(query: Query) -> bool:
    """Whether ``current_user`` or ``current_role`` stands in a query."""
    asked = ("current_user", "current_role")
    return any(isinstance(node, CurrentTime) and node.function in asked for node in nodes_of(query))


def stored_rows(
    planner: Planning, view: ViewMetadata, definition: Definition, node: Table, context: Context
) -> RelationPlan | None:
    """The rows that are kept, as the view's columns; None: its query is to be run. Raises ProcessionError."""
    name = ".".join(name_of(view))
    try:
        table, why = _chosen(planner, view, definition)
    except _StaleError as stale:
        message = f"Materialized view '{name}' is stale: {stale}"
        raise context.error(node, message, ErrorCode.INVALID_VIEW) from stale
    if table is None:
        planner.findings.notes.append(f"{name}: its query is run, {why}")
        return None
    planner.findings.notes.append(f"{name}: its stored rows are read, {why}")
    planner.findings.stood_for += definition.scans.values()
    return _scan(planner, view, table, node, context)


class _StaleError(Exception):
    """The rows are not up to date, and nothing else is to be read."""


def _chosen(planner: Planning, view: ViewMetadata, definition: Definition) -> tuple[TableMetadata | None, str]:
    kept = view.materialized
    assert kept is not None
    source = materialized_views_of(planner.catalogs, view.catalog)
    refused = _unusable(planner, kept, definition)
    table = None
    if refused is None:
        table = source.stored_rows(view)
        refused = "its storage table does not have the rows of the last refresh" if table is None else None
    if refused is not None:
        if _stale_reads(planner, kept) == "FAIL":
            raise _StaleError(refused)
        return None, refused
    stale = _staleness(planner, kept, source)
    if stale is None:
        return table, "they are up to date"
    age, why = stale
    window = _window(planner, kept)
    if age is not None and age <= window:
        return table, f"{why}, but that is within the staleness window of {format_duration(window)}"
    if _stale_reads(planner, kept) == "FAIL":
        raise _StaleError(why)
    return None, why


def _unusable(planner: Planning, kept: Materialization, definition: Definition) -> str | None:
    """Why what is kept cannot be the query's rows, however old they may be."""
    if kept.refreshed is None:
        return "it was never refreshed"
    if session_flag(planner.session, "materialized_view_force_stale"):
        return "materialized_view_force_stale is set"
    if not definition.lasting:
        return "its query depends on the time or the version that is asked for"
    if kept.meaning is None:
        # Another program's rules decided what its rows are.
        return "it is not known what its query meant when it was refreshed" if planner.guard.hides else None
    if kept.meaning != definition.meaning:
        return "its query means something else now: columns, views, row filters, masks or the session differ"
    bases = {(base.schema, base.table) for base in kept.base_tables}
    if unknown := {(t.schema, t.name) for t in definition.scans.values()} - bases:
        return f"nothing is known of {', '.join('.'.join(each) for each in sorted(unknown))}"
    return None


def _staleness(planner: Planning, kept: Materialization, source: MaterializedViews) -> tuple[float | None, str] | None:
    """For how many seconds the rows are not up to date, and why; None where they are."""
    changes = [change for base in kept.base_tables if (change := source.base_changes(base)).changed]
    if not changes:
        return None
    known = [change.first_ms for change in changes if change.first_ms is not None]
    first = min(known) if len(known) == len(changes) else kept.read_ms
    age = None if first is None else max(0.0, planner.session.start.timestamp() - first / 1000)
    return age, " and ".join(change.why for change in changes)


def _stale_reads(planner: Planning, kept: Materialization) -> str:
    return kept.stale_reads or session_value(planner.session, "materialized_view_stale_read_behavior").upper()


def _window(planner: Planning, kept: Materialization) -> float:
    if kept.staleness_window is not None:
        return kept.staleness_window
    return parse_duration(session_value(planner.session, "materialized_view_staleness_window"))


def _scan(
    planner: Planning, view: ViewMetadata, table: TableMetadata, node: Table, context: Context
) -> RelationPlan | None:
    place, ids = context.place(node), planner.ids
    variables, assignments = [], {}
    for column in view.columns:
        stored = table.column(column.name)
        if stored is None:
            return None
        variables.append(ids.variable(stored.name, stored.type, place))
        assignments[variables[-1].key] = stored.handle
    scan = TableScanNode(
        sourceLocation=place,
        id=ids.node(),
        table=table.handle,
        outputVariables=tuple(variables),
        assignments=assignments,
    )
    planner.scans[scan.id] = table
    builder = Builder(ids, scan)
    wanted: list[tuple[RowExpression, str]] = [
        (v if v.type == c.type else coerce(v, read_type(c.type), context.zone), c.name)
        for v, c in zip(variables, view.columns, strict=True)
    ]
    shown = builder.add(wanted)
    relation = name_of(view)
    fields = (ScopeField(c.name.lower(), v, relation) for c, v in zip(view.columns, shown, strict=True))
    return RelationPlan(builder.node, tuple(fields))


def base_tables(definition: Definition, catalog: str) -> tuple[BaseTable, ...]:
    """The tables of a planned query with the snapshots that it reads. Raises ProcessionError for others than tables."""
    found: dict[tuple[str, str], BaseTable] = {}
    for table in definition.scans.values():
        name = f"{table.catalog}.{table.schema}.{table.name}"
        if table.catalog != catalog or table.tells_of is not None or "icebergTableName" not in _handle(table):
            message = f"Materialized views read tables of their own catalog alone: {name} is none of {catalog}"
            raise ProcessionError(ErrorCode.NOT_SUPPORTED, message)
        found[table.schema, table.name] = BaseTable(table.schema, table.name, table.snapshot_id or 0)
    return tuple(found.values())


def is_pinned(table: TableMetadata) -> bool:
    """Whether a scan reads one snapshot, whatever is committed meanwhile."""
    named = _handle(table).get("icebergTableName")
    return isinstance(named, dict) and named.get("snapshotId") is not None and not table.columns_changed


def _handle(table: TableMetadata) -> Mapping[str, object]:
    return table.handle.connectorHandle
