"""Presto type text, parsed: ``decimal(12,2)``, ``array(varchar(25))``, ``row(x bigint,"Y z" double)``.

On the wire and in plans a type is text; this module gives its structure where code must look inside.
Source: Presto ``TypeSignature``; TIMESTAMP and TIME WITH TIME ZONE are bases of their own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from .kept import kept

_ZONED = (("timestamp", "timestamp with time zone"), ("time", "time with time zone"))
_ALIASES = {"int": "integer", "string": "varchar", "double precision": "double", "dec": "decimal", "numeric": "decimal"}
_PHRASES = (
    "timestamp with time zone", "time with time zone", "interval year to month", "interval day to second",
    "double precision",
)  # fmt: skip
_LONGEST_PHRASE = max(map(len, _PHRASES))
_BASE = re.compile(r"[^(,)]*+")
_DIGITS = re.compile(r"[0-9]++")
_QUOTED = re.compile(r'"((?:[^"]|"")*+)"')
_WORD = re.compile(r"([^ (,)]*+) ")
_BLANKS = re.compile(r"\s*+")
UNBOUNDED_LENGTH = 2147483647


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a row type; ``name`` is None for an anonymous one."""

    name: str | None
    type: Type
    delimited: bool = False


@dataclass(frozen=True, slots=True)
class Type:
    """A base name with its parameters: numbers (length, precision, scale), types (element, key, value), row fields."""

    base: str
    parameters: tuple[int | Type | Field, ...] = ()
    arguments: tuple[Type, ...] = field(init=False, repr=False, compare=False)
    """The types among the parameters; for a row, those of its fields. Functions read it for each value."""
    numbers: tuple[int, ...] = field(init=False, repr=False, compare=False)
    """The numeric parameters."""
    fields: tuple[Field, ...] = field(init=False, repr=False, compare=False)
    """Of a row type."""
    length: int = field(init=False, repr=False, compare=False)
    """How many types it is made of."""
    depth: int = field(init=False, repr=False, compare=False)
    """How many of them stand in each other."""

    def __post_init__(self) -> None:
        parameters = self.parameters
        arguments = tuple(p.type if isinstance(p, Field) else p for p in parameters if not isinstance(p, int))
        hold = object.__setattr__
        hold(self, "arguments", arguments)
        hold(self, "numbers", tuple(p for p in parameters if isinstance(p, int)) if parameters else ())
        hold(self, "fields", tuple(p for p in parameters if isinstance(p, Field)) if arguments else ())
        hold(self, "length", 1 + sum(each.length for each in arguments) if arguments else 1)
        hold(self, "depth", 1 + max(each.depth for each in arguments) if arguments else 1)

    def __str__(self) -> str:
        if not self.parameters or (self.base == "varchar" and self.numbers == (UNBOUNDED_LENGTH,)):
            return self.base
        return f"{self.base}({','.join(_parameter_text(p) for p in self.parameters)})"


def _parameter_text(parameter: int | Type | Field) -> str:
    if not isinstance(parameter, Field):
        return str(parameter)
    if parameter.name is None:
        return str(parameter.type)
    escaped = parameter.name.replace('"', '""')
    name = f'"{escaped}"' if parameter.delimited else parameter.name
    return f"{name} {parameter.type}"


@kept(2048, longest=10_000)
def parse_type(text: str) -> Type:
    """The structure of Presto type text; raises ValueError naming the text.

    >>> parse_type('map(varchar(3),array(bigint))').arguments[1]
    Type(base='array', parameters=(Type(base='bigint', parameters=()),))
    """
    found, end = _read(text, _behind_blanks(text, 0))
    if _behind_blanks(text, end) != len(text):
        raise _unknown(text)
    return found


def _read(text: str, start: int) -> tuple[Type, int]:
    """The type at ``start``, and where it ends."""
    match = _BASE.match(text, start)
    if match is None:
        raise _unknown(text)
    base = " ".join(match[0].lower().split())
    base = _ALIASES.get(base, base)
    position = match.end()
    if not base:
        raise _unknown(text)
    if not text.startswith("(", position):
        return Type(base), position
    parameters: list[int | Type | Field] = []
    while True:
        parameter, position = _parameter(text, _behind_blanks(text, position + 1), base)
        parameters.append(parameter)
        position = _behind_blanks(text, position)
        if text.startswith(")", position):
            return _with_zone(base, tuple(parameters), text, position + 1)
        if not text.startswith(",", position):
            raise _unknown(text)


def _with_zone(base: str, parameters: tuple[int | Type | Field, ...], text: str, position: int) -> tuple[Type, int]:
    for plain, zoned in _ZONED:
        end = position + len(zoned) - len(plain)
        if base == plain and text[position:end].lower() == zoned[len(plain) :]:
            return Type(zoned, parameters), end
    return Type(base, parameters), position


def _parameter(text: str, start: int, base: str) -> tuple[int | Type | Field, int]:
    if number := _DIGITS.match(text, start):
        return int(number[0]), number.end()
    if base != "row":
        return _read(text, start)
    if quoted := _QUOTED.match(text, start):
        found, end = _read(text, _behind_blanks(text, quoted.end()))
        return Field(quoted[1].replace('""', '"'), found, delimited=True), end
    if text.startswith('"', start):
        raise _unknown(text)
    word = _WORD.match(text, start)
    if word is not None and not text[start : start + _LONGEST_PHRASE].lower().startswith(_PHRASES):
        found, end = _read(text, _behind_blanks(text, word.end()))
        return Field(word[1], found), end
    found, end = _read(text, start)
    return Field(None, found), end


def _behind_blanks(text: str, start: int) -> int:
    match = _BLANKS.match(text, start)
    return start if match is None else match.end()


def _unknown(text: str) -> ValueError:
    return ValueError(f"Unknown type: {text}")
