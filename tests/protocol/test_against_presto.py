"""Our answers beside recorded answers of Presto 0.296 (tests/data/presto_protocol)."""

from __future__ import annotations

import datetime as dt
import gzip
import json
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from coordinator.dispatch.cells import encode_column
from coordinator.dispatch.pages import describe_columns
from coordinator.vocabulary.planned_statement import Column
from shared.plan.types import parse_type

RECORDED = Path(__file__).parents[1] / "data" / "presto_protocol" / "exchanges.jsonl.gz"
OURS_ONLY = {"timeline", "finalQueryInfo", "progress", "queryType", "resourceGroupId", "warnings", "errorType"}


@pytest.fixture(scope="module")
def conversations():
    with gzip.open(RECORDED, "rt", encoding="utf-8") as lines:
        return {entry["name"]: entry for entry in map(json.loads, lines)}


def pages(conversation):
    return [exchange["json"] for exchange in conversation["exchanges"] if isinstance(exchange.get("json"), dict)]


def test_column_descriptions_are_prestos(conversations):
    seen = set()
    for conversation in conversations.values():
        for page in pages(conversation):
            for column in page.get("columns", ()):
                if isinstance(column, dict) and column["type"] not in seen:
                    seen.add(column["type"])
                    (ours,) = json.loads(describe_columns((Column(column["name"], column["type"]),), "Presto"))
                    assert ours == column
                    assert list(ours["typeSignature"]) == list(column["typeSignature"])
    assert len(seen) > 50


UTC = dt.UTC
CELLS = {
    "types_00": [pa.array([True]), pa.nulls(1)],
    "types_01": None,
    "types_02": [
        pa.array([v], pa.float32() if i in (0, 7) else pa.float64())
        for i, v in enumerate((1.5, 2.5, float("nan"), float("inf"), -float("inf"), 1e100, 0.1, 0.1, 1e-7, 1e7))
    ],
    "types_03": [
        pa.array([Decimal(v)], pa.decimal128(p, s)) if v else pa.nulls(1, pa.decimal128(p, s))
        for v, p, s in (
            ("1.50", 3, 2),
            ("-0.05", 2, 2),
            ("5", 38, 10),
            ("12345678901234567890.12", 22, 2),
            ("0.1", 1, 1),
            ("", 5, 2),
        )
    ],
    "types_04": [pa.array([v]) for v in ("abc", "", "é☃", "ab", "abc", "u")] + [pa.nulls(1, pa.string())],
    "types_05": [pa.array([b"\x00\xff"]), pa.array([b"a"]), pa.nulls(1, pa.binary())],
    "types_08": [
        pa.array([dt.datetime(2020, 2, 29, 9, 2, 3, 456000, UTC)], pa.timestamp("us", "America/Los_Angeles")),
        pa.array([dt.datetime(2020, 2, 29, 1, 2, 3, tzinfo=UTC)], pa.timestamp("us", "Etc/UTC")),
        pa.array([dt.datetime(2020, 2, 28, 19, 32, 3, tzinfo=UTC)], pa.timestamp("us", "+05:30")),
        pa.array([dt.datetime(2020, 2, 28, 16, 2, 3, tzinfo=UTC)], pa.timestamp("us", "Asia/Tokyo")),
    ],
    "types_09": [
        pa.array([172_800_000], pa.duration("ms")),
        pa.array([93_784_500]),
        pa.array([dt.timedelta(hours=-5)], pa.duration("us")),
        pa.array([3], pa.int32()),
        pa.array([18], pa.int32()),
        pa.array([-7], pa.int32()),
    ],
    "types_10": [
        pa.array([[1, 2, None]], pa.list_(pa.int32())),
        pa.array([[["a"], []]], pa.list_(pa.list_(pa.string()))),
        pa.array([[]], pa.list_(pa.null())),
        pa.array([[Decimal("1.50"), Decimal("2.25")]], pa.list_(pa.decimal128(3, 2))),
        pa.array([[dt.date(2020, 1, 1)]]),
        pa.array([[float("nan"), 1.0]]),
        pa.array([[b"\xff"]]),
        pa.array([['{"a":1}']]),
    ],
    "types_11": [
        pa.array([[("a", 1), ("b", None)]], pa.map_(pa.string(), pa.int32())),
        pa.array([[(1, "x")]], pa.map_(pa.int32(), pa.string())),
        pa.array([[]], pa.map_(pa.string(), pa.null())),
        pa.array([[(dt.date(2020, 1, 1), [1])]], pa.map_(pa.date32(), pa.list_(pa.int32()))),
    ],
    "types_12": [
        pa.array([{"a": 1, "b": "a", "c": None}]),
        pa.array([{"x": 1, "Y z": 2.5}]),
        pa.array([{"a": {"b": 1}}]),
        pa.array([[{"k": "k"}]]),
    ],
    "types_13": [pa.array([v]) for v in ('{"a":[1,2]}', "null", "1", "12151fd2-7586-11e9-8f9e-2a86e4085a59")]
    + [pa.array(["10.0.0.1"]), pa.array(["10.0.0.0/8"]), pa.nulls(1)],
}


@pytest.mark.parametrize("name", [name for name, arrays in CELLS.items() if arrays is not None])
def test_cells_are_prestos_with_nested_data_serialization(conversations, name):
    page = next(page for page in pages(conversations[name]) if "data" in page)
    (expected,) = page["data"]
    arrays = CELLS[name]
    types = [parse_type(column["type"]) for column in page["columns"]][: len(arrays)]
    ours = [encode_column(array, t, nested_as_text=True)[0] for array, t in zip(arrays, types, strict=True)]
    assert ours == expected[: len(arrays)]


