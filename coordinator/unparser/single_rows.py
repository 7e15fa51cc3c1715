"""Relations of exactly one row: the check that a subquery has no more, and columns that a single row adds to others."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace
from sqlglot import exp

from coordinator.unparser.block import Block, Rendering, select_of
from coordinator.unparser.trees import binary, call, cast, column, name, number, text
from shared.plan.expressions import Variable
from shared.plan.nodes import AggregationNode, EnforceSingleRowNode, JoinNode, PlanNode, ProjectNode, ValuesNode
from shared.plan.traversal import free_variables, output_variables
from shared.plan.types import parse_type


def has_one_row(node: PlanNode) -> bool:
    """Whether it has exactly one row, whatever it reads."""
    match node:
        case EnforceSingleRowNode():
            return True
        case AggregationNode():
            sets = node.groupingSets
            return not sets.groupingKeys and sets.groupingSetCount == 1 and node.step == "SINGLE"
        case ValuesNode():
            return len(node.rows) == 1
        case ProjectNode():
            return has_one_row(node.source)
        case _:
            return False


def enforced(rendering: Rendering, node: EnforceSingleRowNode) -> Block:
    """Exactly one row: NULLs for none, an error for several."""
    inner = rendering.block(node.source)
    if has_one_row(node.source):
        return inner
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


def added_values(dialect: str, chain: Sequence[JoinNode], wanted: Sequence[Variable]) -> dict[str, JoinNode]:
    """Which ``wanted`` columns of joins one below the other Spark computes as scalar subqueries, and their joins.

    Spark knows such a value before it reads the other side, and asks for it there; of a cross join it copies a row to
    each task and compares above. What another condition of the chain reads must stand in its FROM.
    """
    if dialect != "spark":
        return {}
    read = {v.name for one in chain for c in one.criteria for v in (c.left, c.right)}
    read |= {v.name for one in chain if one.filter is not None for v in free_variables(one.filter)}
    names = {v.name for v in wanted} - read
    found = {}
    for one in chain:
        plain = one.type == "INNER" and not one.criteria and one.filter is None
        values = output_variables(one.right)
        if plain and len(values) == 1 and values[0].name in names and has_one_row(one.right):
            found[values[0].name] = one
    return found


def value_of_row(rendering: Rendering, node: PlanNode) -> exp.Expr:
    """``(SELECT …) AS value``."""
    (variable,) = output_variables(node)
    return exp.Alias(this=exp.Subquery(this=select_of(rendering.block(node))), alias=name(variable.name))
