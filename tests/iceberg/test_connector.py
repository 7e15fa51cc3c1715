"""What the planner learns of an Iceberg catalog, the wire handles, and configuration errors."""

from __future__ import annotations

import importlib.util
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import sqlalchemy as sa
from pyiceberg.schema import Schema
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from coordinator.connectors.iceberg.connector import FACTORY
from coordinator.connectors.iceberg.properties import jdbc_url, pyiceberg_properties, read_settings, sqlalchemy_url
from coordinator.connectors.iceberg.types import hive_type, iceberg_type, presto_type
from coordinator.engine.spark.settings import DEFAULT_PACKAGES
from shared.errors import ErrorCode, ProcessionError
from shared.properties import ConfigurationError, read_properties

TYPES = [
    (BooleanType(), "boolean", "boolean"),
    (IntegerType(), "integer", "int"),
    (LongType(), "bigint", "bigint"),
    (FloatType(), "real", "float"),
    (DoubleType(), "double", "double"),
    (DecimalType(12, 3), "decimal(12,3)", "decimal(12,3)"),
    (DateType(), "date", "date"),
    (TimeType(), "time", "string"),
    (TimestampType(), "timestamp", "timestamp"),
    (TimestamptzType(), "timestamp with time zone", "timestamp with local time zone"),
    (StringType(), "varchar", "string"),
    (UUIDType(), "uuid", "string"),
    (BinaryType(), "varbinary", "binary"),
    (ListType(5, LongType(), element_required=False), "array(bigint)", "array<bigint>"),
    (MapType(5, StringType(), 6, DateType(), value_required=False), "map(varchar,date)", "map<string,date>"),
    (
        StructType(
            NestedField(5, "a", LongType(), required=False), NestedField(6, "B c", StringType(), required=False)
        ),
        'row(a bigint,"B c" varchar)',
        "struct<a:bigint,B c:string>",
    ),
]


@pytest.mark.parametrize(("iceberg", "presto", "hive"), TYPES)
def test_types_both_ways(iceberg: Any, presto: str, hive: str) -> None:
    ids = iter(range(5, 99))
    assert str(presto_type(iceberg)) == presto
    assert hive_type(iceberg) == hive
    assert iceberg_type(presto, lambda: next(ids)) == iceberg


def test_fixed_is_varbinary_and_unknown_types_are_refused() -> None:
    assert str(presto_type(FixedType(7))) == "varbinary"
    with pytest.raises(ProcessionError, match="Type not supported for Iceberg: hyperloglog"):
        iceberg_type("hyperloglog", lambda: 1)


def test_rows_whose_fields_differ_in_capitals_alone_are_refused() -> None:
    """Iceberg keeps them, and Spark opens no table that has some: Multiple entries with same key."""
    with pytest.raises(ProcessionError, match=r"more than one field of the name 'b'") as refused:
        iceberg_type('array(row(b bigint, "B" bigint))', lambda: 1)
    assert refused.value.code is ErrorCode.NOT_SUPPORTED


def test_schemas_tables_and_names_in_any_case(lake: Any) -> None:
    lake.create("small", [pa.table({"id": [1]})])
    lake.other.create_namespace(("db", "sub"))
    lake.other.create_table(("db", "sub", "inner"), schema=pa.schema([("x", pa.int64())]))
    lake.other.create_table("db.Mixed", schema=pa.schema([("X", pa.int64())]))
    assert lake.connector.schemas() == ["db", "db.sub"]
    assert lake.connector.tables("db") == ["Mixed", "small"]
    assert lake.connector.tables("none") == []
    assert lake.connector.schema_exists("db.sub")
    assert not lake.connector.schema_exists("none")
    assert lake.connector.table("db", "none") is None
    assert lake.connector.table("none", "none") is None
    assert lake.connector.table("db.sub", "inner").column("X").type == "bigint"
    assert lake.connector.table("db", "mixed").columns[0].name == "x"


