"""Days and moments behind the year 9999, which Python's dates do not know, in tables and queries of both engines."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import prestodb
import pytest

from tests.e2e.service import Service

pytestmark = [pytest.mark.spark, pytest.mark.slow]
ENGINES = ("EMBEDDED", "SPARK")


@pytest.fixture(scope="module")
def table(whole_service: Service) -> Iterator[str]:
    name = f"far_{uuid4().hex[:8]}"
    whole_service.execute("CREATE SCHEMA IF NOT EXISTS iceberg.db")
    whole_service.execute(
        f"CREATE TABLE iceberg.db.{name} (k bigint, d date, t timestamp) "
        "WITH (partitioning = ARRAY['day(d)', 'hour(t)', 't'])"
    )
    rows = (
        "SELECT k, date_add('year', 8000, DATE '2020-03-01'), "
        "date_add('year', 8000 * k, TIMESTAMP '2020-03-01 05:06:07') FROM (VALUES BIGINT '0', BIGINT '1') v(k)"
    )
    for _ in range(2):
        whole_service.execute(f"INSERT INTO iceberg.db.{name} {rows}")
    yield name
    whole_service.execute(f"DROP TABLE iceberg.db.{name}")


@pytest.mark.parametrize("engine", ENGINES)
def test_texts(whole_service: Service, table: str, engine: str) -> None:
    found = whole_service.execute(
        f"SELECT DISTINCT k, d, t, CAST(d AS varchar), CAST(t AS varchar), 'a' || CAST(d AS varchar) "
        f"FROM iceberg.db.{table} ORDER BY k",
        session_properties={"engine": engine},
    )
    moments = ["2020-03-01 05:06:07.000", "10020-03-01 05:06:07.000"]
    assert found == [[k, "10020-03-01", m, "10020-03-01", m, "a10020-03-01"] for k, m in enumerate(moments)]


@pytest.mark.parametrize("engine", ENGINES)
def test_programs_refuse_them_by_name(whole_service: Service, table: str, engine: str) -> None:
    with pytest.raises(prestodb.exceptions.PrestoUserError, match="outside of the years 1 to 9999") as failed:
        whole_service.execute(
            f"SELECT try(date_add('year', 1000 * k, d)) FROM iceberg.db.{table}", session_properties={"engine": engine}
        )
    assert failed.value.error_name == "NOT_SUPPORTED"


def test_partitions_and_rewrites(whole_service: Service, table: str) -> None:
    ask = f'SELECT d_day, t_hour, t, row_count FROM iceberg.db."{table}$partitions" ORDER BY t_hour'
    expected = [
        ["10020-03-01", 439733, "2020-03-01 05:06:07.000", 2],
        ["10020-03-01", 70566293, "10020-03-01 05:06:07.000", 2],
    ]
    assert whole_service.execute(ask) == expected
    whole = "options => map(ARRAY['rewrite-all'], ARRAY['true'])"
    call = f"CALL iceberg.system.rewrite_data_files(schema => 'db', table_name => '{table}', {whole}"
    shown = whole_service.execute(call + ", dry_run => true)")
    assert "d_day=10020-03-01/t_hour=10020-03-01-05/t=10020-03-01T05:06:07" in str(shown)
    assert whole_service.execute(call + ")")[0][:2] == [4, 2]
    assert whole_service.execute(ask) == expected
    assert whole_service.execute(f"SELECT count(*), count(DISTINCT t) FROM iceberg.db.{table}") == [[4, 2]]
