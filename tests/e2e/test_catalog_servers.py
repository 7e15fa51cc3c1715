"""Catalogs kept by servers, a real PostgreSQL and a real Hive metastore: the coordinator, Spark and others see one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import prestodb
import pytest
from hive_metastore.ttypes import FieldSchema, SerDeInfo, StorageDescriptor, Table
from pyiceberg.catalog.hive import HiveCatalog
from pyiceberg.catalog.sql import SqlCatalog

from tests.e2e.service import Service, checksum, start_service, write_etc
from tests.e2e.test_call import numbers
from tests.hive_metastore import HiveMetastore
from tests.postgres import postgres_server

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@dataclass(frozen=True)
class Servers:
    service: Service
    postgres: str
    metastore: HiveMetastore
    home: Path


@pytest.fixture(scope="module")
def servers(spark_engine: Any, metastore: HiveMetastore, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    home = tmp_path_factory.mktemp("servers")
    with postgres_server() as postgres:
        etc = write_etc(home / "etc", remote=spark_engine.connect().server.url)
        (etc / "catalog" / "lake.properties").write_text(
            f"connector.name=iceberg\niceberg.catalog.uri={postgres}\n"
            f"iceberg.catalog.warehouse=file://{home}/wh\niceberg.journal.file={home}/lake.journal.db\n"
        )
        (etc / "catalog" / "hived.properties").write_text(
            f"connector.name=iceberg\niceberg.catalog.type=hive\nhive.metastore.uri={metastore.uri}\n"
            f"iceberg.catalog.warehouse=file://{home}/hived\n"
        )
        service = start_service(etc, home / "data", home / "log")
        try:
            yield Servers(service, postgres, metastore, home)
        finally:
            assert service.stop() == 0, (home / "log").read_text()
        assert "Traceback" not in (home / "log").read_text()


def test_rewrite_and_query_over_a_postgres_catalog(servers: Servers) -> None:
    service = servers.service
    uri = servers.postgres.replace("postgresql://", "postgresql+psycopg2://", 1)
    other = SqlCatalog("lake", uri=uri, warehouse=f"file://{servers.home}/wh")
    other.create_namespace("db")
    table = other.create_table("db.t", schema=numbers(0).schema)
    for number in range(6):
        table.append(numbers(number * 100))
    before = checksum(table)
    assert service.execute("SELECT count(*), max(id) FROM lake.db.t") == [[600, 599]]
    assert service.execute("CALL lake.system.rewrite_data_files('db', 't')")[0][:2] == [6, 1]
    assert checksum(table) == before
    assert service.execute("SELECT count(*), max(id) FROM lake.db.t") == [[600, 599]]
    table.append(numbers(600))
    assert service.execute("SELECT count(*), max(id) FROM lake.db.t") == [[700, 699]]


def test_a_table_of_a_hive_metastore(servers: Servers) -> None:
    """Made, filled by Spark, changed and dropped; the metastore's own client sees it."""
    run = servers.service.execute
    run("CREATE SCHEMA hived.short")
    assert run("CREATE TABLE hived.short.t AS SELECT BIGINT '1' AS id, 'a' AS p") == [[1]]
    assert run("INSERT INTO hived.short.t VALUES (2, 'b'), (3, 'b')") == [[2]]
    assert run("DELETE FROM hived.short.t WHERE id = 2") == [[1]]
    assert run("SELECT id FROM hived.short.t ORDER BY id") == [[1], [3]]
    assert servers.metastore.table("short", "t").parameters["table_type"] == "ICEBERG"
    run("DROP SCHEMA hived.short CASCADE")
    assert servers.metastore.locks() == []


