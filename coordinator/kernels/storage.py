"""Files of local disks and object stores, by the locations and storage properties that Iceberg uses.

A property for the files under a prefix alone has the prefix and a space before its name; of several prefixes of a file
the longest counts, and before what is said for all files.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import urlsplit

import pyarrow as pa
from pyarrow import fs

from . import azure_store, google_store
from .errors import KernelError
from .signed_store import ADDRESS, SignedStore

_LOCAL = re.compile(r"file:/+")
_SPELLED = re.compile(r"(s3)[an]?://|(gs|gcs)://|(abfss?|wasbs?)://([^/]*)")
_KEYS = (
    ("s3.access-key-id", "s3.secret-access-key", "s3.session-token", "s3.session-token-expires-at-ms"),
    google_store.KEYS,
    azure_store.KEYS,
)
"""By store, how the names begin of what is never put together from two places: by the first it is known."""


class VendedStorage(Mapping[str, str]):
    """Storage properties with vended keys, which end: whoever reads them has those that hold now."""

    @property
    @abstractmethod
    def is_vended(self) -> bool:
        """Whether there are keys at all that may end."""

    @abstractmethod
    def current(self) -> dict[str, str]:
        """What opens files now."""

    @abstractmethod
    def fresh(self) -> dict[str, str]:
        """The same for whoever will use it for long: with much of its life before it."""

    @abstractmethod
    def renewed_after(self, refused: dict[str, str]) -> dict[str, str]:
        """What opens files now that a store refused ``refused``; that itself when there is nothing newer."""

    def __reduce__(self) -> tuple[object, ...]:
        return (dict, (self.fresh(),))


def over(base: Mapping[str, str], more: Mapping[str, str]) -> dict[str, str]:
    """``base`` with ``more`` in its place: keys of one store are never put together from both."""
    opening = [name for name in more if "expires-at" not in name]
    replaced = tuple(name for names in _KEYS if any(key.startswith(names[0]) for key in opening) for name in names)
    return {**{name: value for name, value in base.items() if not name.startswith(replaced)}, **more}


def scoped(prefix: str, properties: Mapping[str, str]) -> dict[str, str]:
    """Properties for the files under a prefix."""
    return {f"{prefix} {name}": value for name, value in properties.items()}


def properties_of(location: str, properties: Mapping[str, str]) -> dict[str, str]:
    """The properties that hold for one file, by their plain names."""
    current = properties.current() if isinstance(properties, VendedStorage) else properties
    plain = {name: value for name, value in current.items() if " " not in name}
    if len(plain) == len(current):
        return plain
    place = _one_spelling(location.rstrip("/")) + "/"  # a folder is under its own prefix
    prefixes = {name.partition(" ")[0] for name in current if " " in name}
    fitting = [prefix for prefix in prefixes if place.startswith(_one_spelling(prefix))]
    if not fitting:
        return plain
    chosen = max(fitting, key=len) + " "
    return over(plain, {name.removeprefix(chosen): v for name, v in current.items() if name.startswith(chosen)})


def _one_spelling(location: str) -> str:
    """The location with one scheme for each store, and one host for each account of Azure."""
    found = _SPELLED.match(location)
    if found is None:
        return location
    head = "s3://" if found[1] else "gs://" if found[2] else f"abfs://{azure_store.data_lake_host(found[4])}"
    return head + location[found.end() :]


def normalize(location: str) -> str:
    """One form for ``file:/x``, ``file:///x`` and ``/x``; anything else unchanged."""
    return _LOCAL.sub("/", location, count=1) if location.startswith("file:") else location


def resolve(location: str, properties: Mapping[str, str]) -> tuple[fs.FileSystem, str]:
    """The Arrow file system of a location and the path in it; raises KernelError for an unknown scheme."""
    if location.startswith("file:") or "://" not in location:
        return _local(), normalize(location)
    # Not what urlsplit calls the path: "?" and "#" are letters of names.
    scheme, _, path = location.partition("://")
    if scheme in ("s3", "s3a", "s3n"):
        return _s3(_items(location, properties)), path
    if scheme in google_store.SCHEMES:
        return google_store.google_files(_items(location, properties)), path
    if scheme in azure_store.SCHEMES:
        host, path = azure_store.azure_place(location)
        return azure_store.azure_files(host, _items(location, properties)), path
    if scheme == "hdfs":
        host, slash, inside = path.partition("/")
        parts = urlsplit(f"hdfs://{host}")
        return _hdfs(parts.hostname or "default", parts.port or 0), slash + inside
    raise KernelError("NOT_SUPPORTED", f"No file system for the scheme of {location}")


def open_new(location: str, properties: Mapping[str, str]) -> pa.NativeFile:
    """A stream into a new file. Stores have no folders to make, and their keys often do not let one try."""
    filesystem, path = resolve(location, properties)
    if is_local(location):
        filesystem.create_dir(path.rpartition("/")[0], recursive=True)
    return filesystem.open_output_stream(path)


def is_local(location: str) -> bool:
    """Whether the location is on a local or mounted disk."""
    return location.startswith("file:") or "://" not in location


def _items(location: str, properties: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(properties_of(location, properties).items()))


@lru_cache(maxsize=1)
def _local() -> fs.FileSystem:
    return fs.LocalFileSystem()


@lru_cache(maxsize=8)
def _s3(items: tuple[tuple[str, str], ...]) -> fs.FileSystem:
    options = dict(items)
    if ADDRESS in options:
        return fs.PyFileSystem(SignedStore(options))
    names = {
        "access_key": "s3.access-key-id",
        "secret_key": "s3.secret-access-key",
        "session_token": "s3.session-token",
        "region": "s3.region",
        "role_arn": "s3.role-arn",
    }
    arguments: dict[str, object] = {k: options[v] for k, v in names.items() if v in options}
    if "region" not in arguments and "client.region" in options:
        arguments["region"] = options["client.region"]
    if endpoint := options.get("s3.endpoint"):
        arguments["endpoint_override"] = endpoint
        arguments["scheme"] = urlsplit(endpoint).scheme or "https"
    return fs.S3FileSystem(**arguments)


@lru_cache(maxsize=8)
def _hdfs(host: str, port: int) -> fs.FileSystem:
    return fs.HadoopFileSystem(host, port)
