"""Files of Google Cloud Storage, by the properties that Iceberg's ``GCPProperties`` and PyIceberg use."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from urllib.parse import urlsplit

from pyarrow import fs

from .errors import KernelError

SCHEMES = frozenset({"gs", "gcs"})
KEYS = ("gcs.oauth2.token", "gcs.oauth2.token-expires-at")
_AUTHORITY = re.compile(r"[A-Za-z0-9.-]+(?::\d{1,5})?")
_NEVER = datetime(2100, 1, 1, tzinfo=UTC)
_PATIENCE = timedelta(seconds=30)
"""For answers that may come after all; Arrow's client waits a quarter of an hour for a host that is not there."""


@lru_cache(maxsize=8)
def google_files(items: tuple[tuple[str, str], ...]) -> fs.FileSystem:
    """Arrow's file system of the store."""
    return fs.GcsFileSystem(**google_arguments(dict(items)))


def google_arguments(options: Mapping[str, str]) -> dict[str, object]:
    """What opens the store with Arrow: a token before no login at all, that before what the environment has."""
    arguments: dict[str, object] = {"retry_time_limit": _PATIENCE}
    end = options.get("gcs.oauth2.token-expires-at", "")
    if (token := options.get("gcs.oauth2.token")) is not None:
        ends_at = datetime.fromtimestamp(int(end) / 1000, UTC) if end.isdigit() else _NEVER
        arguments |= {"access_token": token, "credential_token_expiration": ends_at}
    elif options.get("gcs.no-auth", "").lower() == "true":
        arguments["anonymous"] = True
    if host := options.get("gcs.service.host"):
        address = urlsplit(host if "://" in host else f"https://{host}")
        if address.scheme not in ("http", "https") or not _AUTHORITY.fullmatch(address.netloc):
            raise KernelError("NOT_SUPPORTED", f"gcs.service.host is no address of a host: {host[:200]!r}")
        arguments |= {"scheme": address.scheme, "endpoint_override": address.netloc}
    names = {"project_id": "gcs.project-id", "default_bucket_location": "gcs.default-bucket-location"}
    return arguments | {ours: options[name] for ours, name in names.items() if name in options}
