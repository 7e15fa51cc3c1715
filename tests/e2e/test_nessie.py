"""A real Nessie, which signs every request to the store: nobody else has a key of it.

What the tests' own server only plays: signatures, commits that need ``last-column-id``, schemas in schemas with the
usual separator, endpoints that are not listed, references and properties that it leaves out or adds.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import prestodb
import pytest

from tests import tpch_tables
from tests.e2e.service import start_service, write_etc
from tests.iceberg.vending_store import ROOT, vending_store
from tests.kept_secrets import holding
from tests.nessie_server import nessie_server

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.skipif(os.environ.get("PROCESSION_TEST_FULL") != "1", reason="245 MB: PROCESSION_TEST_FULL=1 runs it"),
]
REWRITE_ALL = "options => map(ARRAY['rewrite-all'], ARRAY['true'])"
KEY, SECRET = "nessiekey", "nessiesecretsecret"


@pytest.fixture(scope="module")
def run(spark_engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    home = tmp_path_factory.mktemp("nessie")
    with pytest.MonkeyPatch.context() as patch, vending_store() as store:
        patch.setenv("NO_PROXY", "127.0.0.1")
        store.servers.add(KEY)
        with nessie_server(home, "s3://lake/nessie", store.addresses["s3.endpoint"], KEY, SECRET) as address:
            etc = write_etc(home / "etc", remote=spark_engine.connect().server.url)
            (etc / "catalog" / "nessie.properties").write_text(
                f"connector.name=iceberg\niceberg.catalog.type=rest\niceberg.rest.uri={address}\n"
                "iceberg.rest.view-endpoints-enabled=true\ns3.remote-signing-enabled=true\n"
                "iceberg.allowed-locations=s3://lake/nessie\n"
            )
            (etc / "catalog" / "tpch.properties").write_text(tpch_tables.catalog_file())
            service = start_service(etc, home / "data", home / "log")
            yield lambda sql, **session: service.execute(sql, session_properties=session)
            service.stop()
    assert store.refused == {}
    assert "Traceback" not in (home / "log").read_text()
    assert holding([file for file in home.rglob("*") if file.is_file()], [SECRET, *ROOT.values()]) == []


def both(run: Any, sql: str) -> Any:
    embedded, spark = (run(sql, engine=engine) for engine in ("EMBEDDED", "SPARK"))
    assert embedded == spark
    return embedded


@pytest.mark.parametrize("version", ["1", "2"])
def test_statements_and_rewrites(run: Any, version: str) -> None:
    run("CREATE SCHEMA IF NOT EXISTS nessie.a")
    run('CREATE SCHEMA IF NOT EXISTS nessie."a.b"')
    t = f'nessie."a.b".t{version}'
    made = f"WITH (\"format-version\" = '{version}', partitioning = ARRAY['orderstatus'])"
    assert run(f"CREATE TABLE {t} {made} AS SELECT * FROM tpch.tiny.orders") == [[15000]]
    run(f"ALTER TABLE {t} ADD COLUMN more bigint")
    run(f"ALTER TABLE {t} RENAME COLUMN more TO further")
    run(f"INSERT INTO {t} SELECT *, 7 FROM tpch.tiny.orders WHERE orderkey < 100")
    if version == "2":
        run(f"ALTER TABLE {t} SET PROPERTIES \"write.delete.mode\" = 'merge-on-read'")
    run(f"DELETE FROM {t} WHERE orderkey = 1")
    run(f"UPDATE {t} SET comment = 'changed' WHERE orderkey = 2")
    sql = f"SELECT count(*), sum(orderkey), sum(further), count_if(comment = 'changed') FROM {t}"
    expected = run(
        "SELECT count(*), sum(orderkey), sum(7) FILTER (WHERE more), count_if(orderkey = 2) FROM "
        "(SELECT orderkey, false more FROM tpch.tiny.orders UNION ALL "
        "SELECT orderkey, true FROM tpch.tiny.orders WHERE orderkey < 100) WHERE orderkey <> 1"
    )
    assert both(run, sql) == expected
    for order in ("", "strategy => 'sort', sort_order => 'custkey', "):
        run(f"CALL nessie.system.rewrite_data_files(schema => 'a.b', table_name => 't{version}', {order}{REWRITE_ALL})")
        assert both(run, sql) == expected
    run(f"CALL nessie.system.compute_table_stats(schema => 'a.b', table_name => 't{version}')")
    run(f"CALL nessie.system.validate_files(schema => 'a.b', table_name => 't{version}', check_footers => true)")
    assert run(f'SELECT count(*) FROM nessie."a.b"."t{version}$files"')[0][0] > 0
    assert run(f"CREATE OR REPLACE TABLE {t} AS SELECT orderkey, orderstatus FROM {t} WHERE orderkey = 2") == [[2]]
    assert both(run, f"SELECT count(*), sum(orderkey) FROM {t}") == [[2, 4]]
    run(f"TRUNCATE TABLE {t}")
    run(f"DROP TABLE {t}")


def test_views_and_what_is_left_out(run: Any) -> None:
    run("CREATE SCHEMA nessie.v")
    run("CREATE TABLE nessie.v.n AS SELECT nationkey, regionkey, name FROM tpch.tiny.nation")
    run("CREATE VIEW nessie.v.w AS SELECT count(*) c FROM nessie.v.n")
    run("CREATE OR REPLACE VIEW nessie.v.w AS SELECT max(name) m FROM nessie.v.n")
    assert both(run, "SELECT m FROM nessie.v.w") == [["VIETNAM"]]
    run("DROP VIEW nessie.v.w")
    run("CREATE MATERIALIZED VIEW nessie.v.mv AS SELECT regionkey, count(*) c FROM nessie.v.n GROUP BY regionkey")
    run("REFRESH MATERIALIZED VIEW nessie.v.mv")
    run("INSERT INTO nessie.v.n VALUES (100, 7, 'x')")
    run("REFRESH MATERIALIZED VIEW nessie.v.mv")
    assert both(run, "SELECT sum(c), max(regionkey) FROM nessie.v.mv") == [[26, 7]]
    given = "schema => 'v', table_name => 'n'"
    for call in ("create_branch({}, branch => 'audit')", "create_tag({}, tag => 'audit')"):
        with pytest.raises(prestodb.exceptions.PrestoQueryError, match=r"does not keep the (branch|tag) 'audit'"):
            run(f"CALL nessie.system.{call.format(given)}")
    with pytest.raises(prestodb.exceptions.PrestoQueryError, match="GC is disabled"):
        run(f"CALL nessie.system.remove_orphan_files({given})")
    with pytest.raises(prestodb.exceptions.PrestoQueryError, match="format version update"):
        run("CREATE TABLE nessie.v.three (a int) WITH (\"format-version\" = '3')")
    assert run("SHOW TABLES FROM nessie.v LIKE 'three'") == []
