"""Joins."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace
from sqlglot import exp

from coordinator.expressions.programs import asks_chance
from coordinator.unparser.block import Block, Rendering
from coordinator.unparser.compared_maps import compared
from coordinator.unparser.exists import MatchedRows
from coordinator.unparser.indeterminate import refused_pairs
from coordinator.unparser.single_rows import added_values, value_of_row
from coordinator.unparser.trees import binary, case, column, is_null, name, number
from shared.plan.expressions import Variable
from shared.plan.nodes import FilterNode, JoinNode, PlanNode
from shared.plan.traversal import output_variables
from shared.plan.types import parse_type


def join(rendering: Rendering, node: JoinNode) -> Block:
    """Joins in a SELECT of their own, which names the columns that they pass on: ``(a JOIN b) JOIN c`` in one FROM."""
    if _chooses_by_chance(node, rendering.dialect):
        assert node.filter is not None
        pairs = replace(
            node, filter=None, outputVariables=(*output_variables(node.left), *output_variables(node.right))
        )
        chosen = FilterNode(id=node.id, source=pairs, predicate=node.filter)
        return rendering.wrap(rendering.block(chosen), output_variables(node))
    chain = [node]
    while isinstance(chain[-1].left, JoinNode) and not _chooses_by_chance(chain[-1].left, rendering.dialect):
        chain.append(chain[-1].left)
    lowest, variables = chain[-1].left, output_variables(node)
    values = added_values(rendering.dialect, chain, variables)
    chain = [one for one in chain if one not in values.values()]
    first = _side(rendering, lowest)
    made = [_joined(rendering, one) for one in reversed(chain)]
    shown = [value_of_row(rendering, values[v.name].right) if v.name in values else column(v.name) for v in variables]
    source = exp.Select(expressions=shown or [number(1)])
    source.set("from_", exp.From(this=first))
    source.set("joins", made)
    checks = [
        check for one in chain for c in one.criteria if (check := refused_pairs(c.left, c.right, rendering.dialect))
    ]
    if checks:
        source.set("where", exp.Where(this=_all(checks)))
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
    pairs = (refused_pairs(c.left, c.right, rendering.dialect) for c in node.join.criteria)
    made.set("on", _all([made.args["on"], *filter(None, pairs)]))
    made.set("side", "LEFT")
    made.set("kind", node.kind)
    variables = output_variables(node.join.left)
    source = exp.Select(expressions=[column(v.name) for v in variables] or [number(1)])
    source.set("from_", exp.From(this=_side(rendering, node.join.left)))
    source.set("joins", [made])
    return Block(exp.Subquery(this=source, alias=exp.TableAlias(this=name(rendering.alias()))), variables)


def _chooses_by_chance(node: JoinNode, dialect: str) -> bool:
    """Spark takes nothing left to chance in the condition of a join; of an inner one it may choose among the pairs."""
    if dialect != "spark" or node.type != "INNER" or node.filter is None:
        return False
    return asks_chance(node.filter)


def _copied(node: JoinNode) -> bool:
    return node.distributionType == "REPLICATED" and bool(node.criteria)


def _joined(rendering: Rendering, node: JoinNode) -> exp.Expr:
    dialect = rendering.dialect
    terms = [binary(exp.EQ, compared(c.left, dialect), _right_key(c.right, dialect)) for c in node.criteria]
    if node.filter is not None:
        terms.append(rendering.tree(node.filter))
    condition = _all(terms) if terms else None
    made = exp.Join(this=_side(rendering, node.right))
    if node.type == "INNER" and condition is None:
        made.set("kind", "CROSS")
    else:
        made.set("side" if node.type != "INNER" else "kind", node.type)
        made.set("on", condition if condition is not None else exp.Boolean(this=True))
    return made


def _right_key(key: Variable, dialect: str) -> exp.Expr:
    """Of two equal columns Spark takes one for the other: what is asked of pairs it would ask of the rows of a side."""
    tree = compared(key, dialect)
    if dialect != "spark" or parse_type(key.type).base not in ("array", "row"):
        return tree
    return case([(exp.Not(this=is_null(column(key.name))), tree)])


def _all(terms: Sequence[exp.Expr]) -> exp.Expr:
    condition = terms[0]
    for term in terms[1:]:
        condition = exp.And(this=condition, expression=term)
    return condition


def _side(rendering: Rendering, node: PlanNode) -> exp.Expr:
    block = rendering.block(node)
    source = rendering.wrap(block, block.variables).source
    assert source is not None  # a wrapped block is a subquery
    return source
