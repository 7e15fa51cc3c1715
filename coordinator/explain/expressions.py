"""RowExpressions, types and constants as Presto's EXPLAIN prints them: ``(a) > (BIGINT'1')``."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, assert_never

from coordinator.kernels.functions.numbers import java_double
from shared.plan.blocks import decode_constant
from shared.plan.expressions import Call, Constant, Lambda, RowExpression, SpecialForm, SqlFunctionHandle, Variable
from shared.plan.types import Field, Type, parse_type

_INFIX = {
    "equal": "=",
    "not_equal": "<>",
    "less_than": "<",
    "less_than_or_equal": "<=",
    "greater_than": ">",
    "greater_than_or_equal": ">=",
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "modulus": "%",
}


def expression_text(expression: RowExpression) -> str:
    """One expression on one line."""
    match expression:
        case Variable():
            return expression.name
        case Constant():
            return constant_text(expression)
        case Call():
            return _call_text(expression)
        case SpecialForm(form="AND" | "OR"):
            return f" {expression.form} ".join(f"({expression_text(a)})" for a in expression.arguments)
        case SpecialForm():
            return f"{expression.form}({', '.join(map(expression_text, expression.arguments))})"
        case Lambda():
            return f"({', '.join(expression.arguments)}) -> {expression_text(expression.body)}"
        case _:
            assert_never(expression)


def _call_text(call: Call) -> str:
    operator, arguments = operator_name(call), [expression_text(a) for a in call.arguments]
    if operator in _INFIX and len(arguments) == 2:
        return f"({arguments[0]}) {_INFIX[operator]} ({arguments[1]})"
    match operator, arguments:
        case "between", (value, low, high):
            return f"{value} BETWEEN ({low}) AND ({high})"
        case "negation", (value,):
            return f"-({value})"
        case "subscript", (container, index):
            return f"{container}[{index}]"
        case "cast", (value,):
            return f"CAST({value} AS {type_text(call.returnType)})"
        case _:
            return f"{call.displayName}({', '.join(arguments)})"


def operator_name(call: Call) -> str:
    """``less_than`` for an operator of that name, an empty string for a function."""
    signature = getattr(call.functionHandle, "signature", None)
    name = "" if signature is None else signature.name
    return name.rpartition("$operator$")[2] if "$operator$" in name else ""


def function_text(call: Call) -> str:
    """An aggregate call: the qualified name in quotes, arguments in parentheses, ``*`` for none."""
    handle = call.functionHandle
    if isinstance(handle, SqlFunctionHandle):
        name = handle.functionId.partition(";")[0]
    else:
        signature = getattr(handle, "signature", None)
        name = call.displayName if signature is None else signature.name
    arguments = ", ".join(f"({expression_text(a)})" for a in call.arguments)
    return f'"{name}"({arguments or "*"})'


def constant_text(constant: Constant) -> str:
    """``BIGINT'1'``, ``VARCHAR'a'``, ``null``."""
    value = decode_constant(constant.valueBlock, constant.type)
    return "null" if value is None else typed_text(value, parse_type(constant.type))


def typed_text(value: Any, type_: Type) -> str:
    """A value with its type's name before it."""
    match type_.base:
        case "array":
            return f"ARRAY[{', '.join(_inner(v, type_.arguments[0]) for v in value)}]"
        case "map":
            key, item = type_.arguments
            keys = ", ".join(_inner(v, key) for v in value)
            return f"MAP(ARRAY[{keys}], ARRAY[{', '.join(_inner(v, item) for v in value.values())}])"
        case "row":
            return f"ROW({', '.join(_inner(v, t) for v, t in zip(value, type_.arguments, strict=True))})"
        case "interval year to month":
            years, months = divmod(abs(value), 12)
            return f"{type_.base.upper()}'{'-' if value < 0 else ''}{years}-{months}'"
        case base:
            return f"{base.upper()}'{plain_text(value)}'"


def _inner(value: object, type_: Type) -> str:
    return "null" if value is None else typed_text(value, type_)


def plain_text(value: object) -> str:
    """A scalar as Presto casts it to varchar."""
    match value:
        case bool():
            return str(value).lower()
        case bytes():
            return value.hex()
        case datetime():
            zone = "" if value.tzinfo is None else f" {value.tzinfo}"
            return value.replace(tzinfo=None).isoformat(" ", timespec="milliseconds") + zone
        case time():
            return value.isoformat(timespec="milliseconds")
        case date():
            return value.isoformat()
        case timedelta():
            return _interval_text(value)
        case Decimal():
            return f"{value:f}"
        case float():
            return java_double(value)
        case _:
            return str(value)


def _interval_text(value: timedelta) -> str:
    milliseconds = value // timedelta(milliseconds=1)
    seconds, thousandths = divmod(abs(milliseconds), 1000)
    minutes, hours = seconds // 60, seconds // 3600
    clock = f"{hours % 24:02}:{minutes % 60:02}:{seconds % 60:02}.{thousandths:03}"
    return f"{'-' if milliseconds < 0 else ''}{hours // 24} {clock}"


def type_text(text: str) -> str:
    """A type with blanks after commas and quoted row fields, as Presto displays it."""
    return _display(parse_type(text))


def _display(type_: Type) -> str:
    if type_.base == "row":
        return f"row({', '.join(_field(p) for p in type_.parameters if isinstance(p, Field))})"
    if type_.arguments:
        return f"{type_.base}({', '.join(map(_display, type_.arguments))})"
    return str(type_)


def _field(field: Field) -> str:
    if field.name is None:
        return _display(field.type)
    escaped = field.name.replace('"', '""')
    return f'"{escaped}" {_display(field.type)}'
