"""Plans and expressions as texts that are equal where their meaning is, and with other names of variables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from shared.plan.traversal import variable_of_key

_PLACES = frozenset({"sourceLocation", "aggregationId", "transaction"})
"""What differs between two plans of one query; snapshots are pinned, so that a transaction says nothing."""
Names = Mapping[str, str]
T = TypeVar("T")


class NotAlikeError(Exception):
    """Two plans compute something else."""


def check_same(first: object, second: object, names: Names) -> None:
    """Raises NotAlikeError unless the two are equal, the second one with other names."""
    if plain(msgspec.to_builtins(first), {}) != plain(msgspec.to_builtins(second), names):
        raise NotAlikeError


def form(value: object) -> bytes:
    """The text, without places."""
    return msgspec.json.encode(plain(msgspec.to_builtins(value), {}))


def renamed(value: T, kind: object, names: Names) -> T:
    """The same with other names of variables."""
    made: T = msgspec.convert(plain(msgspec.to_builtins(value), names, places=True), kind)
    return made


def plain(value: object, names: Names, *, places: bool = False) -> object:
    """Nested dictionaries and lists with other names of variables, ``places`` or not."""
    match value:
        case dict():
            kept = {k: plain(v, names, places=places) for k, v in value.items() if places or k not in _PLACES}
            if kept.get("@type") == "variable":
                kept["name"] = names.get(str(kept["name"]), kept["name"])
            return kept
        case list() | tuple():
            return [plain(each, names, places=places) for each in value]
        case _:
            return value


def name_of(key: str) -> str:
    """Of the variable that stands in a key of a plan's dictionary."""
    return variable_of_key(key).name
