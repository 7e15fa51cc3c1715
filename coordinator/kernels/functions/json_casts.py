# ruff: noqa: TRY004
# A value of another shape is bad input, not a wrong type in the code.
"""Between JSON and SQL values: ``CAST(… AS json)`` and ``CAST(json AS …)``."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Any

from ..errors import KernelError
from ..types import Type
from .arrow_forms import Convert
from .date_texts import shown_timestamp
from .failures import bad_cast
from .json_texts import text_json
from .numbers import java_double, java_float

_VARCHAR, _DOUBLE = Type("varchar"), Type("double")
_WIDE = Context(prec=90)
INTEGERS = {"tinyint": 8, "smallint": 16, "integer": 32, "bigint": 64}
"""Bits of the integer types."""
_OF_NUMBERS = frozenset([*INTEGERS, "boolean", "real", "double", "decimal"])
"""Types of which a JSON number, true and false are values."""


class Number(Decimal):
    """A JSON number with a point or exponent, kept as written."""

    text: str

    def __new__(cls, text: str) -> Number:
        try:
            made = super().__new__(cls, text)
        except InvalidOperation:  # an exponent that is none of Python's
            sign, small = "-" * text.startswith("-"), "-" in text.lower().partition("e")[2]
            made = super().__new__(cls, f"{sign}{'0' if small else 'Infinity'}")
        made.text = text
        return made


def parsed(text: str) -> object:
    """The value of a JSON text; raises ValueError."""

    def refuse(constant: str) -> object:
        raise ValueError(constant)

    return json.loads(text, parse_float=Number, parse_constant=refuse)


class Members(dict[str, object]):
    """An object with keys that stand in it several times: the first value of each, and ``pairs`` as they are read."""

    def __init__(self, pairs: list[tuple[str, object]]) -> None:
        super().__init__(reversed(pairs))
        self.pairs = pairs


def streamed(text: str) -> object:
    """The same as Presto reads it piece by piece: of two equal keys the first counts, and both are shown."""

    def refuse(constant: str) -> object:
        raise ValueError(constant)

    def members(pairs: list[tuple[str, object]]) -> dict[str, object]:
        made = dict(pairs)
        return made if len(made) == len(pairs) else Members(pairs)

    return json.loads(text, parse_float=Number, parse_constant=refuse, object_pairs_hook=members)


def written(value: object) -> str:
    """Without white space, numbers as Jackson writes them, objects in the order of their keys."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case Number():
            return number_text(value)
        case dict():
            members = value.pairs if isinstance(value, Members) else value.items()
            return "{" + ",".join(f"{written(str(k))}:{written(v)}" for k, v in members) + "}"
        case list() | tuple():
            return "[" + ",".join(map(written, value)) + "]"
        case _:
            return text_json(value) if isinstance(value, str) else json.dumps(value)


