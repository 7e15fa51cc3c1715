"""Casts between numbers, texts and moments: what Presto and the embedded engine read and show alike."""

from __future__ import annotations

from collections.abc import Callable

from coordinator.expressions.types import length_of
from coordinator.unparser.session_zone import session_zone
from coordinator.unparser.vectorised.form import (
    FLOATS,
    INTEGERS,
    Asked,
    Form,
    double,
    instant_of_utc,
    quoted,
    wall_of_utc,
)
from coordinator.unparser.vectorised.json_casts import of_json
from coordinator.values.type_names import type_name
from shared.plan.types import Type

_SAFE_DIGITS = {"tinyint": 2, "smallint": 4, "integer": 9, "bigint": 18}
_LARGEST = {"double": "1.7e308", "real": "3.4e38"}
_FLOAT = r"[+-]?[0-9]{1,25}(\.[0-9]{1,25})?([eE][+-]?[0-9]{1,2})?"
DAY = r"[12][0-9]{3}-[01][0-9]-[0-3][0-9]"
MOMENT = DAY + r"[ T]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,3})?"
_TRUE, _FALSE = ("'true'", "'t'", "'1'"), ("'false'", "'f'", "'0'")
_MOST_PRECISE = 38
_Cast = Callable[[str, Type, Type], Form | None]


def cast_form(asked: Asked) -> Form | None:
    """Of CAST and TRY_CAST: what cannot be cast is never plain."""
    (source,), target = asked.kinds, asked.result
    if source.base == "json":
        return of_json(asked.arguments[0], source, target)
    rule = _CASTS.get((_group(source.base), _group(target.base)))
    return None if rule is None or source == target else rule(asked.arguments[0], source, target)


def _group(base: str) -> str:
    return "integer" if base in INTEGERS else "float" if base in FLOATS else base


def _to(value: str, type_: Type) -> str:
    return f"CAST({value} AS {type_name(type_, 'duckdb')})"


def tried(value: str, type_: str) -> str:
    """TRY_CAST."""
    return f"TRY_CAST({value} AS {type_})"


def _exactly(value: str, _: Type, target: Type) -> Form:
    return Form(_to(value, target))


def matches(value: str, pattern: str) -> str:
    """Whether a text is of a pattern from end to end."""
    return f"regexp_full_match({value}, {quoted(pattern)})"


def _same_text(value: str, read: str, pattern: str) -> str:
    """Of the pattern; told sooner where the value shows as the text it was read from."""
    return f"({value} = CAST({read} AS VARCHAR) OR {matches(value, pattern)})"


def _integer_of_text(value: str, _: Type, target: Type) -> Form:
    read = tried(value, type_name(target, "duckdb"))
    return Form(read, (_same_text(value, read, rf"[+-]?[0-9]{{1,{_SAFE_DIGITS[target.base]}}}"),))


def _float_of_text(value: str, _: Type, target: Type) -> Form:
    read = tried(value, "DOUBLE")
    if target.base == "real":
        large = f"(abs({read}) <= {double(_LARGEST['real'])})"
        return Form(tried(read, "REAL"), (matches(value, _FLOAT), large))
    return Form(read, (matches(value, _FLOAT),))


def _decimal_of_text(value: str, _: Type, target: Type) -> Form | None:
    precision, scale = target.numbers
    if precision == scale:
        return None
    fraction = rf"(\.[0-9]{{1,{scale}}})?" if scale else ""
    pattern = rf"[+-]?[0-9]{{1,{precision - scale}}}{fraction}"
    return Form(tried(value, type_name(target, "duckdb")), (matches(value, pattern),))


def _boolean_of_text(value: str, _: Type, __: Type) -> Form:
    shown = f"lower({value})"
    return Form(f"({shown} IN ({', '.join(_TRUE)}))", (f"{shown} IN ({', '.join(_TRUE + _FALSE)})",))


def date_of_text(value: str) -> Form:
    """The date of a text such as 2024-02-29."""
    read = tried(value, "DATE")
    shown = f"({value} = CAST({read} AS VARCHAR) AND strlen({value}) = 10 AND {value} >= '1')"
    return Form(read, (shown,))


def _timestamp_of_text(value: str, *_: Type) -> Form:
    read = tried(value, "TIMESTAMP")
    return Form(read, (matches(value, f"{DAY}|{MOMENT}"), f"({read} IS NOT NULL)"))


def _integer_of_float(value: str, source: Type, target: Type) -> Form:
    bound = 1 << (INTEGERS[target.base] - 1)
    # The largest double or real below 2^63 is far from it; rounding up does not pass what is a whole number less.
    limit = (
        f"{bound - 1}" if bound < 1 << 24 or (source.base == "double" and bound < 1 << 53) else f"{bound * 0.999:.0f}"
    )
    read = tried(f"round({value})", type_name(target, "duckdb"))
    return Form(read, (f"({value} BETWEEN -{double(limit)} AND {double(limit)})",))


def _integer_of_decimal(value: str, source: Type, target: Type) -> Form | None:
    precision, scale = source.numbers
    read = tried(f"round({value})", type_name(target, "duckdb")) if scale else tried(value, type_name(target, "duckdb"))
    if precision - scale <= _SAFE_DIGITS[target.base]:
        return Form(read)
    bound = 10 ** _SAFE_DIGITS[target.base] - 1
    return Form(read, (f"({value} BETWEEN -{bound} AND {bound})",))


