"""Values of type json and uuid in Spark where a table stores them, at any depth. Everywhere else they are texts.

JSON is stored as variant. UUIDs are read as texts, but conditions on them would be Iceberg's, which takes their halves
for signed numbers: it skips files and row groups that hold what is looked for.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from coordinator.unparser.trees import call, is_null, name, text
from shared.plan.types import Type

_Change = Callable[[exp.Expr, Type], exp.Expr]
_Holds = Callable[[Type], bool]


def holds_json(type_: Type) -> bool:
    """Whether a value of the type is JSON, or has some in it."""
    return type_.base == "json" or any(map(holds_json, type_.arguments))


def is_shown_otherwise(type_: Type) -> bool:
    """Whether a stored value of the type is not taken as Spark's reader gives it."""
    return type_.base in ("json", "uuid") or any(map(is_shown_otherwise, type_.arguments))


def stored_json(value: exp.Expr, type_: Type) -> exp.Expr:
    """What is written of a value."""
    return _changed(value, type_, holds_json, lambda found, _: call("parse_json", found), 0)


def shown_value(value: exp.Expr, type_: Type) -> exp.Expr:
    """The value of a stored one, as Spark's reader gives it: a variant, or the text of a UUID."""
    return _changed(value, type_, is_shown_otherwise, _shown, 0)


def _shown(found: exp.Expr, type_: Type) -> exp.Expr:
    # In small letters they are already; a condition on what a function gives is Spark's own.
    return _text(found) if type_.base == "json" else call("lower", found)


_BEYOND = r"'[\\x{10000}-\\x{10FFFF}]'"
_ESCAPED = (
    "array_join(transform(split({0}, ''), $c -> CASE WHEN octet_length($c) < 4 THEN $c ELSE concat("
    r"'\\u', hex(55296 + shiftright(ascii($c) - 65536, 10)), "
    r"'\\u', hex(56320 + ((ascii($c) - 65536) & 1023))) END), '')"
).replace("$c", "`$c`")


def _text(found: exp.Expr) -> exp.Expr:
    """As JSON_PARSE writes it: Spark leaves characters beyond 16 bits as they are."""
    shown = call("to_json", found)
    sql = shown.sql(dialect="spark", comments=False)
    escaped = exp.Var(this=_ESCAPED.replace("{0}", sql))
    return exp.Case(ifs=[exp.If(this=exp.Var(this=f"{sql} RLIKE {_BEYOND}"), true=escaped)], default=shown)


def _changed(value: exp.Expr, type_: Type, holds: _Holds, change: _Change, depth: int) -> exp.Expr:
    if not holds(type_):
        return value
    match type_.base:
        case "array":
            return call("transform", value, _lambda(type_.arguments[0], holds, change, depth))
        case "map":
            key, item = f"$k{depth}", f"$v{depth}"
            changed = _changed(_parameter(item), type_.arguments[1], holds, change, depth + 1)
            parameters = [exp.to_identifier(key, quoted=True), exp.to_identifier(item, quoted=True)]
            return call("transform_values", value, exp.Lambda(this=changed, expressions=parameters))
        case "row":
            parts = [p for f in type_.fields for p in _field(value, f.name or "", f.type, holds, change, depth)]
            made = call("named_struct", *parts)
            return exp.Case(ifs=[exp.If(this=is_null(value.copy()), true=exp.Null())], default=made)
        case _:
            return change(value, type_)


def _field(
    value: exp.Expr, field: str, type_: Type, holds: _Holds, change: _Change, depth: int
) -> tuple[exp.Expr, exp.Expr]:
    part = exp.Dot(this=value.copy(), expression=name(field))
    return text(field), _changed(part, type_, holds, change, depth)


def _lambda(element: Type, holds: _Holds, change: _Change, depth: int) -> exp.Expr:
    parameter = f"$e{depth}"
    changed = _changed(_parameter(parameter), element, holds, change, depth + 1)
    return exp.Lambda(this=changed, expressions=[exp.to_identifier(parameter, quoted=True)])


def _parameter(parameter: str) -> exp.Expr:
    return exp.Column(this=exp.to_identifier(parameter, quoted=True))
