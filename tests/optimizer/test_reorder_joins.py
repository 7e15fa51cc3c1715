"""The order of joins by the sizes of their tables, and what they are spread by; rows stay those of the query."""

from __future__ import annotations

from itertools import permutations

import duckdb
import pytest

from coordinator.expressions.builders import operator
from coordinator.expressions.types import BOOLEAN
from coordinator.optimizer.cardinality import cardinality
from coordinator.optimizer.join_tree import equality, flatten
from coordinator.optimizer.optimize import optimize
from coordinator.optimizer.rule import Rule, node_rule
from coordinator.optimizer.rules import determine_join_distribution, reorder_joins
from shared.plan.blocks import encode_constant
from shared.plan.expressions import Constant, Variable
from shared.plan.nodes import EquiJoinClause, FilterNode, JoinNode, OutputNode, PlanNode, TableHandle, TableScanNode
from shared.plan.traversal import output_variables, walk
from shared.spi.session import Session

RULES = (
    Rule("reorder_joins", reorder_joins.apply),
    node_rule("determine_join_distribution", determine_join_distribution.rewrite),
)
ROWS = {"fact": 1_000_000, "dim": 1_000, "tiny": 10}
SESSION = Session(user="t")


def v(name: str) -> Variable:
    return Variable(name=name, type="bigint")


def scan(table: str, *columns: str) -> TableScanNode:
    return TableScanNode(
        id=table,
        table=TableHandle(connectorId="c", connectorHandle={"@type": "c", "tableName": table}),
        outputVariables=tuple(v(c) for c in columns),
        assignments={v(c).key: {"@type": "c", "name": c} for c in columns},
    )


def join(number: int, left: PlanNode, right: PlanNode, *clauses: tuple[str, str]) -> JoinNode:
    return JoinNode(
        id=f"j{number}",
        type="INNER",
        left=left,
        right=right,
        criteria=tuple(EquiJoinClause(left=v(a), right=v(b)) for a, b in clauses),
        outputVariables=(*output_variables(left), *output_variables(right)),
    )


FACT, DIM, TINY = scan("fact", "f_dim", "f_tiny"), scan("dim", "d"), scan("tiny", "t")


def output(source: PlanNode) -> OutputNode:
    wanted = (v("f_dim"), v("d"), v("t"))
    return OutputNode(id="out", source=source, columnNames=("f_dim", "d", "t"), outputVariables=wanted)


def tables(plan: PlanNode) -> list[str]:
    return [node.id for node in walk(plan) if isinstance(node, TableScanNode)]


def reordered(plan: OutputNode, session: Session = SESSION, rows: dict[str, int] | None = None) -> PlanNode:
    return optimize(plan, session, RULES, table_rows=ROWS if rows is None else rows)[0]


WRITTEN_BADLY = join(2, join(1, TINY, FACT, ("t", "f_tiny")), DIM, ("f_dim", "d"))


def test_the_largest_table_is_streamed_and_small_ones_are_copied() -> None:
    plan = reordered(output(WRITTEN_BADLY))
    assert tables(plan)[0] == "fact"
    joins = [node for node in walk(plan) if isinstance(node, JoinNode)]
    assert [node.distributionType for node in joins] == ["REPLICATED", "REPLICATED"]


def test_without_statistics_only_cross_joins_go() -> None:
    cross = join(2, join(1, DIM, TINY), FACT, ("d", "f_dim"), ("t", "f_tiny"))
    plan = reordered(output(cross), rows={})
    assert tables(plan) == ["dim", "fact", "tiny"]
    assert all(node.criteria for node in walk(plan) if isinstance(node, JoinNode))
    assert reordered(output(WRITTEN_BADLY), rows={}) == output(WRITTEN_BADLY)


def test_it_can_be_switched_off() -> None:
    session = Session(
        user="t", properties={"join_reordering_strategy": "NONE", "join_distribution_type": "PARTITIONED"}
    )
    assert reordered(output(WRITTEN_BADLY), session) == output(WRITTEN_BADLY)


