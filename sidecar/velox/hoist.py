"""Deep expressions are computed in steps, by Projects below: Velox's JSON parser allows about 45 levels in one."""

from __future__ import annotations

from sidecar.velox.expressions import column
from sidecar.velox.relation import Relation, node
from sidecar.velox.types import Json

MAX_EXPRESSION_DEPTH = 30  # levels of expressions, each two levels of JSON


def hoist(node_id: str, source: Relation, expressions: list[Json]) -> tuple[Relation, list[Json]]:
    """The source with Projects on top that compute deep parts, and the expressions over it."""
    step = 0
    while True:
        depths: dict[int, int] = {}
        if max((_depth(e, depths) for e in expressions), default=0) <= MAX_EXPRESSION_DEPTH:
            return source, expressions
        parts: dict[str, Json] = {}
        shorter = [_shortened(e, depths, parts, f"{node_id}$hoisted{step}") for e in expressions]
        if not parts:  # a lambda's body cannot be taken out of it
            return source, expressions
        columns = {**source.columns, **{name: part["type"] for name, part in parts.items()}}
        projections = [*(column(n, t) for n, t in source.columns.items()), *parts.values()]
        made = node("ProjectNode", f"{node_id}.hoisted{step}", [source], names=list(columns), projections=projections)
        source, expressions, step = Relation(made, columns), shorter, step + 1


def _depth(e: Json, depths: dict[int, int]) -> int:
    inputs = [e["body"]] if e["name"] == "LambdaTypedExpr" else e.get("inputs", ())
    depth = 1 + max((_depth(i, depths) for i in inputs), default=0)
    depths[id(e)] = depth
    return depth


def _shortened(e: Json, depths: dict[int, int], parts: dict[str, Json], prefix: str) -> Json:
    if depths[id(e)] <= MAX_EXPRESSION_DEPTH or "inputs" not in e:
        return e
    inputs = []
    for i in e["inputs"]:
        if i["name"] != "LambdaTypedExpr" and MAX_EXPRESSION_DEPTH // 2 < depths[id(i)] <= MAX_EXPRESSION_DEPTH:
            name = f"{prefix}_{len(parts)}"
            parts[name] = i
            inputs.append(column(name, i["type"]))
        else:
            inputs.append(_shortened(i, depths, parts, prefix))
    return {**e, "inputs": inputs}
