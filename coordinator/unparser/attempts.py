"""TRY on Spark: a tree whose parts give NULL where they would fail."""

from __future__ import annotations

from sqlglot import exp

from coordinator.expressions.builders import NAMESPACE, typed
from coordinator.unparser.repeated_values import repeatable
from coordinator.unparser.trees import binary, call, case, number
from shared.plan.expressions import Call, Constant, Lambda, RowExpression, StaticFunctionHandle, Variable


def forgiving(body: exp.Expr) -> exp.Expr:
    """The tree in parentheses, with every part that fails replaced."""
    tree = exp.Paren(this=body)
    # The last found is the deepest: what stands inside a node has changed before the node does.
    for inner in reversed(list(tree.this.walk())):
        changed = _forgiving(inner)
        if changed is not inner:
            inner.replace(changed)
    return tree


_NUMBERS = ("tinyint", "smallint", "integer", "bigint", "decimal", "real", "double")
_SCALARS = (*_NUMBERS, "boolean", "varchar", "char", "date", "timestamp")
_ARITHMETIC = {f"$operator${name}" for name in ("add", "subtract", "multiply", "divide", "modulus")}
_COMPARISONS = {
    f"$operator${name}"
    for name in (
        *("equal", "not_equal", "less_than", "less_than_or_equal", "greater_than", "greater_than_or_equal", "between"),
    )
}


def forgivable(body: RowExpression) -> bool:
    """Whether ``forgiving`` gives TRY's answer: a part that fails makes the whole NULL, and every part is known.

    Functions may fail themselves, or make something of NULL: an array has one more element by it.
    """
    if isinstance(body, Variable | Constant):
        return True
    if not isinstance(body, Call) or not isinstance(body.functionHandle, StaticFunctionHandle):
        return False
    function = body.functionHandle.signature.name.removeprefix(NAMESPACE)
    types = (typed(body).base, *(typed(a).base for a in body.arguments if not isinstance(a, Lambda)))
    allowed = _NUMBERS if function in _ARITHMETIC else _SCALARS
    known = function in _ARITHMETIC or function in _COMPARISONS or function in ("$operator$cast", "try_cast")
    return known and all(base in allowed for base in types) and all(forgivable(a) for a in body.arguments)


_FORGIVING: dict[type[exp.Expr], str] = {
    exp.Add: "try_add",
    exp.Sub: "try_subtract",
    exp.Mul: "try_multiply",
    exp.Mod: "try_mod",
}


def _forgiving(tree: exp.Expr) -> exp.Expr:
    """The form of one tree node that gives NULL where Spark's own fails."""
    function = _FORGIVING.get(type(tree))
    if function is not None:
        return call(function, tree.this.copy(), tree.expression.copy())
    match tree:
        case exp.IntDiv():
            zero = binary(exp.EQ, repeatable(tree.expression).copy(), number(0))
            return case([(zero, exp.Null())], exp.IntDiv(this=tree.this.copy(), expression=tree.expression.copy()))
        case exp.Cast():
            kind = exp.Alias(this=tree.this.copy(), alias=exp.Var(this=tree.to.sql(dialect="spark")))
            return call("TRY_CAST", kind)
        case exp.Anonymous() if str(tree.this).lower() == "raise_error":
            return exp.Null()
        case _:
            return tree
