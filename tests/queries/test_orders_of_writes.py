"""What is written by a query is planned as the query alone: joins in the order of the rows that tables have."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest

from tests.e2e.service import Service

pytestmark = pytest.mark.slow

QUERY = """SELECT n.name, sum(extendedprice) AS s, max(totalprice) AS m
    FROM tpch.tiny.lineitem l, tpch.tiny.orders o, tpch.tiny.customer c, tpch.tiny.nation n, tpch.tiny.region r
    WHERE l.orderkey = o.orderkey AND o.custkey = c.custkey AND c.nationkey = n.nationkey
    AND n.regionkey = r.regionkey AND r.name = 'ASIA' GROUP BY n.name"""
_SHAPE = re.compile(r"(InnerJoin|Distribution: \w+|connectorHandle='\w+)")


def shape(service: Service, sql: str) -> list[str]:
    """Joins, how they are distributed, and tables, from the root of the plan on."""
    ((text,),) = service.execute(f"EXPLAIN {sql}")
    found = [part for part in _SHAPE.findall(str(text)) if not part.endswith(("made_of_joins", "filled_by_joins"))]
    assert [found.count("InnerJoin"), len(found)] == [4, 13], text
    return found


@pytest.mark.parametrize(
    "target", ["CREATE TABLE iceberg.db.made_of_joins AS", "INSERT INTO iceberg.db.filled_by_joins"]
)
def test_joins_of_writes_are_ordered_as_those_of_queries(quiet_service: Service, target: str) -> None:
    quiet_service.execute("CREATE SCHEMA IF NOT EXISTS iceberg.db")
    if target.startswith("INSERT"):
        quiet_service.execute("CREATE TABLE iceberg.db.filled_by_joins (n varchar, s double, m double)")
    assert shape(quiet_service, f"{target} {QUERY}") == shape(quiet_service, QUERY)


def test_joins_of_refreshed_views_are_ordered_as_those_of_queries(quiet_service: Service) -> None:
    for name, rows in (("joined_many", 3000), ("joined_some", 300), ("joined_few", 3)):
        quiet_service.create(name, [pa.table({"id": range(rows), "k": [i % 3 for i in range(rows)]})])
    query = """SELECT many.k, count(*) AS c FROM joined_many many, joined_some some, joined_few few
        WHERE many.id = some.id AND some.k = few.k AND few.id = 1 GROUP BY many.k"""
    quiet_service.execute(f"CREATE MATERIALIZED VIEW kept_joins AS {query}", catalog="iceberg", schema="db")
    refresh = "REFRESH MATERIALIZED VIEW kept_joins"
    tables = [_tables(quiet_service, sql) for sql in (refresh, query)]
    assert tables == [["joined_many", "joined_some", "joined_few"]] * 2
    quiet_service.execute(refresh, catalog="iceberg", schema="db")
    assert quiet_service.execute("SELECT * FROM iceberg.db.kept_joins") == [[1, 100]]


def _tables(service: Service, sql: str) -> list[str]:
    """Those of a plan from its root on, by one name each."""
    ((text,),) = service.execute(f"EXPLAIN {sql}", catalog="iceberg", schema="db")
    return re.findall(r"connectorHandle='(joined_\w+)", str(text))
