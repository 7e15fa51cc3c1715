"""A materialized view as properties of an Iceberg view, named as Presto's Iceberg connector names them.

Source: Presto's ``IcebergAbstractMetadata`` (createMaterializedView, getMaterializedView). What Presto does not keep
has names of our own: what the query meant at the last refresh, and when its tables were looked at.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast

from shared.errors import ErrorCode, ProcessionError
from shared.spi.connector import ViewMetadata
from shared.spi.materialized_views import NO_SNAPSHOT, BaseTable, Materialization, RefreshType, StaleReads
from shared.units import format_duration, parse_duration

_PREFIX, _OWN = "presto.materialized_view.", "procession.materialized_view."
_VERSION, _SQL = f"{_PREFIX}format_version", f"{_PREFIX}original_sql"
_STORAGE_SCHEMA, _STORAGE_TABLE = f"{_PREFIX}storage_schema", f"{_PREFIX}storage_table_name"
_BASE_TABLES, _COLUMN_MAPPINGS = f"{_PREFIX}base_tables", f"{_PREFIX}column_mappings"
_BASE_SNAPSHOT = f"{_PREFIX}base_snapshot."
_OWNER, _SECURITY = f"{_PREFIX}owner", f"{_PREFIX}security_mode"
_STALE_READS, _WINDOW = f"{_PREFIX}stale_read_behavior", f"{_PREFIX}staleness_window"
_REFRESH_TYPE = f"{_PREFIX}refresh_type"
_REFRESHED = f"{_PREFIX}last_refresh_snapshot_id"
_MEANING, _READ, _AUTOMATIC = f"{_OWN}meaning", f"{_OWN}read_ms", f"{_OWN}automatic_refresh"
_KNOWN_VERSION = "1"
STORAGE_PREFIX = "__mv_storage__"
"""With which Presto begins the usual name of a storage table."""


def is_storage_name(name: str) -> bool:
    """Whether a name is kept for storage tables."""
    return name.lower().startswith(STORAGE_PREFIX)


def is_ours(name: str) -> bool:
    """Whether a property of a view is written here."""
    return name.startswith((_PREFIX, _OWN))


def is_materialized(properties: Mapping[str, str]) -> bool:
    """Whether an Iceberg view is a materialized one."""
    return _SQL in properties


def definition_of(properties: Mapping[str, str]) -> str:
    return properties[_SQL]


def owner_of(properties: Mapping[str, str]) -> str | None:
    return properties.get(_OWNER)


def security_of(properties: Mapping[str, str]) -> str:
    return properties.get(_SECURITY, "DEFINER")


def stored(view: ViewMetadata) -> dict[str, str]:
    """The properties that tell of ``view``; none for a plain one."""
    kept = view.materialized
    if kept is None:
        return {}
    said: dict[str, str | None] = {
        _VERSION: _KNOWN_VERSION,
        _SQL: view.definition,
        _STORAGE_SCHEMA: kept.storage_schema,
        _STORAGE_TABLE: kept.storage_table,
        _BASE_TABLES: json.dumps([{"schema": b.schema, "table": b.table} for b in kept.base_tables]),
        _COLUMN_MAPPINGS: kept.others.get(_COLUMN_MAPPINGS, "[]"),
        _OWNER: view.owner,
        _SECURITY: view.security,
        _STALE_READS: kept.stale_reads,
        _WINDOW: None if kept.staleness_window is None else format_duration(kept.staleness_window),
        _REFRESH_TYPE: kept.refresh_type,
        _REFRESHED: None if kept.refreshed is None else str(kept.refreshed),
        _MEANING: None if kept.meaning is None else f"{kept.refreshed} {kept.meaning}",
        _READ: None if kept.read_ms is None else f"{kept.refreshed} {kept.read_ms}",
        _AUTOMATIC: "true" if kept.automatic_refresh else None,
        **{_snapshot_key(b): str(b.snapshot_id) for b in kept.base_tables},
    }
    return {**kept.others, **{name: value for name, value in said.items() if value is not None}}


def _snapshot_key(base: BaseTable) -> str:
    return f"{_BASE_SNAPSHOT}{base.schema}.{base.table}"


def materialization(properties: Mapping[str, str]) -> Materialization:
    """What the properties tell. Raises ProcessionError INVALID_VIEW for what no program here understands."""
    if properties.get(_VERSION) != _KNOWN_VERSION:
        message = f"Materialized view format version {properties.get(_VERSION)} is not known here"
        raise ProcessionError(ErrorCode.INVALID_VIEW, message)
    try:
        refreshed = None if _REFRESHED not in properties else int(properties[_REFRESHED])
        named = json.loads(properties[_BASE_TABLES] or "[]")
        bases = tuple(
            BaseTable(b.schema, b.table, int(properties.get(_snapshot_key(b), NO_SNAPSHOT)))
            for b in (BaseTable(str(each["schema"]), str(each["table"])) for each in named)
        )
        read = _of_refresh(properties.get(_READ), refreshed)
        return Materialization(
            properties[_STORAGE_SCHEMA],
            properties[_STORAGE_TABLE],
            bases,
            refreshed,
            _of_refresh(properties.get(_MEANING), refreshed),
            None if read is None else int(read),
            cast(StaleReads | None, _one_of(properties, _STALE_READS, "USE_VIEW_QUERY", "FAIL")),
            None if _WINDOW not in properties else parse_duration(properties[_WINDOW]),
            cast(RefreshType | None, _one_of(properties, _REFRESH_TYPE, "INCREMENTAL", "FULL")),
            properties.get(_AUTOMATIC) == "true",
            {name: value for name, value in properties.items() if is_ours(name) and not _is_written(name, value)},
        )
    except (KeyError, TypeError, ValueError) as error:
        message = f"The properties of the materialized view cannot be read: {type(error).__name__}: {error}"
        raise ProcessionError(ErrorCode.INVALID_VIEW, message) from error


def _of_refresh(text: str | None, refreshed: int | None) -> str | None:
    """What was written beside the snapshot of a refresh; None where another program has refreshed since."""
    snapshot, _, value = (text or "").partition(" ")
    return value if value and snapshot == str(refreshed) else None


def _one_of(properties: Mapping[str, str], name: str, *known: str) -> str | None:
    value = properties.get(name)
    return value if value in known else None


def _is_written(name: str, value: str) -> bool:
    return name in _WRITTEN or name.startswith(_BASE_SNAPSHOT) or (name, value) == (_COLUMN_MAPPINGS, "[]")


_WRITTEN = frozenset(
    {
        _VERSION,
        _SQL,
        _STORAGE_SCHEMA,
        _STORAGE_TABLE,
        _BASE_TABLES,
        _OWNER,
        _SECURITY,
        _STALE_READS,
        _WINDOW,
        _REFRESH_TYPE,
        _REFRESHED,
        _MEANING,
        _READ,
        _AUTOMATIC,
    }
)
