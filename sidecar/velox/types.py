"""Presto type text to Velox type JSON.

Lengths of varchar vanish, as in Presto C++. Types that this Velox cannot read (char, time, qdigest, …) are refused.
"""

from __future__ import annotations

import re
from typing import Any

from shared.plan.blocks import decimal_digits
from shared.plan.kept import kept
from shared.plan.types import Type, parse_type
from sidecar.velox.refusal import unsupported, user_error

Json = dict[str, Any]

_PLAIN = {
    name: name.upper()
    for name in (
        *("boolean", "tinyint", "smallint", "integer", "bigint", "real", "double", "varchar", "varbinary"),
        *("timestamp", "unknown", "json", "uuid", "ipaddress", "ipprefix", "hyperloglog", "bingtile", "geometry"),
    )
} | {"timestamp with time zone": "TIMESTAMP WITH TIME ZONE"}
_OWN: dict[str, Json] = {
    "date": {"name": "DateType", "type": "DATE"},
    "interval day to second": {"name": "IntervalDayTimeType", "type": "INTERVAL DAY TO SECOND"},
    "interval year to month": {"name": "IntervalYearMonthType", "type": "INTERVAL YEAR TO MONTH"},
}
# Java-only types of arguments whose cast vanishes; as types of values they never reach a worker.
_HIVE_ALIASES = {"string": "varchar", "float": "real", "binary": "varbinary", "int": "integer"}
_STRUCT_FIELD = re.compile(r"([<,])([^<>,:]+):")
_PHYSICAL = {
    "DATE": "INTEGER",
    "TIMESTAMP WITH TIME ZONE": "BIGINT",
    "JSON": "VARCHAR",
    "UUID": "HUGEINT",
    "IPADDRESS": "HUGEINT",
    "IPPREFIX": "ROW",
    "HYPERLOGLOG": "VARBINARY",
    "TDIGEST": "VARBINARY",
    "BINGTILE": "BIGINT",
    "INTERVAL DAY TO SECOND": "BIGINT",
    "INTERVAL YEAR TO MONTH": "INTEGER",
    "GEOMETRY": "VARBINARY",
}

BOOLEAN: Json = {"name": "Type", "type": "BOOLEAN"}
BIGINT: Json = {"name": "Type", "type": "BIGINT"}
VARCHAR: Json = {"name": "Type", "type": "VARCHAR"}


class _Reading:
    """How this process reads types."""

    char_as_varchar = False


_reading = _Reading()


def read_char_as_varchar(wanted: bool) -> None:
    """As C++ workers with ``char-n-to-varchar-implicit-cast``: char(n) itself, but not inside of other types."""
    _reading.char_as_varchar = wanted
    velox_type.forget()  # type: ignore[attr-defined]


@kept(8192)
def parse(text: str) -> Type:
    """Parsed type text; a refusal instead of ValueError."""
    try:
        return parse_type(text)
    except (ValueError, RecursionError) as e:
        raise user_error(f"Failed to parse type [{text[:200]}].") from e


@kept(8192)
def velox_type(text: str) -> Json:
    """Velox type JSON of Presto type text; shared, so never to be changed. Raises RefusalError."""
    if _reading.char_as_varchar and text.startswith("char("):
        return VARCHAR
    return _convert(parse(text), text)


@kept(1024)
def hive_type(text: str) -> Json:
    """Velox type JSON of Hive type text, such as ``map<string,bigint>`` or ``struct<a:int>``."""
    presto = _STRUCT_FIELD.sub(r'\1"\2" ', text).replace("struct<", "row(").replace("<", "(").replace(">", ")")
    presto = presto.replace("timestamp with local time zone", "timestamp with time zone")
    return _convert(_dealias(parse(presto)), text)


def _dealias(parsed: Type) -> Type:
    if parsed.base == "array" or parsed.base == "map":
        return Type(parsed.base, tuple(_dealias(a) for a in parsed.arguments))
    return Type(_HIVE_ALIASES.get(parsed.base, parsed.base), parsed.parameters)


def _convert(parsed: Type, text: str) -> Json:
    base = parsed.base
    match base:
        case "array" | "map" if len(parsed.arguments) == (1 if base == "array" else 2):
            return _composite(base.upper(), [_convert(a, text) for a in parsed.arguments])
        case "function":
            return _composite("FUNCTION", [_convert(a, text) for a in parsed.arguments])
        case "row" if parsed.fields:
            return row_type(
                [f.name or "" for f in parsed.fields],
                [_convert(_dealias(f.type), text) for f in parsed.fields],
            )
        case "decimal":
            precision, scale = decimal_digits(parsed)
            return {"name": "Type", "type": "DECIMAL", "precision": precision, "scale": scale}
        case "tdigest":
            return _composite("TDIGEST", [{"name": "Type", "type": "DOUBLE"}])
        case _ if base in _OWN:
            return _OWN[base]
        case _ if base in _PLAIN and (not parsed.parameters or base == "varchar"):
            return {"name": "Type", "type": _PLAIN[base]}
        case _:
            raise unsupported(f"Failed to parse type [{text}]. Type not registered.")


def _composite(kind: str, children: list[Json]) -> Json:
    return {"name": "Type", "type": kind, "cTypes": children}


def row_type(names: list[str], types: list[Json]) -> Json:
    """Velox ROW."""
    return {"name": "Type", "type": "ROW", "names": names, "cTypes": types}


def physical_kind(velox: Json) -> str:
    """The kind in which Velox stores a value of the type, and so the kind of its constants."""
    if velox["type"] == "DECIMAL":
        return "BIGINT" if velox["precision"] <= 18 else "HUGEINT"
    type_: str = velox["type"]
    return _PHYSICAL.get(type_, type_)


def same_type(left: Json, right: Json) -> bool:
    """Equality without the names of row fields, as Velox's ``equivalent``."""
    if left is right:
        return True
    return (
        left["type"] == right["type"]
        and left.get("precision") == right.get("precision")
        and left.get("scale") == right.get("scale")
        and len(left.get("cTypes", ())) == len(right.get("cTypes", ()))
        and all(same_type(a, b) for a, b in zip(left.get("cTypes", ()), right.get("cTypes", ()), strict=True))
    )


def type_text(velox: Json) -> str:
    """The type as Velox prints it: ``DECIMAL(12, 2)``, ``ARRAY<BIGINT>``, ``ROW<x:BIGINT>``."""
    type_: str = velox["type"]
    if type_ == "DECIMAL":
        return f"DECIMAL({velox['precision']}, {velox['scale']})"
    if type_ == "ROW":
        fields = zip(velox["names"], velox["cTypes"], strict=True)
        return f"ROW<{','.join(f'{name or chr(34) * 2}:{type_text(t)}' for name, t in fields)}>"
    if "cTypes" in velox and type_ != "TDIGEST":
        return f"{type_}<{','.join(type_text(t) for t in velox['cTypes'])}>"
    return type_
