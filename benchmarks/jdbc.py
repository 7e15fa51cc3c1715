"""Joins inside one PostgreSQL: our pushdown off, on, and Spark's own join pushdown (its JDBC catalog), in one Spark.

``python -m benchmarks.jdbc [orders] [runs]``: rows of the largest table (default 1,000,000; customers are two thirds of
it) and runs of each query. Prints JSON lines, the last one the summary; ratios are peer / ours, where ``off`` and
``spark`` are the peers. Needs Debian's postgresql.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from benchmarks.rewrite import BenchExecution
from coordinator.checks.plan_checkers import PlanCheckers
from coordinator.connectors.registry import CatalogConfig, Catalogs
from coordinator.engine.executor import Executor
from coordinator.engine.local import LocalEngine
from coordinator.engine.spark.engine import SparkEngine
from coordinator.engine.spark.settings import SparkSettings
from coordinator.planning.plan_statement import plan_statement
from shared.errors import ProcessionError
from shared.properties import Property
from shared.spi.session import Session
from tests.postgres import postgres_server

TABLES = """
CREATE SCHEMA shop;
CREATE TABLE shop.orders AS SELECT g AS orderkey, 1 + (g * 7919::bigint) % {customers} AS custkey, (g % 100000)::numeric(12,2) AS price,
  'status ' || g % 3 AS status, date '2020-01-01' + (g % 1000)::int AS day, repeat('x', 40) AS comment FROM generate_series(1, {orders}) g;
CREATE TABLE shop.customer AS SELECT g AS custkey, 'customer ' || g AS name, g % 25 AS nation, repeat('y', 80) AS comment
  FROM generate_series(1, {customers}) g;
