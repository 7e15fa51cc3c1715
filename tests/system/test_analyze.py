"""ANALYZE over the protocol, as far as it goes without Spark; tests/iceberg/test_statistics.py has what it computes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

pytestmark = pytest.mark.slow

HEADERS = {"X-Presto-User": "alice", "X-Presto-Catalog": "iceberg", "X-Presto-Schema": "analyzed"}


def run(client: httpx.Client, sql: str) -> dict[str, Any]:
    """The last page, with the rows of all."""
    page = client.post("/v1/statement", content=sql, headers=HEADERS).json()
    rows: list[Any] = []
    while "nextUri" in page:
        page = client.get(page["nextUri"]).json()
        rows += page.get("data", [])
    return page | {"rows": rows}


@pytest.fixture(autouse=True, scope="module")
def dropped(client: httpx.Client) -> Iterator[None]:
    """The service is shared: what is made here goes again."""
    yield
    run(client, "DROP TABLE t")
    run(client, "DROP SCHEMA analyzed")


def test_rows_and_update_type(client: httpx.Client) -> None:
    run(client, "CREATE SCHEMA iceberg.analyzed")
    run(client, "CREATE TABLE t (a bigint, b varchar)")
    found = run(client, "ANALYZE t WITH (columns = ARRAY['a'])")
    assert "error" not in found
    assert (found["rows"], found["updateType"], found["updateCount"]) == ([[0]], "ANALYZE", 0)
    assert [(c["name"], c["type"]) for c in found["columns"]] == [("rows", "bigint")]


@pytest.mark.parametrize(
    ("sql", "name", "message"),
    [
        ("ANALYZE nope", "SYNTAX_ERROR", "line 1:1: Table 'iceberg.analyzed.nope' does not exist"),
        ("ANALYZE tpch.tiny.nation", "NOT_SUPPORTED", "This connector does not support analyze"),
        (
            "ANALYZE t WITH (nope = 1)",
            "INVALID_ANALYZE_PROPERTY",
            "Catalog 'iceberg' does not support analyze property 'nope'",
        ),
    ],
)
def test_refusals(client: httpx.Client, sql: str, name: str, message: str) -> None:
    run(client, "CREATE SCHEMA IF NOT EXISTS iceberg.analyzed")
    run(client, "CREATE TABLE IF NOT EXISTS t (a bigint, b varchar)")
    error = run(client, sql)["error"]
    assert (error["errorName"], error["message"]) == (name, message)
