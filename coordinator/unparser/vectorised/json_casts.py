"""Casts of JSON in the embedded engine's words: scalars, and arrays of them."""

from __future__ import annotations

from coordinator.unparser.vectorised.form import INTEGERS, Form, quoted
from coordinator.values.type_names import type_name
from shared.plan.types import Type

_DIGITS = {"tinyint": 2, "smallint": 4, "integer": 9, "bigint": 18}
_TEXT = r'"[^"\\\x00-\x1f]*"'
_TRUTH = "true|false"
_DOUBLE = r"0|-?[1-9][0-9]{0,14}|-?[1-9][0-9]{0,9}\.[0-9]{1,9}|-?0\.[0-9]{0,9}[1-9]"
_BLANK = r"[ \t\n\r]*"


def _integers(digits: int) -> str:
    return f"0|-?[1-9][0-9]{{0,{digits - 1}}}"


def _pattern(target: Type) -> str | None:
    """What is cast without a program: texts to numbers are read by Presto's casts of texts."""
    match target.base:
        case "varchar" if not target.numbers:
            return f"{_TEXT}|{_integers(18)}|{_TRUTH}"
        case "boolean":
            return _TRUTH
        case "double":
            return _DOUBLE
        case base if base in INTEGERS:
            return _integers(_DIGITS[base])
        case _:
            return None


def of_json(value: str, _: Type, target: Type) -> Form | None:
    """The form of a cast; JSON's null is NULL."""
    if target.base == "array":
        return _array(value, target)
    pattern = _pattern(target)
    if pattern is None:
        return None
    plain = (f"regexp_full_match({value}, {quoted(f'null|{pattern}')})",)
    if target.base == "varchar":
        inner = f"CASE WHEN starts_with({value}, '\"') THEN substring({value}, 2, length({value}) - 2) ELSE {value} END"
        return Form(f"CASE WHEN {value} <> 'null' THEN {inner} END", plain)
    return Form(f"TRY_CAST({value} AS {type_name(target, 'duckdb')})", plain)


def _array(value: str, target: Type) -> Form | None:
    element = _pattern(target.arguments[0])
    if element is None:
        return None
    one = f"(?:{element}|null)"
    whole = rf"{_BLANK}\[{_BLANK}(?:{one}{_BLANK}(?:,{_BLANK}{one}{_BLANK})*)?\]{_BLANK}"
    plain = f"regexp_full_match({value}, {quoted(whole)})"
    read = f"TRY_CAST(TRY_CAST({value} AS JSON) AS {type_name(target, 'duckdb')})"
    return Form(f"CASE WHEN {plain} THEN {read} END", (plain,))
