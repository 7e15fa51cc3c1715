"""Statements over tables of a lake, a database, tpch and system tables at once, in a process of the embedded engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from coordinator.connectors.registry import CatalogConfig, Catalogs
from coordinator.engine.embedded.engine import EmbeddedEngine
from coordinator.engine.embedded.messages import EngineSettings
from coordinator.engine.executor import Executor
from coordinator.engine.local import LocalEngine
from coordinator.engine.local_inputs import ArrowInput
from coordinator.engine.processes.nursery import Nursery
from coordinator.planning.plan_statement import plan_statement
from coordinator.vocabulary.planned_statement import PlannedStatement, RunLocally
from shared.errors import ErrorCode, ProcessionError
from shared.properties import Property
from shared.spi.session import Session
from tests.execution import FakeExecution
from tests.fixed_catalogs import properties
from tests.jdbc.conftest import catalog_config

pytestmark = pytest.mark.slow


class NoCheckers:
    def validate_intermediate(self, plan: Any, session: Any, warn: Any) -> None: ...

    def validate_final(self, plan: Any, session: Any, warn: Any) -> None: ...


class Nowhere:
    """In place of Spark: says that it was asked."""

    shares_disk = True

    def __init__(self) -> None:
        self.asked: list[str] = []

    def run(
        self, sql: str, _execution: Any, _inputs: Sequence[Any] = (), _operators: Any = None
    ) -> Iterator[pa.RecordBatch]:
        self.asked.append(sql)
        yield pa.record_batch({"n": ["from Spark"]})


class Mixed:
    def __init__(self, catalogs: Catalogs, engine: EmbeddedEngine) -> None:
        self.catalogs, self.spark = catalogs, Nowhere()
        self.executor = Executor(catalogs, LocalEngine(), self.spark, lambda _: "", embedded=engine)  # type: ignore[arg-type]

    def planned(self, sql: str, **given: str) -> PlannedStatement:
        return plan_statement(sql, Session(user="u", properties=given), self.catalogs, NoCheckers())

    def run(self, planned: PlannedStatement, execution: Any = None) -> list[tuple[Any, ...]]:
        batches = list(self.executor.execute(planned, execution or FakeExecution()))
        return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        planned = self.planned(sql)
        assert isinstance(planned.work, RunLocally), planned.work
        return self.run(planned)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedEngine]:
    nursery = Nursery()
    made = EmbeddedEngine(EngineSettings(str(tmp_path_factory.mktemp("engine") / "scratch")), nursery, processes=1)
    yield made
    assert not list(Path(made._settings.scratch).glob("result-*"))
    made.close()
    nursery.close()


@pytest.fixture
def mixed(lake: Any, postgres: str, engine: EmbeddedEngine) -> Mixed:
    values = {"iceberg.catalog.uri": lake.uri, "iceberg.catalog.warehouse": f"file://{lake.home}/wh"}
    of_lake = {k: Property(k, v, Path("lab.properties"), i) for i, (k, v) in enumerate(values.items(), start=2)}
    tpch = CatalogConfig("tpch", "tpch", properties(), lake.home / "data")
    return Mixed(
        Catalogs([CatalogConfig("lab", "iceberg", of_lake, lake.home), tpch, catalog_config(postgres)]), engine
    )


WEIGHTS = pa.table({"id": pa.array([1, 2, 3], pa.int32()), "weight": pa.array([10, 20, 30], pa.int64())})


def test_a_lake_joins_a_database(mixed: Mixed, lake: Any) -> None:
    lake.create("weights", [WEIGHTS])
    joined = "FROM lab.db.weights w JOIN pg.shop.kinds k ON w.id = k.id"
    assert mixed.rows(f"SELECT w.id, k.v, w.weight {joined} ORDER BY 1") == [(1, "abc", 10), (2, None, 20)]
    twice = f"SELECT sum(w.weight), count(*) {joined} WHERE k.id IN (SELECT id FROM pg.shop.days) OR k.id = 1"
    assert mixed.rows(twice) == [(30, 2)]
    text = str(mixed.run(mixed.planned(f"EXPLAIN SELECT w.id, k.v {joined}"))[0][0])
    assert "the embedded engine runs it: it reads " in text
    assert "of other catalogs" in text


def test_four_sources_give_what_duckdb_gives(mixed: Mixed, lake: Any, foreign: Any) -> None:
    """One data file is read by DuckDB itself, the other, with equality deletes, by kernels."""
    numbers = pa.table({"key": pa.array(range(100), pa.int64()), "name": [f"n{i % 7}" for i in range(100)]})
    table = lake.create("t", [numbers])
    foreign.delete_equal(table, pa.table({"key": pa.array([3], pa.int64())}))
    lake.other.load_table("db.t").append(pa.table({"key": pa.array([3, 104], pa.int64()), "name": ["n3", "n104"]}))
    nations = mixed.rows("SELECT nationkey, name FROM tpch.tiny.nation")
    assert len(nations) == 25
    sql = (
        "SELECT t.name, count(*) AS n, max(x.name) AS nation, min(k.v) AS v FROM {t} t JOIN {nation} x "
        "ON x.nationkey = t.key % 25 LEFT JOIN {kinds} k ON k.id = t.key WHERE t.key > 0 GROUP BY t.name ORDER BY 1"
    )
    found = mixed.rows(sql.format(t="lab.db.t", nation="tpch.tiny.nation", kinds="pg.shop.kinds"))
    t = pa.concat_tables([numbers, pa.table({"key": pa.array([104], pa.int64()), "name": ["n104"]})])
    nation = pa.Table.from_pylist([{"nationkey": key, "name": name} for key, name in nations])
    kinds = pa.table({"id": [1, 2], "v": pa.array(["abc", None], pa.string())})
    with duckdb.connect() as oracle:
        for name, rows in {"t": t, "nation": nation, "kinds": kinds}.items():
            oracle.register(name, rows)
        assert found == oracle.execute(sql.format(t="t", nation="nation", kinds="kinds")).fetchall()
    assert mixed.rows(
        "SELECT count(*) FROM lab.db.t, system.jdbc.types s WHERE t.key = 104 AND s.type_name = 'varchar'"
    ) == mixed.run(mixed.planned("SELECT count(*) FROM system.jdbc.types WHERE type_name = 'varchar'"))


def test_more_than_a_database_was_thought_to_send_goes_to_spark(mixed: Mixed, lake: Any) -> None:
    lake.create("weights", [WEIGHTS])
    planned = mixed.planned("SELECT k.v FROM lab.db.weights w JOIN pg.shop.kinds k ON w.id = k.id")
    assert isinstance(planned.work, RunLocally)
    assert planned.work.most_sent_bytes is None, "its size is known"
    small = replace(planned, work=replace(planned.work, most_sent_bytes=8))
    assert mixed.run(small) == [("from Spark",)]
    large = replace(planned, work=replace(planned.work, most_sent_bytes=1 << 20))
    assert mixed.run(large) == [("abc",), (None,)]
    assert len(mixed.spark.asked) == 1


def test_the_failure_of_a_database_is_its_own(mixed: Mixed, lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.create("weights", [WEIGHTS])
    planned = mixed.planned("SELECT k.v FROM lab.db.weights w JOIN pg.shop.kinds k ON w.id = k.id")

    @contextmanager
    def broken(*_: Any) -> Iterator[Any]:
        def rows() -> Iterator[pa.RecordBatch]:
            yield pa.record_batch({"id": pa.array([1], pa.int32()), "v": ["abc"]})
            raise ProcessionError(ErrorCode.JDBC_ERROR, "gone away")

        schema = pa.schema([("id", pa.int32()), ("v", pa.string())])
        made = next(each for each in planned.work.inputs if not hasattr(each.relation, "handle"))  # type: ignore[union-attr]
        yield (ArrowInput(made.name, pa.RecordBatchReader.from_batches(schema, rows())),)

    monkeypatch.setattr("coordinator.engine.executor.local_inputs", broken)
    with pytest.raises(ProcessionError, match="gone away") as raised:
        mixed.run(planned)
    assert raised.value.code is ErrorCode.JDBC_ERROR
    monkeypatch.undo()
    assert mixed.run(planned) == [("abc",), (None,)], "the process is as good as before"
