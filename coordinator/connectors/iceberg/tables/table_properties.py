"""Table properties of CREATE TABLE: Presto's names and their older and Trino spellings, as what Iceberg keeps.

Source: Presto ``IcebergTableProperties`` (defaults too), Trino's ``IcebergTableProperties``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from coordinator.connectors.iceberg.failures import invalid_property
from shared.spi.catalog_changes import PropertyDeclaration

STORAGE_OF = "procession.storage-of"
"""The property of a materialized view's storage table that names its view; no statement gives it."""
FORMATS = ("PARQUET", "ORC", "AVRO")
MODES = ("merge-on-read", "copy-on-write")
_KEPT: Mapping[str, tuple[str, str]] = {
    "write.delete.mode": ("varchar", "How rows are deleted: merge-on-read or copy-on-write"),
    "write.update.mode": ("varchar", "How rows are updated: merge-on-read or copy-on-write"),
    "write.merge.mode": ("varchar", "How MERGE changes rows: merge-on-read or copy-on-write"),
    "write.data.path": ("varchar", "File system location URI for the table's data and delete files"),
    "write.target-file-size-bytes": ("bigint", "Size of a data file that writers aim at"),
    "write.parquet.compression-codec": ("varchar", "Compression of Parquet files"),
    "write.metadata.previous-versions-max": ("integer", "The max number of old metadata files to keep in metadata log"),
    "write.metadata.delete-after-commit.enabled": (
        "boolean",
        "Whether enables to delete the oldest metadata file after commit",
    ),
    "write.metadata.metrics.max-inferred-column-defaults": (
        "integer",
        "The maximum number of columns for which metrics are collected",
    ),
    "commit.retry.num-retries": (
        "integer",
        "Determines the number of attempts in case of concurrent upserts and deletes",
    ),
    "read.split.target-size": ("bigint", "Desired size of split to generate during query scan planning"),
}
_ALIASES = {
    "format": "write.format.default",
    "format_version": "format-version",
    "commit_retries": "commit.retry.num-retries",
    "delete_mode": "write.delete.mode",
    "metadata_previous_versions_max": "write.metadata.previous-versions-max",
    "metadata_delete_after_commit": "write.metadata.delete-after-commit.enabled",
    "metrics_max_inferred_column": "write.metadata.metrics.max-inferred-column-defaults",
    "sort_order": "sorted_by",
}
DECLARED: tuple[PropertyDeclaration, ...] = (
    PropertyDeclaration("partitioning", "array(varchar)", "Partition transforms", "ARRAY[]"),
    PropertyDeclaration("sorted_by", "array(varchar)", "Sorted columns", "ARRAY[]"),
    PropertyDeclaration("location", "varchar", "File system location URI for the table"),
    PropertyDeclaration("write.format.default", "varchar", "File format for the table", "PARQUET"),
    PropertyDeclaration("format-version", "varchar", "Format version for the table: 1, 2 or 3", "2"),
    *(PropertyDeclaration(name, kind, doc) for name, (kind, doc) in _KEPT.items()),
    PropertyDeclaration("format", "varchar", "The same as write.format.default (deprecated)"),
    PropertyDeclaration("format_version", "varchar", "The same as format-version (deprecated)"),
    PropertyDeclaration("commit_retries", "integer", "The same as commit.retry.num-retries (deprecated)"),
    PropertyDeclaration("delete_mode", "varchar", "The same as write.delete.mode (deprecated)"),
    PropertyDeclaration("metadata_previous_versions_max", "integer", "As write.metadata.previous-versions-max"),
    PropertyDeclaration("metadata_delete_after_commit", "boolean", "As write.metadata.delete-after-commit.enabled"),
    PropertyDeclaration(
        "metrics_max_inferred_column", "integer", "As write.metadata.metrics.max-inferred-column-defaults"
    ),
    PropertyDeclaration("extra_properties", "map(varchar,varchar)", "Further properties, kept as they are (Trino's)"),
)
COLUMN_PROPERTIES = (PropertyDeclaration("partitioning", "array(varchar)", "This column's partition transforms"),)
SCHEMA_PROPERTIES = (PropertyDeclaration("location", "varchar", "Base file system location URI"),)
UPDATABLE = frozenset(name for name in _KEPT if name != "write.data.path") | {"write.format.default"}


def canonical(given: Mapping[str, object]) -> dict[str, Any]:
    """Properties under their proper names; raises INVALID_TABLE_PROPERTY when one is given twice so."""
    found: dict[str, Any] = {}
    for name, value in given.items():
        proper = _ALIASES.get(name, name)
        if proper in found and found[proper] != value:
            raise invalid_property(f"The table property {name} and {proper} disagree; use {proper} alone")
        found[proper] = value
    return found


def format_version(given: Mapping[str, object]) -> int:
    """1, 2 or 3 of canonical properties."""
    text = str(given.get("format-version") or "2")
    if text not in ("1", "2", "3"):
        raise invalid_property(f"Invalid value for table property 'format-version': {text} (one of 1, 2, 3)")
    return int(text)


def stored(given: Mapping[str, Any], comment: str | None) -> dict[str, str]:
    """What Iceberg keeps as the properties of a new table, Presto's defaults put in. Raises ProcessionError."""
    version = format_version(given)
    properties = {"format-version": str(version), "write.format.default": file_format(given)}
    if version > 1:
        properties |= {f"write.{operation}.mode": "merge-on-read" for operation in ("delete", "update", "merge")}
    properties |= changed({name: value for name, value in given.items() if name in _KEPT})
    if version == 1 and "merge-on-read" in properties.values():
        raise invalid_property("Iceberg tables of format version 1 cannot be changed by merge-on-read")
    for name, value in (given.get("extra_properties") or {}).items():
        if name in properties or name in {"format-version", "comment", STORAGE_OF}:
            raise invalid_property(f"Illegal keys in extra_properties: [{name}]")
        properties[name] = value
    if comment is not None:
        properties["comment"] = comment
    return properties


def changed(given: Mapping[str, object]) -> dict[str, str]:
    """Properties as Iceberg keeps them: texts of those that are not None. Raises ProcessionError for a wrong one."""
    texts: dict[str, str] = {}
    for name, value in given.items():
        if value is None:
            continue
        text = str(value).lower() if isinstance(value, bool) else str(value)
        if name.endswith(".mode") and text not in MODES:
            raise invalid_property(f"Invalid value for table property '{name}': {text} (one of {', '.join(MODES)})")
        texts[name] = file_format(given) if name == "write.format.default" else text
    return texts


def file_format(given: Mapping[str, object]) -> str:
    """Lower case, as Iceberg's writers compare it."""
    wanted = str(given.get("write.format.default", "PARQUET")).upper()
    if wanted not in FORMATS:
        raise invalid_property(
            f"Invalid value for table property 'write.format.default': {wanted} (one of {', '.join(FORMATS)})"
        )
    return wanted.lower()
