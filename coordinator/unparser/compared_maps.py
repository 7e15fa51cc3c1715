"""Maps that are compared as wholes: equal maps may hold their entries in another order, which both engines see."""

from __future__ import annotations

from sqlglot import exp

from coordinator.kernels.functions.arrow_forms import field_name
from coordinator.unparser.trees import column, name
from shared.plan.expressions import Variable
from shared.plan.types import Type, parse_type


def holds_map(type_: Type) -> bool:
    """Whether values of a type are or contain maps."""
    return type_.base == "map" or any(map(holds_map, type_.arguments))


def compared(variable: Variable, dialect: str) -> exp.Expr:
    """The column in a form in which equal values are equal to an engine, and which it can group by and join on.

    A map becomes its entries ordered by key. Spark compares no maps at all, DuckDB entry by entry as they stand.
    """
    return compared_value(column(variable.name), parse_type(variable.type), dialect)


def compared_value(value: exp.Expr, type_: Type, dialect: str) -> exp.Expr:
    """As ``compared``, of any expression."""
    if not holds_map(type_):
        return value
    return exp.Var(this=_form(value.sql(dialect=dialect, comments=False), type_, dialect, 0))


def _form(value: str, type_: Type, dialect: str, depth: int) -> str:
    if not holds_map(type_):
        return value
    item = f"procession_m{depth}"
    match type_.base:
        case "map":
            key, content = (
                _form(f"{item}.{part}", kind, dialect, depth + 1)
                for part, kind in zip(("key", "value"), type_.arguments, strict=True)
            )
            plain = not any(map(holds_map, type_.arguments))
            entries = f"map_entries({value})"
            made = entries if plain else _each(entries, item, _row({"key": key, "value": content}, dialect), dialect)
            return f"list_sort({made})" if dialect == "duckdb" else f"array_sort({made})"
        case "array":
            return _each(value, item, _form(item, type_.arguments[0], dialect, depth + 1), dialect)
        case _:
            fields = {field_name(type_, i): kind for i, kind in enumerate(type_.arguments)}
            shown = {f: f"({value}).{name(f).sql(dialect=dialect)}" for f in fields}
            made = _row({f: _form(shown[f], kind, dialect, depth) for f, kind in fields.items()}, dialect)
            return f"CASE WHEN {value} IS NOT NULL THEN {made} END"


def _each(array: str, item: str, body: str, dialect: str) -> str:
    if dialect == "duckdb":
        return f"list_transform({array}, lambda {item}: {body})"
    return f"transform({array}, {item} -> {body})"


def _row(parts: dict[str, str], dialect: str) -> str:
    if dialect == "duckdb":
        made = ", ".join(f"{name(part).sql(dialect=dialect)} := {value}" for part, value in parts.items())
        return f"struct_pack({made})"
    made = ", ".join(f"{exp.Literal.string(part).sql(dialect=dialect)}, {value}" for part, value in parts.items())
    return f"named_struct({made})"
