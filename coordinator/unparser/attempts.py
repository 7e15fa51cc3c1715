"""TRY on Spark: a tree whose parts give NULL where they would fail."""

from __future__ import annotations

from sqlglot import exp

from coordinator.unparser.trees import binary, call, case, number
from shared.plan.expressions import Call, RowExpression, SpecialForm


def forgiving(body: exp.Expr) -> exp.Expr:
    """The tree in parentheses, with every part that fails replaced."""
    tree = exp.Paren(this=body)
    # The last found is the deepest: what stands inside a node has changed before the node does.
    for inner in reversed(list(tree.this.walk())):
        changed = _forgiving(inner)
        if changed is not inner:
            inner.replace(changed)
    return tree


def absorbs_null(body: RowExpression) -> bool:
    """Whether NULL inside may give something else outside, so that a NULL for an error would be seen."""
    if isinstance(body, SpecialForm):
        return body.form not in ("DEREFERENCE",) or any(absorbs_null(a) for a in body.arguments)
    return isinstance(body, Call) and any(absorbs_null(a) for a in body.arguments)


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
            zero = binary(exp.EQ, tree.expression.copy(), number(0))
            return case([(zero, exp.Null())], exp.IntDiv(this=tree.this.copy(), expression=tree.expression.copy()))
        case exp.Cast():
            kind = exp.Alias(this=tree.this.copy(), alias=exp.Var(this=tree.to.sql(dialect="spark")))
            return call("TRY_CAST", kind)
        case exp.Anonymous() if str(tree.this).lower() == "raise_error":
            return exp.Null()
        case _:
            return tree
