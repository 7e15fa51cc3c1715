"""DELETE by metadata alone, over the protocol: the fixture's service has no Spark to fall back on."""

from __future__ import annotations

from typing import Any

import httpx
import pyarrow as pa
import pytest
from pyiceberg.transforms import IdentityTransform

from tests.e2e.service import Service

ROWS = pa.table({"p": pa.array([1, 1, 2, 2, 2, 3], pa.int64()), "s": list("abcdef")})


def execute(client: httpx.Client, sql: str) -> Any:
    """``(rows, updateCount)``, or the name of the error."""
    page = client.post("/v1/statement", content=sql, headers={"X-Presto-User": "alice"}).json()
    rows: list[Any] = []
    while "nextUri" in page:
        page = client.get(page["nextUri"]).json()
        rows += page.get("data", [])
    return page["error"]["errorName"] if "error" in page else (rows, page.get("updateCount"))


@pytest.mark.parametrize(
    ("where", "deleted"),
    [
        ("", 6),
        ("WHERE true", 6),
        ("WHERE 1 = 1 AND 'a' < 'b'", 6),
        ("WHERE p = 2", 3),
        ("WHERE p IN (1, 3) OR p > 7", 3),
        ("WHERE p > 5", 0),
    ],
)
def test_rows_of_whole_files_go_without_an_engine(
    where: str, deleted: int, client: httpx.Client, service: Service
) -> None:
    lake = service.lake()
    lake.create_namespace_if_not_exists("deletes")
    table = lake.create_table("deletes.t", schema=ROWS.schema)
    with table.update_spec() as change:
        change.add_field("p", IdentityTransform())
    table.append(ROWS)
    assert execute(client, f"DELETE FROM iceberg.deletes.t {where}") == ([[deleted]], deleted)
    left = table.refresh().scan().to_arrow()
    assert left.num_rows == 6 - deleted
    lake.purge_table("deletes.t")
