"""Evaluates RowExpressions over constants in Python: what procedure arguments, LIMIT and table versions need."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

from coordinator.analyzer.builders import NAMESPACE, constant, typed, value_of
from coordinator.analyzer.casts import cast_value
from coordinator.analyzer.operators import negated_number
from shared.errors import ErrorCode, ProcessionError
from shared.plan.expressions import Call, Constant, Lambda, RowExpression, SpecialForm, StaticFunctionHandle, Variable
from shared.plan.types import Type

_EXACT = Context(prec=100)
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less_than": operator.lt,
    "less_than_or_equal": operator.le,
    "greater_than": operator.gt,
    "greater_than_or_equal": operator.ge,
}


class NotConstantError(Exception):
    """The expression needs a row, or a function that is not evaluated here."""


def evaluate(expression: RowExpression, zone: tzinfo) -> Any:
    """The Python value; raises NotConstantError, or ProcessionError as Presto does at run time."""
    match expression:
        case Constant():
            return value_of(expression)
        case SpecialForm():
            return _special(expression, zone)
        case Call():
            return _call(expression, zone)
        case Variable() | Lambda():
            raise NotConstantError(str(expression))


def _special(form: SpecialForm, zone: tzinfo) -> Any:
    arguments = form.arguments
    match form.form:
        case "ROW_CONSTRUCTOR":
            return tuple(evaluate(a, zone) for a in arguments)
        case "COALESCE":
            return next((v for v in (evaluate(a, zone) for a in arguments) if v is not None), None)
        case "IF":
            return evaluate(arguments[1] if evaluate(arguments[0], zone) else arguments[2], zone)
        case "IS_NULL":
            return evaluate(arguments[0], zone) is None
        case "AND" | "OR":
            values = [evaluate(a, zone) for a in arguments]
            decisive = form.form == "OR"
            return decisive if decisive in values else (None if None in values else not decisive)
        case "IN":
            return _in([evaluate(a, zone) for a in arguments])
        case "DEREFERENCE":
            base = evaluate(arguments[0], zone)
            return None if base is None else base[evaluate(arguments[1], zone)]
        case "SWITCH":
            for when in arguments[1:-1]:
                if isinstance(when, SpecialForm) and evaluate(when.arguments[0], zone):
                    return evaluate(when.arguments[1], zone)
            return evaluate(arguments[-1], zone)
        case _:
            raise NotConstantError(form.form)


def _in(values: list[Any]) -> bool | None:
    value, *items = values
    if value is None:
        return None
    if isinstance(value, tuple | dict):
        raise NotConstantError("IN over values with parts")
    return True if value in items else (None if None in items else False)


def _call(expression: Call, zone: tzinfo) -> Any:
    handle = expression.functionHandle
    if not isinstance(handle, StaticFunctionHandle):
        raise NotConstantError(expression.displayName)
    name = handle.signature.name.removeprefix(NAMESPACE)
    arguments = [evaluate(a, zone) for a in expression.arguments if not isinstance(a, Lambda)]
    if name == "array_constructor":
        return tuple(arguments)
    if name == "map":
        return _map(arguments)
    if name not in ("$operator$cast", "not", "concat") and not name.startswith("$operator$"):
        raise NotConstantError(name)
    if name == "$operator$is_distinct_from" and None in arguments:
        return arguments[0] is not arguments[1]
    if None in arguments:
        return None
    kinds = [typed(a) for a in expression.arguments]
    result = typed(expression)
    if name == "$operator$cast":
        return cast_value(arguments[0], kinds[0], result, zone)
    if name == "not":
        return not arguments[0]
    if name == "concat":
        return arguments[0] + arguments[1] if len(arguments) == 2 else "".join(arguments)
    if name.startswith("$operator$"):
        return _operator(name.removeprefix("$operator$"), arguments, kinds, result)
    raise NotConstantError(name)


def _map(arguments: Sequence[Any]) -> Any:
    if not arguments:
        return {}
    keys, values = arguments
    if keys is None or values is None:
        return None
    if len(keys) != len(values):
        raise ProcessionError(ErrorCode.INVALID_FUNCTION_ARGUMENT, "Key and value arrays must be the same length")
    if None in keys:
        raise ProcessionError(ErrorCode.INVALID_FUNCTION_ARGUMENT, "map key cannot be null")
    if len(set(keys)) != len(keys):
        twice = next(k for k in keys if keys.count(k) > 1)
        raise ProcessionError(ErrorCode.INVALID_FUNCTION_ARGUMENT, f"Duplicate map keys ({twice}) are not allowed")
    return dict(zip(keys, values, strict=True))


def _operator(name: str, arguments: list[Any], kinds: list[Type], result: Type) -> Any:
    if (name in _COMPARE or name == "between") and isinstance(arguments[0], tuple | dict):
        # NULLs inside leave the answer open; the engines' evaluator knows the rules.
        raise NotConstantError(name)
    if name in _COMPARE or name == "between":
        arguments = [instant(a) for a in arguments]
    if name in _COMPARE:
        return _COMPARE[name](*arguments)
    if name == "negation":
        return negated_number(arguments[0])
    if name == "between":
        return arguments[1] <= arguments[0] <= arguments[2]
    if name == "subscript":
        return _subscript(arguments, kinds[0])
    if name not in ("add", "subtract", "multiply", "divide", "modulus"):
        raise NotConstantError(name)
    value = _arithmetic(name, arguments, kinds, result)
    try:
        constant(value, result)
    except (ValueError, OverflowError) as error:
        sign = {"add": "addition", "subtract": "subtraction", "multiply": "multiplication"}.get(name, name)
        shown = f"{result.base} {sign} overflow: {arguments[0]} {_SYMBOL[name]} {arguments[1]}"
        raise ProcessionError(ErrorCode.NUMERIC_VALUE_OUT_OF_RANGE, shown) from error
    return value


_SYMBOL = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "modulus": "%"}


def _subscript(arguments: list[Any], kind: Type) -> Any:
    base, index = arguments
    if kind.base == "map":
        if index not in base:
            raise ProcessionError(ErrorCode.INVALID_FUNCTION_ARGUMENT, f"Key not present in map: {index}")
        return base[index]
    if index == 0:
        raise ProcessionError(ErrorCode.INVALID_FUNCTION_ARGUMENT, "SQL array indices start at 1")
    if index < 0:
        raise ProcessionError(ErrorCode.INVALID_FUNCTION_ARGUMENT, "Array subscript is negative")
    if index > len(base):
        raise ProcessionError(ErrorCode.INVALID_FUNCTION_ARGUMENT, "Array subscript out of bounds")
    return base[index - 1]


def _arithmetic(name: str, arguments: list[Any], kinds: list[Type], result: Type) -> Any:
    a, b = arguments
    if isinstance(a, date) or isinstance(b, date):
        return _moment(name, a, b, kinds)
    if isinstance(a, Decimal) and name in ("add", "subtract"):
        return _EXACT.add(a, b) if name == "add" else _EXACT.subtract(a, b)
    if name == "add":
        return a + b
    if name == "subtract":
        return a - b
    if name == "multiply":
        return _EXACT.multiply(a, b) if isinstance(a, Decimal) else a * b
    return _divide(name, a, b, result)


def _divide(name: str, a: Any, b: Any, result: Type) -> Any:
    if isinstance(a, timedelta):
        return a / b
    if not b:
        if isinstance(b, float):
            return float("nan") if not a or a != a or name == "modulus" else float("inf") * (1 if a > 0 else -1)
        raise ProcessionError(ErrorCode.DIVISION_BY_ZERO, "/ by zero" if isinstance(b, int) else "Division by zero")
    if isinstance(a, Decimal):
        if name == "modulus":
            return _EXACT.remainder(a, b)
        quotient = _EXACT.divide(a, b)
        return quotient.quantize(Decimal(1).scaleb(-result.numbers[1]), ROUND_HALF_UP, _EXACT)
    if isinstance(a, float):
        return a / b if name == "divide" else math.fmod(a, b)
    quotient_int = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return quotient_int if name == "divide" else a - quotient_int * b


def _moment(name: str, a: Any, b: Any, kinds: list[Type]) -> Any:
    if isinstance(a, date) and isinstance(b, date):
        return (
            datetime.combine(a, datetime.min.time()) - datetime.combine(b, datetime.min.time())
            if type(a) is date
            else instant(a) - instant(b)
        )
    if not isinstance(a, date):
        a, b, kinds = b, a, kinds[::-1]
    if kinds[1].base == "interval year to month":
        return add_months(a, b if name == "add" else -b)
    delta = b if name == "add" else -b
    if not isinstance(a, datetime) or a.tzinfo is None:
        return a + delta
    # Python adds to the clock, which skips and repeats hours.
    return (instant(a) + delta).astimezone(a.tzinfo)


def instant(value: Any) -> Any:
    """A moment with a zone in UTC: Python compares and subtracts the clocks of one zone."""
    return value.astimezone(UTC) if isinstance(value, datetime) and value.tzinfo is not None else value


def add_months(value: date, months: int) -> date:
    """``value`` moved by months, to the last day of a month that is too short."""
    total = value.year * 12 + value.month - 1 + months
    year, month = divmod(total, 12)
    following = date(year + (month == 11), (month + 1) % 12 + 1, 1)
    last = (following - timedelta(days=1)).day
    return value.replace(year=year, month=month + 1, day=min(value.day, last))
