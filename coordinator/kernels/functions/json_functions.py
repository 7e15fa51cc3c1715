"""Functions of JSON, which is text between engines and here."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from ..kept import kept
from .bounds import check_text
from .failures import invalid
from .json_casts import Members, Number, encodable, ordered, parsed, streamed, written
from .table import Table, plain

_STEP = re.compile(
    r"""\.\.|\.?\[\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|(-?\d+)|(\*))\s*\]|\.(?:(\*)|([^.\[\]"'*]+))"""
)
_KEY = re.compile(r"""\*|[^.\[\]"'*]+""")
_MISSING = object()
_MOST_PLACES = 1_000_000


@kept(512)
def path_of(text: str) -> tuple[object, ...]:
    """The steps of a JSON path: keys, indexes, ``*`` as Ellipsis, ``..`` as None. Raises INVALID_FUNCTION_ARGUMENT."""
    steps: list[object] = []
    if text and not text.startswith("$"):
        text = "$." + text if not text.startswith("[") else "$" + text
    position = 1
    while position < len(text):
        # Behind two points a key has none of its own.
        below = bool(steps) and steps[-1] is None and text[position] not in ".["
        match = (_KEY if below else _STEP).match(text, position)
        if match is None:
            raise invalid(f"Invalid JSON path: '{text}'")
        if below:
            steps.append(... if match[0] == "*" else match[0])
        elif match[0] == "..":
            steps.append(None)
        elif match[4] or match[5]:
            steps.append(...)
        elif match[3]:
            steps.append(int(match[3]))
        else:
            quoted = match[1] if match[1] is not None else match[2]
            steps.append(match[6] if quoted is None else re.sub(r"\\(.)", r"\1", quoted))
        position = match.end()
    if not text or (steps and steps[-1] is None):
        raise invalid(f"Invalid JSON path: '{text}'")
    return tuple(steps)


def _children(value: object) -> list[object]:
    return list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []


def _below(value: object) -> Iterator[object]:
    """It and everything inside, in the order of the text."""
    left = [value]
    while left:
        value = left.pop()
        yield value
        left.extend(reversed(_children(value)))


def _step(value: object, step: Any) -> object:
    if isinstance(value, dict):
        return value.get(str(step), _MISSING)
    if isinstance(value, list) and (isinstance(step, int) or str(step).isdigit()):
        index = int(step)
        return value[index] if 0 <= index < len(value) else _MISSING
    return _MISSING


def find(value: object, path: str) -> object:
    """What the path leads to, a list of all with a wildcard in it, or ``_MISSING``."""
    steps = path_of(path)
    if ... not in steps and None not in steps:
        for step in steps:
            value = _step(value, step)
            if value is _MISSING:
                return _MISSING
        return value
    found = [value]
    for step in steps:
        if step is None:
            found = _bounded(below for v in found for below in _below(v))
        elif step is ...:
            found = _bounded(child for v in found for child in _children(v))
        else:
            found = [f for v in found if (f := _step(v, step)) is not _MISSING]
    return found


def _bounded(places: Iterator[object]) -> list[object]:
    """Paths that look everywhere below what they found find the same places over and over."""
    found = list(islice(places, _MOST_PLACES + 1))
    if len(found) > _MOST_PLACES:
        raise invalid(f"JSON path leads to too many places (at most {_MOST_PLACES})")
    return found


def _read(text: str, read: Callable[[str], object] = streamed) -> object:
    try:
        return read(text)
    except (ValueError, RecursionError):
        return _MISSING


def _found(text: str, path: str) -> object:
    """Presto reads the whole text first where it looks for several places."""
    value = _read(text, parsed if _is_manifold(path) else streamed)
    return _MISSING if value is _MISSING else find(value, path)


def _extract(text: str, path: str) -> str | None:
    found = _found(text, path)
    if isinstance(found, list) and _is_manifold(path):
        return _listed(found)
    return None if found is _MISSING else written(found)


def _is_manifold(path: str) -> bool:
    steps = path_of(path)
    return ... in steps or None in steps


def _listed(places: list[object]) -> str:
    """Each of the places with what is inside of it, which stands there several times."""
    parts, size = [], 0
    for place in places:
        parts.append(written(place))
        size += len(parts[-1])
        check_text(size, "json_extract")
    return f"[{','.join(parts)}]"


def _extract_scalar(text: str, path: str) -> str | None:
    found = _found(text, path)
    if found is _MISSING or found is None or isinstance(found, list | dict):
        return None
    if isinstance(found, Number):
        return found.text
    return encodable(found) if isinstance(found, str) else written(found)


def _size(text: str, path: str) -> int | None:
    found = _found(text, path)
    return None if found is _MISSING else _count(found)


def _count(found: object) -> int:
    if isinstance(found, Members):
        return len(found.pairs)
    return len(found) if isinstance(found, list | dict) else 0


def _parse(text: str) -> str:
    value = _read(text, parsed)
    if value is _MISSING:
        raise invalid(f"Cannot convert '{text}' to JSON")
    return written(ordered(value))


def _array(text: str) -> list[object] | None:
    value = _read(text)
    return value if isinstance(value, list) else None


def _array_length(text: str) -> int | None:
    values = _array(text)
    return None if values is None else len(values)


def _array_get(text: str, index: int) -> str | None:
    values = _array(text)
    if values is None or index == -(1 << 63):
        return None
    place = index if index >= 0 else len(values) + index
    if not 0 <= place < len(values):
        return None
    value = values[place]
    # A string comes without its quotes: Presto's own oddity, which its documentation warns of.
    return encodable(value) if isinstance(value, str) else None if value is None else written(value)


def _array_contains(text: str, element: object) -> bool | None:
    values = _array(text)
    if values is None:
        return None
    return any(_alike(v, element) for v in values)


def _alike(value: object, element: object) -> bool:
    if isinstance(element, bool) or isinstance(value, bool):
        return value is element
    if isinstance(element, float):
        return isinstance(value, Number) and float(value) == element
    if isinstance(value, Number):
        return False
    return type(value) is type(element) and bool(value == element)


def _is_scalar(text: str) -> bool:
    value = _read(text)
    if value is _MISSING:
        raise invalid(f"Invalid JSON value: {text}")
    return not isinstance(value, list | dict)


def _plan(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _plan_nodes(plan: object) -> list[Any]:
    """The nodes of EXPLAIN's JSON, whose fragments are values of an object."""
    found: list[Any] = []
    stack = list(plan.values())[::-1] if isinstance(plan, dict) and "id" not in plan else [plan]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            if "id" in node:
                found.append(node)
            below = [*node.get("children", ()), node.get("plan")]
            stack += [c for c in reversed(below) if isinstance(c, dict)]
    return found


def _plan_ids(text: str) -> tuple[str, ...] | None:
    plan = _plan(text)
    return None if plan is None else tuple(str(n["id"]) for n in _plan_nodes(plan))


def _plan_children(text: str, node: str) -> tuple[str, ...] | None:
    plan = _plan(text)
    found = next((n for n in _plan_nodes(plan) if str(n["id"]) == node), None) if plan is not None else None
    return None if found is None else tuple(str(c["id"]) for c in found.get("children", ()))


_AGGREGATIONS = ("Aggregate(PARTIAL)", "Aggregate(FINAL)", "Aggregate")
_TABLE_NAME = re.compile(r"tableName=(\w)")


def _scrubbed_plan(text: str) -> str | None:
    """EXPLAIN's JSON without what differs between two runs, as Presto's pretty printer shows it."""
    plan = _plan(text)
    if not isinstance(plan, dict) or not all(isinstance(f, dict) for f in plan.values()):
        return None
    try:
        fragments = {k: {**f, "plan": _scrubbed_node(f.get("plan"))} for k, f in plan.items()}
    except (KeyError, TypeError, AttributeError):
        return None
    return _pretty(fragments, "")


def _scrubbed_node(node: object) -> object:
    """Raises TypeError and KeyError for what is no node."""
    if node is None:
        return None
    if not isinstance(node, dict):
        raise TypeError("a node is an object")
    name = next((a for a in _AGGREGATIONS if node["name"].startswith(a)), node["name"])
    table = _TABLE_NAME.search(node["identifier"]) if node["identifier"].startswith("[table") else None
    shown = {
        "id": "PLANID", "name": name, "identifier": f"tableName={table[1]}" if table else "IDENTIFIER",
        "details": "DETAILS", "children": [_scrubbed_node(child) for child in node["children"]],
        "remoteSources": node["remoteSources"], "estimates": [],
    }  # fmt: skip
    place = node.get("sourceLocation")
    return {"sourceLocation": place, **shown} if place is not None else shown


def _pretty(value: object, indent: str) -> str:
    """Objects in lines, arrays in one."""
    if isinstance(value, dict):
        inner = [f"{indent}  {written(k)} : {_pretty(v, indent + '  ')}" for k, v in value.items()]
        return "{\n" + ",\n".join(inner) + f"\n{indent}}}" if inner else "{ }"
    if isinstance(value, list):
        return "[ " + ", ".join(_pretty(v, indent) for v in value) + " ]" if value else "[ ]"
    return written(value)


JSON_FUNCTIONS: Table = {
    **plain(
        json_extract=_extract, json_extract_scalar=_extract_scalar, json_size=_size, json_parse=_parse,
        json_array_length=_array_length, json_array_get=_array_get, json_array_contains=_array_contains,
        is_json_scalar=_is_scalar, json_format=lambda text: text, json_presto_query_plan_ids=_plan_ids,
        json_presto_query_plan_node_children=_plan_children, json_presto_query_plan_scrub=_scrubbed_plan,
    ),
}  # fmt: skip
