"""What a table's metadata names, as numbers: a million files take some ten megabytes.

A path is kept as its 64-bit hash. Two paths with one hash would make an orphan look needed, never the other way round.
Locations are compared by path, and where paths agree by scheme and authority, as Iceberg's ``DeleteOrphanFiles`` does.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
import numpy.typing as npt

_SLASHES = re.compile("/{2,}")
_LOCATION = re.compile("([A-Za-z][A-Za-z0-9+.-]*):(?://([^/]*))?(.*)", re.DOTALL)
_EQUAL_SCHEMES = {"s3n": "s3", "s3a": "s3"}
Prefix = tuple[str, str]
"""Scheme and authority."""


class Match(Enum):
    """Whether a listed file is named: CONFLICT is by path, but under another scheme or authority."""

    NAMED = "NAMED"
    ORPHAN = "ORPHAN"
    CONFLICT = "CONFLICT"


@dataclass(frozen=True, slots=True)
class Spelling:
    """Which schemes and authorities mean the same; made by ``spelling``."""

    schemes: Mapping[str, str]
    authorities: Mapping[str, str]

    def split(self, location: str) -> tuple[Prefix, str]:
        """Prefix and path of a location; ``file:/x``, ``file:///x`` and ``/x`` have the same path."""
        found = _LOCATION.fullmatch(location)
        if found is None:
            return ("", ""), _single_slashes(location)
        scheme, authority, path = found.groups("")
        scheme = scheme.lower()
        prefix = self.schemes.get(scheme, scheme), self.authorities.get(authority, authority)
        return prefix, _single_slashes(path)


def _single_slashes(path: str) -> str:
    return _SLASHES.sub("/", path) if "//" in path else path


def spelling(schemes: Mapping[str, str], authorities: Mapping[str, str]) -> Spelling:
    """From maps as Iceberg takes them: keys are comma-separated names that mean the value."""
    return Spelling(_flat({**_EQUAL_SCHEMES, **schemes}), _flat(authorities))


def _flat(names: Mapping[str, str]) -> dict[str, str]:
    return {name.strip(): meaning.strip() for listed, meaning in names.items() for name in listed.split(",")}


@dataclass(slots=True)
class FileReferences:
    """Locations to look up; ``add`` all of them, then ask ``match``, and again after more were added."""

    spelling: Spelling
    conflicts: set[tuple[str, str, str, str]] = field(default_factory=set)
    """Scheme and authority as named and as listed, of the conflicts that ``match`` found."""
    _prefixes: dict[Prefix, int] = field(default_factory=dict)
    _hashes: array[int] = field(default_factory=lambda: array("q"))
    _prefix_of: array[int] = field(default_factory=lambda: array("i"))
    _sorted: tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]] | None = None

    def add(self, locations: Iterable[str]) -> None:
        """Name some more."""
        split, prefixes = self.spelling.split, self._prefixes
        for location in locations:
            prefix, path = split(location)
            self._hashes.append(hash(path))
            self._prefix_of.append(prefixes.setdefault(prefix, len(prefixes)))
        self._sorted = None

    def match(self, locations: Sequence[str]) -> list[Match]:
        """How each listed location is named."""
        hashes, prefix_of = self._lookup()
        split = [self.spelling.split(location) for location in locations]
        wanted = np.array([hash(path) for _, path in split], np.int64)
        low = np.searchsorted(hashes, wanted, "left")
        high = np.searchsorted(hashes, wanted, "right")
        firsts = prefix_of[np.minimum(low, len(prefix_of) - 1)] if len(prefix_of) else np.zeros(len(low), np.int32)
        known = list(self._prefixes)
        judged: dict[tuple[Prefix, int | tuple[int, ...]], Match] = {}
        found = []
        # Nearly every path is named once, and under one of a few prefixes.
        for (prefix, _), first, last, one in zip(split, low.tolist(), high.tolist(), firsts.tolist(), strict=True):
            names = one if last == first + 1 else tuple(prefix_of[first:last].tolist())
            match = judged.get((prefix, names))
            if match is None:
                named = {known[i] for i in (names if isinstance(names, tuple) else (names,))}
                match = judged[prefix, names] = self._judge(prefix, named)
            found.append(match)
        return found

    def _judge(self, listed: Prefix, named: set[Prefix]) -> Match:
        if not named:
            return Match.ORPHAN
        if any(_same(prefix, listed) for prefix in named):
            return Match.NAMED
        self.conflicts |= {(*prefix, *listed) for prefix in named}
        return Match.CONFLICT

    def _lookup(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
        if self._sorted is None:
            hashes = np.array(self._hashes, np.int64)
            order = np.argsort(hashes)
            self._sorted = hashes[order], np.array(self._prefix_of, np.int32)[order]
        return self._sorted


def _same(named: Prefix, listed: Prefix) -> bool:
    """Where the metadata names no scheme or authority, any will do; a listed path without a scheme is local."""
    given = (listed[0] or "file", listed[1])
    return all(not name or name == other for name, other in zip(named, given, strict=True))
