"""Literals of the syntax tree, and Python values, as constants."""

from __future__ import annotations

from typing import assert_never

from coordinator.analyzer.casts import can_cast
from coordinator.analyzer.context import Context
from coordinator.analyzer.literals import parse_decimal, parse_interval
from coordinator.analyzer.typed_literals import typed_literal
from coordinator.expressions.builders import constant
from coordinator.expressions.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INTEGER,
    UNKNOWN,
    VARBINARY,
    VARCHAR,
    decimal,
    read_type,
    type_text,
    varchar,
)
from coordinator.sql.tree.expressions import (
    BinaryLiteral,
    BooleanLiteral,
    DecimalLiteral,
    DoubleLiteral,
    GenericLiteral,
    IntervalLiteral,
    LongLiteral,
    NullLiteral,
    StringLiteral,
)
from shared.errors import ErrorCode, ErrorLocation, ProcessionError
from shared.plan.expressions import RowExpression
from shared.plan.types import Type

PLAIN_LITERALS = (NullLiteral, BooleanLiteral, LongLiteral, DecimalLiteral, DoubleLiteral, StringLiteral)
"""Literals whose constants have no place in a plan."""

Literal = (
    NullLiteral
    | BooleanLiteral
    | LongLiteral
    | DecimalLiteral
    | DoubleLiteral
    | StringLiteral
    | BinaryLiteral
    | GenericLiteral
    | IntervalLiteral
)


def analyze_literal(node: Literal, context: Context) -> RowExpression:
    """The constant; some typed literals are calls, whose values no constant holds."""
    match node:
        case StringLiteral(value=text):
            return constant(text, varchar(len(text)))
        case LongLiteral(value=number):
            return _integer(number)
        case DecimalLiteral():
            return _decimal(node, context)
        case DoubleLiteral(value=text):
            return constant(float(text), DOUBLE)
        case NullLiteral():
            return constant(None, UNKNOWN)
        case BooleanLiteral(value=truth):
            return constant(truth, BOOLEAN)
        case BinaryLiteral(value=data):
            return constant(data, VARBINARY)
        case GenericLiteral():
            return _typed(node, context)
        case IntervalLiteral():
            return _interval(node, context)
        case _:
            assert_never(node)


def _integer(number: int) -> RowExpression:
    if number >= 1 << 63:
        # Presto's parser locates it nowhere.
        message = f"Invalid numeric literal: {number}"
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=ErrorLocation(1, 1))
    return constant(number, INTEGER if number < 1 << 31 else BIGINT)


def _decimal(node: DecimalLiteral, context: Context) -> RowExpression:
    try:
        value, precision, scale = parse_decimal(node.value)
    except ValueError as error:
        raise context.error(node, str(error)) from error
    return constant(value, decimal(precision, scale))


def _typed(node: GenericLiteral, context: Context) -> RowExpression:
    name = " ".join(node.type.lower().split())
    try:
        type_ = read_type(name)
    except ValueError as error:
        raise context.error(node, f"Unknown type: {node.type}") from error
    if type_.base != "json" and not can_cast(VARCHAR, type_):
        message = f"CAST to {type_text(type_)} cannot be applied to varchar"
        raise ProcessionError(ErrorCode.OPERATOR_NOT_FOUND, message)
    try:
        return typed_literal(name, node.value, context)
    except ProcessionError as error:
        message = error.message
        if name in ("tinyint", "smallint", "integer"):
            message = f"Invalid formatted generic {name} literal: {name.upper()} '{node.value}'"
        raise context.error(node, message, ErrorCode.SYNTAX_ERROR) from error
    except ValueError as error:
        raise context.error(node, f"'{node.value}' is not a valid {name} literal") from error


def _interval(node: IntervalLiteral, context: Context) -> RowExpression:
    try:
        type_, result = parse_interval(node.value, node.sign, node.start, node.end)
        return constant(result, Type(type_))
    except ValueError as error:
        if not str(error).startswith("Cannot write") and " value: " not in str(error):
            raise context.error(node, str(error)) from error
        fields = node.start.upper() + (f" TO {node.end.upper()}" if node.end else "")
        message = f"Invalid INTERVAL {fields} value: {node.value}"
        raise ProcessionError(ErrorCode.INVALID_FUNCTION_ARGUMENT, message) from error
