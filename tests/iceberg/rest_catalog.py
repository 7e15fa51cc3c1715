"""A small Iceberg REST catalog over another PyIceberg catalog: what a table read and a commit need of the protocol."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlparse

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.rest import DEFAULT_ENDPOINTS
from pyiceberg.catalog.rest import VIEW_ENDPOINTS as PYICEBERG_VIEW_ENDPOINTS
from pyiceberg.exceptions import (
    CommitFailedException,
    NoSuchNamespaceError,
    NoSuchTableError,
    NoSuchViewError,
    ViewAlreadyExistsError,
)
from pyiceberg.table import CommitTableRequest, Table

from tests.iceberg.rest_views import RestViewServer

ENDPOINTS = [str(endpoint) for endpoint in DEFAULT_ENDPOINTS]
VIEW_ENDPOINTS = [str(endpoint) for endpoint in PYICEBERG_VIEW_ENDPOINTS]


@contextmanager
def serving(catalog: Catalog) -> Iterator[str]:
    """The base address while the block runs."""
    handler = type("Handler", (RestHandler,), {"catalog": catalog, "views": RestViewServer()})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


class RestHandler(BaseHTTPRequestHandler):
    """``/v1/config``, ``/v1/namespaces[/{ns}[/tables[/{table}]]]``; POST on a table commits."""

    protocol_version = "HTTP/1.1"
    catalog: Catalog
    views: RestViewServer

    def do_GET(self) -> None:
        self._answer(self._read)

    def do_HEAD(self) -> None:
        self.send_response(204)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self) -> None:
        self._answer(self._commit)

    def do_DELETE(self) -> None:
        self._answer(lambda path: self.views.drop(path[2], path[4]))

    def log_message(self, *_: Any) -> None:
        """Quiet."""

    def _answer(self, make: Any) -> None:
        path = [unquote(part) for part in urlparse(self.path).path.strip("/").split("/")]
        try:
            code, body = 200, make(path)
        except (NoSuchTableError, NoSuchNamespaceError) as error:
            kind = "NoSuchTableException" if isinstance(error, NoSuchTableError) else "NoSuchNamespaceException"
            code, body = 404, {"error": {"message": str(error), "type": kind, "code": 404}}
        except NoSuchViewError as error:
            code, body = 404, {"error": {"message": str(error), "type": "NoSuchViewException", "code": 404}}
        except ViewAlreadyExistsError as error:
            code, body = 409, {"error": {"message": str(error), "type": "AlreadyExistsException", "code": 409}}
        except CommitFailedException as error:
            code, body = 409, {"error": {"message": str(error), "type": "CommitFailedException", "code": 409}}
        encoded = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(encoded)))
        self.end_headers()
        self.wfile.write(encoded)

    def _read(self, path: list[str]) -> dict[str, Any]:
        match path:
            case [_, "config"]:
                return {"defaults": {}, "overrides": {}, "endpoints": [*ENDPOINTS, *VIEW_ENDPOINTS]}
            case [_, "namespaces"]:
                return {"namespaces": [list(name) for name in self.catalog.list_namespaces()]}
            case [_, "namespaces", schema]:
                return {"namespace": [schema], "properties": dict(self.catalog.load_namespace_properties(schema))}
            case [_, "namespaces", schema, "tables"]:
                tables = self.catalog.list_tables(schema)
                return {"identifiers": [{"namespace": list(t[:-1]), "name": t[-1]} for t in tables]}
            case [_, "namespaces", schema, "tables", name]:
                return _described(self.catalog.load_table((schema, name)))
            case [_, "namespaces", schema, "views"]:
                return {"identifiers": [{"namespace": [schema], "name": n} for n in self.views.names(schema)]}
            case [_, "namespaces", schema, "views", name]:
                return self.views.load(schema, name)
        raise NoSuchTableError("/".join(path))

    def _commit(self, path: list[str]) -> dict[str, Any]:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "views" in path:
            return self.views.post(path, body)
        schema, name = path[2], path[4]
        request = CommitTableRequest.model_validate(body | {"identifier": {"namespace": [schema], "name": name}})
        table = self.catalog.load_table((schema, name))
        self.catalog.commit_table(table, request.requirements, request.updates)
        return _described(self.catalog.load_table((schema, name)))


def _described(table: Table) -> dict[str, Any]:
    metadata = json.loads(table.metadata.model_dump_json())
    return {"metadata-location": table.metadata_location, "metadata": metadata, "config": {}}
