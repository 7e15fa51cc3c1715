"""Properties of tables are anybody's word: no code, host or credential of theirs reaches PyIceberg or Spark."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from coordinator.connectors.iceberg.connector import IcebergConnector
from coordinator.connectors.iceberg.table_words import is_settable
from shared.errors import ErrorCode, ProcessionError
from shared.properties import Property
from shared.spi.catalog_changes import NewColumn, TableCreation, TablePropertiesChange
from tests.iceberg import rest_catalog
from tests.iceberg.rest_catalog import serving
from tests.iceberg.test_rest_catalog import over_rest

CALLED: list[Any] = []
HERE = f"{__name__}.called"
ROWS = pa.table({"id": pa.array([1, 2], pa.int64())})
DANGEROUS = {
    "py-io-impl": HERE,
    "write.py-location-provider.impl": HERE,
    "write.location-provider.impl": "org.acme.Locations",
    "io-impl": "org.acme.IO",
    "s3.retry-strategy-impl": HERE,
    "s3.endpoint": "http://127.0.0.1:1/",
    "s3.signer": HERE,
    "gcs.oauth2.token": "x",
    "adls.account-key": "x",
    "client.region": "nowhere",
    "client.factory": "org.acme.Factory",
    "http.proxy": "evil",
    "uri": "http://evil",
    "token": "t",
    "parquet.crypto.factory.class": "org.acme.Crypto",
    "hadoop.fs.defaultFS": "hdfs://evil",
    "encryption.kms-impl": "org.acme.Kms",
}


def called(*arguments: Any) -> Any:
    """What an attacker names."""
    CALLED.append(arguments)
    raise RuntimeError("code of a table ran")


@pytest.fixture(autouse=True)
def nothing_ran() -> Iterator[None]:
    CALLED.clear()
    yield
    assert CALLED == []


@pytest.mark.parametrize("name", DANGEROUS)
def test_no_statement_sets_what_chooses_code_hosts_or_credentials(lake: Any, name: str) -> None:
    lake.create("t", [ROWS])
    with pytest.raises(ProcessionError) as refused:
        lake.call("set_table_property", schema="db", table_name="t", key=name, value=DANGEROUS[name])
    assert f"Property {name} cannot be set" in refused.value.message
    columns = (NewColumn("id", "bigint"),)
    with pytest.raises(ProcessionError) as refused:
        lake.change(TableCreation("db", "n", columns, {"extra_properties": {name: DANGEROUS[name]}}))
    assert refused.value.code is ErrorCode.INVALID_TABLE_PROPERTY
    with pytest.raises(ProcessionError):
        lake.change(TablePropertiesChange("db", "t", {name: DANGEROUS[name]}))
    assert lake.connector.tables("db") == ["t"]
    assert lake.table("t").properties == {}
    assert not is_settable(name, ["*"])


def test_other_names_need_the_catalog_file(lake: Any) -> None:
    lake.create("t", [ROWS])
    with pytest.raises(ProcessionError, match=r"iceberg.allowed-extra-properties can allow it"):
        lake.call("set_table_property", schema="db", table_name="t", key="team", value="lakes")
    values = {
        "iceberg.catalog.uri": lake.uri,
        "iceberg.catalog.warehouse": f"file://{lake.home}/wh",
        "iceberg.allowed-extra-properties": "team, x.*",
    }
    lake.connector = IcebergConnector("lab", {k: Property(k, v, Path("lab.properties"), 2) for k, v in values.items()})
    for name in ("team", "x.anything", "write.parquet.bloom-filter-enabled.column.token"):
        lake.call("set_table_property", schema="db", table_name="t", key=name, value="true")
    assert len(lake.table("t").properties) == 3


@pytest.fixture
def host() -> Iterator[tuple[str, list[Any]]]:
    """A stranger's address, and who came."""
    came: list[Any] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def listen() -> None:
            while True:
                try:
                    client, address = server.accept()
                except OSError:
                    return
                came.append(address)
                client.close()

        threading.Thread(target=listen, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}", came


def test_metadata_of_others_is_read_without_what_it_says_of_storage(lake: Any, host: Any) -> None:
    address, came = host
    table = lake.create("t", [ROWS, ROWS])
    words = DANGEROUS | {"s3.endpoint": address, "write.data.path": f"file://{lake.home}/wh/db/t/elsewhere"}
    del words["py-io-impl"], words["write.py-location-provider.impl"]  # with which PyIceberg could not write it
    with table.transaction() as change:
        change.set_properties(words)
    said = Path(table.refresh().metadata_location.removeprefix("file://"))
    more = f'"py-io-impl":"{HERE}","write.py-location-provider.impl":"{HERE}","io-impl"'
    said.write_text(said.read_text().replace('"io-impl"', more))
    ours = lake.connector.tables_of.open("db", "t")
    assert ours.properties["py-io-impl"] == HERE
    assert ours.io.properties == lake.connector.tables_of.client().properties
    ours.append(ROWS)
    lake.call("create_tag", schema="db", table_name="t", tag="kept")
    lake.call("set_table_property", schema="db", table_name="t", key="py-io-impl")
    lake.call("set_table_property", schema="db", table_name="t", key="write.py-location-provider.impl")
    assert len(lake.rows("t")) == 6
    assert came == []


def test_a_rest_server_chooses_storage_and_its_tables_do_not(lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    table = lake.create("t", [ROWS])
    with table.transaction() as change:
        change.set_properties({"s3.endpoint": "http://table", "s3.access-key-id": "table", "auth.type": "custom"})
    told = rest_catalog._described

    def vending(table: Any) -> dict[str, Any]:
        config = {"s3.access-key-id": "vended", "py-io-impl": HERE, "s3.retry-strategy-impl": HERE}
        return told(table) | {"config": config}

    monkeypatch.setattr(rest_catalog, "_described", vending)
    with serving(lake.other) as address:
        io = over_rest(lake, address).tables_of.open("db", "t").io
    assert io.keys.current()["s3.access-key-id"] == "vended"
    for told in (io.properties, io.keys.current()):
        assert not {"s3.endpoint", "py-io-impl", "s3.retry-strategy-impl", "auth.type"} & told.keys()
    assert "s3.access-key-id" not in io.properties


@pytest.mark.parametrize("name", ["write.location-provider.impl", "parquet.crypto.factory.class"])
def test_spark_is_not_given_a_table_that_names_a_class(lake: Any, name: str) -> None:
    table = lake.create("t", [ROWS, ROWS])
    with table.transaction() as change:
        change.set_properties({name: "org.acme.Anything", "gc.enabled": "true"})
    with pytest.raises(ProcessionError) as refused:
        lake.call("copy_to_table", schema="db", table_name="t", new_table="u", columns=["id"])
    assert refused.value.code is ErrorCode.PERMISSION_DENIED
    assert refused.value.message == f"Access Denied: Table db.t names code of its own: remove its property {name}"
    assert lake.workers.statements == []
    lake.call("set_table_property", schema="db", table_name="t", key=name)
    with pytest.raises(ProcessionError, match="Spark is not available"):
        lake.call("copy_to_table", schema="db", table_name="t", new_table="u", columns=["id"])
