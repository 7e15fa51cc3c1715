"""An object store (moto) that can be made slow or failing while others use it."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pyarrow.fs as pafs

from tests.moto_server import moto_server

BUCKET = "lake"
_KEYS = {"s3.access-key-id": "key", "s3.secret-access-key": "secret", "s3.region": "us-east-1"}


@dataclass
class Store:
    """``delay``: seconds that each request waits; ``failing``: the part of requests that are answered with 503."""

    app: Any
    endpoint: str
    delay: float = 0.0
    failing: float = 0.0
    _chance: random.Random = field(default_factory=lambda: random.Random(18))

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:
        time.sleep(self.delay)
        if self._chance.random() < self.failing:
            start_response("503 Slow Down", [("Content-Length", "0")])
            return [b""]
        return self.app(environ, start_response)

    def properties(self) -> dict[str, str]:
        """For a catalog file, and for PyIceberg."""
        return {"s3.endpoint": f"http://{self.endpoint}", **_KEYS}


@contextmanager
def object_store() -> Iterator[Store]:
    """With an empty bucket."""
    server = moto_server()
    server.start()
    inner: Any = server._server
    inner.app = store = Store(inner.app, "{}:{}".format(*inner.server_address[:2]))
    try:
        pafs.S3FileSystem(
            access_key="key", secret_key="secret", endpoint_override=store.endpoint, scheme="http", region="us-east-1",
            allow_bucket_creation=True,
        ).create_dir(BUCKET)  # fmt: skip
        yield store
    finally:
        server.stop()
