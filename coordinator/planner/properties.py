"""``WITH (name = value)`` of schemas, tables and columns: evaluated against what the connector declares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from coordinator.analyzer.constants import evaluate_constant
from coordinator.analyzer.syntax import parse_expression
from coordinator.sql.ddl_statements import PropertyAssignment
from shared.errors import ErrorCode, ProcessionError
from shared.spi.catalog_changes import PropertyDeclaration
from shared.spi.session import Session


def evaluate_properties(
    given: Sequence[PropertyAssignment],
    declared: Sequence[PropertyDeclaration],
    kind: str,
    catalog: str,
    text: str,
    session: Session,
) -> dict[str, Any]:
    """Values by name; ``kind`` is ``table``, ``schema`` or ``column``, for messages.

    Raises ProcessionError INVALID_TABLE_PROPERTY (or INVALID_SCHEMA_PROPERTY) for an unknown name or a wrong value.
    """
    known = {p.name: p for p in declared}
    values: dict[str, Any] = {}
    for assignment in given:
        declaration = known.get(assignment.name)
        if declaration is None:
            message = f"Catalog '{catalog}' does not support {kind} property '{assignment.name}'"
            raise ProcessionError(code_of(kind), message)
        values[assignment.name] = _value(assignment, declaration, kind, text, session)
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
    assignment: PropertyAssignment, declaration: PropertyDeclaration, kind: str, text: str, session: Session
) -> Any:
    tree = parse_expression(text, assignment.tokens)
    wanted = declaration.type
    if wanted == "array(varchar)" and type(tree).__name__ == "Literal":
        wanted = "varchar"  # one entry may stand for a list of one
    try:
        value = evaluate_constant(tree, wanted, session)
    except ProcessionError as error:
        shown = text[assignment.tokens[0].start : assignment.tokens[-1].end + 1]
        message = (
            f"Invalid value for {kind} property '{assignment.name}': Cannot convert [{shown}] to {declaration.type}"
        )
        raise ProcessionError(code_of(kind), message) from error
    if value is None:
        message = f"Invalid null value for {kind} property '{assignment.name}'"
        raise ProcessionError(code_of(kind), message)
    return (value,) if wanted != declaration.type else value
