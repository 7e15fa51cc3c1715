"""Casts that the engines do otherwise than Presto: to text, between texts, of rows by position."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from coordinator.analyzer.types import length_of
from coordinator.unparser.constants import row
from coordinator.unparser.refusals import unsupported
from coordinator.unparser.trees import binary, call, case, cast, field_name, is_null, name, number, text
from shared.plan.types import Type

SHOWN = ("timestamp", "timestamp with time zone", "double", "real")


def shown_as_text(value: Any, source: Type, target: Type, dialect: str) -> Any:
    """The text that Presto gives a moment or a floating-point number."""
    if source.base in ("double", "real"):
        result = cast(value, target, dialect) if dialect == "spark" else call("java_double", value)
    elif dialect == "spark":
        result = call("date_format", value, text("yyyy-MM-dd HH:mm:ss.SSS"))
    else:
        result = call("strftime", value, text("%Y-%m-%d %H:%M:%S.%g"))
    if source.base == "timestamp with time zone":
        result = binary(exp.DPipe, result, text(" UTC"))
    return result


def text_to_text(value: Any, source: Type, target: Type) -> Any:
    if source.base == "char":
        value = call("rpad", value, number(length_of(source)), text(" ")) if target.base == "varchar" else value
    if length_of(target) < length_of(source):
        value = call("substr", value, number(1), number(length_of(target)))
    return call("rtrim", value) if target.base == "char" else value


def names_of(kind: Type) -> tuple[Any, ...]:
    own = tuple(field_name(kind, i) for i in range(len(kind.fields)))
    return (*own, *(names_of(a) for a in kind.arguments))


def renamed(value: Any, source: Type, target: Type, dialect: str) -> Any:
    """A value whose rows have the field names of ``target``: engines match fields by name, Presto by position."""
    if names_of(source) == names_of(target):
        return value
    if source.base == "row":
        fields = [
            renamed(exp.Dot(this=exp.Paren(this=value.copy()), expression=name(field_name(source, i))), s, t, dialect)
            for i, (s, t) in enumerate(zip(source.arguments, target.arguments, strict=True))
        ]
        return case([(is_null(value.copy()), exp.Null())], row(fields, target))
    if source.base == "array":
        item = name("x")
        body = renamed(exp.Column(this=item.copy()), source.arguments[0], target.arguments[0], dialect)
        function = "list_transform" if dialect == "duckdb" else "transform"
        return call(function, value, exp.Lambda(this=body, expressions=[item]))
    raise unsupported("A cast that renames the fields of rows inside a map", dialect)
