"""The row of the empty grouping set, which Spark forgets beside other sets where there are no rows: it expands rows.

So there is always one: a row of NULLs is added to those of the source, which no aggregate counts. To ask for the empty
set apart from the others would compute the source once more, which is quicker only where that is little work.
"""

from __future__ import annotations

from msgspec.structs import replace
from sqlglot import exp

from coordinator.unparser.aggregates import function_of
from coordinator.unparser.block import Block, Rendering, passed_on, select_of
from coordinator.unparser.trees import binary, call, column, name, number
from shared.plan.expressions import Variable
from shared.plan.nodes import Aggregation, AggregationNode, JoinNode, PlanNode, SemiJoinNode, WindowNode
from shared.plan.traversal import walk

_REAL = Variable(name="procession_real", type="boolean")
"""True in rows of the source, NULL in the one that is added to them."""
_WANTED = "procession_wanted"
_PASS_OVER_NULL = ("count", "sum", "avg", "min", "max")
"""Aggregates that do with NULL in their one argument what they do with no row."""
_FEW_JOINS = 3
"""TPC-DS q22, q67: a source of so many is read twice in 0.84 and 0.93 of the time that takes its rows once more."""


def is_costly(source: PlanNode) -> bool:
    """Whether the source is better computed once."""
    nodes = walk(source)
    joins = sum(isinstance(node, JoinNode | SemiJoinNode) for node in nodes)
    return joins > _FEW_JOINS or any(isinstance(node, AggregationNode | WindowNode) for node in nodes)


def with_a_row(rendering: Rendering, source: Block) -> Block:
    """The rows of ``source``, which has room above WHERE, and one more."""
    real = replace(source, columns=(*passed_on(source.variables), (exp.Boolean(this=True), _REAL.name)))
    names = [*(variable.name for variable in source.variables), _REAL.name]
    added = exp.Select(expressions=[exp.Alias(this=exp.Null(), alias=name(each)) for each in names])
    union = exp.Union(this=select_of(real), expression=added, distinct=False)
    alias = exp.TableAlias(this=name(rendering.alias()))
    return Block(exp.Subquery(this=union, alias=alias), (*source.variables, _REAL))


def of_real_rows(aggregation: Aggregation) -> Aggregation:
    """The same aggregate without the row that was added."""
    arguments = aggregation.call.arguments
    passes = len(arguments) == 1 and isinstance(arguments[0], Variable)
    if aggregation.mask is not None or (passes and function_of(aggregation.call, "spark") in _PASS_OVER_NULL):
        return aggregation
    return replace(aggregation, mask=_REAL)


def wanted(lacking: exp.Expr, keys: int) -> tuple[exp.Expr, str]:
    """Whether a group has a real row or is that of the empty set, which lacks all of so many keys."""
    has_rows = binary(exp.GT, call("count", column(_REAL.name)), number(0))
    return exp.Or(this=has_rows, expression=binary(exp.EQ, lacking, number((1 << keys) - 1))), _WANTED


def only_wanted(select: exp.Select) -> exp.Select:
    """Without groups of nothing but the row that was added."""
    select.set("where", exp.Where(this=column(_WANTED)))
    return select
