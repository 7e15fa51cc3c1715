"""REFRESH MATERIALIZED VIEW: the view's query, as its owner, into its storage table.

As in Presto the owner's rights count whatever the view's SECURITY says: that is why who reads with rights of their own
is given stored rows only where those mean the same to them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from coordinator.connectors.registry import Catalogs
from coordinator.planner.guard import Reader
from coordinator.planner.incremental import Part, incremental
from coordinator.planner.materialized_views import existing_materialized_view
from coordinator.planner.object_names import object_name, writable
from coordinator.planner.query import known_rows
from coordinator.planner.query.materialized import Definition, base_tables, is_pinned, materialized_views_of
from coordinator.planner.query.planner import QueryPlanner
from coordinator.planner.query.view_expansion import parse_view, session_of_view
from coordinator.planner.writes import ROWS, PlannedWrite, writer
from coordinator.sql.ddl_statements import RefreshMaterializedView
from coordinator.sql.tree.expressions import Identifier
from coordinator.sql.tree.queries import Table
from coordinator.vocabulary.planned_statement import PlannedStatement, ReturnRows
from shared.errors import ErrorCode, ProcessionError
from shared.plan.expressions import SourceLocation
from shared.spi.connector import ViewMetadata
from shared.spi.materialized_views import NO_SNAPSHOT, MaterializedViews, Refresh
from shared.spi.session import Session
from shared.spi.table_writes import TableWrite, WriteKind

_UPDATE_TYPE = "REFRESH MATERIALIZED VIEW"


def plan_refresh(
    statement: RefreshMaterializedView, session: Session, catalogs: Catalogs
) -> PlannedWrite | PlannedStatement:
    """A statement without effect when the view is up to date. Raises ProcessionError."""
    name = object_name(statement.name, statement.location, session)
    view = existing_materialized_view(name, statement.location, catalogs)
    assert view is not None
    if statement.filtered:
        message = "REFRESH MATERIALIZED VIEW with WHERE is not supported: it refreshes what has changed by itself"
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, message, location=statement.location)
    writable(catalogs.connector(name.catalog), "refreshing materialized views")
    planner = _planner(view, session, catalogs)
    node = _named(view, statement)
    definition = planner.definition_of(
        view, parse_view(view, node, planner.context), node, planner.context, _owner(planner, view)
    )
    if not definition.lasting:
        message = f"The query of materialized view '{view.schema}.{view.name}' depends on the time or on chance now"
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, message)
    source = materialized_views_of(catalogs, name.catalog)
    found = _how(view, definition, source)
    if found.how is None:
        return _nothing_to_do()
    return _planned(planner, view, definition, source, found)


@dataclass(frozen=True, slots=True)
class _How:
    """Of one refresh, and why; None: nothing has changed. ``parts``: see ``Incremental``."""

    how: Literal["whole", "append", "merge"] | None
    why: str
    parts: Mapping[str, Part] | None = None


def _how(view: ViewMetadata, definition: Definition, source: MaterializedViews) -> _How:
    kept = view.materialized
    assert kept is not None
    if kept.refreshed is None:
        return _How("whole", "it was never refreshed")
    if kept.meaning is None or kept.meaning != definition.meaning:
        return _How("whole", "it is not known that its query means what it meant")
    if not source.can_continue(view):
        return _How("whole", "its storage table does not have the rows of the last refresh alone")
    changes = [change for base in kept.base_tables if (change := source.base_changes(base)).changed]
    if not changes:
        return _How(None, "nothing has changed")
    if kept.refresh_type == "FULL":
        return _How("whole", "refresh_type is FULL")
    if not all(change.appended for change in changes):
        return _How("whole", next(change.why for change in changes if not change.appended))
    if any(base.snapshot_id == NO_SNAPSHOT for base in kept.base_tables):
        return _How("whole", "its table was empty")
    way = incremental(definition.plan)
    if isinstance(way, str):
        return _How("whole", way)
    return _How("append" if way.parts is None else "merge", changes[0].why, way.parts)


def _nothing_to_do() -> PlannedStatement:
    return PlannedStatement("INSERT", ROWS, ReturnRows(((0,),)), update_type=_UPDATE_TYPE)


def _planner(view: ViewMetadata, session: Session, catalogs: Catalogs) -> QueryPlanner:
    return QueryPlanner(session_of_view(session, view), catalogs)


def _owner(planner: QueryPlanner, view: ViewMetadata) -> Reader:
    return planner.reader if view.owner is None else planner.guard.owner(view.owner, planner.reader)


def _named(view: ViewMetadata, statement: RefreshMaterializedView) -> Table:
    """The view as FROM names it, for places of errors."""
    place = SourceLocation(line=statement.location.line, column=statement.location.column)
    parts = (view.catalog, view.schema, view.name)
    return Table(location=place, name=tuple(Identifier(location=place, value=part) for part in parts))


def _planned(
    planner: QueryPlanner, view: ViewMetadata, definition: Definition, source: MaterializedViews, found: _How
) -> PlannedWrite:
    kept, how = view.materialized, found.how
    assert kept is not None
    assert how is not None
    table = source.storage(kept.storage_schema, kept.storage_table)
    if table is None:
        message = f"Storage table {kept.storage_schema}.{kept.storage_table} does not exist: make the view again"
        raise ProcessionError(ErrorCode.INVALID_VIEW, message)
    columns = [column for each in view.columns if (column := table.column(each.name)) is not None]
    if len(columns) != len(view.columns):
        message = f"Storage table {kept.storage_schema}.{kept.storage_table} lacks columns: make the view again"
        raise ProcessionError(ErrorCode.INVALID_VIEW, message)
    pinned = all(map(is_pinned, definition.scans.values()))
    refresh = Refresh(
        view,
        base_tables(definition, view.catalog),
        definition.meaning if pinned else None,
        int(planner.session.start.timestamp() * 1000),
        how,
    )
    planner.ids = definition.ids
    root = writer(planner, definition.plan, columns, [c for c in table.columns if not c.hidden])
    kind: WriteKind = "MERGE" if how == "merge" else "INSERT"
    write = TableWrite(view.catalog, kept.storage_schema, table.name, kind, "", "", table.snapshot_id, refresh=refresh)
    words = {"whole": "refreshed as a whole", "append": "new rows are added", "merge": "groups of new rows are merged"}
    return PlannedWrite(
        root,
        write,
        tuple(definition.scans.values()),
        _UPDATE_TYPE,
        # Of new rows alone it is not known how many they are.
        table_rows=known_rows(definition.scans) if how == "whole" else None,
        distinct_values=definition.distinct_values if how == "whole" else None,
        notes=(f"{view.catalog}.{view.schema}.{view.name}: {words[how]}, {found.why}",),
        merged=found.parts,
        warning=_warning(view, found),
    )


def _warning(view: ViewMetadata, found: _How) -> str | None:
    """As Presto warns of a refresh that could not be incremental."""
    kept = view.materialized
    if found.how != "whole" or kept is None or kept.refreshed is None or kept.refresh_type == "FULL":
        return None
    return f"Materialized view {view.schema}.{view.name} was refreshed as a whole: {found.why}"
