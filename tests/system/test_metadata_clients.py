"""What real clients ask for when they browse: presto-jdbc, SQLAlchemy's dialects, dbt and BI tools; without Spark."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pyarrow as pa
import pytest
import sqlalchemy as sa
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

from tests.e2e.service import Service

NATION = ["n_nationkey", "n_name", "n_regionkey", "n_comment"]


@pytest.fixture(scope="module")
def lake(service: Service) -> Service:
    """``iceberg.db.with_underscore`` and ``iceberg.db.withXunderscore``, with comments and a required column."""
    catalog = service.lake()
    catalog.create_namespace_if_not_exists("db")
    fields = (
        NestedField(1, "id", LongType(), required=True, doc="the key"),
        NestedField(2, "name", StringType(), required=False),
    )
    made = catalog.create_table("db.with_underscore", Schema(*fields), properties={"comment": "a table"})
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("name", pa.string())])
    made.append(pa.table({"id": [1], "name": ["x"]}, schema=schema))
    catalog.create_table("db.withxunderscore", Schema(*fields))
    return service


@pytest.mark.slow
def test_jdbc_database_metadata(lake: Service, jdbc_jar: Path, tmp_path: Path) -> None:
    source = Path(__file__).parent / "java" / "MetadataProbe.java"
    subprocess.run(["javac", "-d", str(tmp_path), str(source)], check=True, timeout=200, capture_output=True)
    command = ["java", "-cp", f"{tmp_path}:{jdbc_jar}", "MetadataProbe", lake.url.removeprefix("http://")]
    run = subprocess.run(command, check=False, timeout=200, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    answers = {name: rows.split(";") for name, _, rows in (line.partition("|") for line in run.stdout.splitlines())}
    assert answers["catalogs"] == ["iceberg", "system", "tpch"]
    assert len(answers["schemas"]) == 10 + 6 + 2
    assert answers["schemas like"] == ["tiny,tpch"]
    assert [row.split(",")[2] for row in answers["tables"]] == sorted(
        ["customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier"]
    )
    assert answers["tables escaped"] == ["iceberg,db,with_underscore,TABLE"]
    assert answers["views"] == [""]
    assert answers["columns"][0].startswith("tpch,tiny,region,r_regionkey,-5,bigint,19,0,null,10,0,")
    assert len(answers["columns"]) == 3
    assert answers["columns like"] == [
        "iceberg,db,with_underscore,id,-5,bigint,19",
        "iceberg,db,with_underscore,name,12,varchar,2147483647",
    ]
    assert [row.rpartition(",")[2] for row in answers["column"]] == [
        "o_orderkey",
        "o_orderstatus",
        "o_orderdate",
        "o_orderpriority",
    ]
    assert answers["table types"] == ["TABLE", "VIEW"]
    assert "bigint,-5" in answers["type info"]
    # The driver asks with LIMIT 0: its own answer is that there are none.
    for name in (
        "procedures",
        "procedure columns",
        "attributes",
        "udts",
        "super types",
        "super tables",
        "pseudo columns",
    ):
        assert answers[name] == [""]


def test_sqlalchemy_with_pyhive(lake: Service) -> None:
    """The inspector that Superset uses for Presto."""
    engine = sa.create_engine(lake.url.replace("http", "presto") + "/tpch/tiny")
    inspector = sa.inspect(engine)
    assert "sf1" in inspector.get_schema_names()
    assert "orders" in inspector.get_table_names("tiny")
    of_iceberg = sa.inspect(sa.create_engine(lake.url.replace("http", "presto") + "/iceberg/db"))
    columns = of_iceberg.get_columns("with_underscore", "db")
    assert [(c["name"], str(c["type"])) for c in columns] == [("id", "BIGINT"), ("name", "VARCHAR")]
    assert inspector.has_table("nation", "tiny")
    assert not inspector.has_table("nope", "tiny")
    assert inspector.get_indexes("nation", "tiny") == []
    with engine.connect() as connection:
        assert connection.execute(sa.text("SELECT count(*) FROM information_schema.schemata")).scalar() == 10
    engine.dispose()


def test_sqlalchemy_with_trino(lake: Service) -> None:
    """The inspector that Superset and others use for Trino."""
    engine = sa.create_engine(lake.url.replace("http://", "trino://tester@") + "/iceberg/db")
    inspector = sa.inspect(engine)
    assert "db" in inspector.get_schema_names()
    assert inspector.get_table_names("db") == ["with_underscore", "withxunderscore"]
    assert inspector.get_view_names("db") == []
    columns = inspector.get_columns("with_underscore", "db")
    assert [(c["name"], str(c["type"]), c["nullable"]) for c in columns] == [
        ("id", "BIGINT", False),
        ("name", "VARCHAR", True),
    ]
    assert inspector.get_table_comment("with_underscore", "db") == {"text": "a table"}
    assert inspector.has_table("with_underscore", "db")
    assert not inspector.has_table("nope", "db")
    assert inspector.get_pk_constraint("with_underscore", "db")["constrained_columns"] == []
    engine.dispose()


DBT = {
    "list schemas": "select distinct schema_name from tpch.information_schema.schemata",
    "check schema": "select count(*) from tpch.information_schema.schemata where catalog_name = 'tpch' "
    "and schema_name = 'tiny'",
    "list relations": """select t.table_catalog as database, t.table_name as name, t.table_schema as schema,
        case when mv.name is not null then 'materialized_view' when t.table_type = 'BASE TABLE' then 'table'
            when t.table_type = 'VIEW' then 'view' else t.table_type end as table_type
        from iceberg.information_schema.tables t
        left join (select * from system.metadata.materialized_views where catalog_name = 'iceberg'
            and schema_name = lower('db')) mv
        on mv.catalog_name = t.table_catalog and mv.schema_name = t.table_schema and mv.name = t.table_name
        where t.table_schema = lower('db') and (mv.freshness is null or mv.freshness <> 'x') order by name""",
    "columns": """select column_name, case when regexp_like(data_type, 'varchar\\(\\d+\\)') then 'varchar'
            else data_type end as data_type, case when regexp_like(data_type, 'varchar\\(\\d+\\)')
            then regexp_extract(data_type, '\\d+') end as character_maximum_length
        from tpch.information_schema.columns where table_catalog = 'tpch' and table_schema = 'tiny'
        and table_name = 'nation' order by ordinal_position""",
    "catalog": """with tables as (select table_catalog, table_schema, table_name, table_type
            from tpch.information_schema.tables where table_schema = 'tiny'),
        columns as (select table_catalog, table_schema, table_name, column_name, ordinal_position, data_type
            from tpch.information_schema.columns where table_schema = 'tiny'),
        comments as (select catalog_name, schema_name, table_name, comment from system.metadata.table_comments
            where catalog_name = 'tpch' and schema_name = 'tiny')
        select count(*) from tables join columns using (table_catalog, table_schema, table_name)
        left join comments using (table_name)""",
}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("list schemas", 10),
        ("check schema", [[1]]),
        (
            "list relations",
            [["iceberg", "with_underscore", "db", "table"], ["iceberg", "withxunderscore", "db", "table"]],
        ),
        (
            "columns",
            [
                ["n_nationkey", "bigint", None],
                ["n_name", "varchar", "25"],
                ["n_regionkey", "bigint", None],
                ["n_comment", "varchar", "152"],
            ],
        ),
        ("catalog", [[61]]),
    ],
)
def test_dbt(lake: Service, name: str, expected: object) -> None:
    """The statements of dbt-trino's macros."""
    found = lake.execute(DBT[name], catalog="tpch", schema="tiny")
    assert (len(found) if isinstance(expected, int) else found) == expected


