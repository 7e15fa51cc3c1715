"""What Superset, Metabase and DBeaver ask of Presto, through the dialects that they use; without Spark.

Sources of the statements: Superset's engine specs of Presto and Trino (``superset/db_engine_specs/presto.py``) over
PyHive's and Trino's SQLAlchemy dialects, Metabase's ``presto_jdbc.clj``, DBeaver's ``TrinoMetaModel``.
"""

from __future__ import annotations

import datetime
import json
import warnings
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import duckdb
import httpx
import pyarrow as pa
import pytest
import sqlalchemy as sa
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import DateType, ListType, LongType, NestedField, StringType

from tests.e2e.service import Service

FIELDS = (
    NestedField(1, "id", LongType(), required=True, doc="the key"),
    NestedField(2, "day", DateType(), required=False),
    NestedField(3, "tags", ListType(4, StringType(), element_required=False), required=False),
)
VIEW = "SELECT id, day FROM visits WHERE day > DATE '2026-01-01'"


@pytest.fixture(scope="module")
def shop(service: Service) -> Iterator[Service]:
    """``iceberg.shop.visits``, parted by day, and the view ``recent`` over it."""
    catalog = service.lake()
    catalog.create_namespace("shop")
    schema = Schema(*FIELDS)
    made = catalog.create_table(
        "shop.visits", schema, partition_spec=PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "day"))
    )
    days = [datetime.date(2026, 1, day) for day in (1, 2, 2)]
    made.append(pa.table({"id": [1, 2, 3], "day": days, "tags": [["a"], None, []]}, schema=schema.as_arrow()))
    service.execute(f"CREATE VIEW recent AS {VIEW}", catalog="iceberg", schema="shop")
    yield service
    for sql in ("DROP VIEW recent", "DROP TABLE visits", "DROP SCHEMA shop"):
        service.execute(sql, catalog="iceberg", schema="shop")


@pytest.fixture(params=["presto", "trino"])
def engine(shop: Service, request: pytest.FixtureRequest) -> Iterator[sa.Engine]:
    """SQLAlchemy's engine by each dialect."""
    made = sa.create_engine(shop.url.replace("http://", f"{request.param}://tester@") + "/iceberg/shop")
    yield made
    made.dispose()


def test_inspector(engine: sa.Engine) -> None:
    inspector = sa.inspect(engine)
    assert "shop" in inspector.get_schema_names()
    # PyHive tells views among the tables; Superset takes them off.
    assert set(inspector.get_table_names("shop")) - {"recent"} == {"visits"}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Did not recognize type 'array")  # PyHive's own
        columns = inspector.get_columns("visits", "shop")
    assert [(c["name"], str(c["type"])) for c in columns[:2]] == [("id", "BIGINT"), ("day", "DATE")]
    assert [c["name"] for c in inspector.get_columns("recent", "shop")] == ["id", "day"]
    assert inspector.has_table("visits", "shop")
    assert not inspector.has_table("nope", "shop")
    # PyHive takes the columns of Presto's $partitions for an index; Trino's shape says that there is none.
    indexed = [index["column_names"][0] for index in inspector.get_indexes("visits", "shop")]
    assert indexed == ([] if engine.dialect.name == "trino" else ["day"])
    assert inspector.get_foreign_keys("visits", "shop") == []
    with engine.connect() as connection:
        assert connection.execute(sa.text("SHOW CATALOGS")).scalars().all() == ["iceberg", "system", "tpch"]


def test_inspector_of_trino_only(shop: Service) -> None:
    engine = sa.create_engine(shop.url.replace("http://", "trino://tester@") + "/iceberg/shop")
    inspector = sa.inspect(engine)
    assert inspector.get_view_names("shop") == ["recent"]
    assert inspector.get_view_definition("recent", "shop") == VIEW
    with warnings.catch_warnings():
        # It takes every column of ``$partitions`` for a key of an index, whose shape is Presto's here.
        warnings.filterwarnings("ignore", message="index key")
        reflected = sa.Table("visits", sa.MetaData(), autoload_with=engine)
    assert reflected.c.id.nullable is False
    assert reflected.c.id.comment == "the key"
    with engine.connect() as connection:
        assert "tpch" in engine.dialect.get_catalog_names(connection)  # type: ignore[attr-defined]
    engine.dispose()


def test_superset(shop: Service) -> None:
    """Beside the inspector: views, the newest partition, what a query will read, names for completion."""

    def ask(sql: str) -> list[list[Any]]:
        return shop.execute(sql, catalog="iceberg", schema="shop")

    views = "SELECT table_name FROM information_schema.tables\nWHERE table_schema = 'shop'\nAND table_type = 'VIEW'"
    assert ask(views) == [["recent"]]
    assert ask('SHOW CREATE VIEW "shop"."recent"')[0][0].endswith(VIEW)
    newest = 'SELECT * FROM shop."visits$partitions"\n\nORDER BY day DESC\nLIMIT 1\n'
    assert ask(newest)[0][:2] == ["2026-01-02", 2]
    read = json.loads(ask("EXPLAIN (TYPE IO, FORMAT JSON) SELECT * FROM visits")[0][0])
    assert [c["table"]["schemaTable"]["table"] for c in read["inputTableColumnInfos"]] == ["visits"]
    # What its window of a query's cost shows; the table has three rows, a text or array is taken for 32 or 8 bytes.
    assert read["estimate"] == {"outputRowCount": 3.0, "outputSizeInBytes": 3 * (8.0 + 4 + 8)}
    joined = "SELECT a.id FROM visits a JOIN visits b ON a.id = b.id ORDER BY 1 LIMIT 2"
    read = json.loads(ask(f"EXPLAIN (TYPE IO, FORMAT JSON) {joined}")[0][0])
    assert read["estimate"] == {"outputRowCount": 2.0, "outputSizeInBytes": 16.0}
    assert {"abs", "zip_with"} <= {row[0] for row in ask("SHOW FUNCTIONS")}
    for sql, message in (
        ("SELECT nope FROM visits", "line 1:8: Column 'nope' cannot be resolved"),
        ("SELECT * FROM nope", "Table iceberg.shop.nope does not exist"),
        ("SELECT * FROM no.visits", "Schema no does not exist"),
    ):
        with pytest.raises(Exception, match=message):
            ask(sql)