@pytest.mark.full("the table above; the same procedures in iceberg/test_hive_catalog")
def test_statements_over_a_hive_metastore(servers: Servers) -> None:
    """From CREATE SCHEMA to DROP SCHEMA; PyIceberg's own client of the metastore sees what statements did."""
    run, schema, t = servers.service.execute, "life", "hived.life.t"
    run(f"CREATE SCHEMA hived.{schema}")
    run(f"CREATE TABLE {t} (id bigint, p varchar) WITH (partitioning = ARRAY['p'], \"format-version\" = '3')")
    for number in range(3):
        assert run(f"INSERT INTO {t} VALUES ({number}, 'a'), ({number + 10}, 'b')") == [[2]]
    assert run(f"DELETE FROM {t} WHERE id = 11") == [[1]]
    assert run(f"UPDATE {t} SET id = 99 WHERE id = 12 AND p = 'b'") == [[1]]
    expected = [[0], [1], [2], [10], [99]]
    assert run(f"SELECT id FROM {t} ORDER BY id") == expected
    options = "map(ARRAY['rewrite-all'], ARRAY['true'])"
    call = f"CALL hived.system.rewrite_data_files(schema => '{schema}', table_name => 't', options => {options})"
    rewritten = run(call)
    assert rewritten[0][-1] == 5
    assert run(f"SELECT id FROM {t} ORDER BY id") == expected
    other = HiveCatalog("other", uri=servers.metastore.uri)
    assert other.load_table((schema, "t")).format_version == 3
    entry = servers.metastore.table(schema, "t")
    assert (entry.parameters["numRows"], entry.parameters["table_type"]) == ("5", "ICEBERG")
    run(f"CREATE TABLE hived.{schema}.copied AS SELECT * FROM {t} WHERE p = 'b'")
    run(f"ALTER TABLE hived.{schema}.copied ADD COLUMN note varchar")
    run(f"ALTER TABLE hived.{schema}.copied RENAME TO hived.{schema}.renamed")
    assert run(f"SELECT count(*), count(note) FROM hived.{schema}.renamed") == [[2, 0]]
    assert [column.name for column in servers.metastore.table(schema, "renamed").sd.cols] == ["id", "p", "note"]
    assert run(f"SHOW TABLES FROM hived.{schema}") == [["renamed"], ["t"]]
    run(f"DROP SCHEMA hived.{schema} CASCADE")
    assert [schema] not in run("SHOW SCHEMAS FROM hived")
    assert [path for path in (servers.home / "hived").rglob("*.parquet") if schema in str(path)] == []
    assert servers.metastore.locks() == []


def test_tables_of_hive_beside_tables_of_iceberg(servers: Servers) -> None:
    run = servers.service.execute
    run("CREATE SCHEMA hived.beside")
    run("CREATE TABLE hived.beside.ours (id bigint)")
    storage = StorageDescriptor([FieldSchema("a", "int")], f"file://{servers.home}/plain", serdeInfo=SerDeInfo())
    with servers.metastore.client() as client:
        client.create_table(Table("plain", "beside", sd=storage, parameters={}, tableType="EXTERNAL_TABLE"))
        client.create_table(Table("seen", "beside", sd=storage, parameters={}, tableType="VIRTUAL_VIEW"))
    assert run("SHOW TABLES FROM hived.beside") == [["ours"]]
    listed = "SELECT table_name FROM hived.information_schema.{} WHERE table_schema = 'beside'"
    assert run(listed.format("tables")) == run(listed.format("columns")) == [["ours"]]
    of_jdbc = "SELECT table_name FROM system.jdbc.tables WHERE table_cat = 'hived' AND table_schem = 'beside'"
    assert run(of_jdbc) == [["ours"]]
    refused = {
        "SELECT * FROM hived.beside.plain": ("ICEBERG_UNKNOWN_TABLE_TYPE", "Not an Iceberg table: beside.plain"),
        "DROP TABLE hived.beside.plain": ("ICEBERG_UNKNOWN_TABLE_TYPE", "Not an Iceberg table: beside.plain"),
        "SELECT * FROM hived.beside.seen": ("NOT_SUPPORTED", "beside.seen is a view, and views of Hive and Glue"),
        "CREATE VIEW hived.beside.v AS SELECT 1 x": ("NOT_SUPPORTED", "does not support creating views"),
        "DROP SCHEMA hived.beside": ("SCHEMA_NOT_EMPTY", "Schema not empty: beside"),
        "CREATE TABLE hived.beside.plain (id bigint)": ("ICEBERG_UNKNOWN_TABLE_TYPE", "Not an Iceberg table"),
    }
    for statement, (code, message) in refused.items():
        with pytest.raises(prestodb.exceptions.PrestoQueryError) as failure:
            run(statement)
        assert (failure.value.error_name, message in failure.value.message) == (code, True), failure.value
