"""Views of an Iceberg REST catalog. PyIceberg creates, loads, lists and drops; replacing and renaming are said here.

Source: the REST catalog's OpenAPI, ``replaceView`` and ``renameView``.
"""

from __future__ import annotations

from typing import Any

from pyiceberg.catalog.rest import Capability, RestCatalog
from pyiceberg.exceptions import (
    CommitFailedException,
    NoSuchNamespaceError,
    NoSuchViewError,
    ViewAlreadyExistsError,
)
from pyiceberg.schema import Schema
from pyiceberg.view.metadata import ViewMetadata as IcebergView
from requests import Response

from coordinator.connectors.iceberg.tables.variant_columns import holds_variant
from coordinator.connectors.iceberg.views.metadata import (
    other_properties,
    view_properties,
    view_schema,
    view_version,
)
from shared.errors import ErrorCode, ProcessionError
from shared.spi.connector import ViewMetadata

_NEWEST = -1
"""The id of what an earlier update of the same request added."""


class RestViews:
    """Views of one REST catalog that says it has the endpoints for them."""

    def __init__(self, catalog: RestCatalog) -> None:
        self._catalog = catalog

    def names(self, schema: str) -> list[str]:
        try:
            found = self._catalog.list_views(tuple(schema.split(".")))
        except NoSuchNamespaceError:
            return []
        return sorted(identifier[-1] for identifier in found)

    def load(self, schema: str, name: str) -> IcebergView | None:
        try:
            found: IcebergView = self._catalog.load_view((*schema.split("."), name)).metadata
            return found
        except NoSuchViewError:
            return None

    def create(self, view: ViewMetadata) -> None:
        identifier = (*view.schema.split("."), view.name)
        self._catalog.create_view(identifier, _schema(view), view_version(view, 1, 0), properties=view_properties(view))

    def replace(self, view: ViewMetadata) -> None:
        old = self.load(view.schema, view.name)
        if old is None:
            raise NoSuchViewError(f"View {view.schema}.{view.name} does not exist")
        version = view_version(view, max(v.version_id for v in old.versions) + 1, _NEWEST)
        schema = _schema(view, max(s.schema_id for s in old.schemas) + 1)
        updates: list[dict[str, object]] = [
            {
                "action": "add-schema",
                "schema": schema.model_dump(mode="json", by_alias=True),
                "last-column-id": schema.highest_field_id,  # Nessie 0.99 asks for it
            },
            {"action": "add-view-version", "view-version": version.model_dump(mode="json", by_alias=True)},
            {"action": "set-current-view-version", "view-version-id": _NEWEST},
        ]
        self._commit(view, old, updates)

    def set_properties(self, view: ViewMetadata, was: IcebergView) -> None:
        old = self.load(view.schema, view.name)
        if old is None:
            raise NoSuchViewError(f"View {view.schema}.{view.name} does not exist")
        if _said(old) != _said(was):  # the specification has no requirement that would say so to the server
            raise CommitFailedException(f"view {view.schema}.{view.name} was changed by someone else meanwhile")
        self._commit(view, old, [])

    def _commit(self, view: ViewMetadata, old: IcebergView, updates: list[dict[str, object]]) -> None:
        said, others = view_properties(view), other_properties(old.properties)
        updates.append({"action": "set-properties", "updates": said})
        gone = [name for name in old.properties if name not in said and name not in others]
        if gone:
            updates.append({"action": "remove-properties", "removals": gone})
        path = self._catalog._split_identifier_for_path((*view.schema.split("."), view.name))
        body: Any = {
            "identifier": {"namespace": view.schema.split("."), "name": view.name},
            "requirements": [{"type": "assert-view-uuid", "uuid": old.view_uuid}],
            "updates": updates,
        }
        url = self._catalog.url("namespaces/{namespace}/views/{table}", prefixed=True, **path)
        answer = self._catalog._session.post(url, json=body)
        if answer.status_code == 409:
            raise CommitFailedException(f"view {view.schema}.{view.name} was changed by someone else meanwhile")
        _raise(answer)

    def drop(self, schema: str, name: str) -> None:
        self._catalog.drop_view((*schema.split("."), name))

    def rename(self, schema: str, name: str, new_schema: str, new_name: str) -> None:
        body = {
            "source": {"namespace": schema.split("."), "name": name},
            "destination": {"namespace": new_schema.split("."), "name": new_name},
        }
        answer = self._catalog._session.post(self._catalog.url("views/rename", prefixed=True), json=body)
        if answer.status_code == 409:
            raise ViewAlreadyExistsError(f"{new_schema}.{new_name} already exists")
        _raise(answer)


def _schema(view: ViewMetadata, schema_id: int = 0) -> Schema:
    """Raises NOT_SUPPORTED for columns of type json: PyIceberg would not read the server's answer with their type."""
    found = view_schema(view, schema_id)
    if json := next((field.name for field in found.fields if holds_variant(field.field_type)), None):
        message = (
            f"Column {json} of view {view.schema}.{view.name} is of type json, which REST catalogs do not take here"
        )
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, message)
    return found


def _said(view: IcebergView) -> object:
    """What statements made of a view; Nessie keeps the number of its own last commit, of anything, among properties."""
    others = other_properties(view.properties)
    own = {name: value for name, value in view.properties.items() if name not in others}
    return view.view_uuid, view.current_version_id, len(view.versions), own


def _raise(answer: Response) -> None:
    if answer.ok:
        return
    error: Any = answer.json().get("error", {}) if "json" in answer.headers.get("Content-Type", "") else {}
    if answer.status_code == 404:
        kind = NoSuchNamespaceError if "Namespace" in str(error.get("type")) else NoSuchViewError
        raise kind(str(error.get("message")))
    answer.raise_for_status()


def has_views(catalog: RestCatalog) -> bool:
    """Whether the server says that it has views."""
    return Capability.V1_LIST_VIEWS in catalog._supported_endpoints
