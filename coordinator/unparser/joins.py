"""Joins, semi joins and the check of a single row."""

from __future__ import annotations

from msgspec.structs import replace
from sqlglot import exp

from coordinator.unparser.block import Block, Rendering, passed_on, select_of
from coordinator.unparser.compared_maps import compared
from coordinator.unparser.exists import MatchedRows
from coordinator.unparser.trees import binary, call, cast, column, name, number, text
from shared.plan.nodes import EnforceSingleRowNode, JoinNode, PlanNode, SemiJoinNode
from shared.plan.traversal import output_variables
from shared.plan.types import parse_type


def join(rendering: Rendering, node: JoinNode) -> Block:
    """Joins in a SELECT of their own, which names the columns that they pass on: ``(a JOIN b) JOIN c`` in one FROM."""
    chain = [node]
    while isinstance(chain[-1].left, JoinNode):
        chain.append(chain[-1].left)
    first = _side(rendering, chain[-1].left)
    made = [_joined(rendering, one) for one in reversed(chain)]
    variables = output_variables(node)
    source = exp.Select(expressions=[column(v.name) for v in variables] or [number(1)])
    source.set("from_", exp.From(this=first))
    source.set("joins", made)
    copied = [
        tree.this.args["alias"].this.copy() for one, tree in zip(reversed(chain), made, strict=True) if _copied(one)
    ]
    if rendering.copies and copied:
        source.set("hint", exp.Hint(expressions=[exp.Anonymous(this="BROADCAST", expressions=copied)]))
    alias = exp.TableAlias(this=name(rendering.alias()))
    return Block(exp.Subquery(this=source, alias=alias), variables)


def matched(rendering: Rendering, node: MatchedRows) -> Block:
    """The rows of the left side that have a match, or that have none."""
    made = _joined(rendering, node.join)
    made.set("side", "LEFT")
    made.set("kind", node.kind)
    variables = output_variables(node.join.left)
    source = exp.Select(expressions=[column(v.name) for v in variables] or [number(1)])
    source.set("from_", exp.From(this=_side(rendering, node.join.left)))
    source.set("joins", [made])
    return Block(exp.Subquery(this=source, alias=exp.TableAlias(this=name(rendering.alias()))), variables)


def _copied(node: JoinNode) -> bool:
    return node.distributionType == "REPLICATED" and bool(node.criteria)


def _joined(rendering: Rendering, node: JoinNode) -> exp.Expr:
    dialect = rendering.dialect
    terms = [binary(exp.EQ, compared(c.left, dialect), compared(c.right, dialect)) for c in node.criteria]
    if node.filter is not None:
        terms.append(rendering.tree(node.filter))
    condition = None
    for term in terms:
        condition = term if condition is None else exp.And(this=condition, expression=term)
    made = exp.Join(this=_side(rendering, node.right))
    if node.type == "INNER" and condition is None:
        made.set("kind", "CROSS")
    else:
        made.set("side" if node.type != "INNER" else "kind", node.type)
        made.set("on", condition if condition is not None else exp.Boolean(this=True))
    return made


def _side(rendering: Rendering, node: PlanNode) -> exp.Expr:
    block = rendering.block(node)
    source = rendering.wrap(block, block.variables).source
    assert source is not None  # a wrapped block is a subquery
    return source


def semi_join(rendering: Rendering, node: SemiJoinNode) -> Block:
    """``value IN (query)`` as a column."""
    source = rendering.plain(node.source)
    inner = rendering.block(node.filteringSource)
    wrapped = rendering.wrap(inner, inner.variables)
    wanted, dialect = node.filteringSourceJoinVariable, rendering.dialect
    query = select_of(replace(wrapped, columns=((compared(wanted, dialect), wanted.name),)))
    test = exp.Paren(this=exp.In(this=compared(node.sourceJoinVariable, dialect), query=exp.Subquery(this=query)))
    columns = (*passed_on(source.variables), (test, node.semiJoinOutput.name))
    return replace(source, columns=columns, variables=output_variables(node))


def single_row(rendering: Rendering, node: EnforceSingleRowNode) -> Block:
    """Exactly one row: NULLs for none, an error for several."""
    inner = rendering.block(node.source)
    variables, dialect = inner.variables, rendering.dialect
    source = rendering.wrap(inner, variables)
    count = call("count", exp.Star())
    message = text("Scalar sub-query has returned multiple rows")
    error = call("error" if dialect == "duckdb" else "raise_error", message)
    columns = []
    for variable in variables:
        first = call("first", column(variable.name))
        type_ = parse_type(variable.type)
        several = exp.If(this=binary(exp.GT, count.copy(), number(1)), true=cast(error.copy(), type_, dialect))
        columns.append((exp.Case(ifs=[several], default=first), variable.name))
    return rendering.wrap(replace(source, columns=tuple(columns), group=()), variables)