def test_table_handle_is_prestos(lake: Any) -> None:
    """Field names and order as a Presto 0.296 coordinator sends them (tests/data/presto_fragments)."""
    schema = Schema(
        NestedField(1, "id", LongType(), required=True), NestedField(2, "day", DateType(), required=False, doc="of it")
    )
    from pyiceberg.partitioning import PartitionField, PartitionSpec
    from pyiceberg.transforms import IdentityTransform

    spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "day"))
    lake.other.create_table("db.p", schema=schema, partition_spec=spec)
    table = lake.connector.table("db", "p")
    handle = table.handle
    assert handle.connectorId == "lab"
    assert list(handle.connectorHandle) == [
        "@type", "schemaName", "icebergTableName", "snapshotSpecified", "outputPath", "storageProperties",
        "tableSchemaJson", "sortOrder", "updatedColumns",
    ]  # fmt: skip
    assert handle.connectorHandle["icebergTableName"] == {"tableName": "p", "tableType": "DATA"}
    assert handle.connectorTableLayout["dataColumns"] == [
        {"name": "id", "type": "bigint"}, {"name": "day", "type": "date"},
    ]  # fmt: skip
    day = {
        "@type": "iceberg",
        "columnIdentity": {"id": 2, "name": "day", "typeCategory": "PRIMITIVE", "children": []},
        "type": "date",
        "comment": "of it",
        "columnType": "PARTITION_KEY",
        "requiredSubfields": [],
    }
    assert handle.connectorTableLayout["partitionColumns"] == [day]
    assert [(c.name, c.nullable, c.is_partition_key, c.handle["columnType"]) for c in table.columns] == [
        ("id", False, False, "REGULAR"), ("day", True, True, "PARTITION_KEY"),
    ]  # fmt: skip
    assert (table.snapshot_id, table.row_count, table.size_bytes) == (None, 0, 0)


def test_snapshots_are_pinned_and_new_ones_seen(lake: Any) -> None:
    table = lake.create("t", [pa.table({"id": [1, 2]})])
    first = lake.connector.table("db", "t")
    assert first.row_count == 2
    table.append(pa.table({"id": [3]}))
    second = lake.connector.table("db", "t")
    assert second.row_count == 3
    assert second.snapshot_id != first.snapshot_id
    assert lake.connector.table("db", "t", first.snapshot_id).row_count == 2
    with pytest.raises(ProcessionError) as failure:
        lake.connector.table("db", "t", 99)
    assert failure.value.code is ErrorCode.ICEBERG_INVALID_SNAPSHOT_ID


def test_loading_for_planning_takes_a_few_ms(lake: Any) -> None:
    lake.create("t", [pa.table({"id": [i]}) for i in range(20)])
    lake.connector.table("db", "t")
    best = min(_timed(lambda: lake.connector.table("db", "t")) for _ in range(20))
    assert best < 0.010


def _timed(action: Any) -> float:
    start = time.thread_time()
    action()
    return time.thread_time() - start


