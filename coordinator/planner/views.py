"""Views: no catalog keeps them yet. CREATE VIEW is refused as by Presto's connectors without views; none exists."""

from __future__ import annotations

from coordinator.connectors.registry import Catalogs
from coordinator.planner.ddl import nothing_to_do
from coordinator.planner.object_names import connector_of, object_name
from coordinator.planner.planned_statement import PlannedStatement
from coordinator.sql.ddl_statements import CreateView, DropView, RenameView, ShowCreateView
from shared.errors import ErrorCode, ErrorLocation, ProcessionError
from shared.spi.session import Session


def plan_create_view(statement: CreateView, _text: str, session: Session, catalogs: Catalogs) -> PlannedStatement:
    """Refused."""
    name = object_name(statement.name, statement.location, session)
    connector_of(name.catalog, statement.location, catalogs)
    raise ProcessionError(ErrorCode.NOT_SUPPORTED, "This connector does not support creating views")


def plan_drop_view(statement: DropView, _text: str, session: Session, catalogs: Catalogs) -> PlannedStatement:
    if statement.if_exists:
        return nothing_to_do("DROP VIEW")
    raise _missing(statement.name, statement.location, session, catalogs)


def plan_rename_view(statement: RenameView, _text: str, session: Session, catalogs: Catalogs) -> PlannedStatement:
    if statement.if_exists:
        return nothing_to_do("RENAME VIEW")
    raise _missing(statement.name, statement.location, session, catalogs)


def show_create_view(statement: ShowCreateView, _text: str, session: Session, catalogs: Catalogs) -> PlannedStatement:
    raise _missing(statement.name, statement.location, session, catalogs)


def _missing(parts: tuple[str, ...], location: ErrorLocation, session: Session, catalogs: Catalogs) -> ProcessionError:
    name = object_name(parts, location, session)
    table = connector_of(name.catalog, location, catalogs).table(name.schema, name.name)
    message = f"View '{name}' does not exist" if table is None else f"Relation '{name}' is a table, not a view"
    return ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=location)
