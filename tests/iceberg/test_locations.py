"""Folders of statements and calls: the warehouse, the table's own, what the catalog file allows, nothing else."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coordinator.connectors.iceberg.locations import check_location
from coordinator.connectors.iceberg.properties import IcebergSettings
from shared.errors import ErrorCode, ProcessionError
from shared.spi.catalog_changes import NewColumn, SchemaCreation, TableCreation, TablePropertiesChange, TableRemoval

ROWS = pa.table({"id": pa.array([1, 2], pa.int64())})
COLUMNS = (NewColumn("id", "bigint"),)
LAKE = IcebergSettings("c", "sql", None, "s3://lake/wh", Path("j"), allowed_locations=("gs://other/in", "/data/in/"))


def test_one_place_in_azure_by_all_its_names() -> None:
    """Otherwise two tables could share a folder."""
    inside = "abfss://c@lake.dfs.core.windows.net/in"
    settings = IcebergSettings("c", "sql", None, "s3://lake/wh", Path("j"), allowed_locations=(inside,))
    for location in (
        f"{inside}/x",
        "wasbs://c@Lake.blob.core.windows.net/in/x",
        "abfs://c@lake.dfs.core.windows.net/in",
    ):
        assert check_location(settings, location) == location
    for location in ("abfss://d@lake.dfs.core.windows.net/in", "wasbs://c@other.blob.core.windows.net/in", "gs://c/in"):
        with pytest.raises(ProcessionError, match="outside of catalog"):
            check_location(settings, location)


@pytest.mark.parametrize(
    "location",
    [
        *("s3://lake/wh", "s3://lake/wh/", "s3://lake/wh/a b/c%20d", "s3a://lake/wh/x", "gs://other/in/x"),
        *("file:/data/in/x", "file:///data/in", "/data/in//x", "s3://lake/own/t/metadata"),
    ],
)
def test_inside(location: str) -> None:
    assert check_location(LAKE, location, "s3://lake/own/t") == location


@pytest.mark.parametrize(
    "location",
    [
        *(
            "",
            " ",
            "s3://lake/",
            "s3://lake",
            "s3://lake/wh2",
            "s3://lake/w",
            "s3://lak/wh",
            "s3://LAKE/wh",
            "s3:///wh",
        ),
        *("s3://lake/wh/../x", "s3://lake/wh/%2e%2E/x", "s3://lake/wh/./x", "s3://lake//wh/x", "s3://u@lake/wh"),
        *("s3://lake@evil/wh/x", "s3://lake:80/wh", "s3://lake/wh\\..\\x", "s3://lake/wh/\n", "s3://lake/wh/a\0"),
        *("/data/in/../../etc", "/etc", "file:/etc", "file://evil/data/in", "file:data/in", "/", "file:///"),
        *("http://lake/wh", "https://lake/wh/x", "ftp://lake/wh", "jar:file:/data/in!/x", "hdfs://nn/data/in", "wh"),
    ],
)
def test_outside(location: str) -> None:
    with pytest.raises(ProcessionError, match="Access Denied: Location") as refused:
        check_location(LAKE, location, "s3://lake/own/t", None)
    assert refused.value.code is ErrorCode.PERMISSION_DENIED


def test_a_location_is_no_longer_than_a_path() -> None:
    """Following the links of one of 400,000 parts took a minute and a half."""
    assert check_location(LAKE, "/data/in/" + "a" * 4_000)
    with pytest.raises(ProcessionError, match="is not a plain one") as caught:
        check_location(LAKE, "/data/in/" + "a/" * 400_000)
    assert caught.value.code is ErrorCode.PERMISSION_DENIED
    assert len(caught.value.message) < 2_000


def test_links_do_not_lead_out(tmp_path: Path) -> None:
    settings = replace(LAKE, warehouse=f"file://{tmp_path}/wh")
    (tmp_path / "wh").mkdir()
    (tmp_path / "secret").mkdir()
    (tmp_path / "wh" / "out").symlink_to(tmp_path / "secret")
    (tmp_path / "in").symlink_to(tmp_path / "wh")
    assert check_location(settings, f"{tmp_path}/in/x")
    with pytest.raises(ProcessionError):
        check_location(settings, f"{tmp_path}/wh/out/x")


def test_the_name_of_a_rest_warehouse_is_no_folder() -> None:
    settings = replace(LAKE, type="rest", warehouse="etc", allowed_locations=())
    with pytest.raises(ProcessionError):
        check_location(settings, str(Path("etc").absolute()))


def refused(call: Any) -> None:
    with pytest.raises(ProcessionError) as error:
        call()
    assert error.value.code is ErrorCode.PERMISSION_DENIED, error.value
    assert "Access Denied: Location" in error.value.message


@pytest.fixture
def away(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with files that are not the lake's."""
    folder = tmp_path_factory.mktemp("away")
    pq.write_table(ROWS, folder / "mine.parquet")
    (folder / "key.txt").write_text("secret")
    return folder


def test_statements_make_nothing_elsewhere(lake: Any, away: Path) -> None:
    before = sorted(away.rglob("*"))
    for location in (str(away), f"file://{away}/t", f"file://{lake.home}/wh/../../x", "s3://stranger/t"):
        refused(lambda place=location: lake.change(SchemaCreation("s", {"location": place})))
        refused(lambda place=location: lake.change(TableCreation("db", "t", COLUMNS, {"location": place})))
        refused(lambda place=location: lake.change(TableCreation("db", "t", COLUMNS, {"write.data.path": place})))
        for name in ("write.metadata.path", "write.object-storage.path", "write.folder-storage.path"):
            more = {"extra_properties": {name: location}}
            refused(lambda more=more: lake.change(TableCreation("db", "t", COLUMNS, more)))
    assert lake.connector.tables("db") == []
    assert lake.connector.schemas() == ["db"]
    assert sorted(away.rglob("*")) == before
    inside = f"file://{lake.home}/wh/any/t"
    lake.change(TableCreation("db", "t", COLUMNS, {"location": inside, "write.data.path": f"{inside}/here"}))
    assert lake.table("t").location() == inside


