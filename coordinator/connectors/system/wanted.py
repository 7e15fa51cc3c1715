"""What a query wants of a virtual table: the predicates that the optimizer wrote into the layout of its scan.

A predicate may let more rows through than the query's filter, which stays in the plan, and never fewer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from shared.plan.blocks import decode_constant
from shared.plan.nodes import TableHandle

Accepts = Callable[[Any], bool]


@dataclass(frozen=True, slots=True)
class Wanted:
    """Predicates by column name. ``exact`` holds the values of columns that may only have a few."""

    accepts_of: Mapping[str, tuple[Accepts, ...]] = field(default_factory=dict)
    exact: Mapping[str, frozenset[Any]] = field(default_factory=dict)

    def accepts(self, column: str, value: object) -> bool:
        """Whether rows with ``value`` in ``column`` are of use."""
        return all(accepts(value) for accepts in self.accepts_of.get(column, ()))

    def among(self, column: str, values: Callable[[], Iterable[str]], exists: Callable[[str], bool]) -> list[str]:
        """Those of ``values`` that are wanted; when the query names them, only these are looked for."""
        named = self.exact.get(column)
        if named is not None:
            return [value for value in sorted(named) if self.accepts(column, value) and exists(value)]
        return [value for value in values() if self.accepts(column, value)]


def wanted_of(handle: TableHandle) -> Wanted:
    """From the layout: Presto's ``constraint`` of a system table, and ``patterns``, which are ours."""
    layout = handle.connectorTableLayout or {}
    accepts: dict[str, list[Accepts]] = {}
    exact: dict[str, frozenset[object]] = {}
    for entry in layout.get("constraint", {}).get("columnDomains", ()):
        name, domain = str(entry["column"]["columnName"]), entry["domain"]
        accepts.setdefault(name, []).append(_in_domain(domain))
        values = _exact(domain)
        if values is not None:
            exact[name] = values
    for name, patterns in layout.get("patterns", {}).items():
        for pattern, escape in patterns:
            accepts.setdefault(name, []).append(_like(pattern, escape))
            if (literal := _literal(pattern, escape)) is not None:
                exact[name] = exact.get(name, frozenset({literal})) & {literal}
    return Wanted({name: tuple(found) for name, found in accepts.items()}, exact)


def _ranges(domain: Mapping[str, Any]) -> list[tuple[Any, bool, Any, bool]]:
    return [(*_end(r["low"]), *_end(r["high"])) for r in domain["values"].get("ranges", ())]


def _end(marker: Mapping[str, Any]) -> tuple[object, bool]:
    block = marker.get("valueBlock")
    return (None if block is None else decode_constant(block, marker["type"])), marker["bound"] == "EXACTLY"


def _in_domain(domain: Mapping[str, object]) -> Accepts:
    ranges, null_allowed = _ranges(domain), bool(domain.get("nullAllowed"))

    def accepts(value: object) -> bool:
        if value is None:
            return null_allowed
        return any(
            (low is None or value > low or (value == low and from_low))
            and (high is None or value < high or (value == high and to_high))
            for low, from_low, high, to_high in ranges
        )

    return accepts


def _exact(domain: Mapping[str, object]) -> frozenset[object] | None:
    ranges = _ranges(domain)
    if domain.get("nullAllowed") or any(low is None or low != high for low, _, high, _ in ranges):
        return None
    return frozenset(low for low, *_ in ranges)


def _like(pattern: str, escape: str | None) -> Accepts:
    parts = []
    for character, special in _characters(pattern, escape):
        parts.append({"%": ".*", "_": "."}[character] if special else re.escape(character))
    matches = re.compile("".join(parts), re.DOTALL).fullmatch
    return lambda value: value is not None and matches(value) is not None


def _literal(pattern: str, escape: str | None) -> str | None:
    characters = list(_characters(pattern, escape))
    return None if any(special for _, special in characters) else "".join(c for c, _ in characters)


def _characters(pattern: str, escape: str | None) -> Iterable[tuple[str, bool]]:
    """Each character of a LIKE pattern, and whether it is a wildcard."""
    left = iter(pattern)
    for character in left:
        if escape is not None and character == escape:
            yield next(left, character), False
        else:
            yield character, character in "%_"
