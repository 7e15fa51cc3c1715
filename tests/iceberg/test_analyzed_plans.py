"""EXPLAIN ANALYZE on the embedded engine: rows of plan nodes are those that a count by hand finds in the same files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from coordinator.connectors.registry import CatalogConfig, Catalogs
from coordinator.engine import executor
from coordinator.engine.embedded.engine import EmbeddedEngine
from coordinator.engine.embedded.messages import EngineSettings
from coordinator.engine.executor import Executor
from coordinator.engine.local import LocalEngine
from coordinator.engine.processes.nursery import Nursery
from coordinator.explain.analyzed import Stats
from coordinator.explain.json_format import distributed_trees, pretty
from coordinator.planning.plan_statement import plan_statement
from shared.properties import Property
from shared.spi.session import Session
from tests.execution import FakeExecution
from tests.iceberg.embedded_reader import NoCheckers


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedEngine]:
    nursery = Nursery()
    made = EmbeddedEngine(EngineSettings(str(tmp_path_factory.mktemp("engine") / "scratch")), nursery, processes=1)
    yield made
    made.close()
    nursery.close()


class Explained:
    """EXPLAIN ANALYZE over a lake with the tables ``facts`` (1000 rows) and ``names`` (10 rows)."""

    def __init__(self, lake: Any, engine: EmbeddedEngine) -> None:
        facts = pa.table({"k": [i % 7 for i in range(1000)], "v": list(range(1000))})
        names = pa.table({"k": list(range(10)), "w": [i * 2 for i in range(10)]})
        lake.create("facts", [facts.slice(0, 600), facts.slice(600)])
        lake.create("names", [names])
        values = {"iceberg.catalog.uri": lake.uri, "iceberg.catalog.warehouse": f"file://{lake.home}/wh"}
        found = {k: Property(k, v, Path("lab.properties"), i) for i, (k, v) in enumerate(values.items(), start=2)}
        self.catalogs = Catalogs([CatalogConfig("lab", "iceberg", found, lake.home)])
        self.local = LocalEngine()
        self.executor = Executor(self.catalogs, self.local, None, lambda _: "", embedded=engine)  # type: ignore[arg-type]
        self.oracle = duckdb.connect()
        self.oracle.register("facts", facts)
        self.oracle.register("names", names)

    def text(self, query: str, options: str = "") -> str:
        session = Session(user="test", catalog="lab", schema="db", properties={"engine": "embedded"})
        planned = plan_statement(f"EXPLAIN ANALYZE {options} {query}", session, self.catalogs, NoCheckers())
        self.execution = FakeExecution()
        (batch,) = self.executor.execute(planned, self.execution)
        return str(batch.column(0)[0].as_py())

    def nodes(self, query: str) -> dict[str, dict[str, Any]]:
        """``stats`` by the name of a node."""
        return stats_by_name(self.text(query, "(FORMAT JSON)"))

    def count(self, query: str) -> int:
        return int(self.oracle.sql(f"SELECT count(*) FROM ({query})").fetchall()[0][0])


def stats_by_name(plan: str) -> dict[str, dict[str, Any]]:
    """Of EXPLAIN in JSON, by fragments."""
    found = {}
    for fragment in json.loads(plan).values():
        waiting = [fragment["plan"]]
        while waiting:
            node = waiting.pop()
            found[node["name"]] = node.get("stats", {})
            waiting += node["children"]
    return found


@pytest.fixture
def explained(lake: Any, engine: EmbeddedEngine) -> Iterator[Explained]:
    made = Explained(lake, engine)
    yield made
    made.local.close()


def rows(stats: dict[str, Any]) -> int | None:
    return stats.get("planNodeOutputPositions")


def test_rows_of_every_node_are_those_of_a_count(explained: Explained) -> None:
    query = "SELECT k, sum(v) FROM facts WHERE v % 3 = 1 GROUP BY k"
    nodes = explained.nodes(query)
    filtered = explained.count("SELECT * FROM facts WHERE v % 3 = 1")
    assert rows(nodes["ScanFilter"]) == filtered == 333
    assert nodes["ScanFilter"]["planNodeInputPositions"] == explained.count("SELECT * FROM facts")
    aggregates = [stats for name, stats in nodes.items() if name.startswith("Aggregate(FINAL)")]
    assert [rows(stats) for stats in aggregates] == [explained.count(query)]
    assert rows(nodes["Output"]) == 7
    assert explained.execution.operators


def test_statements_that_read_much_are_measured_unasked(explained: Explained, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the page of a query draws."""

    def drawn(sql: str) -> dict[str, int | None]:
        session = Session(user="test", catalog="lab", schema="db", properties={"engine": "embedded"})
        execution = FakeExecution()
        planned = plan_statement(sql, session, explained.catalogs, NoCheckers())
        given = sum(batch.num_rows for batch in explained.executor.execute(planned, execution))
        assert planned.subplan is not None
        stats = Stats(planned.subplan, execution.operators, given)
        found = stats_by_name(pretty(distributed_trees(planned.subplan, stats.as_json)))
        return {name: rows(each) for name, each in found.items()} if execution.operators else {}

    sql = "SELECT k, sum(v) FROM facts WHERE v % 3 = 1 GROUP BY k"
    assert drawn(sql) == {}
    monkeypatch.setattr(executor, "_MEASURED_ROWS", 1000)
    numbers = drawn(sql)
    assert (numbers["ScanFilter"], numbers["Output"]) == (333, 7)
    assert drawn("SELECT k FROM names") == {}


