"""Flight SQL and Arrow over HTTP with real engines: the rows of the pages, from DuckDB and from Spark."""

from __future__ import annotations

import adbc_driver_flightsql.dbapi as adbc
import httpx
import pyarrow as pa
import pytest

from tests.e2e.service import Service

TYPES = """SELECT 1 AS i, DECIMAL '1.50' AS d, 'x' AS v, DATE '2020-01-02' AS day,
 TIMESTAMP '2020-01-02 03:04:05.678' AS t, TIMESTAMP '2020-01-02 03:04:05 Europe/Vienna' AS z, X'00ff' AS b,
 ARRAY[1, NULL] AS a, MAP(ARRAY['k'], ARRAY[2]) AS m,
 CAST(ROW(1, 'x') AS ROW(n integer, s varchar)) AS r, INTERVAL '1' DAY AS s, JSON '{"a":1}' AS j,
 UUID '12151fd2-7586-11e9-8f9e-2a86e4085a59' AS u, CAST(NULL AS double) AS o"""
ORDERS = "SELECT orderkey, orderdate, totalprice, comment FROM tpch.tiny.orders ORDER BY orderkey"


@pytest.fixture(scope="module")
def connection(whole_service: Service):
    uri = f"grpc://127.0.0.1:{whole_service.flight_port}"
    with adbc.connect(uri, db_kwargs={"username": "tester", "password": ""}, autocommit=True) as connected:
        yield connected


def rows(connection, sql, parameters=None) -> pa.Table:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return cursor.fetch_arrow_table()


def over_http(service: Service, sql: str, **headers: str) -> pa.Table:
    asked = {"X-Presto-User": "tester", "Accept": "application/vnd.apache.arrow.stream"} | headers
    response = httpx.post(f"{service.url}/v1/statement", content=sql, headers=asked, timeout=120)
    assert response.status_code == 200, response.text
    return pa.ipc.open_stream(response.content).read_all()


def test_both_ways_give_what_the_pages_have(whole_service, connection):
    found = rows(connection, ORDERS)
    assert found.equals(over_http(whole_service, ORDERS))
    pages = whole_service.execute(ORDERS)
    assert [[k, str(d), p, c] for k, d, p, c in zip(*found.to_pydict().values(), strict=True)] == pages


@pytest.mark.parametrize("codec", ["lz4", "zstd"])
def test_compressed_rows_are_the_same(whole_service, connection, codec):
    """Of every type; ADBC says it in the session, whose cookie it keeps, or by SET SESSION."""
    plain = rows(connection, TYPES)
    accept = f'application/vnd.apache.arrow.stream; codecs="{codec}"'
    assert over_http(whole_service, TYPES, Accept=accept).equals(plain)
    uri = f"grpc://127.0.0.1:{whole_service.flight_port}"
    options = {"username": "tester", "adbc.flight.sql.rpc.with_cookie_middleware": "true"}
    with adbc.connect(uri, db_kwargs=options, autocommit=True) as kept:
        kept.adbc_connection.set_options(**{"adbc.flight.sql.session.option.arrow_compression": codec.upper()})
        assert rows(kept, TYPES).equals(plain)
        assert rows(kept, ORDERS).equals(rows(connection, ORDERS))
        with pytest.raises(Exception, match=r"INVALID_SESSION_PROPERTY: .*arrow_compression"):
            rows(kept, "SET SESSION arrow_compression = 'SNAPPY'")
        rows(kept, "SET SESSION arrow_compression = 'NONE'")
        assert rows(kept, TYPES).equals(plain)


def test_types_are_the_same_from_both_engines(whole_service, connection):
    plain = rows(connection, TYPES)
    whole_service.execute("CREATE SCHEMA IF NOT EXISTS iceberg.flight")
    whole_service.execute("CREATE TABLE iceberg.flight.one AS SELECT 1 AS one")
    try:
        sql = f"{TYPES} FROM iceberg.flight.one"
        assert rows(connection, sql).equals(plain)
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO iceberg.flight.one VALUES 2, 3")
            assert cursor.fetchall() == [(2,)]
        on_spark = over_http(whole_service, sql, **{"X-Presto-Session": "engine=SPARK"})
        assert on_spark.num_rows == 3
        assert on_spark.slice(0, 1).equals(plain)
    finally:
        whole_service.execute("DROP TABLE iceberg.flight.one")
        whole_service.execute("DROP SCHEMA iceberg.flight")


def test_metadata_and_parameters(connection):
    catalogs = connection.adbc_get_objects(depth="catalogs").read_all().column("catalog_name").to_pylist()
    assert {"iceberg", "tpch", "system", "sqlserver"} <= set(catalogs)
    listed = connection.adbc_get_objects(depth="db_schemas").read_all().to_pylist()
    schemas = {each["catalog_name"]: each["catalog_db_schemas"] for each in listed}
    assert {"db_schema_name": "tiny", "db_schema_tables": None} in schemas["tpch"]
    assert not schemas.get("sqlserver"), "it is away"
    assert connection.adbc_get_table_schema("nation", catalog_filter="tpch", db_schema_filter="tiny").names[:2] == [
        "nationkey",
        "name",
    ]
    assert rows(connection, "SELECT name FROM tpch.tiny.nation WHERE nationkey = ?", [3]).to_pydict() == {
        "name": ["CANADA"]
    }
