"""Tables that the kernels read for Spark: the rows must be those that Iceberg Java read (tests/data)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyiceberg.transforms import BucketTransform

from coordinator.connectors.iceberg.statistics.decoded_sizes import sizes_of
from coordinator.connectors.iceberg.tables.wide import write_options
from coordinator.connectors.registry import CatalogConfig, Catalogs
from coordinator.engine.inputs import KernelsInput, file_scans, spark_inputs
from coordinator.kernels import scan_part
from coordinator.planning.plan_statement import plan_statement
from coordinator.vocabulary.planned_statement import ReturnRows, RunLocally, RunOnSpark
from shared.properties import Property
from shared.spi.session import Session
from tests.execution import FakeExecution
from tests.iceberg.embedded_reader import NoCheckers, table_of
from tests.iceberg.test_embedded_reads import READ

ALL = {"engine": "spark", "spark_max_reader_memory": "1B"}
"""Every table is too wide for Spark's own reader."""
ON_SPARK = ["transforms", "nested", "evolved", "v2_eqdel_part", "v3_dv", "v3_default", "v1_table"]


@pytest.fixture(scope="module")
def java(tmp_path_factory: pytest.TempPathFactory, java_lake: Any) -> Iterator[Any]:
    home = tmp_path_factory.mktemp("java")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        yield over("fx", java_lake(home).uri, "wh", home), home


def over(name: str, uri: str, warehouse: str, home: Path) -> Catalogs:
    values = {"iceberg.catalog.uri": uri, "iceberg.catalog.warehouse": warehouse}
    properties = {k: Property(k, v, Path("fx.properties"), i) for i, (k, v) in enumerate(values.items(), start=2)}
    return Catalogs([CatalogConfig(name, "iceberg", properties, home)])


def planned(catalogs: Catalogs, query: str, **given: str) -> Any:
    session = Session(user="test", catalog="fx", schema="fx", properties=given)
    return plan_statement(query, session, catalogs, NoCheckers()).work


@pytest.mark.parametrize("size", [2_000, 1 << 30])
@pytest.mark.parametrize("name", READ)
def test_parts_have_each_row_once(
    name: str, size: int, java: Any, java_rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan_part, "_LEAST_PART_BYTES", size)
    catalogs, home = java
    work = planned(catalogs, f"SELECT * FROM {name}", engine="embedded")
    assert isinstance(work, RunLocally)
    (scan,) = file_scans(work.inputs, catalogs).values()
    parts = scan_part.parts_of(scan, parallelism=2)
    found = pa.Table.from_batches([batch for part in parts for batch in scan_part.batches(part)], scan.schema)
    assert java_rows.found(found) == java_rows.expected(home, name, found.schema)


def test_a_filter_leaves_row_groups_out(lake: Any) -> None:
    rows = pa.table({"id": pa.array(range(10_000), pa.int64()), "at": pa.array(range(10_000), pa.date32())})
    lake.create("t", [rows], properties={"write.parquet.row-group-limit": "1000"})
    catalogs = over("lab", lake.uri, f"file://{lake.home}/wh", lake.home)
    work = planned(catalogs, "SELECT id FROM lab.db.t WHERE id = 4500 AND at > date '1970-01-02'", engine="embedded")
    (scan,) = file_scans(work.inputs, catalogs).values()
    (part,) = scan_part.parts_of(scan, parallelism=1)
    assert sum(batch.num_rows for batch in scan_part.batches(part)) == 1000


def found_by_workers(inputs: Any, home: Path) -> Any:
    """Paths of these tables are relative, and workers are elsewhere."""
    (only,) = inputs
    return [replace(only, parts=tuple(part.replace(b'"wh/', f'"{home}/wh/'.encode()) for part in only.parts))]


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("name", ON_SPARK)
def test_spark_is_given_the_rows(name: str, java: Any, java_rows: Any, spark_engine: Any) -> None:
    catalogs, home = java
    work = planned(catalogs, f"SELECT * FROM {name}", **ALL)
    assert isinstance(work, RunOnSpark)
    assert name not in work.sql
    execution: Any = FakeExecution()
    with spark_inputs(work.inputs, catalogs, execution) as inputs:
        assert isinstance(inputs[0], KernelsInput)
        assert "path" not in repr(inputs)
        found = table_of(spark_engine.run(work.sql, execution, found_by_workers(inputs, home)))
    assert java_rows.found(found) == java_rows.expected(home, name, found.schema)


def test_hidden_columns_have_the_names_of_who_reads_them(java: Any) -> None:
    """Spark's reader calls the path ``_file``; the view over what the kernels read has Presto's name."""
    catalogs, _ = java
    for given, source in ((ALL, "`$path`"), ({"engine": "spark"}, "`_file` AS `$path`")):
        work = planned(catalogs, 'SELECT *, "$path" FROM transforms', **given)
        assert isinstance(work, RunOnSpark)
        assert f"`ts`, {source} FROM `{'procession' if given is ALL else 'fx'}" in work.sql
        assert len(work.inputs) == (1 if given is ALL else 0)


def test_explain_says_so(java: Any) -> None:
    catalogs, _ = java
    for given, said in ((ALL, True), ({"engine": "spark"}, False)):
        work = planned(catalogs, "EXPLAIN SELECT * FROM transforms", **given)
        assert isinstance(work, ReturnRows)
        assert ("; the kernels read fx.fx.transforms for it, as a task of its own" in str(work.rows)) is said


def test_what_a_reader_holds_of_a_file(lake: Any) -> None:
    """A dictionary's entries are objects; a histogram of Spark's heap has 36 bytes of each beside its text."""
    rows = 20_000
    distinct = [f"{number:012d}" for number in np.random.default_rng(1).permutation(rows)]
    held = []
    for name, texts in (("distinct", distinct), ("same", distinct[:1] * rows)):
        table = lake.create(name, [pa.table({"n": pa.array(range(rows), pa.int64()), "t": texts})])
        (file,) = table.scan().plan_files()
        held.append(sizes_of(table.io, file.file.file_path).held[2])
    assert held[0] > rows * (36 + 12)
    assert held[1] < rows


@pytest.mark.parametrize(
    ("partitioned", "properties", "options"),
    [
        (True, {}, " WITH (`fanout-enabled` = 'false')"),
        (True, {"write.spark.fanout.enabled": "true"}, ""),
        (False, {}, ""),
    ],
)
def test_one_file_is_open_at_a_time(lake: Any, partitioned: bool, properties: dict[str, str], options: str) -> None:
    """Each open file of 200 columns took 40 MB; who asks for many open files has them."""
    table = lake.create("t", [pa.table({"n": pa.array(range(10), pa.int64())})], properties=properties)
    if partitioned:
        with table.update_spec() as update:
            update.add_field("n", BucketTransform(4))
    assert write_options(table.refresh()) == options
