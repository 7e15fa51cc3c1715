"""``WITH (name = value)`` of schemas, tables and columns: evaluated against what the connector declares."""

from __future__ import annotations

from collections.abc import Sequence

from coordinator.analyzer.constants import evaluate_constant
from coordinator.sql.ddl_statements import PropertyAssignment
from coordinator.sql.tree.expressions import DecimalLiteral, DoubleLiteral, Expression, LongLiteral, StringLiteral
from shared.errors import ErrorCode, ProcessionError
from shared.spi.catalog_changes import PropertyDeclaration
from shared.spi.session import Session


def evaluate_properties(
    given: Sequence[PropertyAssignment],
    declared: Sequence[PropertyDeclaration],
    kind: str,
    catalog: str,
    session: Session,
    *,
    of_new: bool = True,
) -> dict[str, object]:
    """Values by name; ``kind`` is ``table``, ``schema`` or ``column``, for messages.

    A default is left out for what is new, and otherwise None.

    Raises ProcessionError INVALID_TABLE_PROPERTY (or INVALID_SCHEMA_PROPERTY) for an unknown name or a wrong value.
    """
    known = {p.name: p for p in declared}
    values: dict[str, object] = {}
    for assignment in given:
        declaration = known.get(assignment.name)
        if declaration is None:
            message = f"Catalog '{catalog}' does not support {kind} property '{assignment.name}'"
            raise ProcessionError(code_of(kind), message)
        if assignment.value is not None:
            values[assignment.name] = _value(assignment, assignment.value, declaration, kind, session)
        elif not of_new:
            values[assignment.name] = None
    return values


def code_of(kind: str) -> ErrorCode:
    """The error code of wrong properties."""
    codes = {
        "schema": ErrorCode.INVALID_SCHEMA_PROPERTY,
        "column": ErrorCode.INVALID_COLUMN_PROPERTY,
        "analyze": ErrorCode.INVALID_ANALYZE_PROPERTY,
    }
    return codes.get(kind, ErrorCode.INVALID_TABLE_PROPERTY)


def _value(
    assignment: PropertyAssignment, given: Expression, declaration: PropertyDeclaration, kind: str, session: Session
) -> object:
    wanted = declaration.type
    if wanted == "array(varchar)" and isinstance(given, StringLiteral | LongLiteral | DecimalLiteral | DoubleLiteral):
        wanted = "varchar"  # one entry may stand for a list of one
    try:
        value = evaluate_constant(given, wanted, session)
    except ProcessionError as error:
        cannot = f"Cannot convert [{assignment.text}] to {declaration.type}"
        message = f"Invalid value for {kind} property '{assignment.name}': {cannot}"
        raise ProcessionError(code_of(kind), message) from error
    if value is None:
        message = f"Invalid null value for {kind} property '{assignment.name}'"
        raise ProcessionError(code_of(kind), message)
    return (value,) if wanted != declaration.type else value
