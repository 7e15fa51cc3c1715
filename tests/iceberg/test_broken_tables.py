"""Tables whose metadata lies or is broken (found by benchmarks/fuzz): answered, or refused as bad metadata."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.typedef import Record

from coordinator.checks.plan_checkers import PlanCheckers
from coordinator.connectors.registry import CatalogConfig, Catalogs
from coordinator.planning.plan_statement import plan_statement
from shared.errors import ErrorCode, ProcessionError
from shared.properties import Property
from shared.spi.catalog_changes import TableRemoval
from shared.spi.session import Session
from tests.iceberg.test_expiry import later
from tests.iceberg.test_metadata_tables import read, read_columns

ROWS = pa.table(
    {
        "id": pa.array([1, 2], pa.int64()),
        "s": ["a", "b"],
        "d": pa.array([1, 2], pa.date32()),
        "t": pa.array([1, 2], pa.timestamp("us")),
    }
)


PLANNED = (
    "SELECT * FROM t WHERE id > 1 AND d < DATE '2020-01-01' LIMIT 1",
    "SHOW STATS FOR t",
    "SELECT count(*) FROM t",
)


@pytest.fixture
def plan(lake: Any) -> Any:
    """Plans a statement over the lake, by the embedded engine and by Spark."""
    values = {"iceberg.catalog.uri": lake.uri, "iceberg.catalog.warehouse": f"file://{lake.home}/wh"}
    properties = {k: Property(k, v, Path("lab.properties"), i) for i, (k, v) in enumerate(values.items(), start=2)}
    catalogs, checkers = Catalogs([CatalogConfig("lab", "iceberg", properties, lake.home)]), PlanCheckers()

    def planned(sql: str) -> list[Any]:
        sessions = [Session("test", catalog="lab", schema="db", properties={"engine": e}) for e in ("auto", "spark")]
        return [plan_statement(sql, session, catalogs, checkers).work for session in sessions]

    return planned


def said(table: Any, bound: bytes = b"", path: str = "") -> None:
    """A file of another's, or one that is not there, whose bounds are these bytes for every column."""
    bounds = {field.field_id: bound for field in table.schema().fields}
    file = DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=path or f"{table.location()}/data/none.parquet",
        file_format=FileFormat.PARQUET,
        partition=Record(),
        record_count=10,
        file_size_in_bytes=100,
        column_sizes={},
        value_counts={},
        null_value_counts=dict.fromkeys(bounds, 0),
        nan_value_counts={},
        lower_bounds=bounds,
        upper_bounds=bounds,
    )
    file.spec_id = 0
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
        append.append_data_file(file)


@pytest.mark.parametrize("bound", [b"", b"\x01", b"\xff" * 4, b"\x7f" * 8, b"\xff" * 40])
def test_bounds_that_are_no_values_tell_nothing(lake: Any, plan: Any, bound: bytes) -> None:
    table = lake.create("t", [ROWS])
    said(table, bound)
    assert len(read(lake, "t$files")) == 2
    assert read_columns(lake, "t$partitions")["row_count"].to_pylist() == [12]
    assert all(plan(sql) for sql in PLANNED)


@pytest.mark.parametrize("value", ["abc", "²", "", "-5", "9" * 30, "NaN", [], 1e308, 7])
@pytest.mark.parametrize("key", ["total-records", "total-data-files", "total-files-size", "total-delete-files"])
def test_a_summary_is_anybodys_word(lake: Any, plan: Any, key: str, value: Any) -> None:
    lake.create("t", [ROWS])
    path = Path(lake.table("t").metadata_location.removeprefix("file://"))
    root = json.loads(path.read_text())
    root["snapshots"][-1]["summary"][key] = value
    path.write_text(json.dumps(root))
    assert all(plan(sql) for sql in PLANNED)
    assert len(read(lake, "t$snapshots")) == 1
    assert lake.call("show_snapshots", schema="db", table_name="t") is not None


@pytest.mark.parametrize(
    ("key", "value", "sql"),
    [
        ("properties", "x", "SELECT count(*) FROM t"),
        ("sort-orders", [{"order-id": 7, "fields": []}], "SHOW CREATE TABLE t"),
        ("snapshots", [1], "SELECT * FROM t"),
        ("schemas", {}, "SHOW STATS FOR t"),
    ],
)
def test_a_metadata_file_of_other_parts_is_bad_metadata(lake: Any, plan: Any, key: str, value: Any, sql: str) -> None:
    lake.create("t", [ROWS])
    path = Path(lake.table("t").metadata_location.removeprefix("file://"))
    path.write_text(json.dumps(json.loads(path.read_text()) | {key: value}))
    with pytest.raises(ProcessionError) as refused:
        plan(sql)
    assert refused.value.code is ErrorCode.ICEBERG_INVALID_METADATA


