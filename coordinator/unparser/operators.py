"""Presto's arithmetic and subscripts in the words of each engine, over operands that are trees already."""

from __future__ import annotations

from sqlglot import exp

from coordinator.expressions.builders import typed
from coordinator.expressions.types import INTEGERS
from coordinator.unparser.trees import binary, call, case, cast, is_null, number, text
from shared.plan.blocks import MAX_DECIMAL_SHORT_PRECISION
from shared.plan.expressions import Call
from shared.plan.types import Type

_ARITHMETIC = {"add": exp.Add, "subtract": exp.Sub, "multiply": exp.Mul}


def arithmetic(node: Call, operator: str, types: list[Type], arguments: list[exp.Expr], dialect: str) -> exp.Expr:
    """``+ - * / %`` of numbers and moments, with Presto's type of the result."""
    result = typed(node)
    if dialect == "duckdb" and result.base == "decimal" and result.numbers[0] > MAX_DECIMAL_SHORT_PRECISION:
        # DuckDB would multiply and add what fits into eight bytes in eight bytes.
        arguments = [
            cast(a, Type("decimal", (38, k.numbers[1])), dialect) for a, k in zip(arguments, types, strict=True)
        ]
    if any(k.base in ("date", "time", "timestamp", "timestamp with time zone") for k in types):
        return _with_interval(operator, types, arguments, result, dialect)
    if operator in _ARITHMETIC:
        tree = binary(_ARITHMETIC[operator], *arguments)
        return cast(tree, result, dialect) if _widens(result, dialect) else tree
    a, b = arguments
    if types[0].base in INTEGERS:
        if operator == "modulus":
            return cast(binary(exp.Mod, a, b), result, dialect)
        return cast(binary(exp.IntDiv, a, b), result, dialect)
    if result.base in ("double", "real"):
        return _double_division(operator, a, b, result, dialect)
    if dialect == "spark" and operator == "divide" and result.base == "decimal":
        (precision, scale), more = types[0].numbers, max(0, types[1].numbers[1] - types[0].numbers[1])
        a = cast(a, Type("decimal", (precision + more, scale + more)), dialect) if more else a
    zero = call("error" if dialect == "duckdb" else "raise_error", text("Division by zero"))
    tree = binary(exp.Mod if operator == "modulus" else exp.Div, a, b)
    if result.base != "decimal":
        return cast(tree, result, dialect)
    nothing = exp.And(
        this=binary(exp.EQ, b.copy(), cast(number(0), types[1], dialect)),
        expression=exp.Not(this=is_null(a.copy())),
    )
    return case([(nothing, cast(zero, result, dialect))], cast(tree, result, dialect))


def _widens(result: Type, dialect: str) -> bool:
    return result.base == "decimal" or (dialect == "spark" and result.base in ("tinyint", "smallint", "real"))


def _double_division(operator: str, a: exp.Expr, b: exp.Expr, result: Type, dialect: str) -> exp.Expr:
    if dialect == "duckdb":
        return binary(exp.Div if operator == "divide" else exp.Mod, a, b)
    zero = binary(exp.EQ, b, cast(text("0"), result, dialect))
    nan = cast(text("NaN"), result, dialect)
    missing = (is_null(a), exp.Null())
    if operator == "modulus":
        return case([(zero, case([missing], nan))], binary(exp.Mod, a.copy(), b.copy()))
    # A zero is found by its text: the two are equal.
    below = binary(exp.LT, a.copy(), cast(text("0"), result, dialect))
    negative = binary(exp.EQ, cast(b.copy(), Type("varchar"), dialect), text("-0.0"))
    infinities = [cast(text(sign + "Infinity"), result, dialect) for sign in ("", "-")]
    signs = case(
        [
            missing,
            (binary(exp.EQ, a.copy(), cast(text("0"), result, dialect)), nan),
            (call("isnan", a.copy()), nan.copy()),
            (binary(exp.EQ, below, negative), infinities[0]),
        ],
        infinities[1],
    )
    quotient = binary(exp.Div, a.copy(), b.copy())
    # Spark divides reals as doubles.
    return case([(zero, signs)], cast(quotient, result, dialect) if result.base == "real" else quotient)


def _with_interval(operator: str, types: list[Type], arguments: list[exp.Expr], result: Type, dialect: str) -> exp.Expr:
    a, b = arguments
    if types[0].base.startswith("interval"):
        types, (a, b) = types[::-1], (b, a)
    if not types[1].base.startswith("interval"):
        if dialect == "duckdb":
            micros = call("date_diff", text("microseconds"), b, a)
            return cast(binary(exp.IntDiv, micros, number(1000)), result, dialect)
        return call("timestampdiff", exp.Var(this="MILLISECOND"), b, a)
    amount = b if operator == "add" else exp.Paren(this=exp.Neg(this=exp.Paren(this=b)))
    months = types[1].base == "interval year to month"
    if dialect == "duckdb":
        interval = call("to_months", amount) if months else call("to_milliseconds", amount)
        return cast(binary(exp.Add, a, interval), result, dialect)
    unit = exp.Var(this="MONTH" if months else "MILLISECOND")
    if months:
        return cast(call("timestampadd", unit, amount, a), result, dialect)
    return cast(call("timestampadd", unit, amount, a), result, dialect)


def subscript(base: Type, arguments: list[exp.Expr], dialect: str) -> exp.Expr:
    """``value[index]`` of an array or a map, with Presto's errors for what is not there."""
    value, index = arguments
    error = "error" if dialect == "duckdb" else "raise_error"
    varchar = Type("varchar")
    if base.base == "map":
        missing = call(error, binary(exp.DPipe, text("Key not present in map: "), cast(index, varchar, dialect)))
        if dialect == "duckdb":
            found = call("map_extract_value", value, index.copy())
            present = call("map_contains", value.copy(), index.copy())
        else:
            found = call("element_at", value, index.copy())
            present = call("map_contains_key", value.copy(), index.copy())
        return case([(is_null(value.copy()), exp.Null()), (exp.Not(this=present), missing)], found)
    length = call("len" if dialect == "duckdb" else "size", value)
    branches = [
        (is_null(value.copy()), exp.Null()),
        (binary(exp.EQ, index.copy(), number(0)), call(error, text("SQL array indices start at 1"))),
        (binary(exp.LT, index.copy(), number(0)), call(error, text("Array subscript is negative"))),
        (binary(exp.GT, index.copy(), length.copy()), call(error, text("Array subscript out of bounds"))),
    ]
    if dialect == "duckdb":
        return case(branches, call("list_extract", value.copy(), index.copy()))
    return case(branches, call("element_at", value.copy(), cast(index.copy(), Type("integer"), dialect)))
