"""A whole service over Google Cloud Storage and over Azure, by emulators, with keys of the file and with lent keys.

Spark reads and writes Azure where Iceberg's client for it can be had.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from coordinator.connectors.iceberg.object_stores import AZURE, ICEBERG_VERSION
from coordinator.connectors.iceberg.storage import EXACT_FILE_IO
from coordinator.engine.spark.settings import default_jar_cache
from tests import tpch_tables
from tests.cloud.azure_emulator import HOST, azure_store
from tests.cloud.google_emulator import ROOT, google_store
from tests.e2e.service import Service, start_service, write_etc
from tests.iceberg.rest_catalog import serving
from tests.iceberg.rest_habits import Credentials, Habits
from tests.kept_secrets import holding, written_by
from tests.maven import jar
from tests.tiers import some

pytestmark = [pytest.mark.spark, pytest.mark.slow]

LIFE = 40.0
"""Seconds that a lent key opens its store, far less than the tests take: it is renewed many times."""
RENEWAL = {"google": "gcs.oauth2.refresh-credentials-endpoint", "azure": "adls.refresh-credentials-endpoint"}
ALL_FILES = "options => MAP(ARRAY['rewrite-all'], ARRAY['true'])"
CATALOGS = ("filed", "lent")


@dataclass
class Cloud:
    """The service and the engines that reach its store."""

    service: Service
    engines: tuple[str, ...]

    def execute(self, sql: str, **session: str) -> list[list[Any]]:
        return self.service.execute(sql, session_properties=session)


@pytest.fixture(scope="module")
def google(whole_service: Service, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    """Catalogs that come to a service which runs already, with its Spark."""
    home = tmp_path_factory.mktemp("google")
    with pytest.MonkeyPatch.context() as patch, google_store(home) as store:
        patch.setenv("NO_PROXY", "127.0.0.1")
        with _catalogs(store, "gs://lake", home, RENEWAL["google"]) as found, whole_service.following(found):
            yield Cloud(whole_service, ("EMBEDDED", "SPARK"))
        written = written_by(whole_service.data_dir.parent)
        assert holding(written, [*store.lent, ROOT]) == []


@pytest.fixture(scope="module")
def azure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    """A service of its own: Iceberg's client is not on the class path of all tests."""
    home = tmp_path_factory.mktemp("azure")
    with pytest.MonkeyPatch.context() as patch, azure_store(home) as store:
        patch.setenv("NO_PROXY", "127.0.0.1")
        etc = write_etc(home / "etc", spark=False)
        (etc / "catalog" / "tpch.properties").write_text(tpch_tables.catalog_file())
        with _catalogs(store, f"abfss://lake@{HOST}", home, RENEWAL["azure"]) as found:
            for name, values in found.items():
                lines = "".join(f"{key}={value}\n" for key, value in values.items())
                (etc / "catalog" / f"{name}.properties").write_text(f"connector.name=iceberg\n{lines}")
            service = start_service(etc, home / "data", home / "log")
            yield Cloud(service, ("EMBEDDED", "SPARK") if _has_client() else ("EMBEDDED",))
            service.stop()
        written = [file for file in home.rglob("*") if file.is_file() and etc not in file.parents]
        kept = [token.rpartition("sig=")[2] for token in store.lent] + [store.key]
        # Spark is started with what the catalog file says, and nobody else may read that.
        assert holding([file for file in written if file.name != "java.args"], kept) == []
        assert "Traceback" not in (home / "log").read_text()


@contextmanager
def _catalogs(store: Any, root: str, home: Path, renewal: str) -> Iterator[dict[str, dict[str, str]]]:
    """One whose file has the keys, and a REST catalog that lends them: its file does not know where the store is."""
    own = {"iceberg.catalog.uri": f"sqlite:///{home}/filed.db", "iceberg.catalog.warehouse": f"{root}/filed"}
    given = store.keys | {"py-io-impl": EXACT_FILE_IO}
    other = SqlCatalog("lent", uri=f"sqlite:///{home}/lent.db", warehouse=f"{root}/lent", **given)

    def vend(table: Table) -> tuple[dict[str, str], Credentials]:
        path = f"v1/namespaces/{table.name()[0]}/tables/{table.name()[-1]}/credentials"
        keys = {name: value for name, value in store.lend(LIFE).items() if name not in store.where}
        return store.where | {renewal: path}, [{"prefix": table.location(), "config": keys}]

    with serving(other, Habits(vend=vend)) as address:
        rest = {"iceberg.catalog.type": "rest", "iceberg.rest.uri": address, "iceberg.allowed-locations": f"{root}/"}
        yield {"filed": own | store.keys, "lent": rest}


