"""What a table needs, read by PyIceberg alone: the oracle for procedures that delete files."""

from __future__ import annotations

from typing import Any


def plain(location: str) -> str:
    return "/" + location[5:].lstrip("/") if location.startswith("file:") else location


def needed(table: Any) -> set[str]:
    """Every file that a snapshot of the table, or its metadata, names."""
    metadata = table.metadata
    found = {table.metadata_location, *(entry.metadata_file for entry in metadata.metadata_log)}
    found |= {file.statistics_path for file in (*metadata.statistics, *metadata.partition_statistics)}
    for snapshot in metadata.snapshots:
        found |= of_snapshot(table, snapshot)
    return {plain(location) for location in found}


def of_snapshot(table: Any, snapshot: Any) -> set[str]:
    found = {snapshot.manifest_list}
    for manifest in snapshot.manifests(table.io):
        found.add(manifest.manifest_path)
        found |= {entry.data_file.file_path for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=True)}
    return found
