"""CREATE, ALTER and DROP CATALOG, with ``catalog.management=dynamic``. Connectors say what a property means."""

from __future__ import annotations

import re

from coordinator.analyzer.constants import evaluate_constant
from coordinator.connectors.registry import Catalogs
from coordinator.connectors.system.registered import SYSTEM_CATALOG
from coordinator.planner.ddl import RESULT, nothing_to_do
from coordinator.sql import ddl_statements as sql
from coordinator.sql.tree.expressions import NullLiteral
from coordinator.vocabulary.planned_statement import CatalogDefinition, CatalogEdit, ManageCatalog, PlannedStatement
from shared.errors import ErrorCode, ProcessionError
from shared.spi.session import Session

_NAME = re.compile(r"[a-z0-9][a-z0-9_\-]{0,127}")
"""It becomes the name of a file, and of a catalog in Spark."""
_PROPERTY = re.compile(r"[A-Za-z][\w.\-]*", re.ASCII)
_LONGEST_VALUE = 100_000


def plan_create_catalog(statement: sql.CreateCatalog, session: Session, catalogs: Catalogs) -> PlannedStatement:
    """Raises ProcessionError when there is one of that name, or the statement cannot be written down."""
    _require_managed(catalogs, "CREATE")
    name = statement.name.lower()
    if catalogs.has(name):
        if statement.if_not_exists:
            return nothing_to_do("CREATE CATALOG")
        raise ProcessionError(ErrorCode.ALREADY_EXISTS, f"Catalog '{name}' already exists", location=statement.location)
    if _NAME.fullmatch(name) is None:
        message = f"Invalid name of a catalog: '{name}'. It has letters, digits, _ and -, at most 128"
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=statement.location)
    given = tuple(sorted((each.name, _text_of(each, session)) for each in statement.properties))
    definition = CatalogDefinition(statement.connector, given)
    return _statement(ManageCatalog(name, definition, statement.if_not_exists), "CREATE CATALOG")


def plan_alter_catalog(statement: sql.AlterCatalog, session: Session, catalogs: Catalogs) -> PlannedStatement:
    """Raises ProcessionError when there is none of that name, or a value cannot be written down."""
    _require_managed(catalogs, "ALTER")
    name = statement.name.lower()
    if name == SYSTEM_CATALOG:
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, "Cannot alter catalog system", location=statement.location)
    if not catalogs.has(name):
        raise ProcessionError(ErrorCode.NOT_FOUND, f"Catalog '{name}' does not exist", location=statement.location)
    given = tuple(
        (each.name, None if each.value is None or isinstance(each.value, NullLiteral) else _text_of(each, session))
        for each in statement.properties
    )
    for each in statement.properties:
        _check_name(each)
    return _statement(ManageCatalog(name, CatalogEdit(given), lenient=False), "ALTER CATALOG")


def plan_drop_catalog(statement: sql.DropCatalog, catalogs: Catalogs) -> PlannedStatement:
    """Raises ProcessionError when there is none of that name."""
    _require_managed(catalogs, "DROP")
    name = statement.name.lower()
    if name == SYSTEM_CATALOG:
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, "Cannot drop catalog system", location=statement.location)
    if not catalogs.has(name):
        if statement.if_exists:
            return nothing_to_do("DROP CATALOG")
        raise ProcessionError(ErrorCode.NOT_FOUND, f"Catalog '{name}' does not exist", location=statement.location)
    return _statement(ManageCatalog(name, None, statement.if_exists), "DROP CATALOG")


def _statement(work: ManageCatalog, update_type: str) -> PlannedStatement:
    return PlannedStatement("DATA_DEFINITION", RESULT, work, update_type=update_type)


def _require_managed(catalogs: Catalogs, verb: str) -> None:
    if not catalogs.managed:
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, f"{verb} CATALOG is not supported: catalog.management is static")


def _text_of(assignment: sql.PropertyAssignment, session: Session) -> str:
    """Errors do not repeat the value, which may be a secret."""
    name = assignment.name
    _check_name(assignment)
    try:
        value = None if assignment.value is None else evaluate_constant(assignment.value, "varchar", session)
    except ProcessionError:
        value = None
    if not isinstance(value, str):
        raise _wrong(assignment, f"Invalid value for catalog property '{name}': it is not a varchar")
    if len(value) > _LONGEST_VALUE or not value.isprintable() or value != value.strip():
        problem = "it has line breaks, other control characters, or blanks at an end, or is too long"
        raise _wrong(assignment, f"Invalid value for catalog property '{name}': {problem}")
    return value


def _check_name(assignment: sql.PropertyAssignment) -> None:
    if _PROPERTY.fullmatch(assignment.name) is None:
        raise _wrong(assignment, f"Invalid name of a catalog property: '{assignment.name}'")
    if assignment.name == "connector.name":
        raise _wrong(assignment, "Catalog property 'connector.name' is what USING says")


def _wrong(assignment: sql.PropertyAssignment, message: str) -> ProcessionError:
    return ProcessionError(ErrorCode.INVALID_ARGUMENTS, message, location=assignment.location)
