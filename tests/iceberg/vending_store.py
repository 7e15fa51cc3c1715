"""An S3 server (moto) that lets only keys through that were lent, for their prefix and until they end."""

from __future__ import annotations

import logging
import re
import secrets
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote

import pyarrow.fs as pafs

from tests.moto_server import moto_server

_SIGNED = re.compile(r"AWS4-HMAC-SHA256 Credential=([^/]+)/")
ROOT = {"s3.access-key-id": "rootrootroot", "s3.secret-access-key": "rootsecretroot", "s3.session-token": "roottoken"}
"""Keys that never end: of the catalog server, never of its clients."""


@dataclass
class Lent:
    """One set of keys, and the folders that they open."""

    id: str
    secret: str
    token: str
    prefixes: tuple[str, ...]
    ends_at: float
    told_end: float

    def config(self) -> dict[str, str]:
        return {
            "s3.access-key-id": self.id,
            "s3.secret-access-key": self.secret,
            "s3.session-token": self.token,
            "s3.session-token-expires-at-ms": str(int(self.told_end * 1000)),
        }


@dataclass
class VendingStore:
    """``app`` is moto's. ``refused`` counts what was refused, by reason; ``delay`` makes every request as slow.

    Keys end after ``life`` seconds; clients may be told less (``told_life``).
    """

    app: Any
    endpoint: str
    life: float = 30.0
    delay: float = 0.0
    told_life: float = 1e9
    refused: Counter[str] = field(default_factory=Counter)
    servers: set[str] = field(default_factory=set)
    """Keys that a catalog's server signs with, which never end."""
    used: set[str] = field(default_factory=set)
    _lent: dict[str, Lent] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def lend(self, *prefixes: str) -> Lent:
        """New keys for the folders ``s3://bucket/path``."""
        keys = Lent(
            "LENT" + secrets.token_hex(8), "lentsecret" + secrets.token_hex(8), "lenttoken" + secrets.token_hex(12),
            prefixes, time.time() + self.life, time.time() + min(self.life, self.told_life),
        )  # fmt: skip
        with self._lock:
            self._lent[keys.id] = keys
        return keys

    def end_all(self) -> None:
        """No key that was lent until now opens anything any more."""
        with self._lock:
            for keys in self._lent.values():
                keys.ends_at = 0.0

    def secrets(self) -> list[str]:
        with self._lock:
            return [word for keys in self._lent.values() for word in (keys.secret, keys.token)]

    @property
    def addresses(self) -> dict[str, str]:
        return {"s3.endpoint": f"http://{self.endpoint}", "s3.path-style-access": "true", "client.region": "us-east-1"}

    def filesystem(self) -> pafs.S3FileSystem:
        return pafs.S3FileSystem(
            access_key=ROOT["s3.access-key-id"], secret_key=ROOT["s3.secret-access-key"],
            session_token=ROOT["s3.session-token"], endpoint_override=self.endpoint, scheme="http",
            region="us-east-1", allow_bucket_creation=True,
        )  # fmt: skip

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:
        problem = self._problem(environ)
        if problem is not None:
            code, reason = problem
            # Arrow looks whether the bucket is there, which keys for a folder do not let it.
            if environ["REQUEST_METHOD"] != "HEAD" or "/" in environ["PATH_INFO"].strip("/"):
                with self._lock:
                    self.refused[reason] += 1
            body = f"<Error><Code>{reason}</Code><Message>{reason}</Message></Error>".encode()
            headers = [("Content-Type", "application/xml"), ("Content-Length", str(len(body)))]
            _drain(environ)
            start_response(f"{code} {reason}", headers)
            return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]
        if self.delay:
            time.sleep(self.delay)
        return self.app(environ, start_response)

    def _problem(self, environ: dict[str, Any]) -> tuple[int, str] | None:
        signed = _SIGNED.match(environ.get("HTTP_AUTHORIZATION", ""))
        token = environ.get("HTTP_X_AMZ_SECURITY_TOKEN")
        if signed is None:
            return 403, "AccessDenied"
        if signed[1] == ROOT["s3.access-key-id"]:
            return None if token == ROOT["s3.session-token"] else (403, "AccessDenied")
        if signed[1] in self.servers:
            return None
        with self._lock:
            keys = self._lent.get(signed[1])
        if keys is None or token != keys.token:
            return 403, "InvalidAccessKeyId"
        if time.time() > keys.ends_at:
            return 400, "ExpiredToken"
        path = unquote(environ["PATH_INFO"]).strip("/")
        asked = parse_qs(environ.get("QUERY_STRING", ""), keep_blank_values=True)
        if "/" not in path:  # of a bucket: a list of a folder, or of several keys to delete
            path += "/" + asked["prefix"][0] if "prefix" in asked else ("/" if "delete" in asked else "")
            if "delete" in asked:
                return None
        inside = any(f"s3://{path}/".startswith(prefix.rstrip("/") + "/") for prefix in keys.prefixes)
        self.used.add(keys.id)
        return None if inside else (403, "AccessDenied")


def _drain(environ: dict[str, Any]) -> None:
    """A refused body is read all the same: the client would see a broken connection."""
    stream, length = environ.get("wsgi.input"), int(environ.get("CONTENT_LENGTH") or 0)
    if stream is not None and length:
        stream.read(length)


@contextmanager
def vending_store(bucket: str = "lake", life: float = 30.0) -> Iterator[VendingStore]:
    """The store with an empty bucket."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # which prints a line a request
    server = moto_server()
    server.start()
    inner: Any = server._server
    store = VendingStore(inner.app, "{}:{}".format(*inner.server_address[:2]), life)
    inner.app = store
    store.filesystem().create_dir(bucket)
    try:
        yield store
    finally:
        server.stop()
