"""JDBC catalogs behind a whole service: joins with Iceberg on Spark, the native checker on, secrets unseen."""

from __future__ import annotations

import prestodb
import pyarrow as pa
import pytest

from tests.e2e.service import Service
from tests.mariadb import PASSWORD

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture(scope="module")
def service(whole_service: Service, mariadb: str) -> Service:
    """The shared service; without a MariaDB these tests are left out."""
    return whole_service


def test_iceberg_joins_postgresql_on_spark(service: Service) -> None:
    rows = pa.table({"id": pa.array([1, 2, 3], pa.int32()), "weight": pa.array([10, 20, 30], pa.int64())})
    service.create("weights", [rows])
    sql = "SELECT w.id, k.v, w.weight FROM iceberg.db.weights w JOIN pg.shop.kinds k ON w.id = k.id ORDER BY 1"
    assert service.execute(sql) == [[1, "abc", 10], [2, None, 20]]


def test_every_type_arrives_from_spark_as_from_the_coordinator(service: Service) -> None:
    columns = "b, s, l, r, d, n, v, t, bin, day, ts, tz, u, j"
    local = service.execute(f"SELECT {columns} FROM pg.shop.kinds WHERE id = 1")
    far = service.execute(
        f"SELECT {columns} FROM pg.shop.kinds JOIN (SELECT id AS w FROM iceberg.db.weights) ON id = w WHERE w = 1"
    )
    assert local == far


def test_explain_shows_the_remote_query(service: Service) -> None:
    sql = "EXPLAIN SELECT k.v FROM pg.shop.kinds k JOIN pg.shop.days d ON k.id = d.id WHERE k.s > 1"
    ((text,),) = service.execute(sql)
    assert 'FROM "shop"."kinds" "T0", "shop"."days" "T1" WHERE' in text
    assert "InnerJoin" not in text
    assert "open-sesame" not in text


def test_two_databases_and_iceberg_on_spark(service: Service) -> None:
    sql = (
        "SELECT w.id, k.v, m.tx, m.flag, m.lu, m.stamp FROM iceberg.db.weights w JOIN pg.shop.kinds k ON w.id = k.id "
        "JOIN maria.shop.kinds m ON m.id = k.id WHERE w.weight < 25 ORDER BY 1"
    )
    stamp = "2024-02-29 01:02:03.500 UTC"
    assert service.execute(sql) == [[1, "abc", "läßt", True, "18446744073709551615", stamp], [2, *[None] * 5]]


def test_catalogs_of_every_dialect_are_taken_and_one_that_is_away_is_told(service: Service) -> None:
    catalogs = [name for (name,) in service.execute("SHOW CATALOGS")]
    assert {"pg", "maria", "sqlserver", "oracle", "db2"} <= set(catalogs)
    for name in ("sqlserver", "oracle", "db2"):
        with pytest.raises(prestodb.exceptions.PrestoQueryError, match=f"Catalog {name}: ") as caught:
            service.execute(f"SELECT * FROM {name}.shop.orders")
        assert caught.value.error_name == "JDBC_ERROR"


def test_defaults_of_the_configuration_are_the_session_s(service: Service) -> None:
    found = {row[0]: row[1:3] for row in service.execute("SHOW SESSION LIKE 'optimizer_in%join%'")}
    assert found["optimizer_inequality_join_pushdown_enabled"] == ["true", "true"]
    assert found["optimizer_inner_join_pushdown_enabled"] == ["true", "true"]


def test_credentials_are_nowhere(service: Service) -> None:
    """At its end the service's files are searched too: log, journal, what Spark wrote."""
    sql = "SELECT k.v, m.v FROM pg.shop.kinds k JOIN maria.shop.kinds m ON k.id = m.id"
    seen = [
        service.execute(f"EXPLAIN {form} {sql}") for form in ("", "(TYPE DISTRIBUTED)", "(FORMAT JSON)", "(TYPE IO)")
    ]
    seen.append(service.execute(sql))
    with pytest.raises(prestodb.exceptions.PrestoQueryError) as caught:
        service.execute("SELECT nothing FROM pg.shop.kinds")
    told = service.get("/v1/query")
    ours = [query["queryId"] for query in told if "pg." in query["query"] or "maria." in query["query"]]
    assert len(ours) >= 5
    details = [service.get(f"/v1/query/{query}") for query in ours]  # those of other tests are hundreds
    runtime = service.execute("SELECT * FROM system.runtime.queries")
    for part in (seen, caught.value.args, told, details, runtime):
        assert "open-sesame" not in repr(part)
        assert PASSWORD not in repr(part)