@pytest.fixture
def bait(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that is none of the lake's."""
    made = tmp_path_factory.mktemp("elsewhere") / "bait"
    made.write_text("mine")
    return made


def spelled(lake: Any, bait: Path) -> list[str]:
    link = Path(lake.home) / "wh" / "db" / "link"
    link.symlink_to(bait.parent)
    return [str(bait), f"file://{bait}", f"file://{lake.home}/../{bait.parent.name}/bait", f"{link}/bait"]


def test_dropping_deletes_no_file_that_lies_elsewhere(lake: Any, bait: Path) -> None:
    table = lake.create("t", [ROWS])
    folder = Path(table.location().removeprefix("file://"))
    for path in spelled(lake, bait):
        said(table, path=path)
    lake.change(TableRemoval("db", "t", if_exists=False))
    assert lake.connector.tables("db") == []
    assert bait.read_text() == "mine"
    assert [file for file in folder.rglob("*") if file.is_file()] == []


def test_expiring_deletes_no_file_that_lies_elsewhere(lake: Any, bait: Path) -> None:
    table = lake.create("t", [ROWS])
    for path in spelled(lake, bait):
        said(table, path=path)
    table.delete()
    first, *_ = lake.call("expire_snapshots", schema="db", table_name="t", retain_last=1, older_than=later()).rows
    assert first[0] == 1, "the file of its own"
    assert bait.read_text() == "mine"


def test_a_table_whose_manifests_are_broken_can_be_dropped(lake: Any) -> None:
    table = lake.create("t", [ROWS, ROWS])
    snapshots = table.refresh().snapshots()
    Path(snapshots[0].manifests(table.io)[0].manifest_path.removeprefix("file://")).write_bytes(b"none")
    Path(snapshots[1].manifest_list.removeprefix("file://")).write_bytes(b"Obj\x01\xff\xff\xff")
    lake.change(TableRemoval("db", "t", if_exists=False))
    assert lake.connector.tables("db") == []


@pytest.mark.parametrize("content", [b"", b"none of the kind", b"Obj\x01\x0f\xff", None])
@pytest.mark.parametrize("name", ["t$manifests", "t$files", "t$partitions"])
def test_a_broken_manifest_list_is_bad_metadata(lake: Any, name: str, content: bytes | None) -> None:
    table = lake.create("t", [ROWS])
    path = Path(table.refresh().current_snapshot().manifest_list.removeprefix("file://"))
    path.write_bytes(path.read_bytes() + b"\x00" * 100 if content is None else content)
    with pytest.raises(ProcessionError) as refused:
        read(lake, name)
    assert refused.value.code is ErrorCode.ICEBERG_INVALID_METADATA


@pytest.mark.parametrize("sql", PLANNED)
def test_a_manifest_list_of_a_type_that_there_is_none_of_is_bad_metadata(lake: Any, plan: Any, sql: str) -> None:
    table = lake.create("t", [ROWS])
    path = Path(table.refresh().current_snapshot().manifest_list.removeprefix("file://"))
    path.write_bytes(path.read_bytes().replace(b'"int"', b'"Ant"'))
    with pytest.raises(ProcessionError, match=rf"{path.name} is broken: Type not recognized: Ant") as refused:
        plan(sql)
    assert refused.value.code is ErrorCode.ICEBERG_INVALID_METADATA


@pytest.mark.parametrize("sql", PLANNED)
def test_files_of_a_partition_spec_that_the_table_lacks_are_bad_metadata(lake: Any, plan: Any, sql: str) -> None:
    lake.create("t", [ROWS])
    path = Path(lake.table("t").metadata_location.removeprefix("file://"))
    specs = {"partition-specs": [{"spec-id": 7, "fields": []}], "default-spec-id": 7}
    path.write_text(json.dumps(json.loads(path.read_text()) | specs))
    with pytest.raises(ProcessionError, match="names partition spec 0, which the table does not have") as refused:
        plan(sql)
    assert refused.value.code is ErrorCode.ICEBERG_INVALID_METADATA
