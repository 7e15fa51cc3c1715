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
from tests.optimizer.rule_cases import RuleCases

RULE = "reorder_joins"
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


def test_the_largest_table_comes_first(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT n_name, r_name, s_name FROM region, nation, supplier WHERE s_nationkey = n_nationkey AND "
        "n_regionkey = r_regionkey",
        """
        Output[n_name, r_name, s_name]
          InnerJoin[n_nationkey = s_nationkey] => r_name, n_name, s_name
            InnerJoin[r_regionkey = n_regionkey] => r_name, n_nationkey, n_name
              Scan[region: r_regionkey, r_name]
              Scan[nation: n_nationkey, n_name, n_regionkey]
            Scan[supplier: s_name, s_nationkey]
        """,
        """
        Output[n_name, r_name, s_name]
          InnerJoin[n_regionkey = r_regionkey] => s_name, n_name, r_name
            InnerJoin[s_nationkey = n_nationkey] => s_name, n_name, n_regionkey
              Scan[supplier: s_name, s_nationkey]
              Scan[nation: n_nationkey, n_name, n_regionkey]
            Scan[region: r_regionkey, r_name]
        """,
    )


def test_an_inequality_stays_above_what_it_reads(rule: RuleCases) -> None:
    """The cross join that it was a filter of goes."""
    rule.fires(
        RULE,
        "SELECT r_name, s_name FROM region, supplier, nation WHERE s_nationkey = n_nationkey AND n_regionkey "
        "= r_regionkey AND s_suppkey < r_regionkey",
        """
        Output[r_name, s_name]
          InnerJoin[s_nationkey = n_nationkey AND r_regionkey = n_regionkey] => r_name, s_name
            Filter[s_suppkey < r_regionkey]
              CrossJoin[] => r_regionkey, r_name, s_suppkey, s_name, s_nationkey
                Scan[region: r_regionkey, r_name]
                Scan[supplier: s_suppkey, s_name, s_nationkey]
            Scan[nation: n_nationkey, n_regionkey]
        """,
        """
        Output[r_name, s_name]
          Filter[s_suppkey < r_regionkey]
            InnerJoin[n_regionkey = r_regionkey] => s_suppkey, s_name, r_regionkey, r_name
              InnerJoin[s_nationkey = n_nationkey] => s_suppkey, s_name, n_regionkey
                Scan[supplier: s_suppkey, s_name, s_nationkey]
                Scan[nation: n_nationkey, n_regionkey]
              Scan[region: r_regionkey, r_name]
        """,
    )


def test_equalities_of_expressions_are_computed_below(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT n_name, s_name, r_name FROM nation, region, supplier WHERE s_nationkey + 1 = n_nationkey + 1 "
        "AND n_regionkey = r_regionkey",
        """
        Output[n_name, s_name, r_name]
          Project[n_name, s_name, r_name]
            Filter[(s_nationkey + 1) = (n_nationkey + 1)]
              CrossJoin[] => n_nationkey, n_name, r_name, s_name, s_nationkey
                InnerJoin[n_regionkey = r_regionkey] => n_nationkey, n_name, r_name
                  Scan[nation: n_nationkey, n_name, n_regionkey]
                  Scan[region: r_regionkey, r_name]
                Scan[supplier: s_name, s_nationkey]
        """,
        """
        Output[n_name, s_name, r_name]
          Project[n_name, s_name, r_name]
            InnerJoin[n_regionkey = r_regionkey] => s_name, s_nationkey, n_nationkey, n_name, r_name
              InnerJoin[expr_8 = expr_9] => s_name, s_nationkey, n_nationkey, n_name, n_regionkey
                Project[s_name, s_nationkey, expr_8 := s_nationkey + 1]
                  Scan[supplier: s_name, s_nationkey]
                Project[n_nationkey, n_name, n_regionkey, expr_9 := n_nationkey + 1]
                  Scan[nation: n_nationkey, n_name, n_regionkey]
              Scan[region: r_regionkey, r_name]
        """,
    )


def test_outer_joins_are_leaves(rule: RuleCases) -> None:
    """Their sides do not change places with others."""
    rule.fires(
        RULE,
        "SELECT r_name, s_name FROM region JOIN (SELECT * FROM nation LEFT JOIN supplier ON s_nationkey = "
        "n_nationkey AND s_suppkey < 5) ON n_regionkey = r_regionkey",
        """
        Output[r_name, s_name]
          InnerJoin[r_regionkey = n_regionkey] => r_name, s_name
            Scan[region: r_regionkey, r_name]
            LeftJoin[n_nationkey = s_nationkey] => n_regionkey, s_name
              Scan[nation: n_nationkey, n_regionkey]
              Filter[s_suppkey < 5]
                Scan[supplier: s_suppkey, s_name, s_nationkey]
        """,
        """
        Output[r_name, s_name]
          InnerJoin[n_regionkey = r_regionkey] => s_name, r_name
            LeftJoin[n_nationkey = s_nationkey] => n_regionkey, s_name
              Scan[nation: n_nationkey, n_regionkey]
              Filter[s_suppkey < 5]
                Scan[supplier: s_suppkey, s_name, s_nationkey]
            Scan[region: r_regionkey, r_name]
        """,
    )


