"""Types of arithmetic, comparison, LIKE, subscript and logic; operands are coerced with explicit casts.

Decimal rules: addition ``p = min(38, max(p1-s1, p2-s2) + max(s1, s2) + 1)``, multiplication ``p1+p2, s1+s2``, division
``p1 + s2 + max(0, s2-s1), max(s1, s2)``, modulus ``min(p1-s1, p2-s2) + max(s1, s2)`` (Presto DecimalOperators).
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from coordinator.analyzer.context import Context
from coordinator.expressions.builders import coerce, constant, function_call, operator, special, typed, value_of
from coordinator.expressions.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DAY_SECOND,
    DOUBLE,
    NUMERIC,
    TIME,
    TIME_TZ,
    TIMESTAMP,
    TIMESTAMP_TZ,
    VARCHAR,
    YEAR_MONTH,
    as_decimal,
    can_coerce,
    common_super_type,
    decimal,
    is_comparable,
    is_orderable,
    map_of,
    type_text,
)
from coordinator.sql.tree.expressions import LikePredicate, SubscriptExpression
from coordinator.sql.tree.node import Node
from shared.errors import ErrorCode, ProcessionError
from shared.plan.expressions import Constant, RowExpression
from shared.plan.types import Type

_INTERVALS = (DAY_SECOND, YEAR_MONTH)
_MOMENTS = (DATE, TIME, TIME_TZ, TIMESTAMP, TIMESTAMP_TZ)


def arithmetic(node: Node, symbol: str, left: RowExpression, right: RowExpression, context: Context) -> RowExpression:
    """``left symbol right`` for + - * / %."""
    a, b = typed(left), typed(right)
    found = _numeric(symbol, a, b) or _temporal(symbol, a, b)
    if found is None:
        raise _refused(node, symbol, a, b, context)
    to_left, to_right, result = found
    if result.base == "decimal" and result.numbers[1] > 38:
        message = "DECIMAL scale must be in range [0, precision]"
        raise ProcessionError(ErrorCode.INVALID_FUNCTION_ARGUMENT, message)
    zone = context.zone
    return operator(symbol, (coerce(left, to_left, zone), coerce(right, to_right, zone)), result)


def _refused(node: Node, symbol: str, a: Type, b: Type, context: Context) -> Exception:
    return context.error(node, f"'{symbol}' cannot be applied to {type_text(a)}, {type_text(b)}")


def _numeric(symbol: str, a: Type, b: Type) -> tuple[Type, Type, Type] | None:
    if a.base == "unknown":
        a = _of_null(b) if b.base != "unknown" else BIGINT
    if b.base == "unknown":
        b = _of_null(a)
    if a.base not in NUMERIC or b.base not in NUMERIC:
        return None
    common = common_super_type(a, b)
    if common is None:
        return None
    if common.base != "decimal":
        return common, common, common
    left, right = as_decimal(a), as_decimal(b)
    assert left is not None and right is not None
    return left, right, decimal_result(symbol, left, right)


def _of_null(other: Type) -> Type:
    """The type that a NULL literal has beside ``other``."""
    return decimal(1, 0) if other.base == "decimal" else other


def decimal_result(symbol: str, a: Type, b: Type) -> Type:
    """The type of an operation on two decimals."""
    (p1, s1), (p2, s2) = a.numbers, b.numbers
    scale = max(s1, s2)
    match symbol:
        case "+" | "-":
            precision = max(p1 - s1, p2 - s2) + scale + 1
        case "*":
            precision, scale = p1 + p2, s1 + s2
        case "/":
            precision = p1 + s2 + max(s2 - s1, 0)
        case _:
            precision = min(p1 - s1, p2 - s2) + scale
    return decimal(max(1, min(38, precision)), scale)


def _beside_null(symbol: str, a: Type, b: Type) -> tuple[Type, Type]:
    """The types with that of a NULL literal, where only one makes an operation of points in time and intervals."""
    if a.base == "unknown":
        if symbol == "-" and b in _MOMENTS:
            return b, b
        if symbol == "*" and b in _INTERVALS:
            return BIGINT, b
    if b.base == "unknown":
        if (symbol == "+" and a in _MOMENTS) or (symbol == "-" and a == DATE):
            return a, DAY_SECOND
        if symbol == "-" and a in _INTERVALS:
            return a, a
        if symbol in "*/" and a in _INTERVALS:
            return a, BIGINT
    return a, b


def _temporal(symbol: str, a: Type, b: Type) -> tuple[Type, Type, Type] | None:
    a, b = _beside_null(symbol, a, b)
    if symbol in "+-" and a in _MOMENTS and b in _INTERVALS:
        return a, b, a
    if symbol == "+" and b in _MOMENTS and a in _INTERVALS:
        return a, b, b
    if symbol in "+-" and a in _INTERVALS and a == b:
        return a, b, a
    if symbol == "-" and a in _MOMENTS and b in _MOMENTS:
        common = common_super_type(a, b)
        return None if common is None else (common, common, DAY_SECOND)
    if a in _INTERVALS and symbol in "*/" and b.base in NUMERIC:
        factor = BIGINT if can_coerce(b, BIGINT) and b.base != "decimal" else DOUBLE
        return (a, factor, a) if can_coerce(b, factor) else None
    if b in _INTERVALS and symbol == "*" and a.base in NUMERIC:
        factor = BIGINT if can_coerce(a, BIGINT) and a.base != "decimal" else DOUBLE
        return (factor, b, b) if can_coerce(a, factor) else None
    return None


def comparison(node: Node, symbol: str, left: RowExpression, right: RowExpression, context: Context) -> RowExpression:
    """``left symbol right`` for = <> < <= > >= and IS DISTINCT FROM."""
    a, b = typed(left), typed(right)
    common = common_super_type(a, b)
    ordered = symbol in ("<", "<=", ">", ">=")
    if common is None or not is_comparable(common) or (ordered and not is_orderable(common)):
        raise _refused(node, symbol, a, b, context)
    zone = context.zone
    return operator(symbol, (coerce(left, common, zone), coerce(right, common, zone)), BOOLEAN)


def negate(node: Node, value: RowExpression, context: Context) -> RowExpression:
    """``- value``; a number is negated at once."""
    type_ = typed(value)
    if type_.base not in NUMERIC and type_ not in _INTERVALS:
        raise context.error(node, f"'-' cannot be applied to {type_text(type_)}")
    if isinstance(value, Constant):
        number = value_of(value)
        # Decimal('-0.00') is 0 in Presto; -0.0 stays a double's own value.
        negated = None if number is None else negated_number(number)
        try:
            return constant(negated, type_)
        except ValueError as error:
            message = f"{type_.base} negation overflow: {number}"
            raise context.error(node, message, ErrorCode.NUMERIC_VALUE_OUT_OF_RANGE) from error
    return function_call("$operator$negation", (value,), type_, display="NEGATION")


def negated_number(number: Any) -> object:
    """``-number`` with all its digits; a decimal zero has no sign."""
    if isinstance(number, Decimal):
        return number.copy_negate() if number else number
    return -number


def boolean(node: Node, value: RowExpression, context: Context, what: str) -> RowExpression:
    """``value`` as a condition; NULL becomes a NULL boolean."""
    type_ = typed(value)
    if type_.base not in ("boolean", "unknown"):
        raise context.error(node, f"{what} must evaluate to a boolean: actual type {type_text(type_)}")
    return coerce(value, BOOLEAN)


def between(
    node: Node, value: RowExpression, low: RowExpression, high: RowExpression, context: Context
) -> RowExpression:
    """``value BETWEEN low AND high``."""
    types = [typed(e) for e in (value, low, high)]
    common = common_super_type(types[0], types[1])
    common = None if common is None else common_super_type(common, types[2])
    if common is None or not is_orderable(common):
        shown = [type_text(k) for k in types]
        raise context.error(node, f"Cannot check if {shown[0]} is BETWEEN {shown[1]} and {shown[2]}")
    operands = tuple(coerce(e, common, context.zone) for e in (value, low, high))
    return function_call("$operator$between", operands, BOOLEAN, display="BETWEEN")


def in_list(values: Sequence[RowExpression], common: Type, context: Context) -> RowExpression:
    """``value IN (items)``, the value first; ``common`` is the type of all."""
    operands = [coerce(value, common, context.zone) for value in values]
    if len(operands) == 2:
        return operator("=", operands, BOOLEAN)
    return special("IN", BOOLEAN, *operands)


def like(
    node: LikePredicate, value: RowExpression, pattern: RowExpression, escape: RowExpression | None, context: Context
) -> RowExpression:
    """``value LIKE pattern [ESCAPE escape]``."""
    _text_of_like(node.value, value, "Left side of", context)
    _text_of_like(node.pattern, pattern, "Pattern for", context)
    if node.escape is not None and escape is not None:
        _text_of_like(node.escape, escape, "Escape for", context)
    result = Type("likepattern")
    text = pattern if typed(pattern).base == "varchar" else coerce(pattern, VARCHAR)
    compiled = (
        function_call("$operator$cast", (text,), result, display="CAST")
        if escape is None
        else function_call(
            "like_pattern", (coerce(text, VARCHAR), coerce(escape, VARCHAR)), result, display="LIKE_PATTERN"
        )
    )
    return function_call(
        "like", (coerce(value, VARCHAR) if typed(value).base == "unknown" else value, compiled), BOOLEAN, display="LIKE"
    )


def _text_of_like(node: Node, value: RowExpression, what: str, context: Context) -> None:
    type_ = typed(value)
    if type_.base not in ("varchar", "char", "unknown"):
        raise context.error(node, f"{what} LIKE expression must evaluate to a varchar (actual: {type_text(type_)})")


def subscript(node: SubscriptExpression, base: RowExpression, index: RowExpression, context: Context) -> RowExpression:
    """``base[index]`` of an array (from 1), a map or a row."""
    type_ = typed(base)
    if type_.base == "array":
        if typed(index).base not in ("tinyint", "smallint", "integer", "bigint", "unknown"):
            raise _subscript_error(node.base, type_, typed(index), context)
        at = coerce(index, BIGINT, context.zone)
        return function_call("$operator$subscript", (base, at), type_.arguments[0], display="SUBSCRIPT")
    if type_.base == "map":
        key, value = type_.arguments
        common = common_super_type(key, typed(index))
        if common is None:
            raise _subscript_error(node.base, type_, typed(index), context)
        base = coerce(base, map_of(common, value), context.zone)
        at = coerce(index, common, context.zone)
        return function_call("$operator$subscript", (base, at), value, display="SUBSCRIPT")
    raise _subscript_error(node.base, type_, typed(index), context)


def row_subscript(base: RowExpression, index: RowExpression | None, node: Node, context: Context) -> RowExpression:
    """Field ``index`` (from 1) of a row; None for what is no literal. ``node`` is the index."""
    if not isinstance(index, Constant) or not isinstance(value_of(index), int):
        raise context.error(node, "Subscript expression on ROW requires a constant index")
    if typed(index).base != "integer":
        raise context.error(node, f"Subscript expression on ROW requires integer index, found {index.type}")
    position, size = value_of(index), len(typed(base).fields)
    if position <= 0:
        raise context.error(node, f"Invalid subscript index: {position}. ROW indices start at 1")
    if position > size:
        raise context.error(node, f"Subscript index out of bounds: {position}, max value is {size}")
    return dereference(base, position - 1, node, context)


def _subscript_error(node: Node, base: Type, index: Type, context: Context) -> Exception:
    return context.error(node, f"'[]' cannot be applied to {type_text(base)}, {type_text(index)}")


def dereference(base: RowExpression, position: int, node: Node, context: Context) -> RowExpression:
    """Field ``position`` (from 0) of a row."""
    fields = typed(base).fields
    if not 0 <= position < len(fields):
        raise context.error(node, f"Invalid subscript index: {position + 1}. Index must be 1 to {len(fields)}")
    return special("DEREFERENCE", fields[position].type, base, constant(position, Type("integer")))
