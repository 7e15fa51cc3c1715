"""Lambdas over the elements of arrays in the embedded engine's words.

A body is what it would be over a column: the engine's own SQL, with programs for the elements that it would compute
otherwise. A body that is a program for every element is left to one program over the whole array.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from coordinator.expressions.builders import NAMESPACE, typed
from coordinator.expressions.failing import may_fail
from coordinator.unparser.programs import Unparse
from coordinator.unparser.qualified_columns import declared
from coordinator.unparser.trees import name
from coordinator.unparser.vectorised.form import INTEGERS
from coordinator.values.python_functions import runs_programs
from coordinator.values.type_names import type_name
from shared.plan.expressions import Call, Lambda, RowExpression, StaticFunctionHandle, Variable
from shared.plan.types import Type

_HELD = ("varchar", "boolean", "date", "timestamp", "double", "real", "decimal", *INTEGERS)
"""Elements that mean inside an array what they mean in a column."""
_FOUND, _PAIR = '"$found"', '"$pair"'

Render = Callable[[RowExpression], str | None]
"""The SQL of an argument; None where it is a program for every row."""


def over_elements(node: Call, unparse: Unparse) -> str | None:
    """The call in DuckDB's SQL; None when it is no such call, or better a program."""
    handle = node.functionHandle
    if not isinstance(handle, StaticFunctionHandle):
        return None
    rule = LAMBDAS.get(handle.signature.name.removeprefix(NAMESPACE))
    if rule is None or not _is_held(typed(node.arguments[0])):
        return None

    def render(argument: RowExpression) -> str | None:
        if not isinstance(argument, Lambda):
            sql = str(unparse(argument, "duckdb").sql(dialect="duckdb"))
            return None if runs_programs(sql) else sql
        with declared(argument.arguments):
            body = render(argument.body)
        return None if body is None else _head(argument.arguments) + _as(argument.body, body)

    return rule(node, render)


def _head(parameters: Sequence[str]) -> str:
    return f"lambda {', '.join(name(p).sql(dialect='duckdb') for p in parameters)}: "


def _is_held(type_: Type) -> bool:
    match type_.base:
        case "array":
            return _is_held(type_.arguments[0])
        case "row" | "map":
            return all(map(_is_held, type_.arguments))
        case base:
            return base in _HELD


def _as(node: RowExpression, sql: str) -> str:
    return f"CAST({sql} AS {type_name(typed(node), 'duckdb')})"


def _all_given(node: Call, render: Render) -> list[str] | None:
    rendered = [render(argument) for argument in node.arguments]
    given = [sql for sql in rendered if sql is not None]
    return given if len(given) == len(rendered) else None


def _plainly(function: str) -> Callable[[Call, Render], str | None]:
    def rule(node: Call, render: Render) -> str | None:
        given = _all_given(node, render)
        return None if given is None else f"{function}({', '.join(given)})"

    return rule


def _reduce(node: Call, render: Render) -> str | None:
    """The last lambda sees one state, as that of a list of one. States that may grow are bounded by the kernels."""
    state, final = node.arguments[1], node.arguments[3]
    given = _all_given(node, render)
    if given is None or typed(state).base not in _HELD[1:] or not isinstance(final, Lambda):
        return None
    array, first, step, shown = given
    folded = f"list_reduce({array}, {step}, {_as(state, first)})"
    if isinstance(final.body, Variable) and final.body.name in final.arguments:
        return folded
    return f"CASE WHEN {array} IS NOT NULL THEN list_transform([{folded}], {shown})[1] END"


def _pairwise(made: str, pairs: str, first: str, second: str) -> Callable[[Call, Render], str | None]:
    """A lambda of two parameters over pairs; its body sees them by their names, as elements of lists of one."""

    def rule(node: Call, render: Render) -> str | None:
        *_, function = node.arguments
        given = _all_given(node, render)
        if given is None or not isinstance(function, Lambda) or not all(map(_is_held, map(typed, node.arguments[:-1]))):
            return None
        *arrays, rendered = given
        one, other = function.arguments
        body = rendered.removeprefix(_head(function.arguments))
        inner = f"list_transform([{_PAIR}{second}], {_head([other])}{body})[1]"
        seen = f"lambda {_PAIR}: list_transform([{_PAIR}{first}], {_head([one])}{inner})[1]"
        known = " AND ".join(f"{array} IS NOT NULL" for array in arrays)
        whole = made.format(*arrays, pairs=pairs.format(*arrays), seen=seen)
        return f"CASE WHEN {known} THEN {whole} END"

    return rule


def _match(otherwise: str, wanted: str, found: str) -> Callable[[Call, Render], str | None]:
    """Presto asks no element behind the one that decides, so that nothing in the body may fail."""

    def rule(node: Call, render: Render) -> str | None:
        predicate, given = node.arguments[1], _all_given(node, render)
        if given is None or not isinstance(predicate, Lambda) or may_fail(predicate.body):
            return None
        unknown = f"WHEN {_FOUND} IS NULL OR list_count({_FOUND}) < len({_FOUND}) THEN NULL"
        judged = f"CASE WHEN list_contains({_FOUND}, {wanted}) THEN {found} {unknown} ELSE {otherwise} END"
        return f"list_transform([list_transform({', '.join(given)})], lambda {_FOUND}: {judged})[1]"

    return rule


LAMBDAS: dict[str, Callable[[Call, Render], str | None]] = {
    "transform": _plainly("list_transform"), "filter": _plainly("list_filter"), "reduce": _reduce,
    "all_match": _match("TRUE", "FALSE", "FALSE"), "any_match": _match("FALSE", "TRUE", "TRUE"),
    "none_match": _match("TRUE", "TRUE", "FALSE"),
    "zip_with": _pairwise("list_transform({pairs}, {seen})", "list_zip({0}, {1})", "[1]", "[2]"),
    "map_filter": _pairwise("map_from_entries(list_filter({pairs}, {seen}))", "map_entries({0})", ".key", ".value"),
    "transform_values": _pairwise(
        "map(map_keys({0}), list_transform({pairs}, {seen}))", "map_entries({0})", ".key", ".value"
    ),
}  # fmt: skip
