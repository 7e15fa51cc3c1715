"""Operators: arithmetic with Presto's overflow and division, comparisons, subscripts, LIKE."""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

from ..types import Type
from .casts import INTEGERS, fits
from .compare import compare, equal, identical
from .date_texts import clock_instant, clock_of, clock_text
from .dates import add_months
from .failures import by_zero, invalid, out_of_range
from .like_patterns import like_pattern_of
from .numbers import single
from .shown import shown
from .table import Function, Signature, Table

_EXACT = Context(prec=120)
_WORDS = {"add": "addition", "subtract": "subtraction", "multiply": "multiplication", "divide": "division"}
_SYMBOLS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "modulus": "%"}
_MOMENTS = ("date", "time", "timestamp", "timestamp with time zone", "time with time zone")
_CLOCKS = ("time", "time with time zone")
_INTERVALS = ("interval day to second", "interval year to month")


def _arithmetic(name: str) -> Callable[..., object]:
    def apply(signature: Signature, a: Any, b: Any) -> object:
        base = signature.result.base
        if any(k.base in _MOMENTS for k in signature.arguments):
            return _with_interval(name, signature, a, b)
        if base in INTEGERS:
            return _integer(name, base, a, b)
        if base in ("double", "real"):
            value = _double(name, float(a), float(b))
            return single(value) if base == "real" else value
        if base == "decimal":
            return _decimal(name, signature.result.numbers, a, b)
        return _interval(name, a, b)

    return apply


def _integer(name: str, base: str, a: int, b: int) -> int:
    match name:
        case "add":
            value = a + b
        case "subtract":
            value = a - b
        case "multiply":
            value = a * b
        case _:
            if b == 0:
                raise by_zero()
            quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
            value = quotient if name == "divide" else a - quotient * b
    if not fits(value, base):
        raise out_of_range(f"{base} {_WORDS.get(name, name)} overflow: {a} {_SYMBOLS[name]} {b}")
    return value


def _double(name: str, a: float, b: float) -> float:
    match name:
        case "add":
            return a + b
        case "subtract":
            return a - b
        case "multiply":
            return a * b
        case "divide":
            if b:
                return a / b
            return math.nan if not a or a != a else math.copysign(math.inf, a) * math.copysign(1, b)
        case _:
            return math.nan if not b or math.isinf(a) else math.fmod(a, b)


def _decimal(name: str, numbers: tuple[int, ...], a: Decimal, b: Decimal) -> Decimal:
    precision, scale = numbers
    if name in ("add", "subtract") and any(abs(v.scaleb(scale, _EXACT)) >= 1 << 127 for v in (a, b)):
        raise out_of_range("Decimal overflow")
    match name:
        case "add":
            value = _EXACT.add(a, b)
        case "subtract":
            value = _EXACT.subtract(a, b)
        case "multiply":
            value = _EXACT.multiply(a, b)
        case _:
            if not b:
                raise by_zero("Division by zero")
            value = _EXACT.divide(a, b) if name == "divide" else _EXACT.remainder(a, b)
    value = value.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, _EXACT)
    if value and value.adjusted() + 1 > precision - scale:
        raise out_of_range("Decimal overflow")
    return value or abs(value)


def summed(type_: Type, a: Any, b: Any) -> object:
    """``a + b`` of one numeric type, with its overflow."""
    if type_.base == "decimal":
        return _decimal("add", (38, type_.numbers[1]), a, b)
    return _arithmetic("add")(Signature((type_, type_), type_, UTC), a, b)


HIGH_DIGITS = 20
AVERAGE = "$average"


def _average(signature: Signature, high: Decimal | None, low: Decimal | None, count: int) -> Decimal | None:
    """Of a sum in two parts, ``high * 10 ** HIGH_DIGITS + low``, in units of the result's last digit."""
    if not count or low is None:
        return None
    return averaged(int(high or 0) * 10**HIGH_DIGITS + int(low), count, signature.result.numbers[1])


def average_of(values: Sequence[Decimal], scale: int) -> Decimal:
    """The average of decimals of one scale."""
    return averaged(sum(int(value.scaleb(scale, _EXACT)) for value in values), len(values), scale)


def averaged(total: int, count: int, scale: int) -> Decimal:
    """The average of ``count`` decimals with ``total`` units of 10 ** -scale, rounded half away from zero."""
    units, rest = divmod(abs(total), count)
    units += 2 * rest >= count
    return Decimal(-units if total < 0 else units).scaleb(-scale, _EXACT)


def _interval(name: str, a: object, b: Any) -> object:
    if name == "divide":
        return int(a / b)
    if name == "multiply":
        return int(a * b)
    return a + b if name == "add" else a - b


