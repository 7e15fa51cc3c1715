"""What dbt-trino 1.9 sent when it ran a project of two views with tests: the same statements, again."""

from __future__ import annotations

from typing import Any

import httpx

HEADERS = {"X-Trino-User": "dbt", "X-Trino-Catalog": "iceberg", "X-Trino-Schema": "shop", "X-Trino-Source": "dbt"}
FAILURES = "select count(*) as failures, count(*) != 0 as should_warn, count(*) != 0 as should_error from ({}) t"
RELATIONS = """
  select t.table_catalog as database, t.table_name as name, t.table_schema as schema,
    case when mv.name is not null then 'materialized_view'
         when t.table_type = 'BASE TABLE' then 'table' when t.table_type = 'VIEW' then 'view'
         else t.table_type end as table_type
  from "iceberg".INFORMATION_SCHEMA.tables t
  left join (
    select * from system.metadata.materialized_views where catalog_name = 'iceberg' and schema_name = 'shop') mv
  on mv.catalog_name = t.table_catalog and mv.schema_name = t.table_schema and mv.name = t.table_name
  where t.table_schema = 'shop'"""
TESTS = (
    """with all_values as (
         select label as value_field, count(*) as n_records from "iceberg"."shop"."doubled" group by label)
       select * from all_values where value_field not in ('x', 'y')""",
    """select id from "iceberg"."shop"."doubled" where id is null""",
    """with child as (select label as from_field from "iceberg"."shop"."doubled" where label is not null),
       parent as (select label as to_field from "iceberg"."shop"."numbers")
       select from_field from child left join parent on child.from_field = parent.to_field
       where parent.to_field is null""",
    """select id as unique_field, count(*) as n_records from "iceberg"."shop"."doubled" where id is not null
       group by id having count(*) > 1""",
)


def run(client: httpx.Client, sql: str) -> list[list[Any]]:
    page = client.post("/v1/statement", content=sql, headers=HEADERS).json()
    rows: list[list[Any]] = []
    while "nextUri" in page:
        page = client.get(page["nextUri"], headers=HEADERS).json()
        rows += page.get("data", [])
    assert "error" not in page, page["error"]
    return rows


def test_a_project_of_views(client: httpx.Client) -> None:
    assert ["information_schema"] in run(client, 'select schema_name from "iceberg".INFORMATION_SCHEMA.schemata')
    run(client, 'create schema if not exists "iceberg"."shop"')
    assert run(client, RELATIONS) == []
    made = "select a as id, b as label from (values (1, 'x'), (2, 'y')) t (a, b)"
    for _ in range(2):  # the second run replaces
        run(client, f'create or replace view "iceberg"."shop"."numbers" security definer as {made}')
        run(
            client,
            'create or replace view "iceberg"."shop"."doubled" security definer as '
            'select id * 2 as id, label from "iceberg"."shop"."numbers"',
        )
    assert sorted(run(client, RELATIONS)) == [
        ["iceberg", "doubled", "shop", "view"],
        ["iceberg", "numbers", "shop", "view"],
    ]
    for test in TESTS:
        assert run(client, FAILURES.format(test)) == [[0, False, False]]
    assert run(client, 'select id, label from "iceberg"."shop"."doubled" order by 1') == [[2, "x"], [4, "y"]]
    run(client, "drop schema shop cascade")
