"""Names of columns, of fields of rows and of lambda parameters."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from coordinator.analyzer.context import Analyze, Context
from coordinator.analyzer.operators import dereference
from coordinator.analyzer.scope import MOST_PARTS, Scope
from coordinator.expressions.builders import typed
from coordinator.sql.formatter import format_expression
from coordinator.sql.tree.expressions import DereferenceExpression, Expression, Identifier
from coordinator.sql.tree.node import Node
from shared.plan.expressions import RowExpression, Variable


def analyze_name(node: Identifier | DereferenceExpression, context: Context, analyze: Analyze) -> RowExpression:
    """``a``, ``a.b.c``, or a field of any row. The longest prefix that is a column wins; the rest are fields of it."""
    base, fields = _split(node)
    if not isinstance(base, Identifier):
        return _fields(node, analyze(base, context), fields, format_expression(base), context)
    variable = context.lambdas.get(base.value.lower())
    if variable is not None:
        return _fields(node, variable, fields, base.value, context)
    return _resolve(node, (base.value, *fields), context)


def _split(node: Expression) -> tuple[Expression, tuple[str, ...]]:
    """What stands before the dots, and the names after them."""
    fields: list[str] = []
    while isinstance(node, DereferenceExpression):
        fields.append(node.field.value)
        node = node.base
    return node, tuple(reversed(fields))


def _resolve(node: Node, parts: tuple[str, ...], context: Context) -> RowExpression:
    lowered = tuple(p.lower() for p in parts)
    scope: Scope | None = context.scope
    while scope is not None:
        for count in range(min(len(parts), MOST_PARTS), 0, -1):
            found = scope.find(lowered[count - 1], lowered[: count - 1])
            if len(found) > 1:
                raise context.error(node, f"Column '{'.'.join(lowered)}' is ambiguous")
            if found:
                context.references.add(found[0].variable.name)
                column = _reference(node, found[0].variable, context)
                return _fields(node, column, parts[count:], ".".join(lowered[:count]), context)
        scope = scope.parent
    what = "" if len(parts) > 1 else "Column "
    raise context.error(node, f"{what}'{'.'.join(lowered)}' cannot be resolved")


def _reference(node: Node, variable: Variable, context: Context) -> Variable:
    if context.columns is None or variable.name not in context.columns:
        return variable
    return Variable(name=variable.name, type=variable.type, sourceLocation=node.location)


def _fields(node: Node, base: RowExpression, names: Sequence[str], shown: str, context: Context) -> RowExpression:
    """The field of a field of ``base``, which ``shown`` is the text of."""
    whole = ".".join((shown, *names)).lower()
    for count, name in enumerate(names):
        type_ = typed(base)
        if type_.base != "row":
            raise context.error(node, f"Expression {'.'.join((shown, *names[:count])).lower()} is not of type ROW")
        positions = [i for i, f in enumerate(type_.fields) if f.name is not None and f.name.lower() == name.lower()]
        if not positions:
            raise context.error(node, f"Column '{whole}' cannot be resolved")
        if len(positions) > 1:
            raise context.error(node, f"Column '{whole}' is ambiguous")
        base = replace(dereference(base, positions[0], node, context), sourceLocation=context.place(node))
    return base
