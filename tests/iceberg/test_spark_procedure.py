"""Calls that Iceberg's own procedure answers in Spark: same rows, same columns of the result, lineage kept."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.transforms import IdentityTransform

from coordinator.connectors.iceberg.rewrite.planning import methods
from coordinator.engine.spark.engine import SparkEngine
from shared.errors import ErrorCode, ProcessionError
from shared.plan.blocks import encode_constant
from shared.plan.expressions import Call, Constant, Signature, StaticFunctionHandle, Variable
from tests.execution import FakeExecution
from tests.iceberg.java_tables import seen_by_spark
from tests.tiers import some

pytestmark = [pytest.mark.spark, pytest.mark.slow]


class SparkLake:
    """The tables of Iceberg Java, where the session's Spark and this process see them under the same paths."""

    def __init__(self, lake: Any, engine: SparkEngine) -> None:
        self.lake = lake
        self.engine = engine
        self.local = lake.workers
        lake.workers = engine.workers(FakeExecution())

    @contextmanager
    def local_kernels(self) -> Iterator[None]:
        """Kernels in this process, which finds the relative paths of Iceberg Java's tables; Spark reads the result."""
        of_spark, self.lake.workers = self.lake.workers, self.local
        try:
            yield
        finally:
            self.lake.workers = of_spark

    def sql(self, text: str) -> pa.Table:
        return pa.Table.from_batches(self.engine.run(text, FakeExecution()))

    def change(self, text: str) -> None:
        assert not any(batch.num_rows for batch in self.engine.run(text, FakeExecution()))

    def table(self, name: str) -> Any:
        return self.lake.other.load_table(f"fx.{name}")

    def rewrite(self, name: str, options: Any = None, **given: Any) -> dict[str, Any]:
        result: dict[str, Any] = self.lake.rewrite(name, options, **given)
        return result

    def create(self, name: str, parts: list[pa.Table], **options: Any) -> Any:
        """A table whose files our kernels find as well, from the working directory of their processes."""
        options.setdefault("location", self.absolute(name))
        table = self.lake.other.create_table(f"fx.{name}", schema=parts[0].schema, **options)
        for part in parts:
            table.append(part)
        return table

    def absolute(self, name: str) -> str:
        return f"file://{self.lake.home}/own/{name}"

    def files(self, name: str) -> list[pq.ParquetFile]:
        paths = [task.file.file_path for task in self.table(name).scan().plan_files()]
        return [pq.ParquetFile(path.removeprefix("file://")) for path in paths]


@pytest.fixture(scope="module")
def fx(spark_engine: Any, java_lake: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkLake]:
    home = tmp_path_factory.mktemp("java-tables")
    lake = java_lake(home)
    with seen_by_spark(spark_engine, home, "fx"):
        yield SparkLake(lake, spark_engine)


@pytest.mark.parametrize("name", ["fmt_avro", "fmt_orc", "v2_mixed"])
def test_rows_stay(fx: SparkLake, java_rows: Any, name: str) -> None:
    result = fx.rewrite(name, {"rewrite-all": "true"})
    data = fx.sql(f"SELECT * FROM fx.fx.{name}")
    assert java_rows.found(data) == java_rows.expected(fx.lake.home, name, data.schema)
    check(result, data)
    deletes = fx.sql(f"SELECT count(*) AS n FROM fx.fx.{name}.delete_files").column("n")[0].as_py()
    # Iceberg keeps older delete files of an unpartitioned table that apply to none.
    assert (deletes == 0) == (name != "v2_mixed")
    again = fx.rewrite(name)
    assert set(again.values()) == {0}, "a second run finds nothing"
    assert fx.lake.connector.journal.open_entries("fx") == []


def check(result: dict[str, Any], data: pa.Table) -> None:
    assert result["rewritten_data_files_count"] > 0
    assert result["added_data_files_count"] > 0
    assert result["rewritten_bytes_count"] > 0
    assert result["failed_data_files_count"] == 0
    assert result["rewritten_rows_count"] == data.num_rows


