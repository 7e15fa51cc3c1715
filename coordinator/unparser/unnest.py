"""The elements of UNNEST in each engine, by the key of the unnested variable."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from coordinator.unparser.trees import call, cast, column, field_name, name, number
from shared.plan.expressions import Variable
from shared.plan.types import parse_type


def length_duck(key: str) -> Any:
    variable = _variable(key)
    function = "cardinality" if parse_type(variable.type).base == "map" else "len"
    return call("coalesce", cast(call(function, column(variable.name)), parse_type("bigint"), "duckdb"), number(0))


def elements_duck(key: str, made: tuple[Variable, ...], position: str) -> list[tuple[Any, str]]:
    variable = _variable(key)
    kind = parse_type(variable.type)
    if kind.base == "map":
        parts = ("map_keys", "map_values")
        return [
            (call("list_extract", call(f, column(variable.name)), column(position)), v.name)
            for f, v in zip(parts, made, strict=True)
        ]
    element = call("list_extract", column(variable.name), column(position))
    if kind.arguments[0].base != "row":
        return [(element, made[0].name)]
    inner = kind.arguments[0]
    names = [field_name(inner, i) for i in range(len(made))]
    return [
        (exp.Dot(this=exp.Paren(this=element.copy()), expression=name(n)), v.name)
        for n, v in zip(names, made, strict=True)
    ]


def array_spark(key: str) -> Any:
    variable = _variable(key)
    if parse_type(variable.type).base == "map":
        return call("map_entries", column(variable.name))
    return column(variable.name)


def elements_spark(key: str, made: tuple[Variable, ...], element: Any) -> list[tuple[Any, str]]:
    kind = parse_type(_variable(key).type)
    if kind.base == "map":
        parts = ("key", "value")
        return [(exp.Dot(this=element.copy(), expression=name(p)), v.name) for p, v in zip(parts, made, strict=True)]
    inner = kind.arguments[0]
    if inner.base != "row":
        return [(element, made[0].name)]
    names = [f.name or f"field{i}" for i, f in enumerate(inner.fields)]
    return [(exp.Dot(this=element.copy(), expression=name(n)), v.name) for n, v in zip(names, made, strict=True)]


def _variable(key: str) -> Variable:
    found, _, rest = key.partition("<")
    return Variable(name=found, type=rest[:-1])
