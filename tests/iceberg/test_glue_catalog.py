"""``iceberg.catalog.type=glue`` over moto's Glue and S3: procedures, lost races, lost answers, and tables of others."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ReadTimeoutError
from moto.core import DEFAULT_ACCOUNT_ID
from moto.core.exceptions import JsonRESTError
from moto.glue.exceptions import GlueClientError
from moto.glue.responses import GlueResponse
from moto.s3.models import s3_backends
from pyiceberg.catalog.glue import GlueCatalog
from pyiceberg.expressions import LessThan

from coordinator.connectors.iceberg.connector import IcebergConnector
from shared.errors import ErrorCode, ProcessionError
from shared.properties import Property
from shared.spi.catalog_changes import (
    NewColumn,
    SchemaCreation,
    SchemaRemoval,
    TableCreation,
    TableRemoval,
    TableRename,
    ViewCreation,
)
from shared.spi.connector import ViewColumn, ViewMetadata
from tests.iceberg.catalog_walks import append_is_kept_and_delete_a_conflict, made_of_files_and_of_metadata
from tests.iceberg.conftest import Lake, LocalWorkers
from tests.iceberg.test_concurrency import ids, numbers
from tests.moto_server import moto_server

pytestmark = pytest.mark.slow
KEYS = {"access-key-id": "testing", "secret-access-key": "testing"}


class GlueLake(Lake):
    """A lake whose catalog is Glue and whose files are in S3; PyIceberg's own client is the other writer."""

    def __init__(self, home: Path, endpoint: str) -> None:
        self.home, self.catalog, self.schema, self.endpoint = home, "glued", "db", endpoint
        self.workers = LocalWorkers()
        self.connector = self.connect()
        given = {name: value for name, value in self.values().items() if name.startswith(("s3.", "glue.", "client."))}
        self.other = GlueCatalog("other", **given, warehouse="s3://lake/wh")
        self.other.create_namespace("db", {"location": "s3://lake/wh/db"})
        self.s3 = boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1", **boto3_keys())

    def values(self) -> dict[str, str]:
        keys = {f"{prefix}.{name}": value for prefix in ("s3", "client") for name, value in KEYS.items()}
        places = {"s3.endpoint": self.endpoint, "glue.endpoint": self.endpoint, "client.region": "us-east-1"}
        return {
            "iceberg.catalog.type": "glue",
            "iceberg.catalog.warehouse": "s3://lake/wh",
            "iceberg.allowed-locations": f"file://{self.home}",
            "iceberg.journal.file": f"{self.home}/journal.db",
        } | (keys | places | {"s3.region": "us-east-1"})

    def connect(self, **given: str) -> IcebergConnector:
        values = self.values() | given
        properties = {k: Property(k, v, Path("glued.properties"), i) for i, (k, v) in enumerate(values.items(), 2)}
        return IcebergConnector(self.catalog, properties)

    def files(self, name: str) -> set[str]:
        return self.keys(f"wh/db/{name}/")

    def keys(self, prefix: str) -> set[str]:
        """Names of objects after the prefix, without the markers of folders that pyarrow leaves."""
        listed = self.s3.list_objects_v2(Bucket="lake", Prefix=prefix).get("Contents", [])
        return {found["Key"].removeprefix(prefix) for found in listed if not found["Key"].endswith("/")}

    def orphans(self, name: str) -> set[str]:
        table = self.table(name)
        return self.files(name) - {location.removeprefix(f"s3://lake/wh/db/{name}/") for location in self.named(table)}

    def glue(self) -> Any:
        return boto3.client("glue", endpoint_url=self.endpoint, region_name="us-east-1", **boto3_keys())

    def entry(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.glue().get_table(DatabaseName="db", Name=name)["Table"]
        return found


def boto3_keys() -> dict[str, str]:
    return {f"aws_{name.replace('-', '_')}": value for name, value in KEYS.items()}


def versioned_update(response: GlueResponse) -> Any:
    """What AWS does and moto does not: refuse a change of another version than the newest."""
    given, wanted = response.parameters["TableInput"], response.parameters.get("VersionId")
    table = response.glue_backend.get_table(response.parameters["DatabaseName"], given["Name"])
    newest = table.as_dict()["VersionId"]
    if wanted is not None and wanted != newest:
        raise GlueClientError("ConcurrentModificationException", f"Update table failed: version is {newest}")
    return UPDATE(response)


UPDATE = GlueResponse.update_table


class AnswerLost(JsonRESTError):
    """After which boto3 sends its request again."""

    code = 500


@pytest.fixture(scope="module")
def glue_lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GlueLake]:
    patch = pytest.MonkeyPatch()
    patch.setattr(GlueResponse, "update_table", versioned_update)
    server = moto_server()
    server.start()
    endpoint = f"http://127.0.0.1:{server._server.server_port}"
    boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1", **boto3_keys()).create_bucket(Bucket="lake")
    yield GlueLake(tmp_path_factory.mktemp("glued"), endpoint)
    server.stop()
    patch.undo()


