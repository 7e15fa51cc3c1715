"""The compile check: Velox runs the plan over empty leaves and so resolves every call, type and window in it.

Presto's own endpoint only converts; this stage finds what would fail on the worker, in one to three milliseconds.
"""

from __future__ import annotations

from typing import Any

from sidecar.velox import runtime
from sidecar.velox.constants import boolean_constant, from_variant, null
from sidecar.velox.refusal import RefusalError
from sidecar.velox.types import Json

_LEAVES = frozenset({"TableScanNode", "ExchangeNode", "MergeExchangeNode", "ValuesNode"})
_SINKS = frozenset({"PartitionedOutputNode", "TableWriteNode", "TableWriteMergeNode"})
_NESTED = ("ARRAY", "MAP", "ROW")


def compile_check(piece: Json) -> None:
    """Raises RefusalError with what Velox finds."""
    try:
        runtime.compile_plan(_wrapped(_leafless(piece, opaque=False)))
    except RefusalError as e:
        if "expected VARBINARY" not in e.message or "Unexpected result type for an aggregation" not in e.message:
            raise
        # A coordinator without native signatures writes every Java state as varbinary; the worker decides by itself.
        runtime.compile_plan(_wrapped(_leafless(piece, opaque=True)))


def _wrapped(plan: Json) -> Json:
    """A constant on top: PlanBuilder's parser then never sees a column name of ours."""
    return {
        "name": "ProjectNode",
        "id": "dry",
        "names": ["ok"],
        "projections": [boolean_constant(True)],
        "sources": [plan],
    }


def _leafless(node: Json, *, opaque: bool) -> Json:
    if node["name"] in _SINKS:
        return _leafless(node["sources"][0], opaque=opaque)
    node_id = "p" + node["id"]
    if node["name"] in _LEAVES:
        row = node.get("outputType")
        leaf = {"name": "ValuesNode", "id": node_id + ".v", "data": "", "parallelizable": False, "repeatTimes": 1}
        return _project(node_id, leaf, row["names"], [null(t) for t in row["cTypes"]]) if row else leaf
    made = {k: v if k in ("name", "sources") else _computed(v) for k, v in node.items()}
    made["id"] = node_id
    made["sources"] = [_leafless(s, opaque=opaque) for s in node["sources"]]
    if opaque and node["name"] == "AggregationNode" and node["step"] in ("PARTIAL", "INTERMEDIATE"):
        return _without_opaque_states(made)
    return made


def _project(node_id: str, source: Json, names: list[str], projections: list[Json]) -> Json:
    return {"name": "ProjectNode", "id": node_id, "names": names, "projections": projections, "sources": [source]}


def _computed(value: Any) -> Any:
    """Constants of arrays, maps and rows by their constructors: as literals they print but do not compile."""
    if isinstance(value, dict):
        if value.get("name") == "ConstantTypedExpr":
            return from_variant(value["value"], value["type"]) if value["value"]["type"] in _NESTED else value
        if value.get("name") == "Type":
            return value
        return {k: _computed(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_computed(v) for v in value]
    return value


def _without_opaque_states(node: Json) -> Json:
    pairs = list(zip(node["aggregateNames"], node["aggregates"], strict=True))
    known = runtime.aggregate_names()
    for _, aggregate in pairs:
        name = aggregate["call"]["functionName"]
        if name not in known:
            raise RefusalError(f"Aggregate function not registered: {name}")
    kept = [(n, a) for n, a in pairs if a["call"]["type"]["type"] != "VARBINARY"]
    made = {**node, "id": node["id"] + ".kept", "aggregateNames": [n for n, _ in kept], "aggregates": [a for _, a in kept]}
    keys = [(k["fieldName"], k) for k in node["groupingKeys"]]
    if not kept and not keys:
        made = {"name": "EnforceSingleRowNode", "id": node["id"] + ".kept", "sources": node["sources"]}
    states = [
        (n, _field(n, a["call"]["type"]) if (n, a) in kept else null(a["call"]["type"])) for n, a in pairs
    ]
    columns = [*keys, *states]
    return _project(node["id"], made, [n for n, _ in columns], [e for _, e in columns])


def _field(name: str, velox: Json) -> Json:
    return {"name": "FieldAccessTypedExpr", "type": velox, "fieldName": name}
