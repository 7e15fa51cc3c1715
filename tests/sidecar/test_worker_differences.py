"""What operators say of their workers and of what a converter may take: depth, more functions, char(n) as varchar."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from sidecar.messages import Format, Options, PlanRequest
from sidecar.velox import service, types
from tests.sidecar.test_service import HEADERS, PLAN, finish, start, wait_until

Json = dict[str, Any]
THETA = Options(worker_functions=("sketch_theta", "st_point", "tdigest_agg", "my_rank", "my_map"))


def answered(body: bytes, options: Options = THETA, form: Format = Format.TEXT) -> str:
    """The plan's text, or the refusal's message."""
    reply = service.answer(PlanRequest(body=body, format=form, compile_check=True), options)
    return reply.body.decode() if reply.ok else str(json.loads(reply.body)["failures"][0]["message"])


@pytest.fixture
def body_of_calls(plans: SimpleNamespace, velox: None) -> bytes:
    """Calls of functions that this Velox lacks: scalar, aggregate by step, window, with a lambda."""
    a, s, theta = plans.var("a"), plans.var("s", "varchar"), plans.var("theta", "varbinary")
    body = plans.lam({"x": "bigint"}, plans.op("add", "bigint", plans.var("x"), plans.const(1)))
    below = plans.project(
        plans.scan(a, s),
        "1",
        a=a,
        p=plans.call("st_point", "geometry", plans.const(1.0, "double"), plans.const(2.0, "double")),
        m=plans.call("my_map", "array(bigint)", plans.const((1,), "array(bigint)"), body),
    )
    windowed = plans.node(
        ".WindowNode",
        "2",
        below,
        specification={"partitionBy": [a]},
        windowFunctions={
            "r<bigint>": {
                "functionCall": plans.call("my_rank", "bigint", a),
                "frame": {"type": "RANGE", "startType": "UNBOUNDED_PRECEDING", "endType": "CURRENT_ROW"},
                "ignoreNulls": False,
            }
        },
        prePartitionedInputs=[],
        preSortedOrderPrefix=0,
    )

    def aggregated(source: Json, node_id: str, step: str, argument: Json, keys: list[Json]) -> Json:
        call = plans.call("sketch_theta", "varbinary", argument, kind="AGGREGATE")
        count = plans.call("count", "bigint", kind="AGGREGATE")
        sets = {"groupingKeys": keys, "groupingSetCount": 1, "globalGroupingSets": [] if keys else [0]}
        return plans.node(
            ".AggregationNode",
            node_id,
            source,
            aggregations={
                "theta<varbinary>": {"call": call, "distinct": False, "functionHandle": call["functionHandle"]},
                "n<bigint>": {"call": count, "distinct": False, "functionHandle": count["functionHandle"]},
            },
            groupingSets=sets,
            preGroupedVariables=[],
            step=step,
        )

    return bytes(plans.fragment(aggregated(windowed, "3", "SINGLE", a, [a]), [a, theta]))


def test_functions_of_workers_beyond_this_velox(body_of_calls: bytes) -> None:
    assert "not registered" in answered(body_of_calls, Options())
    text = answered(body_of_calls)
    assert 'theta := sketch_theta("a")' in text
    assert "my_rank" in text and "st_point" in text


def test_what_such_a_function_takes_is_compiled(plans: SimpleNamespace, velox: None) -> None:
    a = plans.var("a")
    unknown = plans.call("st_point", "geometry", plans.call("no_such", "double", a), plans.const(2.0, "double"))
    body = plans.fragment(plans.project(plans.scan(a), x=unknown), [plans.var("x", "geometry")])
    assert "no_such" in answered(body)


def test_char_as_varchar(plans: SimpleNamespace, velox: None) -> None:
    c = plans.var("c", "char(3)")
    predicate = plans.op("equal", "boolean", c, plans.const("ab", "char(3)"))
    body = plans.fragment(plans.filter_(plans.scan(c), predicate), [c])
    assert answered(body) == "Failed to parse type [char(3)]. Type not registered."
    types.read_char_as_varchar(True)
    try:
        assert 'Filter[1][expression: eq("c","ab")] -> c:VARCHAR' in answered(body)
        nested = plans.var("n", "array(char(3))")  # which such workers refuse as well
        assert "not registered" in answered(plans.fragment(plans.scan(nested), [nested]))
    finally:
        types.read_char_as_varchar(False)


def deep_plan(plans: SimpleNamespace, levels: int) -> bytes:
    plan = plans.scan(plans.var("a"))
    for i in range(1, levels):
        plan = plans.node(".LimitNode", f"l{i}", plan, count=i, step="FINAL")
    return bytes(plans.fragment(plan, [plans.var("a")]))


def deep_expression(plans: SimpleNamespace, levels: int) -> bytes:
    deep = plans.var("a")
    for i in range(1, levels):
        deep = plans.op("add", "bigint", deep, plans.const(i))
    return bytes(plans.fragment(plans.project(plans.scan(plans.var("a")), x=deep), [plans.var("x")]))


@pytest.fixture
def converter_stack() -> Iterator[None]:
    """As many frames as a converter process has; enough of them to write such plans as JSON, too."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(6000)
    yield
    sys.setrecursionlimit(limit)


@pytest.mark.usefixtures("converter_stack")
@pytest.mark.parametrize(("make", "what"), [(deep_plan, "plan nodes"), (deep_expression, "expressions")])
def test_depth_has_a_limit(plans: SimpleNamespace, velox: None, make: Any, what: str) -> None:
    said = f"Plan fragment is nested too deeply: more than 40 levels of {what}"
    assert answered(make(plans, 41), Options(max_depth=40)) == said
    assert answered(make(plans, 40), Options(max_depth=40)).startswith("-- ")
    for levels in (900, 2500):
        assert "nested too deeply" in answered(make(plans, levels), Options())


def test_a_chain_of_ors_is_not_deep(plans: SimpleNamespace, velox: None) -> None:
    a = plans.var("a")
    chain = plans.op("equal", "boolean", a, plans.const(0))
    for i in range(300):
        chain = plans.special("OR", "boolean", chain, plans.op("equal", "boolean", a, plans.const(i)))
    assert answered(plans.fragment(plans.filter_(plans.scan(a), chain), [a]), Options(max_depth=10)).startswith("-- ")


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    process, url = start(
        *("--workers", "1", "--max-depth", "40", "--worker-functions", "Sketch_Theta, st_point,my_rank,my_map"),
        "--char-n-to-varchar-implicit-cast",
    )
    with httpx.Client(base_url=url, timeout=60) as made:
        wait_until(lambda: made.get("/v1/info").json()["starting"] is False)
        yield made
    finish(process)


@pytest.mark.slow
def test_flags_of_the_service(client: httpx.Client, plans: SimpleNamespace, body_of_calls: bytes) -> None:
    c = plans.var("c", "char(3)")
    for good in (body_of_calls, plans.fragment(plans.scan(c), [c]), deep_plan(plans, 40)):
        response = client.post(PLAN, content=good, headers=HEADERS)
        assert (response.status_code, response.json()) == (200, {"failures": []}) or "name" in response.json()
    (refusal,) = client.post(PLAN, content=deep_plan(plans, 41), headers=HEADERS).json()["failures"]
    assert refusal["errorCode"]["name"] == "NOT_SUPPORTED"
    assert refusal["planNodeId"] == "0"