def test_row_groups_of_iceberg_java_that_we_copy_keep_their_lineage(
    fx: SparkLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ids stand in columns beside the copied ones, as Iceberg Java reads them, vectors and all."""
    monkeypatch.setattr(methods, "LEAST_ROW_GROUP", 1)
    fx.change(
        "CREATE TABLE fx.fx.copied (id bigint, name string) USING iceberg "
        f"LOCATION '{fx.absolute('copied')}' "
        "TBLPROPERTIES ('format-version' = '3', 'write.delete.mode' = 'merge-on-read')"
    )
    for first in (0, 1000):
        fx.change(
            f"INSERT INTO fx.fx.copied SELECT /*+ COALESCE(1) */ id, 'x' || id FROM range({first}, {first + 1000})"
        )
    lineage = "SELECT *, _row_id, _last_updated_sequence_number FROM fx.fx.copied ORDER BY _row_id"
    before = fx.sql(lineage)
    with fx.local_kernels():
        assert fx.rewrite("copied", {"rewrite-all": "true"}) | {"rewritten_bytes_count": 0} == {
            "rewritten_data_files_count": 2, "added_data_files_count": 1, "rewritten_bytes_count": 0,
            "failed_data_files_count": 0, "removed_delete_files_count": 0, "rewritten_rows_count": 2000,
        }  # fmt: skip
    (file,) = fx.files("copied")
    assert file.metadata.num_row_groups == 2
    assert "parquet-mr" in file.metadata.created_by
    assert fx.sql(lineage).equals(before)
    assert fx.sql("SELECT sum(_row_id) AS n FROM fx.fx.copied WHERE id = 1500").column("n").to_pylist() == [
        before.column("_row_id")[before.column("id").to_pylist().index(1500)].as_py()
    ]
    fx.change("DELETE FROM fx.fx.copied WHERE id = 3")
    fewer = fx.sql(lineage)
    assert fewer.num_rows == 1999
    with fx.local_kernels():
        fx.rewrite("copied", {"rewrite-all": "true"})
    assert fx.sql(lineage).equals(fewer)


VERSION_THREE = some(
    ["v3_dv_java", "v3_upgraded"],
    ["v3_dv", "v3_lineage", "v3_default", "v3_eqdel"],
    "a table that Iceberg Java wrote with vectors and one that grew to version 3",
)


@pytest.mark.parametrize("name", VERSION_THREE)
def test_our_rewrites_keep_the_lineage_that_iceberg_java_reads(fx: SparkLake, java_rows: Any, name: str) -> None:
    """Packed, sorted, then written to by Iceberg Java: its own ids go on from ours, and ours from its own."""
    lineage = f"SELECT *, _row_id, _last_updated_sequence_number FROM fx.fx.{name} ORDER BY _row_id"
    before = fx.sql(lineage)
    with fx.local_kernels():
        result = fx.rewrite(name, {"rewrite-all": "true"})
        data = fx.sql(f"SELECT * FROM fx.fx.{name}")
        assert java_rows.found(data) == java_rows.expected(fx.lake.home, name, data.schema)
        check(result, data)
        assert fx.sql(lineage).equals(before)
        assert fx.sql(f"SELECT count(*) AS n FROM fx.fx.{name}.delete_files").column("n")[0].as_py() == 0
        assert set(fx.rewrite(name).values()) == {0}, "a second run finds nothing"
        fx.rewrite(name, {"rewrite-all": "true"}, strategy="sort", sorted_by=["id DESC"])
        assert fx.sql(lineage).equals(before)
        fx.change(f"INSERT INTO fx.fx.{name} SELECT * FROM fx.fx.{name} WHERE id < 10")
        more = fx.sql(lineage)
        assert len(set(more.column("_row_id").to_pylist())) == more.num_rows > before.num_rows
        fx.change(f"DELETE FROM fx.fx.{name} WHERE id = 3")
        fewer = fx.sql(lineage)
        fx.rewrite(name, {"rewrite-all": "true"})
        assert fx.sql(lineage).equals(fewer)
    assert fx.lake.connector.journal.open_entries("fx") == []


def shuffled(parts: int = 6, rows: int = 500) -> list[pa.Table]:
    """Rows in no order: ids are a permutation."""
    ids = [(i * 7919) % (parts * rows) for i in range(parts * rows)]
    return [
        pa.table({"id": pa.array(chunk, pa.int64()), "it's \\ `é`": [f"n{i % 97}'\\" for i in chunk]})
        for chunk in (ids[start : start + rows] for start in range(0, parts * rows, rows))
    ]


def rows_of(data: pa.Table) -> list[tuple[Any, ...]]:
    return duckdb.sql("SELECT * FROM data ORDER BY ALL").fetchall()


def test_sorted_by_columns(fx: SparkLake) -> None:
    parts = shuffled()
    fx.create("by_columns", parts)
    result = fx.rewrite("by_columns", strategy="sort", sorted_by=['"it\'s \\ `é`" DESC', "id ASC NULLS LAST"])
    (file,) = fx.files("by_columns")
    written = [tuple(row.values()) for row in file.read().to_pylist()]
    assert written == sorted(sorted(written), key=lambda row: row[1], reverse=True)
    assert sorted(written) == rows_of(pa.concat_tables(parts))
    assert (result["rewritten_data_files_count"], result["added_data_files_count"]) == (6, 1)
    assert (result["rewritten_rows_count"], result["failed_data_files_count"]) == (3000, 0)
    assert set(fx.rewrite("by_columns", strategy="sort", sorted_by=["id"]).values()) == {0}


def test_zorder(fx: SparkLake) -> None:
    side = 32
    points = [(x, y) for x in range(side) for y in range(side)]
    parts = [
        pa.table({"x": pa.array([p[0] for p in points[i::6]], pa.int64()),
                  "y": pa.array([p[1] for p in points[i::6]], pa.int64())})
        for i in range(6)
    ]  # fmt: skip
    fx.create("by_curve", parts)
    options = {"var-length-contribution": "8", "max-output-size": "16"}
    result = fx.rewrite("by_curve", options, strategy="sort", sorted_by=["zorder(x, Y)"])
    assert (result["rewritten_data_files_count"], result["rewritten_rows_count"]) == (6, side * side)
    written = [tuple(row.values()) for file in fx.files("by_curve") for row in file.read().to_pylist()]
    assert sorted(written) == points
    quarters = [
        {(x < side // 2, y < side // 2) for x, y in written[start : start + 256]} for start in range(0, 1024, 256)
    ]
    assert [len(quarter) for quarter in quarters] == [1, 1, 1, 1], "each quarter of the file is one of the square"


def test_what_iceberg_refuses_has_a_code(fx: SparkLake) -> None:
    flat = fx.create("flat", [pa.table({"id": pa.array([1], pa.int64()), "d": pa.array([Decimal("1.5")])})] * 2)
    with flat.transaction() as transaction:
        # To be written as ORC, so it is Iceberg's own procedure that rewrites.
        transaction.set_properties({"write.format.default": "orc"})
    with pytest.raises(ProcessionError) as failure:
        fx.rewrite("flat", {"rewrite-all": "true"}, strategy="sort", sorted_by=["zorder(id, d)"])
    assert failure.value.code is ErrorCode.NOT_SUPPORTED, failure.value.message
    assert "ZOrdering" in failure.value.message
    with pytest.raises(ProcessionError) as failure:
        fx.rewrite("flat", {"output-spec-id": "77"})
    assert failure.value.code is ErrorCode.INVALID_PROCEDURE_ARGUMENT, failure.value.message


def test_a_filter_selects_files_in_spark(fx: SparkLake) -> None:
    spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "p"))
    from pyiceberg.schema import Schema
    from pyiceberg.types import LongType, NestedField, StringType

    name = "it's `é`"
    schema = Schema(NestedField(1, "id", LongType()), NestedField(2, name, StringType()))
    table = fx.lake.other.create_table(
        "fx.filtered",
        schema=schema,
        partition_spec=spec,
        properties={"format-version": "2"},
        location=fx.absolute("filtered"),
    )
    for start in range(2):
        ids = pa.array([start, start + 10], pa.int64())
        table.append(pa.table({"id": ids, name: ["a'\\ ${env:HOME}", "b"]}))
    signature = Signature(name="presto.default.$operator$equal", kind="SCALAR", returnType="boolean")
    value = Constant(valueBlock=encode_constant("a'\\ ${env:HOME}", "varchar"), type="varchar")
    predicate = Call(displayName="EQUAL", functionHandle=StaticFunctionHandle(signature=signature),
                     returnType="boolean", arguments=(Variable(name=name, type="varchar"), value))  # fmt: skip
    given = {"strategy": "sort", "sorted_by": ["id"], "predicate": predicate}
    result = fx.rewrite("filtered", {"rewrite-all": "true"}, **given)
    assert (result["rewritten_data_files_count"], result["added_data_files_count"]) == (2, 1)
    assert result["rewritten_rows_count"] == 2
    assert rows_of(fx.sql("SELECT id FROM fx.fx.filtered")) == [(0,), (1,), (10,), (11,)]


def test_partial_progress_and_bloom_filters(fx: SparkLake) -> None:
    parts = shuffled(rows=50)
    with fx.create("steps", parts).transaction() as transaction:
        transaction.set_properties({"write.parquet.bloom-filter-enabled.column.id": "true"})
    largest = max(task.file.file_size_in_bytes for task in fx.table("steps").scan().plan_files())
    options = {
        "partial-progress.enabled": "true",
        "partial-progress.max-commits": "3",
        "max-file-group-size-bytes": str(largest * 2),
        "rewrite-all": "true",
    }
    before = len(fx.table("steps").snapshots())
    result = fx.rewrite("steps", options)
    assert (result["rewritten_data_files_count"], result["rewritten_rows_count"]) == (6, 300)
    assert len(fx.table("steps").snapshots()) == before + 3
    result = fx.rewrite("steps", {"rewrite-all": "true"})
    assert (result["added_data_files_count"], result["rewritten_rows_count"]) == (1, 300)
    assert rows_of(fx.sql("SELECT * FROM fx.fx.steps")) == rows_of(pa.concat_tables(parts))
    (file,) = fx.files("steps")
    assert file.metadata.num_rows == 300


def test_a_statement_that_runs_while_it_is_sent_can_be_cancelled(fx: SparkLake) -> None:
    watched = FakeExecution()
    workers = fx.engine.workers(watched)
    failures: list[ProcessionError] = []

    def create() -> None:
        try:
            workers.run_sql(
                "CREATE TABLE fx.fx.slow AS SELECT count(DISTINCT id % 1000003) AS n FROM range(100000000000)"
            )
        except ProcessionError as error:
            failures.append(error)

    thread = threading.Thread(target=create)
    thread.start()
    time.sleep(2)
    started = time.monotonic()
    watched.cancel()
    thread.join(timeout=60)
    assert not thread.is_alive()
    assert time.monotonic() - started < 30
    assert [failure.code for failure in failures] == [ErrorCode.USER_CANCELED]
