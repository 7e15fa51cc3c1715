"""The elements of UNNEST in each engine, by the key of the unnested variable."""

from __future__ import annotations

from msgspec.structs import replace
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
    # DuckDB takes several lists side by side and fills up the shorter ones. What is unnested does not go along: a list
    # beside each of its elements takes the square of its length.
    kept = [(column(v.name), v.name) for v in node.replicateVariables]
    alias = rendering.alias()
    elements: list[tuple[exp.Expr, str]] = []
    columns = list(kept)
    for i, (key, made) in enumerate(node.unnestVariables.items()):
        lists, shown = _elements_duck(key, made, f"{alias}_element{i}")
        elements += lists
        columns += shown
    if node.ordinalityVariable is not None:
        position = f"{alias}_position"
        elements.append((call("unnest", call("generate_series", number(1), _longest(node))), position))
        columns.append((column(position), node.ordinalityVariable.name))
    inner = replace(source, columns=(*kept, *elements))
    names = (*(v.name for v in node.replicateVariables), *(name for _, name in elements))
    outer = rendering.wrap(inner, tuple(Variable(name=n, type="unknown") for n in names))
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


def _longest(node: UnnestNode) -> exp.Expr:
    lengths = [_length_duck(k) for k in node.unnestVariables]
    return call("greatest", *lengths) if len(lengths) > 1 else lengths[0]


def _length_duck(key: str) -> exp.Expr:
    variable = _variable(key)
    function = "cardinality" if parse_type(variable.type).base == "map" else "len"
    return call("coalesce", cast(call(function, column(variable.name)), parse_type("bigint"), "duckdb"), number(0))


def _elements_duck(
    key: str, made: tuple[Variable, ...], item: str
) -> tuple[list[tuple[exp.Expr, str]], list[tuple[exp.Expr, str]]]:
    """The unnested lists by their names, and the elements of these; ``item`` is a name for whole rows."""
    variable = _variable(key)
    type_ = parse_type(variable.type)
    if type_.base != "map" and type_.arguments[0].base == "row":
        names = [field_name(type_.arguments[0], i) for i in range(len(made))]
        fields = [(exp.Dot(this=column(item), expression=name(n)), v.name) for n, v in zip(names, made, strict=True)]
        return [(call("unnest", column(variable.name)), item)], [*fields]
    functions = ("map_keys", "map_values") if type_.base == "map" else (None,)
    lists = [column(variable.name) if f is None else call(f, column(variable.name)) for f in functions]
    unnested = [(call("unnest", each), v.name) for each, v in zip(lists, made, strict=True)]
    return [*unnested], [(column(v.name), v.name) for v in made]


def _array_spark(key: str) -> exp.Expr:
    variable = _variable(key)
    if parse_type(variable.type).base == "map":
        return call("map_entries", column(variable.name))
    return column(variable.name)


def _elements_spark(key: str, made: tuple[Variable, ...], element: exp.Expr) -> list[tuple[exp.Expr, str]]:
    type_ = parse_type(_variable(key).type)
    if type_.base == "map":
        parts = ("key", "value")
        return [(exp.Dot(this=element.copy(), expression=name(p)), v.name) for p, v in zip(parts, made, strict=True)]
    inner = type_.arguments[0]
    if inner.base != "row":
        return [(element, made[0].name)]
    names = [f.name or f"field{i}" for i, f in enumerate(inner.fields)]
    return [(exp.Dot(this=element.copy(), expression=name(n)), v.name) for n, v in zip(names, made, strict=True)]


def _variable(key: str) -> Variable:
    found, _, rest = key.partition("<")
    return Variable(name=found, type=rest[:-1])