def _with_interval(name: str, signature: Signature, a: Any, b: Any) -> Any:
    types = signature.arguments
    if types[0].base in _INTERVALS:
        a, b, types = b, a, types[::-1]
    if types[1].base not in _INTERVALS:
        return _difference(a, b)
    amount = b if name == "add" else -b
    if types[1].base == "interval year to month":
        return a if types[0].base in _CLOCKS else add_months(a, amount)
    if types[0].base == "date" and amount % 86_400_000:
        verb, word = ("add", "to") if name == "add" else ("subtract", "from")
        raise invalid(f"Cannot {verb} hour, minutes or seconds {word} a date")
    if isinstance(a, str):
        clock, zone = clock_of(a)
        return clock_text((datetime.combine(date(2000, 1, 1), clock) + timedelta(milliseconds=amount)).time(), zone)
    if isinstance(a, time):
        instant = datetime.combine(date(2000, 1, 1), a) + timedelta(milliseconds=amount)
        return instant.timetz()
    if isinstance(a, datetime) and a.tzinfo is not None:
        # Python adds to the clock, which skips and repeats hours.
        return (a.astimezone(UTC) + timedelta(milliseconds=amount)).astimezone(a.tzinfo)
    return a + timedelta(milliseconds=amount)


def _difference(a: object, b: Any) -> int:
    if isinstance(a, str):
        return clock_instant(a) - clock_instant(b)
    if isinstance(a, time):
        a, b = datetime.combine(date(2000, 1, 1), a), datetime.combine(date(2000, 1, 1), b)
    if isinstance(a, datetime) and a.tzinfo is not None:
        a, b = a.astimezone(UTC), b.astimezone(UTC)
    return int((a - b) // timedelta(milliseconds=1))


def _negation(signature: Signature, value: Any) -> object:
    if signature.result.base in INTEGERS and not fits(-value, signature.result.base):
        raise out_of_range(f"{signature.result.base} negation overflow: {value}")
    return (value.copy_negate() if value else value) if isinstance(value, Decimal) else -value


def _address(text: str) -> tuple[int, int]:
    """An address or prefix by its sixteen bytes and its length; IPv4 stands mapped in IPv6."""
    address, _, length = text.partition("/")
    found = ipaddress.ip_address(address)
    number = int(found) | (0xFFFF << 32 if found.version == 4 else 0)
    return number, int(length or 0)


_ORDERS: dict[str, Callable[[str], object]] = {
    "time with time zone": clock_instant, "ipaddress": _address, "ipprefix": _address,
}  # fmt: skip
"""What orders values that are text here."""


def _compared(test: Callable[[object, object], object], *, nulls: bool = False) -> Function:
    """A comparison, of values that are text here by what they stand for."""

    def apply(signature: Signature, a: Any, b: Any) -> object:
        order = _ORDERS.get(signature.arguments[0].base)
        return test(a, b) if order is None else test(*(None if v is None else order(v) for v in (a, b)))

    return Function(apply, nulls=nulls, typed=True)


def _between(signature: Signature, value: Any, low: Any, high: Any) -> object:
    order = _ORDERS.get(signature.arguments[0].base)
    if order is not None:
        value, low, high = (None if v is None else order(v) for v in (value, low, high))
    checks = [None if low is None or value is None else compare(low, value) <= 0]
    checks.append(None if high is None or value is None else compare(value, high) <= 0)
    return False if False in checks else (None if None in checks else True)


def _not_equal(a: object, b: object) -> bool | None:
    found = equal(a, b)
    return None if found is None else not found


def subscript(base: Any, index: Any) -> object:
    """``base[index]`` of an array or a map."""
    if isinstance(base, dict):
        if index not in base:
            raise invalid("Key not present in map" + ("" if isinstance(index, bytes) else f": {shown(index)}"))
        return base[index]
    if index == 0:
        raise invalid("SQL array indices start at 1")
    if index < 0:
        raise invalid("Array subscript is negative")
    if index > len(base):
        raise invalid("Array subscript out of bounds")
    return base[index - 1]


def _like(value: str, pattern: object) -> bool:
    text, escape = pattern if isinstance(pattern, tuple) else (pattern, None)
    return like_pattern_of(text, escape).matches(value)


def _typed(name: str) -> Function:
    return Function(_arithmetic(name), typed=True)


def _ordered(test: Callable[[int], bool]) -> Function:
    def apply(signature: Signature, a: Any, b: Any) -> bool:
        base = signature.arguments[0].base
        order = _ORDERS.get(base)
        if order is not None:
            a, b = order(a), order(b)
        return test(compare(a, b, rows=base == "row"))

    return Function(apply, typed=True)


OPERATORS: Table = {
    **{f"$operator${name}": _typed(name) for name in ("add", "subtract", "multiply", "divide", "modulus")},
    "$operator$negation": Function(_negation, typed=True),
    "$operator$equal": _compared(equal),
    "$operator$not_equal": _compared(_not_equal),
    "$operator$less_than": _ordered(lambda order: order < 0),
    "$operator$less_than_or_equal": _ordered(lambda order: order <= 0),
    "$operator$greater_than": _ordered(lambda order: order > 0),
    "$operator$greater_than_or_equal": _ordered(lambda order: order >= 0),
    "$operator$is_distinct_from": _compared(lambda a, b: not identical(a, b), nulls=True),
    "$operator$between": Function(_between, nulls=True, typed=True),
    "$operator$subscript": Function(subscript),
    AVERAGE: Function(_average, nulls=True, typed=True),
    "not": Function(lambda value: not value),
    "like": Function(_like),
    "like_pattern": Function(lambda pattern, escape: (pattern, escape)),
    "array_constructor": Function(lambda *values: tuple(values), nulls=True),
}
