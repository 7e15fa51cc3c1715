"""Functions of maps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .compare import holds_null, key
from .failures import check, invalid
from .shown import shown
from .table import Table, plain

Map = dict[Any, Any]
Values = tuple[Any, ...]


def _map(keys: Values = (), values: Values = ()) -> Map:
    check(len(keys) == len(values), "Key and value arrays must be the same length")
    made: Map = {}
    for k, v in zip(keys, values, strict=True):
        check(k is not None, "map key cannot be null")
        check(not holds_null(k), f"map key cannot be indeterminate: {shown(k)}")
        if k in made:
            raise invalid(f"Duplicate map keys ({shown(k)}) are not allowed")
        made[k] = v
    return made


def _from_entries(entries: Values) -> Map:
    made: Map = {}
    for entry in entries:
        check(entry is not None, "map entry cannot be null")
        check(entry[0] is not None, "map key cannot be null")
        if entry[0] in made:
            raise invalid(f"Duplicate keys ({shown(entry[0])}) are not allowed")
        made[entry[0]] = entry[1]
    return made


def _multimap(entries: Values) -> Map:
    made: Map = {}
    for entry in entries:
        check(entry is not None, "map entry cannot be null")
        check(entry[0] is not None, "map key cannot be null")
        made.setdefault(entry[0], []).append(entry[1])
    return {k: tuple(values) for k, values in made.items()}


def _concat(*maps: Map) -> Map:
    made: Map = {}
    for other in maps:
        made.update(other)
    return made


def _transform_keys(value: Map, function: Callable[..., object]) -> Map:
    made: Map = {}
    for k, v in value.items():
        new = function(k, v)
        check(new is not None, "map key cannot be null")
        if new in made:
            raise invalid(f"Duplicate keys ({shown(new)}) are not allowed")
        made[new] = v
    return made


def _zip_with(a: Map, b: Map, function: Callable[..., object]) -> Map:
    keys = [*a, *(k for k in b if k not in a)]
    return {k: function(k, a.get(k), b.get(k)) for k in keys}


def _subset(value: Map, keys: Values) -> Map:
    return {k: value[k] for k in keys if k is not None and k in value}


def _frequency(values: Values) -> Map:
    made: dict[object, tuple[object, int]] = {}
    for value in values:
        if value is not None:
            first, count = made.get(key(value), (value, 0))
            made[key(value)] = (first, count + 1)
    return dict(made.values())


MAPS: Table = plain(
    map=_map, map_from_entries=_from_entries, multimap_from_entries=_multimap, map_concat=_concat,
    map_keys=tuple, map_values=lambda m: tuple(m.values()), map_entries=lambda m: tuple(m.items()),
    map_filter=lambda m, f: {k: v for k, v in m.items() if f(k, v) is True}, transform_keys=_transform_keys,
    transform_values=lambda m, f: {k: f(k, v) for k, v in m.items()}, map_zip_with=_zip_with, map_subset=_subset,
    array_frequency=_frequency,
)  # fmt: skip
