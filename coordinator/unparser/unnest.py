"""The elements of UNNEST in each engine, by the key of the unnested variable."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from coordinator.kernels.functions.arrow_forms import field_name
from coordinator.unparser.block import Block, Rendering, select_of
from coordinator.unparser.trees import binary, call, cast, column, name, number
from shared.plan.expressions import Variable
from shared.plan.nodes import UnnestNode
from shared.plan.traversal import output_variables
from shared.plan.types import parse_type


def unnest(rendering: Rendering, node: UnnestNode) -> Block:
    """The source's rows, once for each element."""
    if rendering.dialect == "spark":
        return _unnest_spark(rendering, node)
    source = rendering.plain(node.source)
    kept = [(column(v.name), v.name) for v in node.replicateVariables]
    lengths = [_length_duck(k) for k in node.unnestVariables]
    longest = call("greatest", *lengths) if len(lengths) > 1 else lengths[0]
    position = rendering.alias() + "_position"
    indexed = replace(
        source,
        columns=(
            *((column(v.name), v.name) for v in source.variables),
            (call("unnest", call("generate_series", number(1), longest)), position),
        ),
    )
    outer = rendering.wrap(indexed, source.variables)
    columns: list[tuple[exp.Expr, str]] = list(kept)
    for key, made in node.unnestVariables.items():
        columns += _elements_duck(key, made, position)
    if node.ordinalityVariable is not None:
        columns.append((column(position), node.ordinalityVariable.name))
    return replace(outer, columns=tuple(columns), variables=output_variables(node))


def _unnest_spark(rendering: Rendering, node: UnnestNode) -> Block:
    source = rendering.plain(node.source)
    zipped = [_array_spark(k) for k in node.unnestVariables]
    item = rendering.alias() + "_item"
    position = item + "_position"
    # Without names of their own the fields are named 0, 1, …; a NULL array counts as an empty one.
    arrays = call("arrays_zip", *(call("coalesce", z, call("array")) for z in zipped))
    generated = exp.Aliases(this=call("posexplode", arrays), expressions=[name(position), name(item)])
    shown = [column(v.name) for v in source.variables]
    select = select_of(replace(source, columns=tuple((c, c.name) for c in shown)))
    select.append("expressions", generated)
    outer = exp.Subquery(this=select, alias=exp.TableAlias(this=name(rendering.alias())))
    columns: list[tuple[exp.Expr, str]] = [(column(v.name), v.name) for v in node.replicateVariables]
    for i, (key, made) in enumerate(node.unnestVariables.items()):
        columns += _elements_spark(key, made, exp.Dot(this=column(item), expression=name(str(i))))
    if node.ordinalityVariable is not None:
        ordinality = binary(exp.Add, column(position), number(1))
        columns.append((cast(ordinality, parse_type("bigint"), "spark"), node.ordinalityVariable.name))
    return Block(outer, output_variables(node), columns=tuple(columns))


def _length_duck(key: str) -> exp.Expr:
    variable = _variable(key)
    function = "cardinality" if parse_type(variable.type).base == "map" else "len"
    return call("coalesce", cast(call(function, column(variable.name)), parse_type("bigint"), "duckdb"), number(0))


def _elements_duck(key: str, made: tuple[Variable, ...], position: str) -> list[tuple[exp.Expr, str]]:
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


def _array_spark(key: str) -> exp.Expr:
    variable = _variable(key)
    if parse_type(variable.type).base == "map":
        return call("map_entries", column(variable.name))
    return column(variable.name)


def _elements_spark(key: str, made: tuple[Variable, ...], element: exp.Expr) -> list[tuple[exp.Expr, str]]:
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