def test_unreadable_metadata_is_an_error_of_the_catalog(lake: Any) -> None:
    table = lake.create("t", [pa.table({"id": [1]})])
    Path(table.metadata_location.removeprefix("file://")).write_text("{broken")
    with pytest.raises(ProcessionError, match=r"db\.t") as failure:
        lake.connector.table("db", "t")
    assert failure.value.code is ErrorCode.ICEBERG_INVALID_METADATA


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["iceberg.catalog.typ=sql"], ":1: unknown property 'iceberg.catalog.typ'"),
        (["", "iceberg.catalog.type=hadoop"], ":2: invalid value 'hadoop' for 'iceberg.catalog.type'"),
        (["iceberg.catalog.type=rest"], ":1: 'iceberg.rest.uri' is missing"),
        (["iceberg.catalog.type=sql", "hive.metastore.uri=thrift://x"], ":2: 'hive.metastore.uri' does not apply"),
        (["iceberg.catalog.type=hive"], ":1: 'hive.metastore.uri' is missing"),
        (["iceberg.catalog.type=hive", "hive.metastore.uri=http://x:9083"], ":2: invalid value 'http://x:9083'"),
        (["iceberg.catalog.type=hive", "hive.metastore.uri=thrift://x:y"], ":2: invalid value 'thrift://x:y'"),
        (["iceberg.catalog.type=hive", "hive.metastore.uri=thrift://a,b"], ":2: invalid value 'b'"),
        (["hive.metastore-timeout=1s"], ":1: 'hive.metastore-timeout' does not apply to iceberg.catalog.type=sql"),
        (
            ["iceberg.catalog.type=hive", "hive.metastore.uri=thrift://x", "hive.metastore-timeout=soon"],
            ":3: duration is not a valid data duration string: soon",
        ),
        (["iceberg.catalog.type=glue", "glue.regoin=x"], ":2: unknown property 'glue.regoin'"),
        (["s3.endpoit=http://x"], ":1: unknown property 's3.endpoit'"),
        (["iceberg.rest.auth.oauth2.token=x"], ":1: 'iceberg.rest.auth.oauth2.token' does not apply"),
    ],
)
def test_configuration_errors_name_file_and_line(tmp_path: Path, lines: list[str], message: str) -> None:
    file = tmp_path / "lab.properties"
    file.write_text("\n".join(lines))
    with pytest.raises(ConfigurationError) as failure:
        FACTORY.create("lab", read_properties(file), tmp_path)
    assert str(failure.value).startswith(f"{file}{message}")


@pytest.mark.parametrize(("kind", "package"), [("hive", "thrift"), ("glue", "boto3")])
def test_a_metastore_whose_client_is_not_installed_stops_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, package: str
) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == package else found(name, *rest)
    )
    file = tmp_path / "lab.properties"
    file.write_text(f"iceberg.catalog.type={kind}\n" + ("hive.metastore.uri=thrift://x\n" if kind == "hive" else ""))
    with pytest.raises(ConfigurationError) as failure:
        FACTORY.create("lab", read_properties(file), tmp_path)
    assert str(failure.value) == (
        f"{file}:1: iceberg.catalog.type={kind} needs the Python package {package}: pip install 'procession[{kind}]'"
    )


def test_metastores_for_spark(tmp_path: Path) -> None:
    hive = tmp_path / "h.properties"
    hive.write_text(
        "iceberg.catalog.type=hive\nhive.metastore.uri=thrift://a, thrift://b:1\niceberg.catalog.warehouse=s3://b/wh\n"
    )
    conf = FACTORY.spark_conf("h", read_properties(hive), tmp_path)
    assert conf["spark.sql.catalog.h.type"] == "hive"
    assert conf["spark.sql.catalog.h.uri"] == "thrift://a:9083,thrift://b:1"
    assert conf["spark.sql.catalog.h.io-impl"] == "org.apache.iceberg.aws.s3.S3FileIO"
    glue = tmp_path / "g.properties"
    glue.write_text(
        "iceberg.catalog.type=glue\nglue.region=eu-west-1\nclient.access-key-id=a\nclient.secret-access-key=b\n"
        "iceberg.catalog.warehouse=s3://b/wh\n"
    )
    conf = FACTORY.spark_conf("g", read_properties(glue), tmp_path)
    assert conf["spark.sql.catalog.g.client.region"] == "eu-west-1"
    assert (conf["spark.sql.catalog.g.s3.access-key-id"], conf["spark.sql.catalog.g.s3.secret-access-key"]) == (
        "a",
        "b",
    )


def test_spark_sees_the_same_catalog(tmp_path: Path) -> None:
    file = tmp_path / "lab.properties"
    file.write_text("iceberg.catalog.uri=sqlite:////data/c.db\niceberg.catalog.warehouse=file:///data/wh\n")
    assert FACTORY.spark_conf("lab", read_properties(file), tmp_path) == {
        "spark.sql.catalog.lab": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lab.cache-enabled": "false",
        "spark.sql.catalog.lab.warehouse": "file:///data/wh",
        "spark.sql.catalog.lab.type": "jdbc",
        "spark.sql.catalog.lab.uri": "jdbc:sqlite:/data/c.db",
        "spark.sql.catalog.lab.jdbc.schema-version": "V1",
    }