@pytest.fixture
def lake(glue_lake: GlueLake) -> GlueLake:
    glue_lake.connector = glue_lake.connect()
    glue_lake.workers.before = lambda _kernel, _number: None
    return glue_lake


@pytest.fixture
def table(lake: GlueLake, request: pytest.FixtureRequest) -> str:
    name = f"t{abs(hash(request.node.nodeid))}"
    lake.create(name, [numbers(i * 50) for i in range(5)])
    return name


def test_a_life_of_a_table(lake: GlueLake, table: str, foreign: Any) -> None:
    first = next(task.file.file_path for task in lake.table(table).scan(LessThan("id", 50)).plan_files())
    foreign.delete_positions(lake.table(table), {first: [0, 1]})
    asked = {"schema": "db", "table_name": table}
    before = lake.entry(table)["Parameters"]
    assert lake.rewrite(table)["rewritten_data_files_count"] == 5
    after = lake.entry(table)["Parameters"]
    assert after["previous_metadata_location"] == before["metadata_location"]
    assert after["table_type"] == "ICEBERG"
    assert ids(lake, table) == [*range(2, 250)]
    rewritten = lake.table(table).current_snapshot().snapshot_id
    lake.call("create_branch", branch="audit", **asked)
    for start in (1000, 2000):
        lake.table(table).append(numbers(start))
    assert lake.call("rewrite_manifests", **asked).rows[0][0] > 1
    lake.call("rollback_to_snapshot", snapshot_id=rewritten, **asked)
    lake.call("expire_snapshots", older_than=datetime(2100, 1, 1), **asked)
    assert len(lake.table(table).snapshots()) == 1
    lake.s3.put_object(Bucket="lake", Key=f"wh/db/{table}/data/lost.parquet", Body=b"x")
    lost = s3_backends[DEFAULT_ACCOUNT_ID]["aws"].buckets["lake"].keys[f"wh/db/{table}/data/lost.parquet"]
    lost.last_modified = datetime(2019, 1, 1)
    assert lake.orphans(table) == {"data/lost.parquet"}
    lake.call("remove_orphan_files", older_than=datetime(2020, 1, 1), **asked)
    assert lake.orphans(table) == set()
    assert lake.call("validate_files", check_footers=True, **asked).rows == []
    assert ids(lake, table) == [*range(2, 250)]


def test_tables_made_of_files_and_of_metadata(lake: Any, table: str) -> None:
    made_of_files_and_of_metadata(lake, table)


@pytest.mark.full("the same walk over a Hive metastore; a race that Glue decides below")
def test_append_meanwhile_is_kept_and_a_delete_is_a_conflict(lake: GlueLake, table: str) -> None:
    append_is_kept_and_delete_a_conflict(lake, table)


def test_a_race_that_glue_decides_is_tried_again(lake: GlueLake, table: str, monkeypatch: Any) -> None:
    catalog = lake.connector.tables_of.client()
    write, done = catalog._write_metadata, []

    def write_late(metadata: Any, io: Any, metadata_path: str) -> None:
        if not done:
            done.append(metadata_path)
            lake.table(table).append(numbers(1000, 1))
        write(metadata, io, metadata_path)

    monkeypatch.setattr(catalog, "_write_metadata", write_late)
    assert lake.rewrite(table)["rewritten_data_files_count"] == 5
    assert ids(lake, table) == [*range(250), 1000]
    assert lake.orphans(table) == set()


