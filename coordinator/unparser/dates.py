"""Functions of dates whose format is a literal: MySQL's and Joda's letters in the words of each engine."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from sqlglot import exp

from coordinator.unparser.trees import call, cast, text
from shared.plan.types import Type

# MySQL's letter: DuckDB's strftime, Java's DateTimeFormatter.
_MYSQL = {
    "Y": ("%Y", "yyyy"), "y": ("%y", "yy"), "m": ("%m", "MM"), "c": ("%-m", "M"), "d": ("%d", "dd"),
    "e": ("%-d", "d"), "H": ("%H", "HH"), "k": ("%-H", "H"), "h": ("%I", "hh"), "I": ("%I", "hh"),
    "l": ("%-I", "h"), "i": ("%M", "mm"), "s": ("%S", "ss"), "S": ("%S", "ss"), "f": ("%f", "SSSSSS"),
    "p": ("%p", "a"), "M": ("%B", "MMMM"), "b": ("%b", "MMM"), "W": ("%A", "EEEE"), "a": ("%a", "EEE"),
    "j": ("%j", "DDD"), "T": ("%H:%M:%S", "HH:mm:ss"), "r": ("%I:%M:%S %p", "hh:mm:ss a"), "%": ("%%", "%"),
}  # fmt: skip
_JODA = {
    "yyyy": "%Y", "y": "%Y", "YYYY": "%Y", "yy": "%y", "MMMM": "%B", "MMM": "%b", "MM": "%m", "M": "%-m",
    "dd": "%d", "d": "%-d", "HH": "%H", "H": "%-H", "hh": "%I", "h": "%-I", "mm": "%M", "m": "%-M", "ss": "%S",
    "s": "%-S", "SSS": "%g", "SSSSSS": "%f", "a": "%p", "EEEE": "%A", "EEE": "%a", "E": "%a", "DDD": "%j",
}  # fmt: skip
_JODA_PARTS = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+")
_TIMESTAMP, _ZONED, _VARCHAR = Type("timestamp"), Type("timestamp with time zone"), Type("varchar")


def _literal(tree: Any) -> str:
    """The text of a literal; TypeError, which the caller reads as unsupported, for anything computed."""
    if not isinstance(tree, exp.Literal) or not tree.is_string:
        raise TypeError("the format is not a literal")
    return str(tree.this)


def _from_mysql(pattern: str, dialect: str) -> str:
    made, position = "", 0
    while position < len(pattern):
        character = pattern[position]
        if character == "%" and position + 1 < len(pattern):
            letter = pattern[position + 1]
            if letter not in _MYSQL:
                raise TypeError(f"format letter {letter}")
            made += _MYSQL[letter][dialect == "spark"]
            position += 2
            continue
        made += f"'{character}'" if dialect == "spark" and character.isalpha() else character
        position += 1
    return made.replace("''", "")


def _from_joda(pattern: str, dialect: str) -> str:
    if dialect == "spark":
        if set(re.sub(r"'[^']*'", "", pattern)) & set("YxwKkCZzQ"):
            raise TypeError("format letters that Spark reads differently")
        return pattern
    made = ""
    for part in _JODA_PARTS.finditer(pattern):
        if part[1] is not None:
            made += part[1].replace("''", "'").replace("%", "%%") or "'"
        elif part[2] is not None:
            if part[0] not in _JODA:
                raise TypeError(f"format letters {part[0]}")
            made += _JODA[part[0]]
        else:
            made += part[0].replace("%", "%%")
    return made


_Convert = Callable[[str, str], str]


def _format(convert: _Convert, dialect: str) -> Callable[[Any, Any], Any]:
    function = "strftime" if dialect == "duckdb" else "date_format"

    def build(moment: Any, pattern: Any) -> Any:
        return call(function, moment, text(convert(_literal(pattern), dialect)))

    return build


def _parse(convert: _Convert, kind: Type, dialect: str) -> Callable[[Any, Any], Any]:
    function = "strptime" if dialect == "duckdb" else "to_timestamp_ntz"

    def build(value: Any, pattern: Any) -> Any:
        return cast(call(function, value, text(convert(_literal(pattern), dialect))), kind, dialect)

    return build


def _table(dialect: str) -> dict[str, Callable[..., Any]]:
    return {
        "date_format": _format(_from_mysql, dialect),
        "format_datetime": _format(_from_joda, dialect),
        "date_parse": _parse(_from_mysql, _TIMESTAMP, dialect),
        "parse_datetime": _parse(_from_joda, _ZONED, dialect),
    }


DUCKDB_DATES = _table("duckdb")
SPARK_DATES = _table("spark")