def test_a_left_join_alone_rests(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT n_name, s_name FROM nation LEFT JOIN supplier ON s_nationkey = n_nationkey",
        """
        Output[n_name, s_name]
          LeftJoin[n_nationkey = s_nationkey] => n_name, s_name
            Scan[nation: n_nationkey, n_name]
            Scan[supplier: s_name, s_nationkey]
        """,
    )


def test_a_condition_that_is_another_each_time_keeps_its_place(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT r_name, s_name FROM region JOIN (SELECT * FROM nation JOIN supplier ON s_nationkey = "
        "n_nationkey WHERE random() < 2) ON n_regionkey = r_regionkey",
        """
        Output[r_name, s_name]
          InnerJoin[r_regionkey = n_regionkey] => r_name, s_name
            Scan[region: r_regionkey, r_name]
            Filter[(random()) < 2.0]
              InnerJoin[n_nationkey = s_nationkey] => n_regionkey, s_name
                Scan[nation: n_nationkey, n_regionkey]
                Scan[supplier: s_name, s_nationkey]
        """,
        """
        Output[r_name, s_name]
          InnerJoin[n_regionkey = r_regionkey] => s_name, r_name
            Filter[(random()) < 2.0]
              InnerJoin[s_nationkey = n_nationkey] => s_name, n_regionkey
                Scan[supplier: s_name, s_nationkey]
                Scan[nation: n_nationkey, n_regionkey]
            Scan[region: r_regionkey, r_name]
        """,
    )


def test_so_does_a_join_with_one(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT n_name, s_name FROM nation JOIN supplier ON s_nationkey = n_nationkey AND random() - 2 < n_nationkey",
        """
        Output[n_name, s_name]
          InnerJoin[n_nationkey = s_nationkey AND ((random()) - 2.0) < (CAST(n_nationkey AS double))] => n_name,
                s_name
            Scan[nation: n_nationkey, n_name]
            Scan[supplier: s_name, s_nationkey]
        """,
    )


def test_unknown_sizes_leave_the_order(rule: RuleCases) -> None:
    """But what is connected comes first."""
    rule.fires(
        RULE,
        "SELECT r_name, n_name FROM region, (SELECT k FROM UNNEST(ARRAY[BIGINT '1']) t(k)), nation WHERE "
        "n_regionkey = r_regionkey AND k = n_nationkey",
        """
        Output[r_name, n_name]
          InnerJoin[r_regionkey = n_regionkey AND field = n_nationkey] => r_name, n_name
            CrossJoin[] => r_regionkey, r_name, field
              Scan[region: r_regionkey, r_name]
              Unnest[unnest] => field
                Project[unnest := ARRAY(1)]
                  Values[: ()]
            Scan[nation: n_nationkey, n_name, n_regionkey]
        """,
        """
        Output[r_name, n_name]
          InnerJoin[n_nationkey = field] => r_name, n_name
            InnerJoin[r_regionkey = n_regionkey] => r_name, n_nationkey, n_name
              Scan[region: r_regionkey, r_name]
              Scan[nation: n_nationkey, n_name, n_regionkey]
            Unnest[unnest] => field
              Project[unnest := ARRAY(1)]
                Values[: ()]
        """,
    )


def test_no_reordering(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT r_name, s_name FROM region, supplier, nation WHERE s_nationkey = n_nationkey AND n_regionkey "
        "= r_regionkey",
        """
        Output[r_name, s_name]
          InnerJoin[s_nationkey = n_nationkey AND r_regionkey = n_regionkey] => r_name, s_name
            CrossJoin[] => r_regionkey, r_name, s_name, s_nationkey
              Scan[region: r_regionkey, r_name]
              Scan[supplier: s_name, s_nationkey]
            Scan[nation: n_nationkey, n_regionkey]
        """,
        session={"join_reordering_strategy": "NONE"},
    )


def test_without_cross_joins(rule: RuleCases) -> None:
    """The order of the statement, else."""
    rule.fires(
        RULE,
        "SELECT r_name, s_name FROM region, supplier, nation WHERE s_nationkey = n_nationkey AND n_regionkey "
        "= r_regionkey",
        """
        Output[r_name, s_name]
          InnerJoin[s_nationkey = n_nationkey AND r_regionkey = n_regionkey] => r_name, s_name
            CrossJoin[] => r_regionkey, r_name, s_name, s_nationkey
              Scan[region: r_regionkey, r_name]
              Scan[supplier: s_name, s_nationkey]
            Scan[nation: n_nationkey, n_regionkey]
        """,
        """
        Output[r_name, s_name]
          InnerJoin[n_regionkey = r_regionkey] => s_name, r_name
            InnerJoin[s_nationkey = n_nationkey] => s_name, n_regionkey
              Scan[supplier: s_name, s_nationkey]
              Scan[nation: n_nationkey, n_regionkey]
            Scan[region: r_regionkey, r_name]
        """,
    )