CREATE TABLE shop.vip AS SELECT g * 1000 AS custkey, 'vip ' || g AS title FROM generate_series(1, 50) g;
ALTER TABLE shop.orders ADD PRIMARY KEY (orderkey); ALTER TABLE shop.customer ADD PRIMARY KEY (custkey);
CREATE INDEX ON shop.orders (custkey);
"""  # noqa: E501
QUERIES = {
    "join_3": "SELECT o.orderkey, o.price, c.name, v.title FROM {o} o, {c} c, {v} v "
    "WHERE o.custkey = c.custkey AND c.custkey = v.custkey",
    "join_2": "SELECT c.name, v.title FROM {c} c JOIN {v} v ON c.custkey = v.custkey",
    "filtered": "SELECT o.orderkey, c.name FROM {o} o JOIN {c} c ON o.custkey = c.custkey "
    "WHERE o.price > 99990 AND c.nation = 7",
    "left": "SELECT v.title, c.name FROM {v} v LEFT JOIN {c} c ON v.custkey = c.custkey",
    "grouped": "SELECT c.nation, count(*) AS n, sum(o.price) AS s FROM {o} o JOIN {c} c ON o.custkey = c.custkey "
    "GROUP BY c.nation",
    "grows": "SELECT a.custkey, b.custkey AS other FROM {v} a JOIN {v} b ON a.custkey <> b.custkey",
}
SELECTIVE = ("join_3", "join_2", "filtered", "left")
OFF = dict.fromkeys(
    (
        "optimizer_inner_join_pushdown_enabled",
        "outer_join_pushdown_enabled",
        "aggregation_pushdown_enabled",
        "semi_join_pushdown_enabled",
    ),
    "false",
)


def main(orders: int = 1_000_000, runs: int = 3) -> None:
    with tempfile.TemporaryDirectory() as home:
        for line in _measured(Path(home), orders, runs):
            print(json.dumps(line), flush=True)


def _measured(home: Path, orders: int, runs: int) -> Iterator[dict[str, Any]]:
    for url in _server():
        _fill(url, orders)
        address = url.split("@")[1]
        spark = SparkEngine(SparkSettings(work_dir=home), _spark_catalog(address))
        catalogs = Catalogs([_catalog(address)])
        executor = Executor(catalogs, LocalEngine(), spark, lambda _: "")
        try:
            yield from _compared(executor, spark, catalogs, runs)
        finally:
            spark.stop()


def _server() -> Iterator[str]:
    with postgres_server() as url:
        yield url


def _compared(executor: Executor, spark: SparkEngine, catalogs: Catalogs, runs: int) -> Iterator[dict[str, Any]]:
    ours = {n: f"pg.shop.{t}" for n, t in (("o", "orders"), ("c", "customer"), ("v", "vip"))}
    theirs = {n: f"peer.shop.{t}" for n, t in (("o", "orders"), ("c", "customer"), ("v", "vip"))}
    off_ratios, spark_ratios = {}, {}
    for name, text in QUERIES.items():
        on = _timed(lambda t=text: _run(executor, catalogs, t.format(**ours), {}), runs)  # type: ignore[misc]
        off = _timed(lambda t=text: _run(executor, catalogs, t.format(**ours), OFF), runs)  # type: ignore[misc]
        assert on[1] == off[1], f"{name}: {on[1]} {off[1]} rows"
        off_ratios[name] = off[0] / on[0]
        line = {"query": name, "rows": on[1], "on_s": on[0], "off_s": off[0]}
        try:
            peer = _timed(lambda t=text: _rows(spark.run(t.format(**theirs), BenchExecution())), runs)  # type: ignore[misc]
        except ProcessionError as error:
            # PostgreSQL before 16 refuses the subqueries without names that Spark 4.1 writes for three tables.
            yield line | {"spark_failed": error.message[:120]}
            continue
        assert on[1] == peer[1], f"{name}: {on[1]} {peer[1]} rows"
        spark_ratios[name] = peer[0] / on[0]
        yield line | {"spark_s": peer[0]}
    yield {
        "bench": "jdbc",
        "ratio_wall": statistics.median(off_ratios[name] for name in SELECTIVE),
        "ratio_wall_min": min(off_ratios[name] for name in SELECTIVE),
        "ratio_spark_min": min(spark_ratios.values(), default=None),
        "off": off_ratios,
        "spark": spark_ratios,
    }


def _timed(run: Callable[[], int], runs: int) -> tuple[float, int]:
    """Median seconds of ``runs`` after a first one, and the rows."""
    rows, seconds = run(), []
    for _ in range(runs):
        begun = time.perf_counter()
        rows = run()
        seconds.append(time.perf_counter() - begun)
    return statistics.median(seconds), rows


def _run(executor: Executor, catalogs: Catalogs, text: str, properties: dict[str, str]) -> int:
    session = replace(Session(user="bench"), properties=properties)
    planned = plan_statement(text, session, catalogs, PlanCheckers())
    return _rows(executor.execute(planned, BenchExecution()))


def _rows(batches: Any) -> int:
    return sum(batch.num_rows for batch in batches)


def _fill(url: str, orders: int) -> None:
    engine = sa.create_engine(url.replace("postgresql:", "postgresql+psycopg2:", 1))
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        filled = TABLES.format(orders=orders, customers=orders * 2 // 3)
        connection.exec_driver_sql(filled.replace("%", "%%"))
        connection.exec_driver_sql("VACUUM ANALYZE")
    engine.dispose()


def _catalog(address: str) -> CatalogConfig:
    values = {"connection-url": f"jdbc:postgresql://{address}", "connection-user": "postgres"}
    properties = {n: Property(n, v, Path("pg.properties"), i) for i, (n, v) in enumerate(values.items(), 1)}
    return CatalogConfig("pg", "postgresql", properties)


def _spark_catalog(address: str) -> dict[str, str]:
    prefix = "spark.sql.catalog.peer"
    return {
        prefix: "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog",
        f"{prefix}.url": f"jdbc:postgresql://{address}",
        f"{prefix}.driver": "org.postgresql.Driver",
        f"{prefix}.user": "postgres",
        f"{prefix}.fetchsize": "10000",
        f"{prefix}.pushDownAggregate": "true",
        f"{prefix}.pushDownJoin": "true",
        f"{prefix}.pushDownLimit": "true",
        "spark.sql.optimizer.datasourceV2JoinPushdown": "true",
    }


if __name__ == "__main__":
    main(*(int(value) for value in sys.argv[1:]))