def test_an_answer_that_is_lost_is_asked_again_and_the_commit_found(
    lake: GlueLake, table: str, monkeypatch: Any
) -> None:
    """boto3 sends the request again; the second is refused because the first was carried out."""
    lost: list[int] = []

    def answer(response: GlueResponse) -> Any:
        result = versioned_update(response)
        if not lost:
            lost.append(1)
            raise AnswerLost("InternalServiceException", "the answer is lost")
        return result

    monkeypatch.setattr(GlueResponse, "update_table", answer)
    assert lake.rewrite(table)["rewritten_data_files_count"] == 5
    assert lost == [1]
    assert ids(lake, table) == [*range(250)]
    assert lake.orphans(table) == set()
    assert len(lake.table(table).snapshots()) == 6


@pytest.mark.usefixtures("looked_for_soon")
def test_no_answer_at_all_is_an_unknown_outcome(lake: GlueLake, table: str, monkeypatch: Any) -> None:
    client = lake.connector.tables_of.client().glue

    def lost(**_: Any) -> None:
        raise ReadTimeoutError(endpoint_url="glue")

    monkeypatch.setattr(client, "update_table", lost)
    files = lake.files(table)
    with pytest.raises(ProcessionError) as failure:
        lake.rewrite(table)
    assert failure.value.code is ErrorCode.PROCEDURE_CALL_FAILED
    assert len(lake.files(table)) > len(files)
    monkeypatch.undo()
    lake.connect().recover()
    assert {file for file in lake.files(table) - files if not file.endswith(".metadata.json")} == set()
    assert ids(lake, table) == [*range(250)]


def test_glue_that_is_gone_is_told_soon(lake: GlueLake) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        connector = lake.connect(**{"glue.endpoint": f"http://127.0.0.1:{free.getsockname()[1]}"})
    begun = time.monotonic()
    with pytest.raises(ProcessionError, match=r"metastore of .* failed: Could not connect") as failure:
        connector.tables("db")
    assert failure.value.code is ErrorCode.HIVE_METASTORE_ERROR
    assert time.monotonic() - begun < 60


def test_schemas_names_and_tables_of_others(lake: GlueLake) -> None:
    columns = (NewColumn("id", "bigint"),)
    lake.change(SchemaCreation("made", {}))
    lake.change(TableCreation("made", "a", columns, {}, None, False))
    assert len(lake.keys("wh/made.db/")) == 1
    for kind, name in (("EXTERNAL_TABLE", "plain"), ("VIRTUAL_VIEW", "seen")):
        lake.glue().create_table(DatabaseName="made", TableInput={"Name": name, "TableType": kind, "Parameters": {}})
    assert lake.connector.tables("made") == ["a"]
    assert lake.connector.view_names("made") == []
    kinds = {"plain": ErrorCode.ICEBERG_UNKNOWN_TABLE_TYPE, "seen": ErrorCode.NOT_SUPPORTED}
    for name, code in kinds.items():
        for ask in (
            lambda name=name: lake.connector.table("made", name),
            lambda name=name: lake.change(TableRemoval("made", name, True)),
            lambda name=name: lake.change(TableRename("made", name, "made", "taken")),
        ):
            with pytest.raises(ProcessionError) as failure:
                ask()
            assert failure.value.code is code
    with pytest.raises(ProcessionError) as failure:
        lake.change(TableRename("made", "a", "made", "plain"))
    assert failure.value.code is ErrorCode.ALREADY_EXISTS
    with pytest.raises(ProcessionError, match="not Iceberg tables: plain, seen") as failure:
        lake.change(SchemaRemoval("made", cascade=True))
    assert failure.value.code is ErrorCode.SCHEMA_NOT_EMPTY
    lake.change(TableRename("made", "a", "made", "b"))
    assert lake.connector.tables("made") == ["b"]
    lake.change(TableRemoval("made", "b", False))
    for name in kinds:
        lake.glue().delete_table(DatabaseName="made", Name=name)
    lake.change(SchemaRemoval("made", cascade=False))
    assert not lake.connector.schema_exists("made")
    assert lake.keys("wh/made.db/") == set()
    view = ViewMetadata("glued", "db", "v", "SELECT 1 x", (ViewColumn("x", "integer"),), "glued", "db", owner="alice")
    with pytest.raises(ProcessionError, match="views") as failure:
        lake.connector.validate(ViewCreation(view, replace=False))
    assert failure.value.code is ErrorCode.NOT_SUPPORTED
