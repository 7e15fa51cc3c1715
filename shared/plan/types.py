"""Presto type text, parsed: ``decimal(12,2)``, ``array(varchar(25))``, ``row(x bigint,"Y z" double)``.

On the wire and in plans a type is text; this module gives its structure where code must look inside.
Source: Presto ``TypeSignature``; TIMESTAMP and TIME WITH TIME ZONE are bases of their own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

_ZONED = (("timestamp", "timestamp with time zone"), ("time", "time with time zone"))
_ALIASES = {"int": "integer", "string": "varchar", "double precision": "double", "dec": "decimal", "numeric": "decimal"}
_PHRASES = (
    "timestamp with time zone", "time with time zone", "interval year to month", "interval day to second",
    "double precision",
)  # fmt: skip
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

    def __post_init__(self) -> None:
        types = (p.type if isinstance(p, Field) else p for p in self.parameters if not isinstance(p, int))
        object.__setattr__(self, "arguments", tuple(types) if self.parameters else ())
        numbers = tuple(p for p in self.parameters if isinstance(p, int)) if self.parameters else ()
        object.__setattr__(self, "numbers", numbers)

    @property
    def fields(self) -> tuple[Field, ...]:
        """The fields of a row type."""
        return tuple(p for p in self.parameters if isinstance(p, Field))

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


@lru_cache(maxsize=4096)
def parse_type(text: str) -> Type:
    """The structure of Presto type text; raises ValueError naming the text.

    >>> parse_type('map(varchar(3),array(bigint))').arguments[1]
    Type(base='array', parameters=(Type(base='bigint', parameters=()),))
    """
    parsed, rest = _parse(text.strip())
    if rest:
        raise ValueError(f"Unknown type: {text}")
    return parsed


def _parse(text: str) -> tuple[Type, str]:
    end = next((i for i, c in enumerate(text) if c in "(,)"), len(text))
    base, rest = " ".join(text[:end].lower().split()), text[end:]
    base = _ALIASES.get(base, base)
    if not base:
        raise ValueError(f"Unknown type: {text}")
    if not rest.startswith("("):
        return Type(base), rest
    parameters: list[int | Type | Field] = []
    rest = rest[1:]
    while True:
        parameter, rest = _parse_parameter(rest.lstrip(), base)
        parameters.append(parameter)
        rest = rest.lstrip()
        if rest[:1] == ",":
            rest = rest[1:]
        elif rest[:1] == ")":
            return _with_zone(base, tuple(parameters), rest[1:])
        else:
            raise ValueError(f"Unknown type: {text}")


def _with_zone(base: str, parameters: tuple[int | Type | Field, ...], rest: str) -> tuple[Type, str]:
    for plain, zoned in _ZONED:
        suffix = zoned.removeprefix(plain)
        if base == plain and rest.lower().startswith(suffix):
            return Type(zoned, parameters), rest[len(suffix) :]
    return Type(base, parameters), rest


def _parse_parameter(text: str, base: str) -> tuple[int | Type | Field, str]:
    digits = len(text) - len(text.lstrip("0123456789"))
    if digits:
        return int(text[:digits]), text[digits:]
    if base != "row":
        return _parse(text)
    if text.startswith('"'):
        name, rest = _quoted(text)
        parsed, rest = _parse(rest.lstrip())
        return Field(name, parsed, delimited=True), rest
    word = next((i for i, c in enumerate(text) if c in " (,)"), len(text))
    if word < len(text) and text[word] == " " and not _is_type_phrase(text):
        parsed, rest = _parse(text[word:].lstrip())
        return Field(text[:word], parsed), rest
    parsed, rest = _parse(text)
    return Field(None, parsed), rest


def _is_type_phrase(text: str) -> bool:
    lowered = text.lower()
    return lowered.startswith(_PHRASES)


def _quoted(text: str) -> tuple[str, str]:
    position, name = 1, ""
    while True:
        end = text.find('"', position)
        if end < 0:
            raise ValueError(f"Unknown type: {text}")
        name += text[position:end]
        if text[end + 1 : end + 2] != '"':
            return name, text[end + 1 :]
        name += '"'
        position = end + 2
