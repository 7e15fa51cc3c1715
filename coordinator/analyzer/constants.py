"""Constant expressions: the arguments of CALL, SET SESSION, EXECUTE … USING, table properties."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from coordinator.analyzer.builders import coerce, typed
from coordinator.analyzer.context import Context
from coordinator.analyzer.expressions import analyze_expression
from coordinator.analyzer.folding import NotConstantError, evaluate
from coordinator.analyzer.syntax import parse_expression
from coordinator.analyzer.token_rewriter import REWRITTEN
from coordinator.analyzer.types import can_coerce, read_type, type_text
from shared.errors import ErrorCode, ProcessionError
from shared.plan.types import Type
from shared.spi.session import Session


def evaluate_constant(tree: exp.Expression, expected_type: str, session: Session) -> Any:
    """The Python value of a constant expression, as ``shared.spi.procedure.Arguments`` says.

    ``tree`` may come from any sqlglot parse. The value is coerced to ``expected_type`` where Presto does so without
    being asked; otherwise ProcessionError ``Cannot cast type X to Y``, located at the expression's first token.
    """
    located = Context("", session, clause="Constant expression")
    normal = tree if _is_rewritten(tree) else parse_expression(_presto_text(tree))
    # The normal tree is parsed from other text, so errors point at the tree that was given.
    context = Context("", session, clause="Constant expression")
    location = located.locate(tree)
    try:
        expression = analyze_expression(normal, context)
        expected = read_type(expected_type)
        if not can_coerce(typed(expression), expected):
            message = f"Cannot cast type {type_text(typed(expression))} to {type_text(expected)}"
            raise ProcessionError(ErrorCode.SYNTAX_ERROR, message)  # noqa: TRY301 - located below
        return evaluate(coerce(expression, expected, context.zone), context.zone)
    except NotConstantError as error:
        message = "Constant expression cannot contain column references or this function"
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, f"{message}: {error}", location=location) from error
    except ProcessionError as error:
        raise ProcessionError(error.code, error.message, location=location, retriable=error.retriable) from error


def constant_type(tree: exp.Expression, session: Session) -> str:
    """The Presto type of a constant expression before any coercion."""
    normal = tree if _is_rewritten(tree) else parse_expression(_presto_text(tree))
    return type_text(typed(analyze_expression(normal, Context("", session))))


def typed_constant(tree: Any, session: Session, coerced_to: str | None = None) -> tuple[Type, Any]:
    """The type and the value of a constant expression in a tree of ``syntax``, the value as one of ``coerced_to``.

    Where the type does not coerce the value is None. Raises located ProcessionErrors.
    """
    context = Context("", session, clause="Constant expression")
    location = context.locate(tree)
    try:
        expression = analyze_expression(tree, context)
        kind = typed(expression)
        if coerced_to is not None:
            target = read_type(coerced_to)
            if not can_coerce(kind, target):
                return kind, None
            expression = coerce(expression, target, context.zone)
        return kind, evaluate(expression, context.zone)
    except NotConstantError as error:
        message = "Constant expression cannot contain column references or this function"
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, f"{message}: {error}", location=location) from error


def evaluate_constant_text(text: str, expected_type: str, session: Session) -> Any:
    """The value of a constant expression given as text."""
    return evaluate_constant(parse_expression(text), expected_type, session)


def _is_rewritten(tree: Any) -> bool:
    """Whether ``syntax`` made the tree."""
    return bool(tree.meta.get(REWRITTEN))


def _presto_text(tree: Any) -> str:
    def restore(node: Any) -> Any:
        # TYPE 'text' reaches us as a cast of a string; its own form keeps scale and zone.
        if isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal) and node.this.is_string:
            target = node.args["to"].sql(dialect="trino").lower()
            if target in ("decimal", "timestamp", "time", "char"):
                text = str(node.this.this).replace("'", "''")
                return exp.Anonymous(this="type_literal__", expressions=[exp.Literal.string(f"{target} '{text}'")])
        return node

    copied = tree.copy().transform(restore)
    rendered = str(copied.sql(dialect="trino", comments=False))
    return _unwrap(rendered)


def _unwrap(text: str) -> str:
    marker = "TYPE_LITERAL__('"
    while marker in text:
        start = text.index(marker)
        position = start + len(marker)
        end = position
        while text[end : end + 1] != "'" or text[end + 1 : end + 2] == "'":
            end += 2 if text[end] == "'" else 1
        text = text[:start] + text[position:end].replace("''", "'") + text[end + 2 :]
    return text
