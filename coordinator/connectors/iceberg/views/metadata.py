"""View metadata as the Iceberg view specification has it: versions, schemas and the log of both."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from itertools import count

from pyiceberg.schema import Schema
from pyiceberg.types import NestedField
from pyiceberg.view.metadata import ViewHistoryEntry, ViewVersion
from pyiceberg.view.metadata import ViewMetadata as IcebergView

from coordinator.connectors.iceberg.materialized.stored import is_ours, stored
from coordinator.connectors.iceberg.types import iceberg_type
from coordinator.connectors.iceberg.views.representations import COMMENT, OWNER, SECURITY, representations
from shared.spi.connector import ViewMetadata

PROPERTIES = (OWNER, SECURITY, COMMENT)
_KEPT_VERSIONS = 10
"""``version.history.num-entries`` of Iceberg."""


def view_schema(view: ViewMetadata, schema_id: int = 0) -> Schema:
    """The columns; raises ProcessionError NOT_SUPPORTED for types that Iceberg does not have."""
    numbers = count(len(view.columns) + 1)
    fields = [
        NestedField(position, c.name, iceberg_type(c.type, lambda: next(numbers)), required=False, doc=c.comment)
        for position, c in enumerate(view.columns, start=1)
    ]
    return Schema(*fields, schema_id=schema_id)


def view_properties(view: ViewMetadata) -> dict[str, str]:
    """What the specification has no place for."""
    said = {OWNER: view.owner, SECURITY: view.security, COMMENT: view.comment}
    return {name: value for name, value in said.items() if value is not None} | stored(view)


def other_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """Those that are not said of the view here: other programs'."""
    return {name: value for name, value in properties.items() if name not in PROPERTIES and not is_ours(name)}


def with_properties(old: IcebergView, view: ViewMetadata) -> IcebergView:
    """The metadata with the same versions and what is now said of the view."""
    return old.model_copy(update={"properties": other_properties(old.properties) | view_properties(view)})


def view_version(view: ViewMetadata, version_id: int, schema_id: int) -> ViewVersion:
    """One version of a view, made now."""
    said = {
        "version-id": version_id,
        "schema-id": schema_id,
        "timestamp-ms": int(time.time() * 1000),
        "summary": {"engine-name": "procession", "operation": "create" if version_id == 1 else "replace"},
        "representations": representations(view),
        "default-catalog": view.default_catalog,
        "default-namespace": tuple((view.default_schema or view.schema).split(".")),
    }
    return ViewVersion.model_validate(said)


def new_view(view: ViewMetadata, location: str) -> IcebergView:
    """The metadata of a view's first version."""
    version = view_version(view, 1, 0)
    said = {
        "view-uuid": str(uuid.uuid4()),
        "format-version": 1,
        "location": location,
        "schemas": [view_schema(view)],
        "current-version-id": 1,
        "versions": [version],
        "version-log": [_logged(version)],
        "properties": view_properties(view),
    }
    return IcebergView.model_validate(said)


def _logged(version: ViewVersion) -> ViewHistoryEntry:
    return ViewHistoryEntry.model_validate({"timestamp-ms": version.timestamp_ms, "version-id": version.version_id})


def replaced(old: IcebergView, view: ViewMetadata) -> IcebergView:
    """The metadata with one version more; the oldest of many are forgotten."""
    schema_id = max(s.schema_id for s in old.schemas) + 1
    version = view_version(view, max(v.version_id for v in old.versions) + 1, schema_id)
    versions = [*old.versions, version][-_KEPT_VERSIONS:]
    known = {v.version_id for v in versions}
    used = {v.schema_id for v in versions}
    return old.model_copy(
        update={
            "schemas": [s for s in [*old.schemas, view_schema(view, schema_id)] if s.schema_id in used],
            "current_version_id": version.version_id,
            "versions": versions,
            "version_log": [entry for entry in [*old.version_log, _logged(version)] if entry.version_id in known],
            "properties": other_properties(old.properties) | view_properties(view),
        }
    )