def test_metabase_and_others(lake: Service) -> None:
    """SHOW and DESCRIBE as Metabase's driver and Superset's engine send them."""
    assert lake.execute("SHOW CATALOGS") == [["iceberg"], ["system"], ["tpch"]]
    assert ["tiny"] in lake.execute('SHOW SCHEMAS FROM "tpch"')
    assert ["nation"] in lake.execute('SHOW TABLES FROM "tpch"."tiny"')
    assert [row[0] for row in lake.execute('DESCRIBE "tpch"."tiny"."nation"')] == NATION
    assert (
        lake.execute("SELECT table_name FROM information_schema.views WHERE table_schema = 'tiny'", catalog="tpch")
        == []
    )
    assert len(lake.execute('SELECT * FROM iceberg.db."with_underscore$partitions"')) == 1


def test_rows_of_system_tables_are_made_anew(lake: Service) -> None:
    """Plans of such statements are kept; what they show is not."""
    sql = "SELECT table_name FROM iceberg.information_schema.tables WHERE table_schema = 'growing' ORDER BY 1"
    assert lake.execute(sql) == []
    catalog = lake.lake()
    catalog.create_namespace("growing")
    for name in ("a", "b"):
        catalog.create_table(f"growing.{name}", Schema(NestedField(1, "id", LongType(), required=False)))
        assert lake.execute(sql)[-1] == [name]
    catalog.drop_table("growing.a")
    assert lake.execute(sql) == [["b"]]
    catalog.drop_table("growing.b")
    catalog.drop_namespace("growing")
