"""What the handles in a plan say of themselves, in whichever shape: the only readers of a connector's JSON in plans.

A handle is the wire object of a connector of Presto. A column's name is in one of three places: ``columnIdentity``
(Iceberg), ``columnName`` (databases, TPC-H, system tables) or ``name`` (Hive). Other connectors use one of them too.
"""

from __future__ import annotations

from collections.abc import Mapping

from shared.plan.nodes import TableHandle


def column_name(handle: Mapping[str, object]) -> str:
    """The connector's own name of a column; empty when the handle has none."""
    identity = handle.get("columnIdentity")
    if isinstance(identity, Mapping) and "name" in identity:
        return str(identity["name"])
    return str(handle.get("columnName") or handle.get("name") or "")


def column_id(handle: Mapping[str, object]) -> int | None:
    """The number by which a table format knows a column whatever its name."""
    identity = handle.get("columnIdentity")
    return int(identity["id"]) if isinstance(identity, Mapping) and "id" in identity else None


def is_synthesized(handle: Mapping[str, object]) -> bool:
    """Whether a column is in no file: readers make it up."""
    return handle.get("columnType") == "SYNTHESIZED"


def schema_name(table: TableHandle) -> str:
    """The schema of a table; empty when the handle has none."""
    return str(table.connectorHandle.get("schemaName") or "")


def table_name(table: TableHandle) -> str:
    """The name of a table in its schema; empty when the handle has none."""
    handle = table.connectorHandle
    iceberg = handle.get("icebergTableName")
    inner = iceberg.get("tableName") if isinstance(iceberg, Mapping) else None
    return str(inner or handle.get("tableName") or handle.get("table") or "")