def _has_client() -> bool:
    """Whether Iceberg's client for Azure is here, or at Maven Central."""
    if (default_jar_cache() / f"{AZURE.module}-{ICEBERG_VERSION}.jar").exists():
        return True
    try:
        return jar("org.apache.iceberg", AZURE.module, ICEBERG_VERSION).exists()
    except pytest.skip.Exception:
        return False


SOME_CATALOGS = some(["lent"], ["filed"], "lent keys, by the same clients of the same store")


@pytest.mark.parametrize("catalog", SOME_CATALOGS)
def test_statements_of_every_kind_on_google(google: Cloud, catalog: str) -> None:
    statements_of_every_kind(google, catalog)


@pytest.mark.parametrize("catalog", SOME_CATALOGS)
def test_statements_of_every_kind_on_azure(azure: Cloud, catalog: str) -> None:
    statements_of_every_kind(azure, catalog)


def statements_of_every_kind(cloud: Cloud, catalog: str) -> None:
    cloud.execute(f"CREATE SCHEMA {catalog}.db")
    t, source = f"{catalog}.db.nation", "SELECT * FROM tpch.tiny.nation"
    assert cloud.execute(f"CREATE TABLE {t} AS {source} WHERE regionkey = 0") == [[5]]
    for number, region in enumerate(range(1, 5)):
        engine = cloud.engines[number % len(cloud.engines)]
        assert cloud.execute(f"INSERT INTO {t} {source} WHERE regionkey = {region}", engine=engine) == [[5]]
    assert cloud.execute(f"INSERT INTO {t} VALUES (100, 'new', 0, NULL)") == [[1]]
    cloud.execute(f"DELETE FROM {t} WHERE nationkey = 3")
    cloud.execute(f"UPDATE {t} SET comment = 'changed' WHERE nationkey = 4")
    cloud.execute(
        f"MERGE INTO {t} USING (VALUES (BIGINT '4', 'merged')) AS s (k, c) ON nationkey = s.k "
        "WHEN MATCHED THEN UPDATE SET comment = s.c"
    )
    expected = cloud.execute(
        "SELECT nationkey, name, if(nationkey = 4, 'merged', comment) FROM tpch.tiny.nation WHERE nationkey <> 3 "
        "UNION ALL SELECT 100, 'new', NULL ORDER BY 1"
    )
    for engine in cloud.engines:
        assert cloud.execute(f"SELECT nationkey, name, comment FROM {t} ORDER BY 1", engine=engine) == expected
    assert cloud.execute(f'SELECT count(*) FROM {catalog}.db."nation$snapshots"')[0][0] >= 9
    assert "token" not in str(cloud.execute(f'SELECT * FROM {catalog}.db."nation$properties"'))


MORE = "the procedures in iceberg/test_cloud_stores, late columns with lent keys in test_vended_keys"


@pytest.mark.full(MORE)
@pytest.mark.parametrize("catalog", CATALOGS)
def test_procedures_and_late_columns_on_google(google: Cloud, catalog: str) -> None:
    procedures_and_late_columns(google, catalog)


@pytest.mark.full(MORE)
@pytest.mark.parametrize("catalog", CATALOGS)
def test_procedures_and_late_columns_on_azure(azure: Cloud, catalog: str) -> None:
    if "SPARK" not in azure.engines:
        pytest.skip(
            "Iceberg's client for Azure can not be had: tasks run without Spark in test_cloud_stores of iceberg"
        )
    procedures_and_late_columns(azure, catalog)


def procedures_and_late_columns(cloud: Cloud, catalog: str) -> None:
    cloud.execute(f"CREATE TABLE {catalog}.db.orders AS SELECT * FROM tpch.tiny.orders WHERE orderkey < 1000")
    cloud.execute(f"INSERT INTO {catalog}.db.orders SELECT * FROM tpch.tiny.orders WHERE orderkey >= 1000")
    call = f"CALL {catalog}.system.{{}}(schema => 'db', table_name => 'orders', {{}})"
    assert cloud.execute(call.format("rewrite_data_files", ALL_FILES))[0][:2] == [2, 1]
    cloud.execute(call.format("expire_snapshots", "older_than => current_timestamp, retain_last => 1"))
    assert cloud.execute(call.format("remove_orphan_files", "dry_run => true")) == []
    sql = "SELECT * FROM {}.orders ORDER BY totalprice DESC LIMIT 3"
    late = {"global_late_materialization_min_table_size": "0B", "engine": "SPARK"}
    asked = sql.format(f"{catalog}.db")
    assert "Fetch" in cloud.execute(f"EXPLAIN {asked}", **late)[0][0]
    assert cloud.execute(asked, **late) == cloud.execute(sql.format("tpch.tiny"))
    cloud.execute(f"DROP TABLE {catalog}.db.orders")
