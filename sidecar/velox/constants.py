"""Presto constants to Velox constant expressions."""

from __future__ import annotations

import base64
import ipaddress
import math
from decimal import Context, Decimal
from typing import Any
from uuid import UUID

from shared.plan.blocks import decimal_digits, decode_physical, unscaled_decimal
from shared.plan.expressions import Constant
from shared.plan.types import Type
from sidecar.velox.refusal import internal_error, of_type
from sidecar.velox.types import BOOLEAN, VARCHAR, Json, parse, physical_kind, velox_type

_INT64 = 1 << 63
_EXACT = Context(prec=80)


class _NotInlineError(Exception):
    """The value cannot stand inside a Velox constant and must be computed by an expression."""


def physical(e: Constant) -> object:
    """The constant's physical value; refused with ``Unexpected Block type`` and the like."""
    try:
        return decode_physical(e.valueBlock, e.type)
    except (ValueError, RecursionError) as error:
        raise internal_error(str(error)) from error


def is_true(e: Constant) -> bool:
    """Whether a boolean constant is TRUE (not null)."""
    return bool(physical(e))


def constant(e: Constant) -> Json:
    """The Velox expression of a constant: a ConstantTypedExpr, or a cast or constructor where Velox has none."""
    velox, value = velox_type(e.type), physical(e)
    with of_type("The block of a constant", e.type):
        return of_physical(value, parse(e.type), velox)


def of_physical(value: object, parsed: Type, velox: Json) -> Json:
    """As ``constant``, from a physical value."""
    if value is None:
        return null(velox)
    if parsed.base == "unknown":
        raise internal_error("Constant of type UNKNOWN is not null")
    try:
        return {"name": "ConstantTypedExpr", "type": velox, "value": _variant(value, parsed, velox)}
    except _NotInlineError:
        return _computed(value, parsed, velox)


def null(velox: Json) -> Json:
    """A typed NULL."""
    return {"name": "ConstantTypedExpr", "type": velox, "value": {"type": physical_kind(velox), "value": None}}


def boolean_constant(value: bool) -> Json:
    return {"name": "ConstantTypedExpr", "type": BOOLEAN, "value": {"type": "BOOLEAN", "value": value}}


def bigint_constant(value: int) -> Json:
    return {
        "name": "ConstantTypedExpr",
        "type": {"name": "Type", "type": "BIGINT"},
        "value": {"type": "BIGINT", "value": value},
    }


def _variant(value: Any, parsed: Type, velox: Json) -> Json:
    kind = physical_kind(velox)
    if value is None:
        return {"type": kind, "value": None}
    match parsed.base:
        case "boolean":
            return {"type": kind, "value": bool(value)}
        case "double" | "real":
            return {"type": kind, "value": json_number(value)}
        case "varchar" | "char" | "json":
            return {"type": kind, "value": value.decode("utf-8", "replace")}
        case "varbinary" | "hyperloglog" | "tdigest" | "geometry":
            return {"type": kind, "value": base64.b64encode(value).decode("ascii")}
        case "timestamp":
            seconds, millis = divmod(value, 1000)
            return {"type": kind, "value": 0, "seconds": seconds, "nanos": millis * 1_000_000}
        case "decimal":
            unscaled = unscaled_decimal(value)
            if not -_INT64 <= unscaled < _INT64:
                raise _NotInlineError
            return {"type": kind, "value": unscaled}
        case "uuid" | "ipaddress" | "ipprefix":
            raise _NotInlineError
        case "array" | "map" | "row":
            return _nested_variant(value, parsed, velox)
        case _:
            return {"type": kind, "value": value}


def json_number(value: float) -> float | str:
    """A number as Velox reads it from JSON, which has none for infinities and NaN."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")


def _nested_variant(value: Any, parsed: Type, velox: Json) -> Json:
    types, children = parsed.arguments, velox["cTypes"]
    if parsed.base == "array":
        return {"type": "ARRAY", "value": [_variant(v, types[0], children[0]) for v in value]}
    if parsed.base == "row":
        fields = zip(value, types, children, strict=True)
        return {"type": "ROW", "value": [_variant(v, t, c) for v, t, c in fields]}
    keys = [_variant(k, types[0], children[0]) for k, _ in value]
    values = [_variant(v, types[1], children[1]) for _, v in value]
    return {"type": "MAP", "value": {"keys": keys, "values": values}}


def _computed(value: Any, parsed: Type, velox: Json) -> Json:
    match parsed.base:
        case "array":
            return array_of([of_physical(v, parsed.arguments[0], velox["cTypes"][0]) for v in value], velox)
        case "row":
            fields = zip(value, parsed.arguments, velox["cTypes"], strict=True)
            return _call("row_constructor", velox, [of_physical(v, t, c) for v, t, c in fields])
        case "map":
            (key, item), (key_type, item_type) = parsed.arguments, velox["cTypes"]
            keys = [of_physical(k, key, key_type) for k, _ in value]
            items = [of_physical(v, item, item_type) for _, v in value]
            return map_of(keys, items, velox)
        case _:
            text = {
                "name": "ConstantTypedExpr",
                "type": VARCHAR,
                "value": {"type": "VARCHAR", "value": _text(value, parsed)},
            }
            return {"name": "CastTypedExpr", "type": velox, "inputs": [text], "nullOnFailure": False}


def array_of(elements: list[Json], velox: Json) -> Json:
    """An array by constructor; an empty one stands as a typed NULL, which compiles alike."""
    return _call("array_constructor", velox, elements) if elements else null(velox)


def map_of(keys: list[Json], values: list[Json], velox: Json) -> Json:
    """A map by constructor; an empty one stands as a typed NULL."""
    if not keys:
        return null(velox)
    sides = zip((keys, values), velox["cTypes"], strict=True)
    arrays = [_call("array_constructor", {"name": "Type", "type": "ARRAY", "cTypes": [t]}, side) for side, t in sides]
    return _call("map", velox, arrays)


def _call(name: str, velox: Json, inputs: list[Json]) -> Json:
    return {"name": "CallTypedExpr", "type": velox, "functionName": name, "inputs": inputs}


def _text(value: Any, parsed: Type) -> str:
    match parsed.base:
        case "decimal":
            return format(Decimal(unscaled_decimal(value)).scaleb(-decimal_digits(parsed)[1], _EXACT), "f")
        case "uuid":
            return str(UUID(bytes=value))
        case _:
            address = ipaddress.IPv6Address(value[:16])
            shown = str(address.ipv4_mapped or address)
            return shown if parsed.base == "ipaddress" else f"{shown}/{value[16]}"


def from_variant(variant: Json, velox: Json) -> Json:
    """A constant's value as an expression that compiles: arrays, maps and rows by their constructors."""
    value = variant["value"]
    type_ = variant["type"]
    if value is None or type_ not in ("ARRAY", "MAP", "ROW"):
        return {"name": "ConstantTypedExpr", "type": velox, "value": variant}
    if type_ == "ARRAY":
        return array_of([from_variant(v, velox["cTypes"][0]) for v in value], velox)
    if type_ == "ROW":
        fields = zip(value, velox["cTypes"], strict=True)
        return _call("row_constructor", velox, [from_variant(v, t) for v, t in fields])
    key_type, value_type = velox["cTypes"]
    keys = [from_variant(v, key_type) for v in value["keys"]]
    return map_of(keys, [from_variant(v, value_type) for v in value["values"]], velox)
