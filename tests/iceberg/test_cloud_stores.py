"""Tables in Google Cloud Storage and in Azure, by emulators: keys of the catalog file, and keys that are lent."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from coordinator.connectors.iceberg.connector import IcebergConnector
from coordinator.connectors.iceberg.storage import EXACT_FILE_IO
from coordinator.connectors.registry import CatalogConfig, Catalogs
from coordinator.kernels.azure_store import azure_arguments
from coordinator.kernels.google_store import google_arguments
from shared.errors import ErrorCode, ProcessionError
from shared.properties import Property
from tests.cloud.azure_emulator import HOST, AzureStore, azure_store
from tests.cloud.google_emulator import GoogleStore, google_store
from tests.iceberg.embedded_reader import Reader
from tests.iceberg.rest_catalog import serving
from tests.iceberg.rest_habits import Credentials, Habits

pytestmark = pytest.mark.slow

ROWS = 50
LATER = timedelta(days=10)


def numbers(first: int) -> pa.Table:
    return pa.table({"id": pa.array(range(first, first + ROWS), pa.int64()), "p": pa.array([first] * ROWS, pa.int64())})


@pytest.fixture(scope="module")
def google(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GoogleStore]:
    with google_store(tmp_path_factory.mktemp("google")) as store:
        yield store


@pytest.fixture(scope="module")
def azure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AzureStore]:
    with azure_store(tmp_path_factory.mktemp("azure")) as store:
        yield store


class CloudLake:
    """A lake of the tests whose files are in a store; ``files`` lists them as the store does, without our code."""

    def __init__(self, lake: Any, store: Any, root: str, schema: str) -> None:
        self.lake, self.store = lake, store
        self.warehouse = f"{root}/{schema}"
        self.lends: Callable[[], dict[str, str]] = store.lend
        given = store.keys | {"py-io-impl": EXACT_FILE_IO}
        self.other = lake.other = SqlCatalog("lab", uri=lake.uri, warehouse=self.warehouse, **given)
        self.habits = Habits(vend=self.vend)

    def vend(self, table: Table) -> tuple[dict[str, str], Credentials]:
        """The store's place is the table's configuration, its keys are for the table's folder."""
        keys = {k: v for k, v in self.lends().items() if k not in self.store.where}
        return self.store.where, [{"prefix": table.location(), "config": keys}]

    def connect(self, values: dict[str, str]) -> None:
        properties = {k: Property(k, v, Path("lab.properties"), i) for i, (k, v) in enumerate(values.items(), start=2)}
        self.properties = properties
        self.lake.connector = IcebergConnector("lab", properties)

    def reader(self, engine: Any) -> Reader:
        made = Reader(self.lake.uri, self.warehouse, "lab", self.lake.home, engine)
        made.catalogs = Catalogs([CatalogConfig("lab", "iceberg", self.properties, self.lake.home)])
        return made

    def filesystem(self) -> pafs.FileSystem:
        if isinstance(self.store, GoogleStore):
            return pafs.GcsFileSystem(**google_arguments(self.store.keys))
        return pafs.AzureFileSystem(**azure_arguments(HOST, self.store.keys))

    def files(self, name: str) -> list[str]:
        folder = f"lake/wh/{self.warehouse.rpartition('/')[2]}/db/{name}"
        found = self.filesystem().get_file_info(pafs.FileSelector(folder, recursive=True, allow_not_found=True))
        return [info.path for info in found if info.is_file]