def test_a_join_by_its_sides(explained: Explained) -> None:
    query = "SELECT f.v, n.w FROM facts f JOIN names n ON f.k = n.k WHERE f.v > 500 AND n.w < 9"
    text = explained.text(query)
    joined = explained.count(query)
    assert re.search(rf"InnerJoin.*\n +CPU: [\d.]+.s \([\d.]+%\), Input: \d+ rows, Output: {joined} rows", text)
    assert f"Output: {explained.count('SELECT * FROM names WHERE w < 9')} rows" in text
    (scan,) = re.findall(r"ScanFilter.*icebergTableName.*|ScanFilter.*facts.*\n.*Output: (\d+) rows", text)
    # The engine passes keys of the smaller side to the scan of the larger: never fewer than join, or more than pass.
    assert joined <= int(scan) <= explained.count("SELECT * FROM facts WHERE v > 500")


def test_text_has_presto_s_shape(explained: Explained) -> None:
    text = explained.text("SELECT count(*) FROM facts WHERE v >= 990")
    assert re.match(r"Ran on the coordinator in [\d.]+m?s\. Output: 1 rows \(8B\)\. ", text)
    assert re.search(r"^    CPU: [\d.]+.?s, Input: 400 rows, Output: \? rows \(\?B\)$", text, re.MULTILINE)
    # The other file holds no such rows, and was not read.
    wanted = r"CPU: [\d.]+.?s \([\d.]+%\), Input: 400 rows, Output: 10 rows \([\d.]+k?B\), Filtered: 97\.50%$"
    assert re.search(wanted, text, re.MULTILINE)
    assert re.search(r"^DuckDB operators$", text, re.MULTILINE)
    assert re.search(r"- TABLE_SCAN READ_PARQUET \[.*\] of PlanNodeId 0$", text, re.MULTILINE)
    assert "Filters: " not in text
    assert "Filters: (v >= 990)" in explained.text("SELECT count(*) FROM facts WHERE v >= 990", "VERBOSE")
    assert "Output: 1 rows" in explained.text("SELECT 1", "(TYPE DISTRIBUTED)")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a.k FROM facts a JOIN facts b ON a.v = b.v WHERE b.k = 1",
        "WITH x AS (SELECT k, count(*) c FROM facts GROUP BY k) SELECT * FROM x a JOIN x b ON a.c = b.k",
        "SELECT count(DISTINCT k), sum(DISTINCT v) FROM facts",
        "SELECT * FROM facts WHERE v > (SELECT avg(w) FROM names) ORDER BY v LIMIT 3",
        "SELECT k FROM facts WHERE k IN (SELECT k FROM names WHERE w > 9)",
        "SELECT k FROM facts UNION ALL SELECT w FROM names WHERE w < 5",
        "SELECT k, row_number() OVER (PARTITION BY k ORDER BY v) FROM facts WHERE v < 50",
        "SELECT k FROM facts UNION SELECT k FROM names",
        "SELECT k, sum(v) s FROM facts GROUP BY k HAVING sum(v) > 70000 ORDER BY s",
    ],
)
def test_numbers_that_are_told_are_right(explained: Explained, query: str) -> None:
    """Whatever the engine makes of it: the root is known, and no scan gives more rows than its table has."""
    nodes = explained.nodes(query)
    assert rows(nodes["Output"]) == explained.count(query)
    for name, stats in nodes.items():
        if "Scan" in name:
            assert rows(stats) is None or rows(stats) <= 1000  # type: ignore[operator]


def test_values_and_unions_by_their_parts(explained: Explained) -> None:
    nodes = explained.nodes("SELECT k FROM facts WHERE v < 10 UNION ALL SELECT w FROM names")
    assert rows(nodes["ScanFilter"] if "ScanFilter" in nodes else nodes["ScanFilterProject"]) == 10
    assert rows(nodes["TableScan"]) == 10
    nodes = explained.nodes("SELECT x FROM (VALUES 1, 2, 3, 4) AS t(x) WHERE x > random() * 0 + 1")
    assert rows(nodes["Output"]) == 3
