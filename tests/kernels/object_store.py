"""An S3 server (moto) as far away as a real one, which counts the ranges that it is asked for."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pyarrow.fs as pafs
import pytest

from tests.moto_server import moto_server


class Requests:
    """Between the server and those who ask it for ranges of objects: how many, how many at once, how many bytes."""

    def __init__(self, server: Any) -> None:
        self._app, self._lock = server.app, threading.Lock()
        self.endpoint = "{}:{}".format(*server.server_address[:2])
        self._running = self.most_at_once = self.count = self.bytes = 0

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:
        if environ["REQUEST_METHOD"] != "GET" or "HTTP_RANGE" not in environ:
            return self._app(environ, start_response)
        with self._lock:
            self.count += 1
            self._running += 1
            self.most_at_once = max(self.most_at_once, self._running)
        # As far away as an object store is: what goes out side by side meets here.
        time.sleep(0.2)
        body = b"".join(self._app(environ, start_response))
        with self._lock:
            self._running -= 1
            self.bytes += len(body)
        return [body]


@pytest.fixture
def s3_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Requests]:
    # A proxy of the environment would be asked for the loopback address.
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    server = moto_server()
    server.start()
    inner: Any = server._server
    inner.app = requests = Requests(inner)
    yield requests
    server.stop()


def bucket(server: Requests, name: str) -> tuple[pafs.S3FileSystem, dict[str, str]]:
    """A new bucket, and the storage properties that reach it."""
    store = pafs.S3FileSystem(
        access_key="k", secret_key="s", endpoint_override=server.endpoint, scheme="http", region="us-east-1",
        allow_bucket_creation=True,
    )  # fmt: skip
    store.create_dir(name)
    storage = {
        "s3.endpoint": f"http://{server.endpoint}",
        "s3.access-key-id": "k",
        "s3.secret-access-key": "s",
        "s3.region": "us-east-1",
    }
    return store, storage
