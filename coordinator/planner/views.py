"""CREATE, DROP and RENAME of views, and SHOW CREATE VIEW. Texts: Presto's ``CreateViewTask`` and its siblings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from coordinator.connectors.registry import Catalogs
from coordinator.planner.ddl import change_statement, nothing_to_do, require_schema
from coordinator.planner.object_names import ObjectName, connector_of, editable, object_name
from coordinator.planner.query.builder import RelationPlan
from coordinator.planner.query.planner import QueryPlanner
from coordinator.planner.show_create import one_text, qualified
from coordinator.sql.ddl_statements import CreateView, DropView, RenameView, ShowCreateView
from coordinator.vocabulary.planned_statement import DefiningQuery, PlannedStatement
from shared.errors import ErrorCode, ErrorLocation, ProcessionError
from shared.spi.catalog_changes import ViewCreation, ViewRemoval, ViewRename
from shared.spi.connector import Connector, TableMetadata, ViewColumn, ViewMetadata
from shared.spi.session import Session


def plan_create_view(statement: CreateView, session: Session, catalogs: Catalogs) -> PlannedStatement:
    """Raises ProcessionError: the name is taken, or the query is wrong or has columns without names."""
    name = object_name(statement.name, statement.location, session)
    connector = connector_of(name.catalog, statement.location, catalogs)
    _require_views(connector, "creating views")
    # A view outlives the session, and its functions with it.
    planner = QueryPlanner(replace(session, functions=()), catalogs, (statement.query_tree,))
    if statement.or_replace:
        planner.replaced_view = (name.catalog, name.schema, name.name)
    plan = planner.plan_query(statement.query_tree, planner.context)
    columns = view_columns(plan, statement.location)
    require_schema(name.catalog, name.schema, catalogs)
    if connector.table(name.schema, name.name) is not None:
        raise ProcessionError(ErrorCode.ALREADY_EXISTS, f"Table already exists: {name.schema}.{name.name}")
    existing = catalogs.view(name.catalog, name.schema, name.name)
    if existing is not None and existing.materialized is not None:
        raise ProcessionError(ErrorCode.ALREADY_EXISTS, f"Materialized view already exists: {name.schema}.{name.name}")
    if not statement.or_replace and existing is not None:
        raise ProcessionError(ErrorCode.ALREADY_EXISTS, f"View already exists: {name.schema}.{name.name}")
    view = ViewMetadata(
        name.catalog,
        name.schema,
        name.name,
        statement.query.rstrip("; \n\t"),
        columns,
        session.catalog,
        session.schema,
        owner=session.user,
        security=statement.security or "DEFINER",
    )
    change = ViewCreation(view, statement.or_replace)
    editable(connector, "creating views").validate(change)
    return replace(change_statement(name.catalog, change, "CREATE VIEW"), defining=defining_query(plan, planner.scans))


def _require_views(connector: Connector, what: str) -> None:
    if not hasattr(connector, "view_names"):
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, f"This connector does not support {what}")
    editable(connector, what)


def view_columns(plan: RelationPlan, location: ErrorLocation) -> tuple[ViewColumn, ...]:
    """What a view of this query promises. Raises SYNTAX_ERROR for columns without names or types."""
    made: dict[str, ViewColumn] = {}
    for position, field in enumerate(plan.visible, start=1):
        if field.name is None:
            message = f"Column name not specified at position {position}"
            raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=location)
        name = field.name.lower()
        if name in made:
            message = f"Column name '{name}' specified more than once"
            raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=location)
        if field.variable.type == "unknown":
            raise ProcessionError(ErrorCode.SYNTAX_ERROR, f"Column type is unknown: {name}", location=location)
        made[name] = ViewColumn(name, field.variable.type)
    return tuple(made.values())


def defining_query(plan: RelationPlan, scans: Mapping[str, TableMetadata]) -> DefiningQuery:
    """What is told of the query of a view; each of its columns has a name."""
    columns = tuple(((field.name or "").lower(), field.variable) for field in plan.visible)
    return DefiningQuery(plan.node, columns, tuple(scans.values()))


def plan_drop_view(statement: DropView, session: Session, catalogs: Catalogs) -> PlannedStatement:
    """Raises SYNTAX_ERROR, located, when there is no such view."""
    name = object_name(statement.name, statement.location, session)
    connector = connector_of(name.catalog, statement.location, catalogs)
    view = catalogs.view(name.catalog, name.schema, name.name)
    if view is None:
        if statement.if_exists:
            return nothing_to_do("DROP VIEW")
        raise _missing(name, statement.location)
    _refuse_materialized(name, view, statement.location, "DROP")
    editable(connector, "dropping views")
    return change_statement(name.catalog, ViewRemoval(name.schema, name.name, statement.if_exists), "DROP VIEW")


def plan_rename_view(statement: RenameView, session: Session, catalogs: Catalogs) -> PlannedStatement:
    """The new name without a schema stays in the view's own. Raises ProcessionError."""
    name = object_name(statement.name, statement.location, session)
    connector = connector_of(name.catalog, statement.location, catalogs)
    view = catalogs.view(name.catalog, name.schema, name.name)
    if view is None:
        if statement.if_exists:
            return nothing_to_do("RENAME VIEW")
        raise _missing(name, statement.location)
    _refuse_materialized(name, view, statement.location, "ALTER")
    parts = statement.new_name
    whole = (*(name.catalog, name.schema)[: 3 - len(parts)], *parts)
    target = object_name(whole, statement.location, session)
    if target.catalog != name.catalog:
        message = "View rename across catalogs is not supported"
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=statement.location)
    if not connector.schema_exists(target.schema):
        message = f"Target schema '{target.catalog}.{target.schema}' does not exist"
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=statement.location)
    if catalogs.view(target.catalog, target.schema, target.name) is not None:
        message = f"Target view '{target}' already exists"
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=statement.location)
    if connector.table(target.schema, target.name) is not None:
        message = f"Target view '{target}' is an existing table"
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=statement.location)
    change = ViewRename(name.schema, name.name, target.schema, target.name)
    editable(connector, "renaming views").validate(change)
    return change_statement(name.catalog, change, "RENAME VIEW")


def show_create_view(statement: ShowCreateView, session: Session, catalogs: Catalogs) -> PlannedStatement:
    """Raises ProcessionError when there is no such view, or a table has the name."""
    name = object_name(statement.name, statement.location, session)
    connector = connector_of(name.catalog, statement.location, catalogs)
    view = catalogs.view(name.catalog, name.schema, name.name)
    if view is None:
        if connector.table(name.schema, name.name) is not None:
            message = f"Relation '{name}' is a table, not a view"
            raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=statement.location)
        raise _missing(name, statement.location)
    _refuse_materialized(name, view, statement.location, "SHOW CREATE")
    if not view.definition:
        message = f"Cannot show view '{name}': its dialect is '{view.dialect}'"
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, message, location=statement.location)
    written = qualified((name.catalog, name.schema, name.name))
    return one_text("Create View", f"CREATE VIEW {written} SECURITY {view.security} AS\n{view.definition}")


def _refuse_materialized(name: ObjectName, view: ViewMetadata, location: ErrorLocation, verb: str) -> None:
    """In Trino's words: a materialized view has statements of its own."""
    if view.materialized is not None:
        message = (
            f"View '{name}' does not exist, but a materialized view with that name exists. "
            f"Did you mean {verb} MATERIALIZED VIEW {name}?"
        )
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=location)


def _missing(name: ObjectName, location: ErrorLocation) -> ProcessionError:
    return ProcessionError(ErrorCode.SYNTAX_ERROR, f"View '{name}' does not exist", location=location)