@pytest.fixture(params=["google", "azure"])
def cloud(lake: Any, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> CloudLake:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    store = request.getfixturevalue(request.param)
    root = "gs://lake/wh" if request.param == "google" else f"abfss://lake@{HOST}/wh"
    return CloudLake(lake, store, root, f"{request.function.__name__}_{request.node.name.count('lent')}")


@pytest.fixture(params=["file", "lent"])
def keyed(cloud: CloudLake, request: pytest.FixtureRequest) -> Iterator[CloudLake]:
    """With keys in the catalog file, or lent by a REST catalog while the file has none."""
    if request.param == "file":
        cloud.connect(
            {"iceberg.catalog.uri": cloud.lake.uri, "iceberg.catalog.warehouse": cloud.warehouse} | cloud.store.keys
        )
        yield cloud
        return
    with lending(cloud):
        yield cloud
    written = b"".join(file.read_bytes() for file in cloud.lake.home.rglob("*") if file.is_file())
    assert b"lenttoken" not in written and b"sig=" not in written


class lending:
    """The lake's connector asks a REST catalog that lends."""

    def __init__(self, cloud: CloudLake) -> None:
        self._cloud, self._server = cloud, serving(cloud.other, cloud.habits)

    def __enter__(self) -> CloudLake:
        address = self._server.__enter__()
        journal = f"{self._cloud.lake.home}/rest.journal.db"
        self._cloud.connect(
            {"iceberg.catalog.type": "rest", "iceberg.rest.uri": address, "iceberg.journal.file": journal}
        )
        return self._cloud

    def __exit__(self, *exc: Any) -> None:
        self._server.__exit__(*exc)


def test_written_rewritten_and_read(keyed: CloudLake, embedded_engine: Any) -> None:
    lake = keyed.lake
    lake.create("t", [numbers(i * ROWS) for i in range(6)])
    reader = keyed.reader(embedded_engine)
    expected = [(i, i // ROWS * ROWS) for i in range(6 * ROWS)]
    asked = "SELECT id, p FROM t"
    assert sorted(map(tuple, (row.values() for row in reader.rows(asked).to_pylist()))) == expected
    assert lake.rewrite("t")["added_data_files_count"] == 1
    lake.call("compute_table_stats", schema="db", table_name="t")
    assert sorted(map(tuple, (row.values() for row in reader.rows(asked).to_pylist()))) == expected
    written = [path for path in keyed.files("t") if path.endswith(".parquet")]
    counts = []
    for path in written:
        with keyed.filesystem().open_input_file(path) as file:
            counts.append(pq.read_metadata(file).num_rows)
    assert sorted(counts) == [ROWS] * 6 + [6 * ROWS]


def test_sorted_and_expired_with_orphans_removed(keyed: CloudLake) -> None:
    lake = keyed.lake
    table = lake.create("t", [numbers(i * ROWS) for i in range(3)])
    lake.rewrite("t", {"rewrite-all": "true"}, strategy="sort", sorted_by=["id DESC"])
    before = lake.rows("t")
    soon = (datetime.now(UTC) + LATER).replace(tzinfo=None)
    lake.call("expire_snapshots", schema="db", table_name="t", older_than=soon, retain_last=1)
    kept = set(keyed.files("t"))
    assert len([path for path in kept if path.endswith(".parquet")]) == 1
    orphan = f"{table.location()}/data/p=1/a b#?%41.parquet"
    with table.io.new_output(orphan).create() as out:
        out.write(b"nobody needs this")
    assert len(keyed.files("t")) == len(kept) + 1
    asked = {"schema": "db", "table_name": "t", "older_than": soon}
    in_two_weeks = dataclasses.replace(lake.context(), now=datetime.now(UTC) + timedelta(days=14))
    lake.context = lambda: in_two_weeks  # a store says itself how old its files are
    assert [row[0] for row in lake.call("remove_orphan_files", dry_run=True, **asked).rows] == [orphan]
    assert len(keyed.files("t")) == len(kept) + 1
    assert [row[0] for row in lake.call("remove_orphan_files", **asked).rows] == [orphan]
    assert set(keyed.files("t")) == kept
    assert lake.rows("t") == before


def test_keys_that_a_store_refuses_are_renewed(cloud: CloudLake) -> None:
    """The first keys had ended when they were lent, whatever the catalog tells."""
    lent: list[dict[str, str]] = []

    def lend() -> dict[str, str]:
        lent.append(cloud.store.lend(life=-60, told=3600) if len(lent) == 1 else cloud.store.lend())
        return lent[-1]

    cloud.lake.create("t", [numbers(i * ROWS) for i in range(6)])
    before = cloud.lake.rows("t")
    cloud.lends = lend
    with lending(cloud):
        cloud.lake.connector.tables_of.load("db", "t")
        assert cloud.lake.rewrite("t")["added_data_files_count"] == 1
    assert len(lent) > 2
    assert cloud.lake.rows("t") == before


@pytest.mark.parametrize("cloud", ["azure"], indirect=True)
def test_a_refusal_shows_no_signature(cloud: CloudLake) -> None:
    cloud.lake.create("t", [numbers(0), numbers(50)])
    cloud.lends = lambda: cloud.store.lend(permissions="l")
    with lending(cloud), pytest.raises(ProcessionError) as caught:
        cloud.lake.rewrite("t")
    assert caught.value.code is ErrorCode.ICEBERG_FILESYSTEM_ERROR
    assert "403" in caught.value.message
    assert not any(token.rpartition("sig=")[2] in caught.value.message for token in cloud.store.lent)


def test_other_keys_open_nothing(cloud: CloudLake) -> None:
    """The stores of these tests are strict: without this the others would say nothing."""
    cloud.lake.create("t", [numbers(0)])
    wrong = {"gcs.oauth2.token": "x", f"adls.sas-token.{HOST}": "sv=2020-10-02&sr=c&sp=r&sig=eA=="}
    cloud.lends = lambda: wrong
    with lending(cloud):
        table = cloud.lake.connector.tables_of.load("db", "t")
        with pytest.raises(OSError, match=r"UNAUTHENTICATED|403"):
            list(table.scan().plan_files())
