"""A PostgreSQL catalog behind a whole service: joins with Iceberg on Spark, the native checker on, secrets unseen."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

from tests.e2e.service import Service, start_service, write_etc

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture(scope="module")
def service(postgres: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    home = tmp_path_factory.mktemp("jdbc_service")
    etc = write_etc(home / "etc")
    address = postgres.split("@")[1]
    (etc / "catalog" / "pg.properties").write_text(
        f"connector.name=postgresql\nconnection-url=jdbc:postgresql://{address}\n"
        "connection-user=postgres\nconnection-password=open-sesame\n"
    )
    service = start_service(etc, home / "data", home / "log")
    try:
        yield service
    finally:
        assert service.stop() == 0, (home / "log").read_text()
        assert "open-sesame" not in (home / "log").read_text()


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
