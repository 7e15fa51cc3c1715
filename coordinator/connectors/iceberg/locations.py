"""Where statements and calls may make, read and delete files: one function decides.

A location is compared as scheme, authority and path; on disks after links are followed, so that none leads out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from coordinator.connectors.iceberg.properties import IcebergSettings
from coordinator.kernels.azure_store import data_lake_host
from shared.errors import ErrorCode, ProcessionError

ALLOWED = "iceberg.allowed-locations"
LOCATION_PROPERTIES = frozenset(
    {"write.data.path", "write.metadata.path", "write.object-storage.path", "write.folder-storage.path"}
)
"""Properties of a table that name folders."""
_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?://([^/]*))?(.*)", re.DOTALL)
_LONGEST = 4096
"""Characters, as of a path on Linux; keys of object stores are shorter."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f\\]")
_SAME_SCHEME = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "abfss": "abfs", "wasb": "abfs", "wasbs": "abfs"}


@dataclass(frozen=True, slots=True)
class _Place:
    scheme: str
    authority: str
    path: str

    def holds(self, other: _Place) -> bool:
        mine, theirs = self.path.rstrip("/"), other.path.rstrip("/")
        same_store = (self.scheme, self.authority) == (other.scheme, other.authority)
        return same_store and (mine == theirs or theirs.startswith(f"{mine}/"))


def check_location(settings: IcebergSettings, location: str, *own: str | None) -> str:
    """The location, if it lies in the warehouse, an allowed location or one of ``own``; raises PERMISSION_DENIED.

    ``own`` are folders that the catalog itself told: of the table that is meant, of its schema.
    """
    if not is_plain(location):
        raise ProcessionError(
            ErrorCode.PERMISSION_DENIED, f"Access Denied: Location {location[:1000]!r} is not a plain one"
        )
    if not is_allowed(settings, location, *own):
        message = (
            f"Access Denied: Location {location} is outside of catalog {settings.catalog}: it must be inside the "
            f"catalog's warehouse, the table's own location, or {ALLOWED}"
        )
        raise ProcessionError(ErrorCode.PERMISSION_DENIED, message)
    return location


def check_property_locations(settings: IcebergSettings, properties: Mapping[str, str], *own: str | None) -> None:
    """Raises PERMISSION_DENIED for a property that names a folder elsewhere."""
    for name, value in properties.items():
        if name in LOCATION_PROPERTIES:
            check_location(settings, value, *own)


def deletable(settings: IcebergSettings, *own: str | None) -> Callable[[str], bool]:
    """Whether a file that metadata names may be deleted: it lies in the warehouse, an allowed location or ``own``.

    Metadata is anybody's word, and may name any file of the machine as one of its table's. A link is deleted, not
    followed, so the folder decides.
    """
    places = tuple(_places(settings, own))
    known: dict[str, bool] = {}

    def may_delete(location: str) -> bool:
        folder, _, name = location.rpartition("/")
        if folder not in known:
            place = _place(folder)
            known[folder] = place is not None and any(held.holds(place) for held in places)
        return known[folder] and name not in ("", ".", "..") and _CONTROL.search(name) is None

    return may_delete


def is_allowed(settings: IcebergSettings, location: str, *own: str | None) -> bool:
    """Whether ``check_location`` lets it pass."""
    asked = _place(location)
    return asked is not None and any(place.holds(asked) for place in _places(settings, own))


def holds(folder: str, location: str) -> bool:
    """Whether a location is this folder, or in it."""
    outer, inner = _place(folder), _place(location)
    return outer is not None and inner is not None and outer.holds(inner)


def within(folders: Iterable[str]) -> Callable[[str], bool]:
    """Whether a file lies in one of so many folders; what is asked of a folder once is known for its other files."""
    held = {(f.scheme, f.authority, f.path.rstrip("/")) for f in map(_place, folders) if f is not None}
    known: dict[str, bool] = {}

    def lies_within(location: str) -> bool:
        folder = location.rpartition("/")[0]
        if folder not in known:
            place = _place(folder) if held else None
            known[folder] = place is not None and any(
                (place.scheme, place.authority, path) in held for path in _upwards(place.path.rstrip("/"))
            )
        return known[folder]

    return lies_within


def _upwards(path: str) -> Iterator[str]:
    """A path, and what it lies in."""
    yield path
    while path:
        path = path.rpartition("/")[0]
        yield path


def is_plain(location: str) -> bool:
    """Whether a location can be compared at all."""
    return _place(location) is not None


def _places(settings: IcebergSettings, own: Iterable[str | None]) -> Iterable[_Place]:
    # The warehouse of a REST server may be a mere name.
    named = settings.type != "sql" and settings.warehouse is not None and _URI.fullmatch(settings.warehouse) is None
    for root in (None if named else settings.warehouse, *settings.allowed_locations, *own):
        place = None if not root else _place(root)
        if place is not None:
            yield place


def _place(location: str) -> _Place | None:
    """None for what different readers would take for different places."""
    if not location or len(location) > _LONGEST or location != location.strip() or _CONTROL.search(location):
        return None
    found = _URI.fullmatch(location)
    scheme, authority, path = ("file", "", location) if found is None else (found[1].lower(), found[2] or "", found[3])
    if any(unquote(segment) in (".", "..") for segment in path.split("/")):
        return None
    if scheme != "file":
        one = _SAME_SCHEME.get(scheme, scheme)
        authority = data_lake_host(authority) if one == "abfs" else authority
        return _Place(one, authority, path) if authority or scheme == "hdfs" else None
    if authority not in ("", "localhost") or (found is not None and not path.startswith("/")):
        return None
    return _Place("file", "", os.path.realpath(path))
