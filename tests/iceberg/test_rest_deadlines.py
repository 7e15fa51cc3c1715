"""A REST catalog's server that says nothing: requests end, and a commit whose answer did not come is unknown."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.exceptions import CommitStateUnknownException

from coordinator.connectors.iceberg.connector import IcebergConnector
from coordinator.connectors.iceberg.rest.deadlines import REQUEST_TIMEOUT
from coordinator.connectors.iceberg.rest.rest_catalog import ServedCatalog
from shared.errors import ErrorCode, ProcessionError
from shared.properties import Property
from tests.iceberg.rest_catalog import serving

ROWS = pa.table({"id": pa.array([1, 2, 3], pa.int64())})


@contextmanager
def before(address: str, silent: threading.Event) -> Iterator[str]:
    """A server in front of another, which answers nothing while ``silent`` is set."""
    host, _, port = address.removeprefix("http://").partition(":")
    ended = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if silent.is_set():
                ended.wait(30)
                return
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            with socket.create_connection((host, int(port))) as server:
                lines = [f"{k}: {v}" for k, v in self.headers.items() if k.lower() != "connection"]
                head = "\r\n".join([self.requestline, *lines, "Connection: close", "", ""])
                server.sendall(head.encode() + body)
                server.shutdown(socket.SHUT_WR)
                while data := server.recv(1 << 16):
                    self.wfile.write(data)
            self.close_connection = True

        do_POST = do_HEAD = do_DELETE = do_GET

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as front:
        threading.Thread(target=front.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{front.server_address[1]}"
        finally:
            ended.set()
            front.shutdown()


def test_reads_and_commits_end(lake: Any) -> None:
    silent = threading.Event()
    lake.create("t", [ROWS])
    with serving(lake.other) as address, before(address, silent) as slow:
        catalog = ServedCatalog("rest", uri=slow, **{REQUEST_TIMEOUT: "0.3"})
        table = catalog.load_table("db.t")
        silent.set()
        begun = time.monotonic()
        with pytest.raises(CommitStateUnknownException, match=r"answer was lost: (ReadTimeout|ConnectionError)"):
            table.append(ROWS)
        with pytest.raises(Exception, match="timed out"):
            catalog.load_table("db.t")
        assert time.monotonic() - begun < 10
        silent.clear()
        assert catalog.load_table("db.t").scan().to_arrow().num_rows == 3


def test_a_server_that_takes_connections_alone_is_given_up(tmp_path: Path) -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        given = {
            "iceberg.catalog.type": "rest",
            "iceberg.rest.uri": f"http://127.0.0.1:{deaf.getsockname()[1]}",
            "iceberg.journal.file": f"{tmp_path}/journal.db",
            REQUEST_TIMEOUT: "200ms",
        }
        properties = {k: Property(k, v, Path("deaf.properties"), i) for i, (k, v) in enumerate(given.items(), 2)}
        begun = time.monotonic()
        with pytest.raises(ProcessionError) as failure:
            IcebergConnector("deaf", properties).tables("db")
        assert (failure.value.code, "timed out" in failure.value.message) == (ErrorCode.ICEBERG_FILESYSTEM_ERROR, True)
        assert time.monotonic() - begun < 10