def encodable(text: str) -> str:
    """Half of a pair of surrogates is no character: Java writes a question mark."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def number_text(value: Number) -> str:
    """A number as Jackson shows a double."""
    if isinstance(value, _Exact):
        return value.text
    number = float(value)
    return java_double(number)


def ordered(value: object) -> object:
    """Objects with their keys in order, as JSON_PARSE leaves them."""
    match value:
        case dict():
            return {k: ordered(value[k]) for k in sorted(value)}
        case list():
            return [ordered(v) for v in value]
        case _:
            return value


def to_json(value: object, type_: Type) -> str:
    """The JSON text of a SQL value."""
    return written(_plain(value, type_))


def _plain(value: Any, type_: Type) -> object:
    if value is None:
        return None
    match type_.base:
        case "json":
            return parsed(value)
        case "double" | "real":
            text = java_double(value) if type_.base == "double" else java_float(value)
            return _Exact(text) if math.isfinite(value) else text
        case "decimal":
            return _Exact(f"{value:.{type_.numbers[1]}f}")
        case "array":
            return [_plain(v, type_.arguments[0]) for v in value]
        case "row":
            return [_plain(v, a) for v, a in zip(value, type_.arguments, strict=True)]
        case "map":
            key, item = type_.arguments
            pairs = {(_key(k, key)): _plain(v, item) for k, v in value.items()}
            return {k: pairs[k] for k in sorted(pairs)}
        case "timestamp" | "timestamp with time zone":
            return shown_timestamp(value)
        case "date" | "time":
            return str(value)
        case _:
            return value


class _Exact(Number):
    """A decimal, which keeps its digits."""


def _key(value: object, type_: Type) -> str:
    if type_.base in ("varchar", "char"):
        return str(value)
    return written(_plain(value, type_)).strip('"')


Caster = Callable[[Type, Type], Convert]


def from_json(text: str, target: Type, caster: Caster) -> object:
    """The SQL value of a JSON text; JSON null is NULL. Raises INVALID_CAST_ARGUMENT."""
    try:
        value = parsed(text)
        if target.base not in ("array", "map", "row", "json"):
            return _single(value, target, caster)
        return _sql(value, target, caster)
    except ValueError as error:
        shown = str(target) if target.arguments else target.base
        raise bad_cast(f"Cannot cast to {shown}. {error}\n{text}") from error
    except KernelError as error:
        if target.base not in ("array", "map", "row"):
            raise
        raise bad_cast(f"Cannot cast to {target}. {error.message}\n{written(parsed(text))}") from error


def _single(value: object, target: Type, caster: Caster) -> object:
    """A whole JSON text as a scalar."""
    shown = str(target).upper() if target.base == "decimal" else target.base
    if isinstance(value, list | dict):
        raise bad_cast(f"Cannot cast '{written(value)}' to {shown}")
    if isinstance(value, int) and not isinstance(value, bool) and target.base in (*INTEGERS, "boolean"):
        bound = 1 << INTEGERS.get(target.base, 64) - 1
        if not -bound <= value < bound:
            raise bad_cast(f"Cannot cast '{value}' to {shown}")
    if target.base == "decimal" and value is not None:
        try:
            return _sql(value, target, caster)
        except (KernelError, ValueError) as error:
            word = "input json" if not isinstance(value, str) else f"'{written(value)}'"
            raise bad_cast(f"Cannot cast {word} to {shown}") from error
    return _sql(value, target, caster)


def _sql(value: object, target: Type, caster: Caster) -> object:
    if target.base == "json":
        return "null" if value is None else written(value)
    if value is None:
        return None
    match target.base:
        case "array":
            if not isinstance(value, list):
                raise ValueError(f"Expected a json array, but got {_word(value)}")
            return tuple(_sql(v, target.arguments[0], caster) for v in value)
        case "map":
            if not isinstance(value, dict):
                raise ValueError(f"Expected a json object, but got {_word(value)}")
            key, item = target.arguments
            made = {caster(_VARCHAR, key)(encodable(k)): _sql(v, item, caster) for k, v in value.items()}
            if len(made) != len(value):
                raise ValueError("Duplicate keys are not allowed")
            return made
        case "row":
            return _row(value, target, caster)
        case "varchar":
            return _text(value)
        case _:
            return _scalar(value, target, caster)


def _row(value: object, target: Type, caster: Caster) -> object:
    if isinstance(value, dict):
        lower = {k.lower(): v for k, v in value.items()}
        return tuple(_sql(lower.get(n.lower()), a, caster) for n, a in ((f.name or "", f.type) for f in target.fields))
    if not isinstance(value, list):
        raise ValueError(f"Expected a json array or object, but got {_word(value)}")
    if len(value) != len(target.arguments):
        raise ValueError(f"Expected {len(target.arguments)} fields, but got {len(value)}")
    return tuple(_sql(v, a, caster) for v, a in zip(value, target.arguments, strict=True))


def _text(value: object) -> str:
    if isinstance(value, list | dict):
        raise ValueError(f"Unexpected token when cast to varchar: {_word(value)}")
    return encodable(value) if isinstance(value, str) else written(value)


def _scalar(value: Any, target: Type, caster: Caster) -> object:
    if isinstance(value, list | dict):
        raise ValueError(f"Unexpected token when cast to {target.base}: {_word(value)}")
    if isinstance(value, str):
        return caster(_VARCHAR, target)(encodable(value))
    if target.base not in _OF_NUMBERS:
        raise ValueError(f"Unexpected token when cast to {target.base}: {_word(value)}")
    if isinstance(value, bool):
        return caster(Type("boolean"), target)(value)
    if isinstance(value, int):
        return (
            caster(Type("decimal", (38, 0)), target)(Decimal(value))
            if abs(value) >> 63
            else caster(Type("bigint"), target)(value)
        )
    if target.base == "decimal":
        try:
            exact = Decimal(value).quantize(Decimal(1).scaleb(-target.numbers[1]), ROUND_HALF_UP, _WIDE)
        except InvalidOperation as error:
            raise bad_cast(f"Cannot cast input json to {str(target).upper()}") from error
        if exact and exact.adjusted() >= target.numbers[0] - target.numbers[1]:
            raise bad_cast(f"Cannot cast input json to {str(target).upper()}")
        return caster(Type("decimal", (80, target.numbers[1])), target)(exact)
    return caster(_DOUBLE, target)(float(value))


def _word(value: object) -> str:
    match value:
        case dict():
            return "{"
        case list():
            return "["
        case _:
            return written(value)