def test_superset_time_grains(shop: Service) -> None:
    """Each grain of Superset over dates of TPC-H, as DuckDB truncates them."""
    grains = ["second", "minute", "hour", "day", "week", "month", "quarter", "year"]
    moved = "date_trunc('week', CAST(d AS TIMESTAMP) + interval '1' day) - interval '1' day"
    columns = [f"date_trunc('{grain}', CAST(d AS TIMESTAMP))" for grain in grains] + [moved]
    days = "(VALUES (DATE '1992-02-29'), (DATE '1996-12-31'), (DATE '2000-01-02')) AS t(d)"
    sql = f"SELECT {', '.join(columns)} FROM {days} ORDER BY 1"
    expected = [[f"{cell:%Y-%m-%d %H:%M:%S}.000" for cell in row] for row in duckdb.sql(sql).fetchall()]
    assert shop.execute(sql) == expected


METABASE: dict[str, list[list[Any]]] = {
    'SELECT TRUE FROM "tiny"."nation" WHERE 1 <> 1 LIMIT 0': [],
    "SELECT current_timezone()": [["UTC"]],
    "SELECT from_utf8(from_hex('c3a9'))": [["é"]],
    'SELECT "source"."n_name" FROM (SELECT n_name, row_number() OVER (ORDER BY n_name ASC) AS "__rownum__" '
    'FROM nation) AS "source" WHERE "__rownum__" > 5 LIMIT 2': [["EGYPT"], ["ETHIOPIA"]],
    "SELECT n_name, substring(n_comment, 1, 10) FROM nation WHERE (lower(n_name) LIKE ?) LIMIT 1048575": [
        ["FRANCE", "refully fi"]
    ],
    "SELECT count(*), sum(CASE WHEN n_regionkey = 3 THEN 1.00 ELSE 0.0 END), approx_percentile(n_nationkey, 0.5) "
    "FROM nation": [[25, "5.00", 12]],
    "SELECT n_name FROM nation ORDER BY n_name LIMIT ?": [["ALGERIA"], ["ARGENTINA"]],
    "SELECT at_timezone(with_timezone(TIMESTAMP '2024-01-01 12:00:00', 'UTC'), 'Asia/Tokyo')": [
        ["2024-01-01 21:00:00.000 Asia/Tokyo"]
    ],
    "SELECT from_unixtime(1700000000, 'US/Pacific'), date_add('millisecond', mod(1700000000123, 1000), "
    "from_unixtime(1700000000123 / 1000, 'UTC'))": [
        ["2023-11-14 14:13:20.000 US/Pacific", "2023-11-14 22:13:20.123 UTC"]
    ],
}


@pytest.mark.parametrize("sql", METABASE)
def test_metabase_prepared(client: httpx.Client, shop: Service, sql: str) -> None:
    """Everything is a prepared statement, with parameters or without; times are asked for in the report's zone."""
    statement = {"X-Presto-Prepared-Statement": f"statement1={quote(sql)}"}
    values = "INTEGER '2'" if sql.endswith("LIMIT ?") else "'fran%'"
    using = f" USING {values}" if "?" in sql else ""
    assert answer(client, f"EXECUTE statement1{using}", statement) == METABASE[sql]


def test_metabase_and_dbeaver_describe(client: httpx.Client, shop: Service) -> None:
    """SHOW, DESCRIBE and the DDL of a table, prepared as every statement of JDBC may be."""
    asked = {
        'SHOW SCHEMAS FROM "iceberg"': "shop",
        'SHOW TABLES FROM "iceberg"."shop"': "recent",
        'DESCRIBE "iceberg"."shop"."visits"': "id",
    }
    for sql, first in asked.items():
        prepared = {"X-Presto-Prepared-Statement": f"s={quote(sql)}"}
        assert first in [row[0] for row in answer(client, "EXECUTE s", prepared)]
    for sql, part in (("TABLE iceberg.shop.visits", '"day" date'), ("VIEW iceberg.shop.recent", VIEW)):
        prepared = {"X-Presto-Prepared-Statement": f"s={quote(f'SHOW CREATE {sql}')}"}
        assert part in answer(client, "EXECUTE s", prepared)[0][0]


def answer(client: httpx.Client, sql: str, headers: dict[str, str]) -> list[list[Any]]:
    """The rows of a statement over ``tpch.tiny``."""
    where = {"X-Presto-User": "tester", "X-Presto-Catalog": "tpch", "X-Presto-Schema": "tiny"}
    page = client.post("/v1/statement", content=sql, headers=where | headers).json()
    rows: list[list[Any]] = []
    while "nextUri" in page:
        page = client.get(page["nextUri"]).json()
        rows += page.get("data", ())
    assert "error" not in page, page["error"]
    return rows
