"""What docker-compose.yml starts, without a container daemon: a Spark of its own, tables in S3, the catalog in
PostgreSQL, all through a real Presto client, read back by PyIceberg from the store."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import boto3
import prestodb
import pytest
from pyiceberg.catalog.glue import GlueCatalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from tests.deploy.parts import Deployment, deployment

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.full(
        "a Spark that others run and a catalog in PostgreSQL in e2e/test_catalog_servers, S3 on both engines in "
        "e2e/test_vended_keys, a sidecar of its own in cli/test_up, the files of docker/ in deploy/"
    ),
]


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with deployment(tmp_path_factory.mktemp("parts")) as running:
        yield running
        log = running.log("coordinator")
    assert "Traceback" not in log, log


def execute(parts: Deployment, sql: str, **session: str) -> list[list[Any]]:
    host, port = parts.coordinator.removeprefix("http://").split(":")
    cursor = prestodb.dbapi.connect(host=host, port=int(port), user="tester", session_properties=session).cursor()
    cursor.execute(sql)
    rows: list[list[Any]] = cursor.fetchall()
    return rows


def lake(parts: Deployment) -> SqlCatalog:
    """The catalog as any other PyIceberg program opens it."""
    given = parts.environment
    login = f"{given['POSTGRES_USER']}:{quote(given['POSTGRES_PASSWORD'], safe='')}"
    return SqlCatalog(
        "iceberg",
        uri=f"postgresql+psycopg2://{login}@{parts.catalog}",
        **{
            "s3.endpoint": parts.s3,
            "s3.access-key-id": given["S3_ACCESS_KEY"],
            "s3.secret-access-key": given["S3_SECRET_KEY"],
            "s3.region": "us-east-1",
        },
    )


def store(parts: Deployment) -> Any:
    keys = {"aws_access_key_id": "any", "aws_secret_access_key": "any"}
    return boto3.client("s3", endpoint_url=parts.s3, region_name="us-east-1", **keys)


def parquet(parts: Deployment, prefix: str) -> set[str]:
    pages = store(parts).get_paginator("list_objects_v2").paginate(Bucket="warehouse", Prefix=prefix)
    keys = {entry["Key"] for page in pages for entry in page.get("Contents", ())}
    return {key for key in keys if key.endswith(".parquet")}


def paths(table: Table) -> list[str]:
    found: list[str] = table.inspect.files()["file_path"].to_pylist()
    return found


def test_a_table_in_s3_is_made_changed_compacted_and_cleaned(parts: Deployment) -> None:
    execute(parts, "CREATE SCHEMA iceberg.shop")
    assert execute(parts, "CREATE TABLE iceberg.shop.nation AS SELECT * FROM tpch.tiny.nation WHERE regionkey = 0") == [
        [5]
    ]
    for region in range(1, 5):
        execute(parts, f"INSERT INTO iceberg.shop.nation SELECT * FROM tpch.tiny.nation WHERE regionkey = {region}")
    execute(parts, "DELETE FROM iceberg.shop.nation WHERE nationkey = 3")
    expected = execute(parts, "SELECT * FROM tpch.tiny.nation WHERE nationkey <> 3 ORDER BY nationkey")
    assert execute(parts, "SELECT * FROM iceberg.shop.nation ORDER BY nationkey") == expected

    files = len(lake(parts).load_table("shop.nation").inspect.data_files())
    assert files >= 5
    call = "CALL iceberg.system.rewrite_data_files(schema => 'shop', table_name => 'nation')"
    assert execute(parts, call)[0][:2] == [files, 1]
    table = lake(parts).load_table("shop.nation")
    assert table.location().startswith("s3://warehouse/")
    read = table.scan().to_arrow().sort_by("nationkey").to_pylist()
    assert [list(row.values()) for row in read] == expected
    assert execute(parts, "SELECT * FROM iceberg.shop.nation ORDER BY nationkey") == expected


def test_expiry_and_orphans_work_on_the_store(parts: Deployment) -> None:
    execute(parts, "CREATE SCHEMA IF NOT EXISTS iceberg.shop")
    execute(parts, "CREATE TABLE iceberg.shop.region AS SELECT * FROM tpch.tiny.region")
    execute(parts, "DELETE FROM iceberg.shop.region WHERE true")
    execute(parts, "INSERT INTO iceberg.shop.region SELECT * FROM tpch.tiny.region")
    table = lake(parts).load_table("shop.region")
    prefix = table.location().removeprefix("s3://warehouse/")
    stray = f"{prefix}/data/stray.parquet"
    store(parts).put_object(Bucket="warehouse", Key=stray, Body=b"nobody's")
    before, live = parquet(parts, prefix), {name.removeprefix("s3://warehouse/") for name in paths(table)}
    assert live < before - {stray}
    execute(
        parts,
        "CALL iceberg.system.expire_snapshots(schema => 'shop', table_name => 'region', "
        "older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => 1)",
    )
    assert parquet(parts, prefix) == live | {stray}
    orphans = execute(parts, "CALL iceberg.system.remove_orphan_files(schema => 'shop', table_name => 'region')")
    assert orphans == []  # younger than three days


def test_a_glue_catalog_that_iceberg_java_and_we_write_in_turn(parts: Deployment) -> None:
    """Spark writes and reads by Iceberg Java's own Glue catalog; credentials come from the environment."""
    t = "glued.shop.nation"
    execute(parts, "CREATE SCHEMA glued.shop")
    with_version = "WITH (\"format-version\" = '3') AS SELECT * FROM tpch.tiny.nation"
    assert execute(parts, f"CREATE TABLE {t} {with_version} WHERE regionkey = 0") == [[5]]
    for region in range(1, 5):
        execute(parts, f"INSERT INTO {t} SELECT * FROM tpch.tiny.nation WHERE regionkey = {region}")
    execute(parts, f"DELETE FROM {t} WHERE nationkey = 3")
    expected = execute(parts, "SELECT * FROM tpch.tiny.nation WHERE nationkey <> 3 ORDER BY nationkey")
    call = "CALL glued.system.rewrite_data_files(schema => 'shop', table_name => 'nation')"
    assert execute(parts, call)[0][1] == 1
    assert execute(parts, f"SELECT * FROM {t} ORDER BY nationkey") == expected
    execute(parts, f"INSERT INTO {t} SELECT * FROM tpch.tiny.nation WHERE nationkey = 3")
    keys = {f"client.{key}": "any" for key in ("access-key-id", "secret-access-key")}
    places = {"s3.endpoint": parts.s3, "glue.endpoint": parts.s3, "client.region": "us-east-1"}
    table = GlueCatalog("other", **keys, **places).load_table("shop.nation")
    assert (table.format_version, table.scan().to_arrow().num_rows) == (3, 25)
    assert execute(parts, "SHOW TABLES FROM glued.shop") == [["nation"]]
    assert parquet(parts, "glued/shop.db/") != set()
    execute(parts, "DROP SCHEMA glued.shop CASCADE")
    assert parquet(parts, "glued/shop.db/") == set()


def test_columns_are_read_by_position_from_the_store(parts: Deployment) -> None:
    execute(parts, "CREATE SCHEMA IF NOT EXISTS iceberg.shop")
    execute(parts, "CREATE TABLE iceberg.shop.orders AS SELECT * FROM tpch.tiny.orders")
    sql = "SELECT * FROM {}.orders ORDER BY totalprice DESC LIMIT 3"
    small = {"global_late_materialization_min_table_size": "0B"}
    assert "Fetch" in execute(parts, "EXPLAIN " + sql.format("iceberg.shop"), **small)[0][0]
    assert execute(parts, sql.format("iceberg.shop"), **small) == execute(parts, sql.format("tpch.tiny"))


def test_a_wrong_statement_is_refused_by_the_sidecar_of_its_own(parts: Deployment) -> None:
    with pytest.raises(prestodb.exceptions.PrestoUserError, match="Column 'nope' cannot be resolved"):
        execute(parts, "SELECT nope FROM tpch.tiny.nation")
    fragments = execute(parts, "EXPLAIN (TYPE NATIVE) SELECT name FROM tpch.tiny.nation")[0][0]
    assert "TableScan" in fragments
