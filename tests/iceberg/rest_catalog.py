"""A small Iceberg REST catalog over another PyIceberg catalog, with the habits of the servers that people have."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlparse

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.rest import DEFAULT_ENDPOINTS, Capability, CreateTableRequest
from pyiceberg.catalog.rest import VIEW_ENDPOINTS as PYICEBERG_VIEW_ENDPOINTS
from pyiceberg.exceptions import (
    CommitFailedException,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NoSuchNamespaceError,
    NoSuchTableError,
    NoSuchViewError,
    TableAlreadyExistsError,
    ViewAlreadyExistsError,
)
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.table import CommitTableRequest, Table
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER

from tests.iceberg.rest_habits import Habits
from tests.iceberg.rest_views import RestViewServer

ENDPOINTS = [str(endpoint) for endpoint in DEFAULT_ENDPOINTS]
VIEW_ENDPOINTS = [str(endpoint) for endpoint in PYICEBERG_VIEW_ENDPOINTS]
PLANNING = (
    Capability.V1_SUBMIT_TABLE_SCAN_PLAN,
    Capability.V1_TABLE_SCAN_PLAN_TASKS,
)
_FAILURES: tuple[tuple[type[Exception], int, str], ...] = (
    (NoSuchTableError, 404, "NoSuchTableException"),
    (NoSuchNamespaceError, 404, "NoSuchNamespaceException"),
    (NoSuchViewError, 404, "NoSuchViewException"),
    (ViewAlreadyExistsError, 409, "AlreadyExistsException"),
    (TableAlreadyExistsError, 409, "AlreadyExistsException"),
    (NamespaceAlreadyExistsError, 409, "AlreadyExistsException"),
    (NamespaceNotEmptyError, 409, "NamespaceNotEmptyException"),
    (CommitFailedException, 409, "CommitFailedException"),
)


@contextmanager
def serving(catalog: Catalog, habits: Habits | None = None) -> Iterator[str]:
    """The base address while the block runs."""
    attributes = {"catalog": catalog, "views": RestViewServer(), "habits": habits or Habits()}
    handler = type("Handler", (RestHandler,), attributes)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()  # it ends as soon
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()  # a thread that serves a closed socket takes a core


class RefusedError(Exception):
    """An answer with this code; none at all for 0."""

    def __init__(self, code: int) -> None:
        super().__init__(f"the server answers {code}")
        self.code = code


class RestHandler(BaseHTTPRequestHandler):
    """What tables, namespaces and views need of the protocol."""

    protocol_version = "HTTP/1.1"
    catalog: Catalog
    views: RestViewServer
    habits: Habits

    def do_GET(self) -> None:
        self._answer(self._read)

    def do_HEAD(self) -> None:
        self._answer(self._read)

    def do_POST(self) -> None:
        self._answer(self._posted)

    def do_DELETE(self) -> None:
        self._answer(self._dropped)

    def log_message(self, *_: Any) -> None:
        """Quiet."""

    def _answer(self, make: Any) -> None:
        parsed = urlparse(self.path)
        self.query = parse_qs(parsed.query)
        path = [unquote(part) for part in parsed.path.strip("/").split("/")]
        if self.habits.prefix and path[1:2] == [self.habits.prefix]:
            path.pop(1)
        self.habits.authorizations.append((parsed.path, self.headers.get("Authorization")))
        self.habits.traces.append((parsed.path, self.headers.get("traceparent")))
        self.etag: str | None = None
        try:
            if path[1:] != ["oauth", "tokens"] and not self.habits.admits(self.headers.get("Authorization")):
                self.rfile.read(int(self.headers["Content-Length"] or 0))
                raise RefusedError(401)
            code, body = 200, make(path)
        except RefusedError as error:
            code, body = error.code, _error(error.code, "ServiceFailureException", str(error))
        except tuple(kind for kind, _, _ in _FAILURES) as error:
            kind = next(entry for entry in _FAILURES if isinstance(error, entry[0]))
            code, body = kind[1], _error(kind[1], kind[2], str(error))
        if self.etag is not None and self.headers.get("If-None-Match") == self.etag:
            code = 304
        if body is None and code == 200:
            code = 204
        self.habits.asked.append(f"{self.command} {parsed.path} {code}")
        if code == 0:
            self.close_connection = True
            return
        encoded = b"" if code in (204, 304) else json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(encoded)))
        if self.etag is not None:
            self.send_header("ETag", self.etag)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(encoded)

    def _read(self, path: list[str]) -> Any:
        match path:
            case [_, "config"]:
                return self._config()
            case ["polaris", "v1", *prefix, "applicable-policies"] if self.habits.policies is not None:
                assert prefix == [self.habits.prefix] * bool(self.habits.prefix)
                found = self.habits.policies(
                    self.query["namespace"][0].replace("\x1f", "."), *self.query["target-name"]
                )
                return self._page("applicable-policies", found)
            case [_, "namespaces"]:
                parent = tuple(self._parts(self.query["parent"][0])) if "parent" in self.query else ()
                return self._page("namespaces", [list(name) for name in self.catalog.list_namespaces(parent)])
            case [_, "namespaces", schema]:
                name = self._parts(schema)
                return {"namespace": list(name), "properties": dict(self.catalog.load_namespace_properties(name))}
            case [_, "namespaces", schema, "tables"]:
                tables = self.catalog.list_tables(self._parts(schema))
                return self._page("identifiers", [{"namespace": list(t[:-1]), "name": t[-1]} for t in tables])
            case [_, "namespaces", schema, "tables", name]:
                return self._described(self.catalog.load_table((*self._parts(schema), name)))
            case [_, "namespaces", schema, "tables", name, "credentials"]:
                return self._credentials((*self._parts(schema), name))
            case [_, "namespaces", schema, "tables", name, "plan", _]:
                return self._planned((*self._parts(schema), name), path[5:], {})
            case [_, "namespaces", schema, "views"]:
                return self._page("identifiers", [{"namespace": [schema], "name": n} for n in self.views.names(schema)])
            case [_, "namespaces", schema, "views", name]:
                return self.views.load(schema, name)
        raise NoSuchTableError("/".join(path))

    def _config(self) -> dict[str, Any]:
        renewal = [str(Capability.V1_LOAD_CREDENTIALS)] if self.habits.has_credentials_path else []
        policies = [] if self.habits.policies is None else ["GET /polaris/v1/{prefix}/applicable-policies"]
        plans = [] if self.habits.plans is None else [str(each) for each in PLANNING]
        told: dict[str, Any] = {
            "defaults": self.habits.defaults,
            "overrides": dict(self.habits.overrides),
            "endpoints": [*ENDPOINTS, *VIEW_ENDPOINTS, *renewal, *policies, *plans],
        }
        if self.habits.prefix:
            told["overrides"]["prefix"] = self.habits.prefix
        if self.habits.separator != "%1F":
            told["overrides"]["namespace-separator"] = self.habits.separator
        return told | ({"idempotency-key-lifetime": "PT30M"} if self.habits.idempotency else {})

    def _parts(self, schema: str) -> tuple[str, ...]:
        return tuple(schema.split(unquote(self.habits.separator)))

    def _page(self, name: str, items: list[Any]) -> dict[str, Any]:
        """Some of the items; as some servers do, also when no page was asked for."""
        size = self.habits.page_size
        if size is None:
            return {name: items}
        start = int(self.query.get("pageToken", ["0"])[0] or 0)
        more = {"next-page-token": str(start + size)} if start + size < len(items) else {}
        return {name: items[start : start + size], **more}

    def _credentials(self, identifier: tuple[str, ...]) -> dict[str, Any]:
        if not self.habits.has_credentials_path:
            raise RefusedError(404)
        if self.habits.renewal_failures:
            raise RefusedError(self.habits.renewal_failures.pop(0))
        if self.habits.empty_renewals:
            self.habits.empty_renewals -= 1
            return {"storage-credentials": []}
        return {"storage-credentials": self.habits.vend(self.catalog.load_table(identifier))[1]}

    def _posted(self, path: list[str]) -> Any:
        raw = self.rfile.read(int(self.headers["Content-Length"] or 0))
        if path[1:] == ["oauth", "tokens"] and self.habits.token is not None:
            issued = self.habits.token(parse_qs(raw.decode()))
            return {"access_token": issued, "token_type": "bearer", "expires_in": 3600,
                    "issued_token_type": "urn:ietf:params:oauth:token-type:access_token"}  # fmt: skip
        body = json.loads(raw or b"{}")
        if path[1:] == ["aws", "s3", "sign"] and self.habits.sign is not None:
            return self.habits.sign(body)
        if "views" in path:
            return self.views.post(path, body)
        match path:
            case [_, "namespaces"]:
                self.catalog.create_namespace(tuple(body["namespace"]), body.get("properties") or {})
                return body
            case [_, "namespaces", schema, "properties"]:
                changes = {"removals": set(body.get("removals") or ()), "updates": body.get("updates") or {}}
                done = self.catalog.update_namespace_properties(self._parts(schema), **changes)
                return {"removed": done.removed, "updated": done.updated, "missing": done.missing}
            case [_, "namespaces", schema, "tables"]:
                return self._created(self._parts(schema), body)
            case [_, "namespaces", schema, "register"]:
                name = (*self._parts(schema), body["name"])
                return self._described(self.catalog.register_table(name, body["metadata-location"]))
            case [_, "tables", "rename"]:
                source, target = ((*body[k]["namespace"], body[k]["name"]) for k in ("source", "destination"))
                self.catalog.rename_table(source, target)
                return None
            case [_, "namespaces", schema, "tables", name, "metrics"]:
                return None
            case [_, "namespaces", schema, "tables", name, "plan" | "tasks"]:
                return self._planned((*self._parts(schema), name), path[5:], body)
            case [_, "namespaces", schema, "tables", name]:
                return self._committed((*self._parts(schema), name), body)
        raise NoSuchTableError("/".join(path))

    def _created(self, schema: tuple[str, ...], body: dict[str, Any]) -> dict[str, Any]:
        asked = CreateTableRequest.model_validate(
            {"location": None, "partition-spec": None, "write-order": None, **body}
        )
        make = self.catalog._create_staged_table if asked.stage_create else self.catalog.create_table  # type: ignore[attr-defined]
        made = make(
            (*schema, asked.name), asked.table_schema, asked.location,
            asked.partition_spec or UNPARTITIONED_PARTITION_SPEC, asked.write_order or UNSORTED_SORT_ORDER,
            asked.properties,
        )  # fmt: skip
        return self._described(made)

    def _committed(self, identifier: tuple[str, ...], body: dict[str, Any]) -> Any:
        key = self.headers.get("Idempotency-Key")
        self.habits.keys.append(key)
        if key is not None and key in self.habits.replays:
            return self.habits.replays[key][1]
        failure = self.habits.failures.pop(0) if self.habits.failures else None
        if failure is not None and not self.habits.lands:
            raise RefusedError(failure)
        told = {"namespace": list(identifier[:-1]), "name": identifier[-1]}
        request = CommitTableRequest.model_validate(body | {"identifier": told})
        table = self.catalog.load_table(identifier)
        self.catalog.commit_table(table, request.requirements, request.updates)
        answer = self._described(self.catalog.load_table(identifier))
        if key is not None:
            self.habits.replays[key] = 200, answer
        if failure is not None:
            raise RefusedError(failure)
        return answer

    def _dropped(self, path: list[str]) -> Any:
        match path:
            case [_, "namespaces", schema]:
                self.catalog.drop_namespace(self._parts(schema))
            case [_, "namespaces", schema, "tables", name]:
                purge = self.query.get("purgeRequested", ["false"])[0].lower() == "true"
                drop = self.catalog.purge_table if purge else self.catalog.drop_table
                drop((*self._parts(schema), name))
            case [_, "namespaces", schema, "views", name]:
                return self.views.drop(schema, name)
            case [_, "namespaces", schema, "tables", name, "plan", _]:
                return self._planned((*self._parts(schema), name), path[5:], {})
        return None

    def _planned(self, identifier: tuple[str, ...], path: list[str], body: dict[str, Any]) -> Any:
        if self.habits.plans is None:
            raise RefusedError(406)
        return self.habits.plans(self.catalog.load_table(identifier), self.command, "/".join(path), body)

    def _described(self, table: Table) -> dict[str, Any]:
        config, credentials = self.habits.vend(table)
        answer = _described(table)
        if self.habits.plans is not None:
            answer["config"]["scan-planning-mode"] = "server"
        if self.habits.etags:
            self.etag = f'"{hashlib.sha256(table.metadata_location.encode()).hexdigest()[:16]}"'
        answer["config"] |= config
        return answer | ({"storage-credentials": credentials} if credentials else {})


def _described(table: Table) -> dict[str, Any]:
    if table.format_version > 2:  # which PyIceberg does not write
        metadata = json.loads(table.io.new_input(table.metadata_location).open().read())
    else:
        metadata = json.loads(table.metadata.model_dump_json())
    return {"metadata-location": table.metadata_location, "metadata": metadata, "config": {}}


def _error(code: int, kind: str, message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "code": code}}
