"""Locations compared as files: Java writes ``file:/x``, Python ``file:///x`` or ``/x``, and one table mixes all."""

from __future__ import annotations

import re

_LOCAL = re.compile(r"file:/+")


def normalize(location: str) -> str:
    """One form for every spelling of a location; only for comparing.

    >>> {normalize(p) for p in ("file:/a/b", "file:///a/b", "/a/b")}
    {'/a/b'}
    """
    if location.startswith("file:"):
        return _LOCAL.sub("/", location, count=1)
    return location


def local_path(location: str) -> str | None:
    """The local path of ``file:`` and plain locations; None for object stores."""
    if location.startswith("file:"):
        return normalize(location)
    return None if "://" in location else location