def sql(node: PlanNode) -> str:
    match node:
        case TableScanNode():
            return f"(SELECT {', '.join(x.name for x in node.outputVariables)} FROM {node.id})"
        case JoinNode():
            terms = [f"{c.left.name} = {c.right.name}" for c in node.criteria] or ["true"]
            shown = ", ".join(x.name for x in node.outputVariables)
            return f"(SELECT {shown} FROM {sql(node.left)} JOIN {sql(node.right)} ON {' AND '.join(terms)})"
        case FilterNode():
            raise AssertionError("all conditions of these plans are criteria")
        case OutputNode():
            return f"SELECT {', '.join(x.name for x in node.outputVariables)} FROM {sql(node.source)} ORDER BY ALL"
        case _:
            raise AssertionError(type(node).__name__)


@pytest.mark.parametrize("sizes", list(permutations((5, 50, 500))))
def test_rows_stay_the_same_in_every_order(sizes: tuple[int, int, int]) -> None:
    data = duckdb.connect()
    data.execute("CREATE TABLE fact AS SELECT i % 13 AS f_dim, i % 7 AS f_tiny FROM range(300) r(i)")
    data.execute("CREATE TABLE dim AS SELECT i AS d FROM range(9) r(i)")
    data.execute("CREATE TABLE tiny AS SELECT i % 4 AS t FROM range(6) r(i)")
    plan = reordered(output(WRITTEN_BADLY), rows=dict(zip(("fact", "dim", "tiny"), sizes, strict=True)))
    assert data.execute(sql(plan)).fetchall() == data.execute(sql(output(WRITTEN_BADLY))).fetchall()


def test_conditions_survive_the_way_there_and_back() -> None:
    tree = flatten(WRITTEN_BADLY, lambda leaf: leaf)
    assert tree.terms == [equality(v("t"), v("f_tiny")), equality(v("f_dim"), v("d"))]
    assert [leaf.id for leaf in tree.leaves] == ["tiny", "fact", "dim"]


def test_distinct_values_say_what_thins_more() -> None:
    """Both dimensions look alike by rules of thumb; that one value of ``d_key`` is one row of many decides."""
    fact = scan("fact", "f_a", "f_b")
    first, second = scan("first", "a", "a_key"), scan("second", "b", "b_key")
    rows = {"fact": 1_000_000, "first": 100_000, "second": 100_000}

    def filtered(node: PlanNode, column: str) -> FilterNode:
        one = Constant(valueBlock=encode_constant(1, "bigint"), type="bigint")
        return FilterNode(id=f"filter_{column}", source=node, predicate=operator("=", (v(column), one), BOOLEAN))

    query = join(2, join(1, fact, filtered(first, "a_key"), ("f_a", "a")), filtered(second, "b_key"), ("f_b", "b"))
    wanted = (v("f_a"), v("b"))
    plan = OutputNode(id="out", source=query, columnNames=("f_a", "b"), outputVariables=wanted)
    for selective, order in (("a_key", ["fact", "first", "second"]), ("b_key", ["fact", "second", "first"])):
        distinct = {"a_key": 2.0, "b_key": 2.0, selective: 50_000.0}
        found, _ = optimize(plan, SESSION, RULES, table_rows=rows, distinct_values=distinct)
        assert tables(found) == order


def test_distinct_values_of_keys_bound_a_join() -> None:
    """A join on a column of few values multiplies rows, so that its result is no small build side."""
    few = cardinality(join(1, FACT, DIM, ("f_dim", "d")), ROWS, {"f_dim": 10.0, "d": 10.0})
    thumb = cardinality(join(1, FACT, DIM, ("f_dim", "d")), ROWS)
    assert few is not None
    assert thumb is not None
    assert (few.rows, thumb.rows) == (100_000_000, 1_000_000)
