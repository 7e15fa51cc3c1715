"""snapshot and migrate of tables in Spark's own catalog: the rows that Spark read before."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coordinator.connectors.iceberg.properties import spark_properties
from shared.errors import ErrorCode, ProcessionError
from tests.iceberg.test_spark_catalogue import Both

NAME = "imported"
pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture(scope="module")
def lake(spark_engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    lake = Both(tmp_path_factory.mktemp(NAME), spark_engine, NAME)
    for name, value in spark_properties(lake.connector.settings).items():
        spark_engine.connect().session.conf.set(name, value)
    yield lake
    for row in lake.sql("SHOW TABLES IN spark_catalog.default"):
        if str(row["tableName"]).startswith("src"):
            lake.sql(f"DROP TABLE spark_catalog.default.{row['tableName']}")


def source(lake: Both, name: str, *, managed: bool = False) -> Path:
    """A partitioned table that Spark made; where its files are."""
    folder = lake.home / "sources" / name
    place = "" if managed else f" LOCATION 'file://{folder}'"
    lake.sql(
        f"CREATE TABLE spark_catalog.default.{name} (id bigint, note string, price decimal(9,2), day date, location "
        f"string) USING parquet PARTITIONED BY (day){place}"
    )
    lake.sql(
        f"INSERT INTO spark_catalog.default.{name} (id, note, price, location, day) SELECT id, concat('n', id), "
        "id / 4, 'x', date_add(DATE '2026-11-01', INT(id % 3)) FROM range(50)"
    )
    return folder


def rows(lake: Both, table: str) -> list[dict[str, Any]]:
    return lake.sql(f"SELECT id, note, price, location, day FROM {table} ORDER BY id")


def test_a_snapshot_reads_as_sparks_table(lake: Both) -> None:
    folder = source(lake, "src_snap")
    before = rows(lake, "spark_catalog.default.src_snap")
    (found,) = lake.ours("snapshot", "ours", source_table="default.src_snap")
    assert found["imported_files_count"] == len(list(folder.rglob("*.parquet")))
    assert len(before) == 50
    assert rows(lake, f"{NAME}.db.ours") == before
    assert [field.name for field in lake.table("ours").spec().fields] == ["day"]
    lake.sql(f"DELETE FROM {NAME}.db.ours WHERE id < 10")
    assert rows(lake, "spark_catalog.default.src_snap") == before, "the source stays as it is"
    assert folder.exists()


def test_a_migrated_table_takes_its_place_and_the_source_a_new_name(lake: Both) -> None:
    folder = source(lake, "src_moved")
    before = rows(lake, "spark_catalog.default.src_moved")
    (found,) = lake.ours("migrate", "src_moved", source_table="spark_catalog.default.src_moved")
    assert found["migrated_files_count"] == len(list(folder.rglob("*.parquet")))
    assert rows(lake, f"{NAME}.db.src_moved") == before
    assert lake.table("src_moved").location().removeprefix("file:").lstrip("/") == str(folder).lstrip("/")
    named = {row["tableName"] for row in lake.sql("SHOW TABLES IN spark_catalog.default")}
    assert "src_moved_backup_" in {name.lower() for name in named}
    assert "src_moved" not in named
    lake.sql(
        f"INSERT INTO {NAME}.db.src_moved (id, note, price, location, day) VALUES "
        "(1000, 'new', 1, 'y', DATE '2026-12-01')"
    )
    assert len(rows(lake, f"{NAME}.db.src_moved")) == 51


def test_the_source_can_be_forgotten_instead(lake: Both) -> None:
    source(lake, "src_gone")
    before = rows(lake, "spark_catalog.default.src_gone")
    lake.ours("migrate", "src_gone", source_table="spark_catalog.default.src_gone", drop_backup=True)
    assert rows(lake, f"{NAME}.db.src_gone") == before
    assert not [r for r in lake.sql("SHOW TABLES IN spark_catalog.default") if "src_gone" in r["tableName"]]


def test_what_is_refused_leaves_everything_as_it_was(lake: Both, monkeypatch: Any) -> None:
    source(lake, "src_own", managed=True)
    with pytest.raises(ProcessionError, match="Spark manages its files") as caught:
        lake.ours("migrate", "own", source_table="spark_catalog.default.src_own")
    assert caught.value.code is ErrorCode.NOT_SUPPORTED
    lake.sql(f"CREATE TABLE spark_catalog.default.src_csv (id bigint) USING csv LOCATION 'file://{lake.home}/csv'")
    with pytest.raises(ProcessionError, match="its provider is csv, not parquet"):
        lake.ours("snapshot", "own", source_table="default.src_csv")
    with pytest.raises(ProcessionError) as caught:
        lake.ours("snapshot", "own", source_table="default.src_nope")
    assert caught.value.code is ErrorCode.NOT_FOUND, caught.value.message
    folder = source(lake, "src_apart")
    apart = lake.home / "apart"
    apart.mkdir()
    pq.write_table(pa.table({"id": [99], "note": ["apart"], "location": ["z"]}), apart / "one.parquet")
    lake.sql(
        f"ALTER TABLE spark_catalog.default.src_apart ADD PARTITION (day = '2027-01-01') LOCATION 'file://{apart}'"
    )
    for procedure in ("snapshot", "migrate"):
        with pytest.raises(ProcessionError, match=r"has 51 rows and the files under its folder 50") as caught:
            lake.ours(procedure, "own", source_table="default.src_apart")
        assert caught.value.code is ErrorCode.NOT_SUPPORTED
    source(lake, "src_stays")
    with pytest.raises(ProcessionError):
        lake.ours("migrate", "own", source_table="default.src_stays", backup_table_name="src_own")
    assert len(rows(lake, "spark_catalog.default.src_stays")) == 50
    with monkeypatch.context() as patch:
        patch.setattr(type(lake.other), "commit_table", lambda *_: (_ for _ in ()).throw(ConnectionError("lost")))
        lake.connector = type(lake.connector)(NAME, lake.properties)
        with pytest.raises(ProcessionError, match="lost"):
            lake.ours("migrate", "own", source_table="default.src_stays")
    lake.connector = type(lake.connector)(NAME, lake.properties)
    assert len(rows(lake, "spark_catalog.default.src_stays")) == 50, "renamed back"
    assert not lake.other.table_exists("db.own")
    assert folder.exists()
