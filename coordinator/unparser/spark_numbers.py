"""Rounding and absolute values on Spark as Presto computes them."""

from __future__ import annotations

from sqlglot import exp

from coordinator.expressions.builders import typed, value_of
from coordinator.expressions.types import INTEGERS
from coordinator.unparser.trees import binary, call, case, cast, number
from shared.plan.expressions import Call, Constant
from shared.plan.types import Type

SPARK_DIGITS = 34
"""Beyond these Spark rounds what it negates, and absolute values."""
SPARK_NUMBERS = ("round", "abs", "floor", "ceil", "ceiling", "truncate")
_DOUBLE = Type("double")
_MOST_DIGITS = 300
_WHOLE = exp.Var(this=f"{2.0**53!r}D")
"""From here on a double has no digits behind the point."""


def spark_number(node: Call, function: str, value: exp.Expr) -> exp.Expr | None:
    """The call where Spark's own function means something else; None for other calls."""
    type_ = typed(node.arguments[0])
    if function not in ("round", "abs") and type_.base in ("double", "real"):
        return _whole(function, value, type_)
    if function == "round" and type_.base in ("double", "real"):
        return _rounded(node, value, type_)
    if function == "round" and type_.base in INTEGERS:
        digits = node.arguments[1:]
        known = all(isinstance(each, Constant) and value_of(each) is not None for each in digits)
        return value if known else None
    if function == "abs" and type_.base == "decimal" and type_.numbers[0] > SPARK_DIGITS:
        below = binary(exp.LT, value, cast(number(0), type_, "spark"))
        return case([(below, negated(value.copy(), type_))], value.copy())
    return None


def _whole(function: str, value: exp.Expr, type_: Type) -> exp.Expr:
    """Of floating-point numbers Spark's are bigints. What has no digits behind the point is its own, NaN too."""
    wide = cast(value, _DOUBLE, "spark")
    down, up = (cast(call(name, wide.copy()), _DOUBLE, "spark") for name in ("floor", "ceil"))
    if function == "truncate":
        whole = case([(binary(exp.LT, wide.copy(), number(0)), up)], down)
    else:
        whole = down if function == "floor" else up
    # A zero has the sign of the number.
    zero = binary(exp.EQ, whole, number(0))
    made = case([(zero, binary(exp.Mul, wide.copy(), number(0)))], whole.copy())
    small = binary(exp.LT, call("abs", wide.copy()), _WHOLE.copy())
    return cast(case([(small, made)], wide), type_, "spark")


def negated(value: exp.Expr, type_: Type) -> exp.Expr:
    """A decimal with the other sign."""
    return cast(binary(exp.Sub, cast(number(0), type_, "spark"), value), type_, "spark")


def _rounded(node: Call, value: exp.Expr, type_: Type) -> exp.Expr | None:
    """Of the value that is stored, as in Java: 1.005 to two digits is 1.0. Spark rounds the text of a number."""
    given = node.arguments[1] if len(node.arguments) > 1 else None
    digits = value_of(given) if isinstance(given, Constant) else None if given is not None else 0
    if not isinstance(digits, int) or abs(digits) > _MOST_DIGITS:
        return None
    wide = value if type_ == _DOUBLE else cast(value, _DOUBLE, "spark")
    if not digits:
        return cast(call("round", wide), type_, "spark")
    factor = exp.Var(this=f"{10.0**digits!r}D")
    has_digits = binary(exp.LT, binary(exp.Mul, call("abs", wide), factor), _WHOLE.copy())
    made = binary(exp.Div, call("round", binary(exp.Mul, wide.copy(), factor.copy())), factor.copy())
    return cast(case([(has_digits, made)], wide.copy()), type_, "spark")