def test_calls_touch_nothing_elsewhere(lake: Any, away: Path) -> None:
    lake.create("t", [ROWS])
    given = {"schema": "db", "table_name": "t"}
    before = sorted(away.rglob("*"))

    def call(procedure: str, **more: Any) -> None:
        refused(lambda: lake.call(procedure, **given | more))

    call("remove_orphan_files", location=str(away), dry_run=True)
    call("remove_orphan_files", location=str(away), dry_run=False)
    call("remove_orphan_files", location=f"{lake.home}/wh/db/t/../../../../x", dry_run=True)
    call("set_table_property", key="write.data.path", value=str(away))
    call("set_table_property", key="write.metadata.path", value=f"file:{away}")
    call("export_metadata", location=f"{away}/x")
    call("rewrite_table_path", source_prefix="a", target_prefix="b", staging_location=f"{away}/x")
    for name in ("add_files", "snapshot", "migrate"):
        new = {} if name == "add_files" else {"table_name": "new"}
        for dry_run in (True, False):
            call(name, **new, source_table=f"`parquet`.`{away}`", dry_run=dry_run)
    call("snapshot", table_name="new", source_table=f"`parquet`.`{lake.home}/wh/db/t/data`", location=f"{away}/x")
    call("register_table", table_name="new", metadata_file=f"{away}/key.txt")
    call("register_table", table_name="new", metadata_location=str(away))
    assert sorted(away.rglob("*")) == before
    assert lake.workers.statements == []


@pytest.mark.parametrize(
    "source",
    ["`parquet` . `{}`", "parquet/* */.`{}`", "`parquet`.\n`{}`", "`parquet`.`{}`.`x`", "parquet.{}", "`orc`.", "a b"],
)
def test_spellings_that_only_the_parser_of_spark_reads_are_refused(lake: Any, away: Path, source: str) -> None:
    lake.create("t", [ROWS])
    with pytest.raises(ProcessionError, match=r"Neither a folder nor the name of a table|Access Denied"):
        lake.call("add_files", schema="db", table_name="t", source_table=source.format(away))
    assert lake.workers.statements == []


def test_registered_metadata_names_no_folder_elsewhere(lake: Any, away: Path) -> None:
    kept = Path(lake.create("t", [ROWS]).metadata_location.removeprefix("file://"))
    own = f'"location":"file://{lake.home}/wh/db/t"'
    assert own in kept.read_text()
    forged = kept.with_name("00009-forged.metadata.json")
    for changed in (f'"location":"{away}"', f'{own},"properties":{{"write.data.path":"{away}"}}'):
        text = kept.read_text().replace(own, changed)
        forged.write_text(text.replace('"properties":{}', '"ignored":{}'))
        refused(lambda: lake.call("register_table", schema="db", table_name="x", metadata_file=f"file://{forged}"))
    assert lake.connector.tables("db") == ["t"]


def test_what_the_catalog_file_allows_is_taken_in(lake: Any, away: Path) -> None:
    (away / "key.txt").unlink()
    lake.connector.tables_of.settings = replace(lake.connector.settings, allowed_locations=(str(away),))
    lake.call("snapshot", schema="db", table_name="s", source_table=f"`parquet`.`{away}`")
    assert lake.rows("s") == [(1,), (2,)]


@pytest.mark.parametrize("word", ["location", "write.metadata.path", "write.data.path", "write.object-storage.path"])
def test_commits_write_nothing_elsewhere_though_another_program_said_so(lake: Any, away: Path, word: str) -> None:
    """What the table holds is still read, and it can be dropped; a place that the catalog file allows is one."""
    table = lake.create("t", [ROWS, ROWS])
    table.append(ROWS)
    if word == "location":
        file = Path(table.metadata_location.removeprefix("file://"))
        file.write_text(file.read_text().replace(f'"location":"{table.location()}"', f'"location":"{away}"'))
    else:
        with table.transaction() as transaction:
            transaction.set_properties({word: str(away)})
    before = sorted(away.rglob("*"))
    given = {"schema": "db", "table_name": "t"}
    for procedure, more in (
        ("expire_snapshots", {"retain_last": 1, "older_than": datetime(2100, 1, 1)}),
        ("rewrite_data_files", {}),
        ("rewrite_manifests", {}),
        ("set_table_property", {"key": "write.target-file-size-bytes", "value": "1000000"}),
        ("rollback_to_snapshot", {"snapshot_id": table.metadata.snapshots[0].snapshot_id}),
    ):
        refused(lambda procedure=procedure, more=more: lake.call(procedure, **given | more))
    refused(lambda: lake.change(TablePropertiesChange("db", "t", {"write.target-file-size-bytes": "1000000"})))
    assert sorted(away.rglob("*")) == before
    assert len(lake.table("t").metadata.snapshots) == 3
    assert lake.table("t").scan().to_arrow().num_rows == 3 * ROWS.num_rows
    lake.change(TableRemoval("db", "t"))
    assert sorted(away.rglob("*")) == before