def _decimal_of_integer(value: str, source: Type, target: Type) -> Form | None:
    precision, scale = target.numbers
    bound = 10 ** (precision - scale) - 1
    if bound >= 1 << (INTEGERS[source.base] - 1):
        return None  # always fits: the engine's own
    return Form(tried(value, type_name(target, "duckdb")), (f"({value} BETWEEN -{bound} AND {bound})",))


def _decimal_of_float(value: str, source: Type, target: Type) -> Form | None:
    """By the digits that are shown, as Presto reads them; shown without an exponent."""
    precision, scale = target.numbers
    whole = min(precision - scale, 7)
    if whole < 1 or precision > _MOST_PRECISE:
        return None
    type_, scaled = type_name(target, "duckdb"), f"(abs({value}) * {double(f'1e{scale}')})"
    small = f"({value} = 0 OR abs({value}) >= {double('1e-3')})"
    large = f"(abs({value}) < {double(f'1e{whole}')} - 1)"
    digits = tried(f"CAST({value} AS VARCHAR)", type_)
    if source.base == "real":
        return Form(digits, (small, large, _few_digits(value)))
    # Far from the middle between two decimals the number alone tells which is nearer.
    exact = f"{scaled} < {double('1e11')} AND abs({scaled} - trunc({scaled}) - 0.5) > 0.001"
    read = f"CASE WHEN {exact} THEN {tried(value, type_)} ELSE {digits} END"
    return Form(read, (small, large))


def _float_of_float(value: str, _: Type, target: Type) -> Form:
    if target.base == "double":
        return Form(f"CAST({value} AS DOUBLE)")
    limit = double(_LARGEST["real"])
    return Form(tried(value, "REAL"), (f"({value} BETWEEN -{limit} AND {limit})",))


def _boolean_of_integer(value: str, _: Type, __: Type) -> Form:
    return Form(f"({value} <> 0)")


def _long_enough(source: Type, target: Type) -> bool:
    """Presto keeps all but a bigint whole, and fails for that."""
    return source.base != "bigint" or not target.numbers or length_of(target) >= len(str(-(1 << 63)))


def _text(value: str, source: Type, target: Type) -> Form | None:
    return Form(f"CAST({value} AS VARCHAR)") if _long_enough(source, target) else None


def _text_of_decimal(value: str, source: Type, _: Type) -> Form | None:
    precision, scale = source.numbers
    if scale < precision:
        return Form(f"CAST({value} AS VARCHAR)")
    # The engine leaves out the zero before the point of a number that has no room for it.
    wider = Type("decimal", (precision + 1, scale))
    return Form(f"CAST({_to(value, wider)} AS VARCHAR)") if precision < _MOST_PRECISE else None


def _text_of_float(value: str, source: Type, _: Type) -> Form:
    shown = f"(abs({value}) >= {double('1e-3')} AND abs({value}) < {double('1e7')})"
    plain = (f"({value} = 0 OR {shown})",)
    return Form(f"CAST({value} AS VARCHAR)", plain if source.base == "double" else (*plain, _few_digits(value)))


def _few_digits(value: str) -> str:
    """The engine shows some reals by more digits than tell them apart: 415164.625 where Presto says 415164.62."""
    return f"(strlen(CAST(abs({value}) AS VARCHAR)) <= 8)"


def _text_of_timestamp(value: str, *_: Type) -> Form:
    return Form(f"strftime({value}, '%Y-%m-%d %H:%M:%S.%g')")


def _text_of_zoned(value: str, *_: Type) -> Form:
    return Form(f"(strftime({wall_of_utc(value)}, '%Y-%m-%d %H:%M:%S.%g') || ' UTC')")


def _local(value: str, _: Type, target: Type) -> Form | None:
    """Columns are in UTC; a session elsewhere sees another day."""
    return Form(_to(wall_of_utc(value), target)) if session_zone() == "UTC" else None


def _zoned(value: str, *_: Type) -> Form | None:
    return Form(instant_of_utc(f"CAST({value} AS TIMESTAMP)")) if session_zone() == "UTC" else None


_ZONED = "timestamp with time zone"
_CASTS: dict[tuple[str, str], _Cast] = {
    ("varchar", "integer"): _integer_of_text, ("varchar", "float"): _float_of_text,
    ("varchar", "decimal"): _decimal_of_text, ("varchar", "boolean"): _boolean_of_text,
    ("varchar", "date"): lambda value, *_: date_of_text(value), ("varchar", "timestamp"): _timestamp_of_text,
    ("float", "integer"): _integer_of_float, ("decimal", "integer"): _integer_of_decimal,
    ("integer", "decimal"): _decimal_of_integer, ("float", "decimal"): _decimal_of_float,
    ("float", "float"): _float_of_float, ("boolean", "integer"): _exactly, ("boolean", "float"): _exactly,
    ("integer", "boolean"): _boolean_of_integer,
    ("integer", "varchar"): _text, ("boolean", "varchar"): _text, ("decimal", "varchar"): _text_of_decimal,
    ("date", "varchar"): _text, ("float", "varchar"): _text_of_float, ("timestamp", "varchar"): _text_of_timestamp,
    (_ZONED, "varchar"): _text_of_zoned,
    ("timestamp", "date"): _exactly, ("date", "timestamp"): _exactly,
    (_ZONED, "date"): _local, (_ZONED, "timestamp"): _local, ("date", _ZONED): _zoned, ("timestamp", _ZONED): _zoned,
}  # fmt: skip
