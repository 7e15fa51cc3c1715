"""REFRESH MATERIALIZED VIEW: the view's query, as its owner, into its storage table.

As in Presto the owner's rights count whatever the view's SECURITY says: that is why who reads with rights of their own
is given stored rows only where those mean the same to them.
"""

from __future__ import annotations

from dataclasses import replace

from coordinator.connectors.registry import Catalogs
from coordinator.planner.guard import Reader
from coordinator.planner.materialized_views import existing_materialized_view
from coordinator.planner.object_names import object_name, writable
from coordinator.planner.query.materialized import Definition, base_tables, is_pinned, materialized_views_of
from coordinator.planner.query.planner import QueryPlanner
from coordinator.planner.query.view_expansion import parse_view
from coordinator.planner.writes import PlannedWrite, writer
from coordinator.sql.ddl_statements import RefreshMaterializedView
from coordinator.sql.tree.expressions import Identifier
from coordinator.sql.tree.queries import Table
from coordinator.vocabulary.planned_statement import PlannedStatement
from shared.errors import ErrorCode, ProcessionError
from shared.plan.expressions import SourceLocation
from shared.spi.connector import ViewMetadata
from shared.spi.materialized_views import Refresh
from shared.spi.session import Session
from shared.spi.table_writes import TableWrite

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
    return _whole(planner, view, definition, session)


def _planner(view: ViewMetadata, session: Session, catalogs: Catalogs) -> QueryPlanner:
    of_view = replace(session, catalog=view.default_catalog, schema=view.default_schema)
    return QueryPlanner(of_view, catalogs)


def _owner(planner: QueryPlanner, view: ViewMetadata) -> Reader:
    return planner.reader if view.owner is None else planner.guard.owner(view.owner, planner.reader)


def _named(view: ViewMetadata, statement: RefreshMaterializedView) -> Table:
    """The view as FROM names it, for places of errors."""
    place = SourceLocation(line=statement.location.line, column=statement.location.column)
    parts = (view.catalog, view.schema, view.name)
    return Table(location=place, name=tuple(Identifier(location=place, value=part) for part in parts))


def _whole(planner: QueryPlanner, view: ViewMetadata, definition: Definition, session: Session) -> PlannedWrite:
    kept = view.materialized
    assert kept is not None
    if not definition.lasting:
        message = f"The query of materialized view '{view.schema}.{view.name}' depends on the time or on chance now"
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, message)
    source = materialized_views_of(planner.catalogs, view.catalog)
    table = source.storage(kept.storage_schema, kept.storage_table)
    if table is None:
        message = f"Storage table {kept.storage_schema}.{kept.storage_table} does not exist: make the view again"
        raise ProcessionError(ErrorCode.INVALID_VIEW, message)
    bases = base_tables(definition, view.catalog)
    pinned = all(map(is_pinned, definition.scans.values()))
    refresh = Refresh(
        view,
        bases,
        definition.meaning if pinned else None,
        int(session.start.timestamp() * 1000),
        "whole",
    )
    planner.ids = definition.ids
    columns = [column for each in view.columns if (column := table.column(each.name)) is not None]
    if len(columns) != len(view.columns):
        message = f"Storage table {kept.storage_schema}.{kept.storage_table} lacks columns: make the view again"
        raise ProcessionError(ErrorCode.INVALID_VIEW, message)
    root = writer(planner, definition.plan, columns, [c for c in table.columns if not c.hidden])
    write = TableWrite(
        view.catalog, kept.storage_schema, table.name, "INSERT", "", "", table.snapshot_id, refresh=refresh
    )
    return PlannedWrite(root, write, tuple(definition.scans.values()), _UPDATE_TYPE)
