"""EXPLAIN ANALYZE runs the statement: row counts are those of the query, from Spark and from the coordinator."""

from __future__ import annotations

import json
import re
import urllib.request
from typing import Any

import prestodb
import pyarrow as pa
import pytest

from tests.e2e.service import Service

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def text_of(service: Service, sql: str, engine: str = "SPARK") -> str:
    ((text,),) = service.execute(sql, session_properties={"engine": engine})
    return text


def test_rows_of_operators_are_those_of_the_query(service: Service) -> None:
    service.create("analyzed", [pa.table({"k": [i % 7 for i in range(1000)], "v": list(range(1000))})])
    text = text_of(service, "EXPLAIN ANALYZE SELECT k, sum(v) FROM iceberg.db.analyzed WHERE v >= 500 GROUP BY k")
    assert re.match(r"Ran on Spark in .*\. Output: 7 rows ", text)
    assert "Fragment 0 [SINGLE]" in text
    counts = [int(count) for count in re.findall(r"number of output rows: (\d+)", text)]
    counts += [int(count) for count in re.findall(r"numOutputRows: (\d+)", text)]
    assert 500 in counts
    assert 7 in counts
    assert re.search(r"ScanFilter.*\n +CPU: .*, Input: 1000 rows, Output: 500 rows \(.*\), Filtered: 50\.00%", text)
    assert re.search(r"Aggregate\(FINAL\).*\n +CPU: .*, Output: 7 rows ", text)


def test_the_page_of_a_statement_shows_rows_at_nodes(service: Service) -> None:
    """Of any statement that ran on Spark, which tells them unasked."""
    service.create("paged", [pa.table({"k": [i % 7 for i in range(1000)], "v": list(range(1000))})])
    cursor = service.cursor(session_properties={"engine": "SPARK"})
    cursor.execute("SELECT k, sum(v) FROM iceberg.db.paged WHERE v >= 800 GROUP BY k")
    assert len(cursor.fetchall()) == 7
    address = f"{service.url}/ui/query.html?{cursor.stats['queryId']}"
    with urllib.request.urlopen(urllib.request.Request(address, headers={"Accept": "text/html"})) as answer:
        assert "200 rows" in answer.read().decode()


def test_json(service: Service) -> None:
    """The plan by fragments, with what was measured at the root of the first."""
    service.create("told", [pa.table({"k": [1, 2, 2]})])
    plan = json.loads(text_of(service, "EXPLAIN ANALYZE (FORMAT JSON) SELECT k FROM iceberg.db.told WHERE k = 2"))
    assert sorted(plan) == [str(number) for number in range(len(plan))]
    assert plan["0"]["plan"]["stats"]["planNodeOutputPositions"] == 2
    assert plan["0"]["stats"]["engine"] == "spark"
    assert any("Scan" in name for name in names(plan["0"]["operators"]))


def names(operators: list[Any]) -> list[str]:
    return [name for operator in operators for name in (operator["name"], *names(operator["children"]))]


def test_values_run_in_the_coordinator(service: Service) -> None:
    text = text_of(service, "EXPLAIN ANALYZE SELECT * FROM (VALUES 1, 2, 3) AS t(x) WHERE x > random() * 0")
    assert re.match(r"Ran on the coordinator in .*\. Output: 3 rows ", text)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("(TYPE LOGICAL)", "only DISTRIBUTED type is supported in EXPLAIN ANALYZE"),
        ("(FORMAT GRAPHVIZ)", "only TEXT and JSON formats are supported in EXPLAIN ANALYZE"),
    ],
)
def test_other_types_and_formats_are_refused(service: Service, options: str, message: str) -> None:
    with pytest.raises(prestodb.exceptions.PrestoQueryError) as refused:
        service.execute(f"EXPLAIN ANALYZE {options} SELECT 1")
    assert refused.value.message.endswith(message)
