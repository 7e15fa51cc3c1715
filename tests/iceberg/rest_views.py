"""The views of the small REST catalog: what the protocol's createView, replaceView and renameView ask, in memory."""

from __future__ import annotations

import uuid
from typing import Any

from pyiceberg.catalog.rest import CreateViewRequest
from pyiceberg.exceptions import CommitFailedException, NoSuchViewError, ViewAlreadyExistsError
from pyiceberg.view.metadata import ViewMetadata, ViewVersion


class RestViewServer:
    """View metadata by schema and name, checked by PyIceberg's models of requests and metadata."""

    def __init__(self) -> None:
        self._views: dict[tuple[str, str], dict[str, Any]] = {}

    def names(self, schema: str) -> list[str]:
        return [name for space, name in self._views if space == schema]

    def load(self, schema: str, name: str) -> dict[str, Any]:
        if (schema, name) not in self._views:
            raise NoSuchViewError(f"View does not exist: {schema}.{name}")
        metadata = self._views[schema, name]
        ViewMetadata.model_validate(metadata)
        return {"metadata-location": f"mem:/{schema}/{name}.json", "metadata": metadata, "config": {}}

    def drop(self, schema: str, name: str) -> dict[str, Any]:
        self.load(schema, name)
        del self._views[schema, name]
        return {}

    def post(self, path: list[str], body: dict[str, Any]) -> dict[str, Any]:
        match path:
            case [_, "views", "rename"]:
                return self._rename(body["source"], body["destination"])
            case [_, "namespaces", schema, "views"]:
                return self._create(schema, body)
            case [_, "namespaces", schema, "views", name]:
                return self._replace(schema, name, body)
        raise NoSuchViewError("/".join(path))

    def _rename(self, source: dict[str, Any], destination: dict[str, Any]) -> dict[str, Any]:
        old = (".".join(source["namespace"]), source["name"])
        new = (".".join(destination["namespace"]), destination["name"])
        self.load(*old)
        if new in self._views:
            raise ViewAlreadyExistsError(f"View already exists: {new}")
        self._views[new] = self._views.pop(old)
        return {}

    def _create(self, schema: str, body: dict[str, Any]) -> dict[str, Any]:
        name = CreateViewRequest.model_validate({"location": None, **body}).name
        if (schema, name) in self._views:
            raise ViewAlreadyExistsError(f"View already exists: {schema}.{name}")
        version = body["view-version"] | {"schema-id": 0, "version-id": 1}
        self._views[schema, name] = {
            "view-uuid": str(uuid.uuid4()),
            "format-version": 1,
            "location": f"mem:/{schema}/{name}",
            "schemas": [body["schema"] | {"schema-id": 0}],
            "current-version-id": 1,
            "versions": [version],
            "version-log": [{"timestamp-ms": version["timestamp-ms"], "version-id": 1}],
            "properties": body.get("properties", {}),
        }
        return self.load(schema, name)

    def _replace(self, schema: str, name: str, body: dict[str, Any]) -> dict[str, Any]:
        old = self.load(schema, name)["metadata"]
        for requirement in body["requirements"]:
            if requirement != {"type": "assert-view-uuid", "uuid": old["view-uuid"]}:
                raise CommitFailedException("Requirement failed: view UUID does not match")
        new = dict(old)
        for update in body["updates"]:
            match update["action"]:
                case "add-schema":
                    new["schemas"] = [*new["schemas"], update["schema"]]
                case "add-view-version":
                    version = update["view-version"] | {"schema-id": new["schemas"][-1]["schema-id"]}
                    ViewVersion.model_validate(version)
                    new["versions"] = [*new["versions"], version]
                case "set-current-view-version":
                    assert update["view-version-id"] == -1
                    new["current-version-id"] = new["versions"][-1]["version-id"]
                case "set-properties":
                    new["properties"] = new["properties"] | update["updates"]
                case "remove-properties":
                    new["properties"] = {k: v for k, v in new["properties"].items() if k not in update["removals"]}
                case action:
                    raise AssertionError(action)
        self._views[schema, name] = new
        return self.load(schema, name)
