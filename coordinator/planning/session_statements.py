"""Which function plans which statement that changes the session or shows what is there: one line each."""

from __future__ import annotations

from typing import assert_never

from coordinator.connectors.registry import Catalogs
from coordinator.optimizer.optimize import SWITCHES
from coordinator.planner import session_statements, show
from coordinator.planner.describe_prepared import describe_input
from coordinator.planner.session_functions import plan_create_function, plan_drop_function
from coordinator.sql import statements as sql
from coordinator.sql.function_statements import CreateTemporaryFunction, DropTemporaryFunction
from coordinator.sql.parse_statement import parse_statement
from coordinator.vocabulary.planned_statement import PlannedStatement
from coordinator.vocabulary.session_properties import DECLARED, PropertiesByName
from shared.spi.session import Session

PROPERTIES: PropertiesByName = {declared.name: declared for declared in DECLARED} | dict(SWITCHES)
"""Every property that a session may set."""


def plan_of_session(statement: sql.SessionStatement, session: Session, catalogs: Catalogs) -> PlannedStatement:
    """Statements that change the session, its prepared statements or its transaction."""
    match statement:
        case sql.SetSession():
            return session_statements.plan_set_session(statement, session, catalogs, PROPERTIES)
        case sql.ResetSession():
            return session_statements.plan_reset_session(statement, catalogs, PROPERTIES)
        case sql.Use():
            return session_statements.plan_use(statement, session, catalogs)
        case sql.Prepare():
            return session_statements.plan_prepare(statement)
        case sql.Deallocate():
            return session_statements.plan_deallocate(statement, session)
        case CreateTemporaryFunction():
            return plan_create_function(statement, session)
        case DropTemporaryFunction():
            return plan_drop_function(statement, session)
        case sql.StartTransaction() | sql.Commit() | sql.Rollback():
            return session_statements.plan_transaction(statement, session)
        case _:
            assert_never(statement)


def plan_of_show(statement: sql.ShowStatement, session: Session, catalogs: Catalogs) -> PlannedStatement:
    """Statements that list or describe."""
    match statement:
        case sql.ShowCatalogs():
            return show.show_catalogs(statement, catalogs)
        case sql.ShowSchemas():
            return show.show_schemas(statement, session, catalogs)
        case sql.ShowTables():
            return show.show_tables(statement, session, catalogs)
        case sql.ShowColumns():
            return show.show_columns(statement, session, catalogs)
        case sql.ShowSession():
            return show.show_session(statement, session, PROPERTIES)
        case sql.ShowFunctions():
            return show.show_functions(statement, session)
        case sql.DescribeInput():
            prepared = session_statements.prepared_text(statement.name, session)
            return describe_input(parse_statement(prepared), prepared, session, catalogs)
        case _:
            assert_never(statement)