@pytest.mark.parametrize(
    ("name", "sql"),
    [
        ("replay_and_bad_tokens", "SELECT 1"),
        ("zero_rows_values", "SELECT none"),
        ("err_syntax", "SELEC 1"),
        ("err_div_zero_runtime", "SELECT 1/0"),
        ("use", "USE tpch.sf1"),
        ("iceberg_delete", "DELETE FROM t"),
    ],
)
def test_pages_have_prestos_members_in_prestos_order(server, conversations, name, sql):
    ours = [response.json() for response in server.pages(sql)]
    for mine, theirs in ((ours[0], pages(conversations[name])[0]), (ours[-1], _final(pages(conversations[name])))):
        order = [member for member in theirs if member in mine]
        assert [member for member in mine if member in theirs] == order
        # Everything arrives with our last page, where Presto's often is an empty one after it.
        assert set(mine) - {"data"} == set(theirs) - {"data", "nextUri", "partialCancelUri"} | (
            {"nextUri"} if mine is ours[0] else set()
        )
        # Our metrics come at the end alone.
        own = ("rootStage", "runtimeStats", "progressPercentage")
        assert [m for m in mine["stats"] if m not in own] == [m for m in theirs["stats"] if m not in own]
        if "runtimeStats" in mine["stats"] and "runtimeStats" in theirs["stats"]:
            metrics = [next(iter(each["stats"]["runtimeStats"].values())) for each in (mine, theirs)]
            assert [list(metric) for metric in metrics] == [["name", "unit", "sum", "count", "max", "min"]] * 2


def test_stages_have_prestos_members_in_prestos_order(server, conversations):
    running = server.until(server.post("SELECT slow"), "RUNNING").json()
    server.client.delete(running["nextUri"])
    recorded = [page["stats"] for entry in conversations.values() for page in pages(entry) if "stats" in page]
    theirs = next(stats for stats in recorded if stats.get("rootStage", {}).get("subStages"))
    ours, root = running["stats"]["rootStage"], theirs["rootStage"]
    assert list(ours) == list(ours["subStages"][0]) == list(root)
    assert {name: _kind(value) for name, value in ours.items()} == {name: _kind(value) for name, value in root.items()}
    assert [name for name in running["stats"] if name in theirs] == [
        name for name in theirs if name in running["stats"]
    ]


def _final(recorded):
    return next(page for page in reversed(recorded) if "nextUri" not in page)


def test_error_objects_have_prestos_members(server, conversations):
    theirs = next(page["error"] for page in pages(conversations["err_function"]) if "error" in page)
    ours = server.pages("SELEC 1")[-1].json()["error"]
    assert list(ours) == list(theirs)
    assert list(ours["failureInfo"]) == list(theirs["failureInfo"])
    assert ours["failureInfo"]["stack"] == []


@pytest.mark.parametrize(("name", "path"), [("info", "/v1/info"), ("status", "/v1/status"), ("cluster", "/v1/cluster")])
def test_node_endpoints_have_prestos_members(server, conversations, name, path):
    theirs = conversations[name]["exchanges"][0]["json"]
    ours = server.client.get(path).json()
    assert list(ours) == list(theirs)
    assert {k: _kind(v) for k, v in ours.items()} == {k: _kind(v) for k, v in theirs.items()}


def test_resource_group_and_query_states(server, conversations):
    running = server.until(server.post("SELECT slow"), "RUNNING").json()
    group = server.client.get("/v1/resourceGroupState/global").json()
    theirs = conversations["resource_group"]["exchanges"][0]["json"]
    assert list(group) == list(theirs)
    ours, recorded = group["runningQueries"][0], theirs["runningQueries"][0]
    assert set(ours) <= set(recorded)
    assert set(recorded) - set(ours) <= {"source", "catalog", "schema"}
    assert set(ours["progress"]) <= set(recorded["progress"])
    server.client.delete(running["nextUri"])


@pytest.mark.parametrize(("name", "path"), [("query_running", "/v1/query/{}"), ("query_list", "/v1/query?limit=1")])
def test_query_info_has_prestos_members(server, conversations, name, path):
    query_id = server.pages("SELECT 1")[-1].json()["id"]
    ours = server.client.get(path.format(query_id)).json()
    theirs = conversations[name]["exchanges"][0]["shape"]
    if isinstance(ours, list):
        ours, theirs = ours[0], theirs[0]
    assert set(ours) - set(theirs) <= OURS_ONLY | {"inputs"}
    assert set(ours["session"]) - set(theirs["session"]) <= {"timeZone", "userAgent", "clientInfo"}
    assert set(ours["queryStats"]) - set(theirs["queryStats"]) <= {
        "progressPercentage",
        "totalTasks",
        "completedTasks",
        "lastHeartbeat",
        "totalPlanningTime",
        "processedInputDataSize",
        "processedInputPositions",
        "outputDataSize",
        "outputPositions",
        "scheduled",
    }
    names = {"str": str, "int": int, "float": float, "bool": bool}
    for member, kind in theirs["queryStats"].items():
        if member in ours["queryStats"] and isinstance(kind, str):
            assert isinstance(ours["queryStats"][member], names[kind]), member


def _kind(value):
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__
