"""What a metastore's table is besides Iceberg's: tables and views of Hive and others live in the same place."""

from __future__ import annotations

from collections.abc import Mapping

from shared.errors import ErrorCode, ProcessionError


def check_iceberg(name: str, parameters: Mapping[str, str] | None, kind: str | None) -> None:
    """Raises ProcessionError for a table that Iceberg does not know, and for views of any kind."""
    said = (parameters or {}).get("table_type", "")
    if said.lower() == "iceberg" and "metadata_location" in (parameters or {}):
        return
    if kind == "VIRTUAL_VIEW" or said.lower() == "iceberg-view":
        message = f"{name} is a view, and views of Hive and Glue catalogs are not supported"
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, message)
    raise ProcessionError(ErrorCode.ICEBERG_UNKNOWN_TABLE_TYPE, f"Not an Iceberg table: {name}")