def test_rest_and_postgres_for_spark(tmp_path: Path) -> None:
    rest = tmp_path / "rest.properties"
    rest.write_text(
        "iceberg.catalog.type=rest\niceberg.rest.uri=http://x\niceberg.rest.auth.oauth2.credential=a:b\n"
        "s3.endpoint=http://s3\n"
    )
    conf = FACTORY.spark_conf("r", read_properties(rest), tmp_path)
    assert conf["spark.sql.catalog.r.type"] == "rest"
    assert conf["spark.sql.catalog.r.credential"] == "a:b"
    assert conf["spark.sql.catalog.r.io-impl"] == "org.apache.iceberg.aws.s3.S3FileIO"
    assert conf["spark.sql.catalog.r.s3.path-style-access"] == "true"
    postgres = tmp_path / "pg.properties"
    postgres.write_text(
        "iceberg.catalog.type=jdbc\niceberg.catalog.uri=jdbc:postgresql://h:5432/db\niceberg.catalog.user=u\n"
        "iceberg.catalog.password=p\niceberg.catalog.warehouse=s3://b/wh\n"
    )
    conf = FACTORY.spark_conf("pg", read_properties(postgres), tmp_path)
    assert conf["spark.sql.catalog.pg.uri"] == "jdbc:postgresql://h:5432/db"
    assert (conf["spark.sql.catalog.pg.jdbc.user"], conf["spark.sql.catalog.pg.jdbc.password"]) == ("u", "p")


def test_a_login_with_signs_of_addresses_reaches_both_readers(tmp_path: Path) -> None:
    file = tmp_path / "pg.properties"
    file.write_text(
        "iceberg.catalog.uri=postgresql://h:5432/db\niceberg.catalog.user=u@x\niceberg.catalog.password=p@s:s/w%2F?#\n"
    )
    settings = read_settings("pg", read_properties(file))
    url = sa.make_url(pyiceberg_properties(settings)["uri"])
    assert (url.username, url.password, url.host, url.database) == ("u@x", "p@s:s/w%2F?#", "h", "db")
    file.write_text("iceberg.catalog.uri=postgresql://u%40x:p%3Aq@h:5432/db\n")
    conf = FACTORY.spark_conf("pg", read_properties(file), tmp_path)
    assert (conf["spark.sql.catalog.pg.jdbc.user"], conf["spark.sql.catalog.pg.jdbc.password"]) == ("u@x", "p:q")


@pytest.mark.parametrize(
    ("lines", "modules"),
    [
        ("", []),
        ("iceberg.catalog.warehouse=s3://b/w\n", ["iceberg-aws-bundle"]),
        ("s3.endpoint=http://s3\n", ["iceberg-aws-bundle"]),
        ("iceberg.catalog.type=glue\n", ["iceberg-aws-bundle"]),
        ("iceberg.catalog.warehouse=gs://b/w\n", ["iceberg-gcp-bundle"]),
        ("adls.account-name=a\n", ["iceberg-azure-bundle"]),
    ],
)
def test_clients_of_the_store_come_with_the_version_of_the_runtime(
    lines: str, modules: list[str], tmp_path: Path
) -> None:
    file = tmp_path / "lake.properties"
    file.write_text(lines)
    packages = FACTORY.drivers("lake", read_properties(file)).packages
    runtime = next(package for package in DEFAULT_PACKAGES if "iceberg-spark-runtime" in package)
    assert packages == tuple(f"org.apache.iceberg:{module}:{runtime.rpartition(':')[2]}" for module in modules)
    conf = FACTORY.spark_conf("lake", read_properties(file), tmp_path)
    assert ("spark.sql.catalog.lake.io-impl" in conf) == (bool(modules) and "glue" not in lines)


def test_urls_both_ways() -> None:
    for jdbc in ("jdbc:sqlite:/data/c.db", "jdbc:postgresql://h:5432/db"):
        assert jdbc_url(sqlalchemy_url(jdbc)) == jdbc
