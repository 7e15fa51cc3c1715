"""A converted plan as text, JSON or Graphviz, spliced from the pieces that Velox parsed."""

from __future__ import annotations

import re

import msgspec

from sidecar.velox import runtime
from sidecar.velox.pieces import CUT
from sidecar.velox.types import Json

_LINE = re.compile(r"^( *)-- (\w+)\[([^\]]*)\](.*)$")


def text(pieces: list[tuple[Json, object]], values: dict[str, int]) -> str:
    """Velox's own lines; a VALUES group shows as the one Values line that Velox prints for rows."""
    done: dict[str, list[str]] = {}
    for plan, native in pieces:
        lines = _spliced(runtime.to_text(native).splitlines(), done)
        done[plan["id"]] = _with_values(lines, values)
    return "\n".join(done[pieces[-1][0]["id"]]) + "\n"


def _spliced(lines: list[str], done: dict[str, list[str]]) -> list[str]:
    spliced: list[str] = []
    for line in lines:
        match = _LINE.match(line)
        if match and match[3].startswith(CUT):
            spliced.extend(match[1] + inner for inner in done[match[3].removeprefix(CUT)])
        else:
            spliced.append(line)
    return spliced


def _with_values(lines: list[str], values: dict[str, int]) -> list[str]:
    if not values:
        return lines
    kept: list[str] = []
    skip: int | None = None
    for line in lines:
        match = _LINE.match(line)
        indent = len(match[1]) if match else 0
        if skip is not None and indent > skip:
            continue
        skip = None
        if match and match[3] in values and match[2] in ("Project", "Expand", "LocalPartition"):
            skip = indent
            columns = match[4].rsplit(" -> ", 1)[-1] if " -> " in match[4] else ""
            count = values[match[3]]
            rows = f"{count} rows in {1 if count else 0} vectors"
            kept.append(f"{match[1]}-- Values[{match[3]}][{rows}] -> {columns}")
        else:
            kept.append(line)
    return kept


def json(pieces: list[tuple[Json, object]]) -> bytes:
    """Velox's own serialization; our JSON of it for a piece that Velox parses but cannot write."""
    done: dict[str, Json] = {}
    for plan, native in pieces:
        written = runtime.to_json(native)
        made: Json = plan if written is None else msgspec.json.decode(written)
        done[plan["id"]] = _with_pieces(made, done)
    return msgspec.json.encode(done[pieces[-1][0]["id"]])


def _with_pieces(root: Json, done: dict[str, Json]) -> Json:
    if root["id"].startswith(CUT):
        return done[root["id"].removeprefix(CUT)]
    pending = [root]
    while pending:
        node = pending.pop()
        sources = node.get("sources") or []
        for i, source in enumerate(sources):
            if source["id"].startswith(CUT):
                sources[i] = done[source["id"].removeprefix(CUT)]
            else:
                pending.append(source)
    return root


def graphviz(pieces: list[tuple[Json, object]], values: dict[str, int], title: str) -> str:
    """A digraph: one box a Velox node with its operator, id, details and columns; edges point to the consumer."""
    lines = text(pieces, values).splitlines()
    out = [f"digraph {_quoted(title)} {{", "  rankdir=BT;", '  node [shape=box, fontname="monospace"];']
    stack: list[tuple[int, int]] = []
    for number, line in enumerate(lines):
        match = _LINE.match(line)
        if match is None:
            continue
        indent = len(match[1])
        details, _, columns = match[4].rpartition(" -> ")
        label = [f"{match[2]}[{match[3]}]", details.strip("[]")[:400], columns[:400]]
        out.append(f"  n{number} [label={_quoted(chr(10).join(part for part in label if part))}];")
        while stack and stack[-1][0] >= indent:
            stack.pop()
        if stack:
            out.append(f"  n{number} -> n{stack[-1][1]};")
        stack.append((indent, number))
    return "\n".join([*out, "}", ""])


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
