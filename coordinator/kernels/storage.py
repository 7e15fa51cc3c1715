"""Files of local disks and object stores, by the locations and storage properties that Iceberg uses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from pyarrow import fs

from .errors import KernelError

_LOCAL = re.compile(r"file:/+")


def normalize(location: str) -> str:
    """One form for ``file:/x``, ``file:///x`` and ``/x``; anything else unchanged."""
    return _LOCAL.sub("/", location, count=1) if location.startswith("file:") else location


def resolve(location: str, properties: Mapping[str, str]) -> tuple[Any, str]:
    """The Arrow file system of a location and the path in it; raises KernelError for an unknown scheme."""
    if location.startswith("file:") or "://" not in location:
        return _local(), normalize(location)
    # Not what urlsplit calls the path: "?" and "#" are letters of names.
    scheme, _, path = location.partition("://")
    if scheme in ("s3", "s3a", "s3n"):
        return _s3(tuple(sorted(properties.items()))), path
    if scheme in ("gs", "gcs"):
        return _gcs(tuple(sorted(properties.items()))), path
    if scheme == "hdfs":
        host, slash, inside = path.partition("/")
        parts = urlsplit(f"hdfs://{host}")
        return _hdfs(parts.hostname or "default", parts.port or 0), slash + inside
    raise KernelError("NOT_SUPPORTED", f"No file system for the scheme of {location}")


def is_local(location: str) -> bool:
    """Whether the location is on a local or mounted disk."""
    return location.startswith("file:") or "://" not in location


@lru_cache(maxsize=1)
def _local() -> Any:
    return fs.LocalFileSystem()


@lru_cache(maxsize=8)
def _s3(items: tuple[tuple[str, str], ...]) -> Any:
    options = dict(items)
    names = {
        "access_key": "s3.access-key-id",
        "secret_key": "s3.secret-access-key",
        "session_token": "s3.session-token",
        "region": "s3.region",
        "role_arn": "s3.role-arn",
    }
    arguments: dict[str, Any] = {k: options[v] for k, v in names.items() if v in options}
    if endpoint := options.get("s3.endpoint"):
        arguments["endpoint_override"] = endpoint
        arguments["scheme"] = urlsplit(endpoint).scheme or "https"
    return fs.S3FileSystem(**arguments)


@lru_cache(maxsize=8)
def _gcs(items: tuple[tuple[str, str], ...]) -> Any:
    token = dict(items).get("gcs.oauth2.token")
    return fs.GcsFileSystem(access_token=token) if token else fs.GcsFileSystem()


@lru_cache(maxsize=8)
def _hdfs(host: str, port: int) -> Any:
    return fs.HadoopFileSystem(host, port)
