"""The compile check: Velox runs the plan over empty leaves and so resolves every call, type and window in it.

Presto's own endpoint only converts; this stage finds what would fail on the worker, in one to three milliseconds.
"""

from __future__ import annotations

from sidecar.velox import runtime
from sidecar.velox.constants import boolean_constant, from_variant, null
from sidecar.velox.types import BIGINT, Json

_LEAVES = frozenset({"TableScanNode", "ExchangeNode", "MergeExchangeNode", "ValuesNode"})
_TRANSPARENT = frozenset({"PartitionedOutputNode", "TableWriteNode", "TableWriteMergeNode", "EnforceSingleRowNode"})
_NESTED = ("ARRAY", "MAP", "ROW")


def compile_check(piece: Json) -> None:
    """Raises RefusalError with what Velox finds."""
    runtime.compile_plan(_wrapped(_leafless(piece)))


def _wrapped(plan: Json) -> Json:
    """A constant on top: PlanBuilder's parser then never sees a column name of ours."""
    return {
        "name": "ProjectNode",
        "id": "dry",
        "names": ["ok"],
        "projections": [boolean_constant(True)],
        "sources": [plan],
    }


def _leafless(node: Json) -> Json:
    """The plan without tables, exchanges and sinks, so made that no operator ever sees a row.

    EnforceSingleRow and a global aggregation would each make one: evaluating on it proves nothing, and extracting a
    state into a column of another type crashes this Velox.
    """
    if node["name"] in _TRANSPARENT:
        return _leafless(node["sources"][0])
    node_id = "p" + node["id"]
    if node["name"] in _LEAVES:
        row = node.get("outputType")
        leaf = {"name": "ValuesNode", "id": node_id + ".v", "data": "", "parallelizable": False, "repeatTimes": 1}
        return _project(node_id, leaf, row["names"], [null(t) for t in row["cTypes"]]) if row else leaf
    made = {k: v if k in ("name", "sources") else _computed(v) for k, v in node.items()}
    made["id"] = node_id
    made["sources"] = [_leafless(s) for s in node["sources"]]
    return _grouped(made) if node["name"] == "AggregationNode" else made


def _grouped(node: Json) -> Json:
    """The aggregation with at least one key and without global grouping sets: no input rows, no output rows."""
    made = {k: v for k, v in node.items() if k != "groupId"} | {"globalGroupingSets": []}
    if made["groupingKeys"] or not made["aggregates"]:
        return made
    key = "dry$key"
    made["sources"] = [
        {
            "name": "AssignUniqueIdNode",
            "id": node["id"] + ".key",
            "idName": key,
            "taskUniqueId": 0,
            "sources": node["sources"],
        }
    ]
    made["groupingKeys"] = [{"name": "FieldAccessTypedExpr", "type": BIGINT, "fieldName": key}]
    return made


def _project(node_id: str, source: Json, names: list[str], projections: list[Json]) -> Json:
    return {"name": "ProjectNode", "id": node_id, "names": names, "projections": projections, "sources": [source]}


def _computed(value: object) -> object:
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
