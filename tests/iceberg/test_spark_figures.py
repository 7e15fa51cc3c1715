"""Operators that a Spark measured (recorded, over the two tables below), and the plan nodes that they are of."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from coordinator.connectors.registry import CatalogConfig, Catalogs
from coordinator.engine.spark.operator_metrics import counted_once, operator_of, operators_of
from coordinator.explain.analyzed import Stats
from coordinator.explain.describe import describe
from coordinator.explain.operators import Operator
from coordinator.planning.plan_statement import plan_statement
from shared.plan.traversal import walk
from shared.properties import Property
from shared.spi.session import Session
from tests.iceberg.embedded_reader import NoCheckers

RECORDED = Path(__file__).parent.parent / "data" / "spark_operators.txt"


class Sent:
    """As Connect's client has it."""

    def __init__(self, number: int, parent: int, *values: Any) -> None:
        self.plan_id, self.parent_plan_id, self.name, self.metrics = number, parent, f"Step {number}", values


def test_the_order_of_what_is_sent() -> None:
    """Parents come after children, one stands under itself, and plans may be deeper than Python's stack."""
    sent: Any = [Sent(5, 2), Sent(2, 1), Sent(1, 0), Sent(3, 1), Sent(4, 2), Sent(7, 7), Sent(8, 7)]
    assert [(each.name, each.depth) for each in operators_of(sent)] == [
        ("Step 1", 0), ("Step 2", 1), ("Step 5", 2), ("Step 4", 2), ("Step 3", 1), ("Step 7", 0), ("Step 8", 1),
    ]  # fmt: skip
    deep: Any = [Sent(number, number - 1) for number in range(1, 20_001)]
    assert [each.depth for each in operators_of(deep)] == list(range(20_000))


def test_figures_that_nobody_understands_fail_nothing(caplog: pytest.LogCaptureFixture) -> None:
    sent: Any = [Sent(1, 0, "no metric")]
    assert operators_of(sent) == []
    assert "cannot be understood" in caplog.text


def recorded() -> dict[str, list[Operator]]:
    """By the statement."""
    found = {}
    for part in RECORDED.read_text(encoding="utf-8").split("\n\n"):
        title, *lines = part.strip().splitlines()
        operators = []
        for line in lines:
            match = re.fullmatch(r"( *)(.*?)(?: \[(.*)\])?", line)
            assert match
            counters = dict(each.split(": ") for each in match[3].split(", ")) if match[3] else {}
            metrics = {name: int(value) for name, value in counters.items()}
            operators.append(operator_of(match[2].replace("iceberg.db", "lab.db"), len(match[1]) // 2, metrics))
        found[title.removeprefix("-- ")] = counted_once(operators)
    return found


WANTED = {
    "sum(v)": {"Output": 7, "RemoteSource": 7, "Aggregate(FINAL)[k]": 7, "Aggregate(PARTIAL)[k]": 7, "ScanFilter": 500},
    "count(*) c": {"TopN": 3, "Aggregate(FINAL)[k]": 5, "InnerJoin": 358, "ScanFilter": {500, 5}},
    "IN (SELECT": {"Limit": 10, "FilterProject": 10, "TableScan": 22, "ScanFilterProject": 3},
    "UNION ALL": {"Sort": 17, "Aggregate(FINAL)[k]": 7, "Aggregate(PARTIAL)[k]": 7, "TableScan": {1000, 10}},
    "row_number()": {"Window": 100, "ScanFilter": 100},
    "LEFT JOIN": {"LeftJoin": 1000, "TableScan": {1000, 10}},
}


@pytest.mark.parametrize("part", WANTED)
def test_rows_of_nodes(lake: Any, part: str) -> None:
    lake.create("an1", [pa.table({"k": [i % 7 for i in range(1000)], "v": list(range(1000))})])
    lake.create("an2", [pa.table({"k": [i % 7 for i in range(10)], "w": list(range(10))})])
    values = {"iceberg.catalog.uri": lake.uri, "iceberg.catalog.warehouse": f"file://{lake.home}/wh"}
    found = {k: Property(k, v, Path("i.properties"), i) for i, (k, v) in enumerate(values.items(), start=2)}
    catalogs = Catalogs([CatalogConfig("lab", "iceberg", found, lake.home)])
    ((sql, operators),) = [(sql, made) for sql, made in recorded().items() if part in sql]
    session = Session(user="test", catalog="lab", schema="db", properties={"engine": "spark"})
    subplan = plan_statement(sql, session, catalogs, NoCheckers()).subplan
    assert subplan is not None
    stats = Stats(subplan, operators, None)
    seen: dict[str, set[int | None]] = {}
    for fragment in subplan.fragments():
        waiting = [fragment.root]
        while waiting:
            node = waiting.pop()
            described = describe(node, distributed=True)
            known = stats.node(node, described)
            seen.setdefault(described.name, set()).add(None if known is None else known.output_rows)
            waiting += described.sources
        assert walk(fragment.root)
    wanted = WANTED[part]
    if part == "count(*) c":
        wanted = wanted | {"TopN": None}  # Spark counts no rows there; who runs it knows how many came
    if part == "IN (SELECT":
        wanted = wanted | {"Limit": None}
    assert {name: seen[name] for name in wanted} == {
        name: rows if isinstance(rows, set) else {rows} for name, rows in wanted.items()
    }
    assert any("pipeline" in line.lower() for f in subplan.fragments() for line in _lines(stats, f.root))


def _lines(stats: Stats, root: Any) -> list[str]:
    return [line for node in walk(root) for line in stats.of_node(node, describe(node, distributed=True))]


def test_stages_that_ran_twice_are_counted_once() -> None:
    """Spark samples what it sorts by ranges: the stage before it runs twice, and its counters are sums."""
    ((_, operators),) = [(sql, made) for sql, made in recorded().items() if "UNION ALL" in sql]
    raw = [each for each in operators if "ran 2 times" in each.notes]
    assert [each.rows for each in raw if each.name == "HashAggregate"] == [7]
    assert {each.rows for each in raw} == {7, 10}
