"""Statements that a real Presto coordinator sends as fragments which workers take: ours pass the real Velox too."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from coordinator.checks.plan_checkers import PlanCheckers
from coordinator.checks.worker_form import worker_form
from coordinator.connectors.registry import Catalogs
from coordinator.planning.plan_statement import plan_statement
from shared.plan.fragment import encode_fragment
from shared.plan.nodes import AggregationNode, GroupIdNode
from shared.plan.traversal import walk
from shared.spi.session import Session

_T = "FROM (VALUES (1, 10), (2, 20), (2, NULL)) t(x, y)"

STATEMENTS = [
    f"SELECT nullif(x, 1), nullif(y, BIGINT '20'), nullif(nullif(x, 1), y) {_T}",
    f"SELECT count(DISTINCT x) FILTER (WHERE y > 1) {_T}",
    f"SELECT x, count(DISTINCT y) FILTER (WHERE y > 1), sum(y) {_T} GROUP BY x",
    f"SELECT grouping(x), x, sum(y) {_T} GROUP BY x",
    f"SELECT x, sum(y) {_T} GROUP BY GROUPING SETS ((x))",
    f"SELECT array_agg(DISTINCT y ORDER BY y) {_T}",
    f"SELECT x, array_agg(DISTINCT y ORDER BY y DESC) {_T} GROUP BY x",
    "SELECT reduce_agg(x, 0, (a, b) -> a + b, (a, b) -> a + b) FROM (VALUES BIGINT '1', 2) t(x)",
    "SELECT a, cardinality(m) FROM (VALUES (ARRAY[1], MAP(ARRAY[1], ARRAY[2])), (ARRAY[2, 3], NULL)) t(a, m)",
    "SELECT sum(x) OVER (ORDER BY y RANGE 1 PRECEDING), rank() OVER (ORDER BY x) FROM (SELECT 1 x, 2.5 y WHERE false)",
    "SELECT r FROM (VALUES ROW(ROW(1, 'a')), ROW(ROW(2, 'b'))) t(r) WHERE r[1] > 1",
]


@pytest.mark.parametrize("sql", STATEMENTS)
def test_fragments_pass(sql: str, convert: Callable[..., str]) -> None:
    planned = plan_statement(sql, Session(user="test"), Catalogs([]), PlanCheckers())
    assert planned.subplan is not None
    for fragment in planned.subplan.fragments():
        assert convert(encode_fragment(worker_form(fragment)))


def test_one_grouping_set_needs_no_group_id_and_distinct_values_meet() -> None:
    for sql in STATEMENTS:
        planned = plan_statement(sql, Session(user="test"), Catalogs([]), PlanCheckers())
        assert planned.subplan is not None
        for node in (n for made in planned.subplan.fragments() for n in walk(made.root)):
            assert not isinstance(node, GroupIdNode), sql
            if isinstance(node, AggregationNode) and any(a.distinct is True for a in node.aggregations.values()):
                assert node.step == "SINGLE", sql
