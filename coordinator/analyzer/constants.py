"""Constant expressions: the arguments of CALL, SET SESSION, EXECUTE … USING, table properties."""

from __future__ import annotations

from typing import Any

from coordinator.analyzer.context import Context
from coordinator.analyzer.expressions import analyze_expression
from coordinator.expressions.builders import coerce, typed
from coordinator.expressions.folding import NotConstantError, evaluate
from coordinator.expressions.types import can_coerce, read_type, type_text
from coordinator.sql.parser import parse_expression
from coordinator.sql.tree.expressions import Expression
from coordinator.sql.tree.node import Node, walk
from shared.errors import ErrorCode, ErrorLocation, ProcessionError
from shared.plan.types import Type
from shared.spi.session import Session


def evaluate_constant(node: Expression, expected_type: str, session: Session) -> Any:
    """The Python value of a constant expression, as ``shared.spi.procedure.Arguments`` says.

    The value is coerced to ``expected_type`` where Presto does so without being asked; otherwise ProcessionError
    ``Cannot cast type X to Y``. Every error is located at the expression's first token.
    """
    context = Context(session, clause="Constant expression")
    try:
        expression = analyze_expression(node, context)
        expected = read_type(expected_type)
        if not can_coerce(typed(expression), expected):
            message = f"Cannot cast type {type_text(typed(expression))} to {type_text(expected)}"
            raise ProcessionError(ErrorCode.SYNTAX_ERROR, message)  # noqa: TRY301 - located below
        return evaluate(coerce(expression, expected, context.zone), context.zone)
    except NotConstantError as error:
        raise _not_constant(error, node) from error
    except ProcessionError as error:
        location = start_of(node)
        raise ProcessionError(error.code, error.message, location=location, retriable=error.retriable) from error


def constant_type(node: Expression, session: Session) -> str:
    """The Presto type of a constant expression before any coercion."""
    return type_text(typed(analyze_expression(node, Context(session))))


def typed_constant(node: Expression, session: Session, coerced_to: str | None = None) -> tuple[Type, object]:
    """The type and the value of a constant expression, the value as one of ``coerced_to``.

    Where the type does not coerce the value is None. Raises located ProcessionErrors.
    """
    context = Context(session, clause="Constant expression")
    expression = analyze_expression(node, context)
    type_ = typed(expression)
    if coerced_to is not None:
        target = read_type(coerced_to)
        if not can_coerce(type_, target):
            return type_, None
        expression = coerce(expression, target, context.zone)
    try:
        return type_, evaluate(expression, context.zone)
    except NotConstantError as error:
        raise _not_constant(error, node) from error


def evaluate_constant_text(text: str, expected_type: str, session: Session) -> object:
    """The value of a constant expression given as text."""
    return evaluate_constant(parse_expression(text), expected_type, session)


def start_of(node: Node) -> ErrorLocation:
    """Where the text of an expression begins, but for parentheses; the place of an infix one is its operator."""
    line, column = min((part.location.line, part.location.column) for part in walk(node))
    return ErrorLocation(line, column)


def _not_constant(error: NotConstantError, node: Node) -> ProcessionError:
    message = f"Constant expression cannot contain column references or this function: {error}"
    return ProcessionError(ErrorCode.NOT_SUPPORTED, message, location=start_of(node))
