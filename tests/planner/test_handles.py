"""What handles say of themselves, whichever connector made them."""

from __future__ import annotations

from typing import Any

import pytest

from coordinator.connectors.registry import Catalogs
from shared.plan.nodes import TableHandle
from shared.spi.capabilities import Capabilities, capabilities_of
from shared.spi.handles import column_id, column_name, is_synthesized, schema_name, table_name

ICEBERG = {"@type": "iceberg", "columnIdentity": {"id": 7, "name": "a"}, "columnType": "SYNTHESIZED"}


@pytest.mark.parametrize(
    ("handle", "name", "number"),
    [(ICEBERG, "a", 7), ({"columnName": "b"}, "b", None), ({"@type": "hive", "name": "c"}, "c", None), ({}, "", None)],
)
def test_a_column_says_its_name_and_number(handle: dict[str, Any], name: str, number: int | None) -> None:
    assert (column_name(handle), column_id(handle)) == (name, number)
    assert is_synthesized(handle) == (handle is ICEBERG)


@pytest.mark.parametrize(
    "handle",
    [
        {"schemaName": "s", "icebergTableName": {"tableName": "t", "tableType": "DATA"}},
        {"schemaName": "s", "tableName": "t"},
        {"schemaName": "s", "table": "t"},
    ],
)
def test_a_table_says_its_name(handle: dict[str, Any]) -> None:
    table = TableHandle(connectorId="c", connectorHandle=handle)
    assert (schema_name(table), table_name(table)) == ("s", "t")


def test_capabilities_are_declared() -> None:
    system = Catalogs(()).capabilities("system")
    assert system == Capabilities(rows=system.rows)
    assert system.rows is not None
    assert capabilities_of(object()) == Capabilities()  # type: ignore[arg-type]
