"""Literals of an expression tree: numbers, texts, intervals, and Python values as constants."""

from __future__ import annotations

import re
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from coordinator.analyzer.builders import constant
from coordinator.analyzer.context import Context
from coordinator.analyzer.literals import parse_decimal, parse_interval
from coordinator.analyzer.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INTEGER,
    UNKNOWN,
    VARBINARY,
    decimal,
    varchar,
)
from shared.errors import ErrorCode, ErrorLocation, ProcessionError
from shared.plan.expressions import RowExpression
from shared.plan.types import Type

_UNICODE = re.compile(r"\\(\\|\+[0-9A-Fa-f]{6}|[0-9A-Fa-f]{4})")


def literal(node: Any, context: Context) -> RowExpression:
    text = str(node.this)
    if node.args.get("is_string"):
        return constant(text, varchar(len(text)))
    return _number(node, text, context)


def _number(node: Any, text: str, context: Context) -> RowExpression:
    try:
        if "e" in text.lower():
            return constant(float(text), DOUBLE)
        if "." in text:
            value, precision, scale = parse_decimal(text)
            return constant(value, decimal(precision, scale))
        number = int(text.replace("_", ""))
    except ValueError as error:
        raise context.error(node, str(error)) from error
    if number >= 1 << 63:
        # Presto's parser locates it nowhere.
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, f"Invalid numeric literal: {text}", location=ErrorLocation(1, 1))
    return constant(number, INTEGER if number < 1 << 31 else BIGINT)


def hexadecimal(node: Any, context: Context) -> RowExpression:
    text = re.sub(r"[ \r\n\t]", "", str(node.this))
    if len(text) % 2:
        raise context.error(node, "Binary literal must contain an even number of digits")
    try:
        return constant(bytes.fromhex(text), VARBINARY)
    except ValueError as error:
        raise context.error(node, "Binary literal can only contain hexadecimal digits") from error


def unicode_text(node: Any, context: Context) -> RowExpression:
    context.only(node, "this")
    text = _UNICODE.sub(lambda m: "\\" if m[1] == "\\" else chr(int(m[1].lstrip("+"), 16)), str(node.this))
    return constant(text, varchar(len(text)))


def null(_node: Any, _context: Context) -> RowExpression:
    return constant(None, UNKNOWN)


def boolean_literal(node: Any, _context: Context) -> RowExpression:
    return constant(bool(node.this), BOOLEAN)


def interval(node: Any, context: Context) -> RowExpression:
    context.only(node, "this", "unit")
    value, sign = node.this, 1
    while type(value).__name__ in ("Neg", "Paren"):
        sign, value = (-sign if type(value).__name__ == "Neg" else sign), value.this
    unit = node.args.get("unit")
    if unit is None or type(value).__name__ != "Literal" or not value.args.get("is_string"):
        raise context.error(node, "Invalid INTERVAL literal")
    span = type(unit).__name__ == "IntervalSpan"
    start = str(unit.this if span else unit.name).lower()
    end = str(unit.expression).lower() if span else None
    try:
        kind, result = parse_interval(str(value.this), sign, start, end)
        made = constant(result, Type(kind))
    except ValueError as error:
        if not str(error).startswith("Cannot write") and " value: " not in str(error):
            raise context.error(node, str(error)) from error
        fields = start.upper() + (f" TO {end.upper()}" if end else "")
        message = f"Invalid INTERVAL {fields} value: {value.this}"
        raise ProcessionError(ErrorCode.INVALID_FUNCTION_ARGUMENT, message) from error
    return made


def literal_expression(value: Any) -> RowExpression:
    """A Python value as a constant of the type that its literal would have."""
    match value:
        case None:
            return constant(None, UNKNOWN)
        case bool():
            return constant(value, BOOLEAN)
        case int():
            return constant(value, INTEGER if -(1 << 31) <= value < 1 << 31 else BIGINT)
        case float():
            return constant(value, DOUBLE)
        case Decimal():
            number, precision, scale = parse_decimal(f"{value:f}")
            return constant(number, decimal(precision, scale))
        case bytes():
            return constant(value, VARBINARY)
        case datetime():
            return constant(value, Type("timestamp with time zone" if value.tzinfo else "timestamp"))
        case date():
            return constant(value, Type("date"))
        case str():
            return constant(value, varchar(len(value)))
        case _:
            raise ProcessionError(ErrorCode.NOT_SUPPORTED, f"A parameter of {type(value).__name__} is not supported")
