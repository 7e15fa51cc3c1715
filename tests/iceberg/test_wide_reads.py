"""Tables that the kernels read for Spark: the rows must be those that Iceberg Java read (tests/data)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.transforms import BucketTransform

from coordinator.connectors.iceberg.statistics.decoded_sizes import _Source, sizes_of
from coordinator.connectors.iceberg.tables.wide import write_options
from coordinator.connectors.registry import CatalogConfig, Catalogs
from coordinator.engine.inputs import KernelsInput, file_scans, spark_inputs
from coordinator.kernels import page_headers, scan_part
from coordinator.kernels.footer import columns, read_footer, row_groups
from coordinator.kernels.page_headers import largest_page
from coordinator.planning.plan_statement import plan_statement
from coordinator.unparser import wide_reads, work_on_spark
from coordinator.vocabulary.planned_statement import ReturnRows, RunLocally, RunOnSpark
from coordinator.vocabulary.session_properties import LARGEST_PAGE
from shared.errors import ErrorCode, ProcessionError
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


@pytest.fixture
def long_pages(lake: Any) -> Catalogs:
    """``lab.db.t``, whose column is one page of some 10 MB; ``id`` has a page of some bytes."""
    texts = [f"{number} {'x' * 100_000}" for number in range(100)]
    rows = pa.table({"id": pa.array(range(100), pa.int64()), "text": texts})
    lake.create("t", [rows], properties={"write.parquet.dict-size-bytes": "1"})
    return over("lab", lake.uri, f"file://{lake.home}/wh", lake.home)


def limited(catalogs: Catalogs, query: str, most: str = "1MB", **given: str) -> Any:
    session = Session("test", catalog="lab", schema="db", properties=given, property_defaults={LARGEST_PAGE: most})
    return plan_statement(query, session, catalogs, NoCheckers()).work


def test_long_pages_are_for_the_kernels(long_pages: Catalogs) -> None:
    for query, most, by_kernels in (
        ("SELECT text FROM t", "1MB", True),
        ("SELECT text FROM t", "100MB", False),
        ("SELECT text FROM t", "0B", False),
        ("SELECT id FROM t", "1MB", False),
    ):
        work = limited(long_pages, query, most, engine="spark")
        assert isinstance(work, RunOnSpark)
        assert [each.by_kernels for each in work.inputs] == [True] * by_kernels
    explained = limited(long_pages, "EXPLAIN SELECT text FROM t", engine="spark")
    assert "the kernels read lab.db.t" in str(explained.rows)


def test_pages_too_long_for_the_kernels_are_refused_on_spark(
    long_pages: Catalogs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The embedded engine takes them, and Spark is not asked when that cannot go on."""
    monkeypatch.setattr(wide_reads, "_MOST_PAGE", 2 << 20)
    for query in ("SELECT text FROM t", "CREATE TABLE made AS SELECT text FROM t", "INSERT INTO t SELECT * FROM t"):
        with pytest.raises(ProcessionError, match=r"lab\.db\.t has Parquet pages of some .*MB") as failure:
            limited(long_pages, query, engine="spark")
        assert failure.value.code is ErrorCode.EXCEEDED_LOCAL_MEMORY_LIMIT
    work = limited(long_pages, "SELECT text FROM t")
    assert isinstance(work, RunLocally)
    assert work.otherwise is not None
    assert work_on_spark(work.otherwise) is None


def test_pages_of_long_chunks_are_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page of long texts among others: bounded by its header, or an average where too many are before it."""
    texts = ["short"] * 4096 + [f"{number} {'x' * 4000}" for number in range(1024)] + ["short"] * 4096
    path = tmp_path / "long.parquet"
    pq.write_table(pa.table({"text": texts}), path, use_dictionary=False, data_page_size=1)
    with path.open("rb") as stream:
        source = _Source(stream)
        ((chunk,),) = map(columns, row_groups(read_footer(source, path.stat().st_size)))
        average, longest = largest_page(source, chunk), 1024 * 4000
        assert average < longest / 4
        monkeypatch.setattr(page_headers, "LONG_CHUNK", 1 << 20)
        assert longest <= largest_page(source, chunk) < 1.1 * longest
        monkeypatch.setattr(page_headers, "_MOST_HEADERS", 2)
        assert average <= largest_page(source, chunk) < longest
        monkeypatch.setattr(page_headers, "pages_of", lambda _chunk: 0)
        assert largest_page(source, chunk) < 10_000


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
