"""DuckDB's profile of a statement as operators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from coordinator.explain.operators import Does, Operator

MOST_BYTES = 4 << 20
"""Of a profile: plans of statements are long, and this is read in the coordinator."""
_DOES: Mapping[str, Does] = {
    "RESULT_COLLECTOR": "pass", "PROJECTION": "pass", "ORDER_BY": "sort", "WINDOW": "window",
    "STREAMING_WINDOW": "window", "TABLE_SCAN": "scan", "DUMMY_SCAN": "values", "COLUMN_DATA_SCAN": "values",
    "EXPRESSION_SCAN": "values", "EMPTY_RESULT": "values", "FILTER": "filter", "HASH_GROUP_BY": "aggregate",
    "PERFECT_HASH_GROUP_BY": "aggregate", "UNGROUPED_AGGREGATE": "aggregate", "SIMPLE_AGGREGATE": "aggregate",
    "PARTITIONED_AGGREGATE": "aggregate", "TOP_N": "top_n", "LIMIT": "limit", "STREAMING_LIMIT": "limit",
    "UNION": "union", "UNNEST": "unnest",
}  # fmt: skip
_JOINS = frozenset({"HASH_JOIN", "NESTED_LOOP_JOIN", "PIECEWISE_MERGE_JOIN", "IE_JOIN", "CROSS_PRODUCT",
                    "BLOCKWISE_NL_JOIN", "ASOF_JOIN"})  # fmt: skip
_HALF_JOINS = frozenset({"SEMI", "ANTI", "MARK", "SINGLE", "RIGHT_SEMI", "RIGHT_ANTI"})
_ENGINES_OWN = ("Filters", "Dynamic Filters", "Join Type", "Conditions")


class _Node(msgspec.Struct, frozen=True):
    type: str = ""
    intermediate_rows: int = 0
    intermediate_size_bytes: int = 0
    timing: float = 0.0
    rows_scanned: int = 0
    extra_info: dict[str, str | list[str]] = {}
    children: list[_Node] = []


class _Profile(msgspec.Struct, frozen=True):
    operator: list[_Node] = []


def operators_of(profile: str, tables: Mapping[str, str]) -> list[Operator]:
    """From the profile as JSON; ``tables`` are names by the path of a file. Nothing of what is not understood."""
    try:
        roots = msgspec.json.decode(profile, type=_Profile).operator if len(profile) <= MOST_BYTES else []
    except (msgspec.DecodeError, RecursionError):
        return []
    return [operator for root in roots for operator in _walk(root, tables)]


def _walk(root: _Node, tables: Mapping[str, str]) -> Iterator[Operator]:
    waiting = [(root, 0)]
    while waiting:
        node, depth = waiting.pop()
        yield _operator(node, depth, tables)
        waiting += [(child, depth + 1) for child in reversed(node.children)]


def _operator(node: _Node, depth: int, tables: Mapping[str, str]) -> Operator:
    does = _does(node)
    counts = node.type not in ("RESULT_COLLECTOR", "UNION", "CTE")
    files = _text(node.extra_info.get("Filename(s)", ""))
    function = _text(node.extra_info.get("Function", ""))
    return Operator(
        f"{node.type} {function}".rstrip(),
        depth,
        {"rows": node.intermediate_rows, "bytes": node.intermediate_size_bytes, "rows scanned": node.rows_scanned},
        does,
        rows=node.intermediate_rows if counts else None,
        size=node.intermediate_size_bytes if counts else None,
        seconds=node.timing,
        table=tables.get(files.split(", ")[0]) if does == "scan" else None,
        notes=tuple(f"{name}: {_text(node.extra_info[name])}" for name in _ENGINES_OWN if name in node.extra_info),
        engine="DuckDB",
    )


def _does(node: _Node) -> Does:
    if node.type in _JOINS:
        return "semi_join" if _text(node.extra_info.get("Join Type", "")) in _HALF_JOINS else "join"
    if node.type == "TABLE_SCAN" and "Function" not in node.extra_info and "Table" not in node.extra_info:
        return "other"
    return _DOES.get(node.type, "other")


def _text(value: str | list[str]) -> str:
    return value if isinstance(value, str) else ", ".join(value)
