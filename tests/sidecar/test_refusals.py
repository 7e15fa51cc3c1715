"""What is refused, with the type, message and code of Presto C++; what only the compile check finds."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

Refuse = Callable[..., dict[str, Any]]
Convert = Callable[..., str]


@pytest.fixture
def t(plans: SimpleNamespace) -> SimpleNamespace:
    """A table s.t(a bigint, b varchar)."""
    a, b = plans.var("a"), plans.var("b", "varchar")
    return SimpleNamespace(a=a, b=b, s=plans.scan(a, b))


def expect(failure: dict[str, Any], message: str, code: str, kind: str = "VeloxUserError") -> None:
    assert message in failure["message"]
    assert failure["errorCode"]["name"] == code
    assert failure["type"] == kind


def writer(plans: SimpleNamespace, source: Any, tag: str) -> Any:
    row = plans.var("rows"), plans.var("fragments", "varbinary"), plans.var("context", "varbinary")
    names = ("rowCountVariable", "fragmentVariable", "tableCommitContextVariable")
    empty: dict[str, Any] = {"columns": [], "columnNames": [], "notNullColumnVariables": []}
    return plans.node(tag, "5", source, **dict(zip(names, row, strict=True)), **empty)


@pytest.mark.parametrize(
    "tag", ["com.facebook.presto.sql.planner.plan.CallDistributedProcedureNode", "procession.No", ".NoSuchNode"]
)
def test_unknown_nodes(plans: SimpleNamespace, t: SimpleNamespace, refuse: Refuse, tag: str) -> None:
    root = plans.node(".LimitNode", "6", writer(plans, t.s, tag), count=1, step="FINAL")
    failure = refuse(plans.fragment(root))
    expect(failure, f"Unknown plan node type {tag}", "GENERIC_INTERNAL_ERROR", "VeloxRuntimeError")


def test_table_finish_is_unknown(plans: SimpleNamespace, t: SimpleNamespace, refuse: Refuse) -> None:
    root = plans.node(".TableFinishNode", "6", t.s, rowCountVariable=t.a)
    expect(
        refuse(plans.fragment(root)),
        "Unknown plan node type .TableFinishNode",
        "GENERIC_INTERNAL_ERROR",
        "VeloxRuntimeError",
    )


def test_writers_have_no_target_here(plans: SimpleNamespace, t: SimpleNamespace, refuse: Refuse) -> None:
    root = writer(plans, t.s, ".TableWriterNode")
    expect(refuse(plans.fragment(root)), "Unsupported table writer handle: null", "NOT_SUPPORTED")
    root = plans.node(".DeleteNode", "6", t.s, outputVariables=[t.a])
    expect(refuse(plans.fragment(root)), "Unsupported table writer handle: null", "NOT_SUPPORTED")


@pytest.mark.parametrize(
    ("kind", "scope", "handle", "message"),
    [
        ("GATHER", "REMOTE_STREAMING", ("SINGLE", "SINGLE"), "Unsupported ExchangeNode scope"),
        ("REPLICATE", "LOCAL", ("FIXED", "BROADCAST"), "Unsupported exchange type: REPLICATE"),
        (
            "REPARTITION",
            "LOCAL",
            ("FIXED", "BROADCAST"),
            "Unsupported flavor of local exchange with system partitioning handle: ",
        ),
    ],
)
def test_exchanges(
    plans: SimpleNamespace,
    t: SimpleNamespace,
    refuse: Refuse,
    kind: str,
    scope: str,
    handle: tuple[str, str],
    message: str,
) -> None:
    root = plans.local_exchange(kind, plans.handle(*handle), [t.a], (t.s, [t.a]), scope=scope)
    expect(refuse(plans.fragment(root, [t.a])), message, "NOT_SUPPORTED")


@pytest.mark.parametrize(
    ("handle", "message"),
    [
        (("COORDINATOR_ONLY", "SINGLE"), "Unsupported kind of SystemPartitioning: COORDINATOR_ONLY"),
        (("SOURCE", "UNKNOWN"), "Unsupported kind of SystemPartitioning: SOURCE"),
        (("FIXED", "UNKNOWN"), "Unsupported partitioning function: UNKNOWN"),
    ],
)
def test_outputs(
    plans: SimpleNamespace, t: SimpleNamespace, refuse: Refuse, handle: tuple[str, str], message: str
) -> None:
    scheme = plans.scheme(plans.handle(*handle), [t.a])
    expect(refuse(plans.fragment(t.s, [t.a], scheme)), message, "NOT_SUPPORTED")


def test_partition_keys_are_columns_or_constants(plans: SimpleNamespace, t: SimpleNamespace, refuse: Refuse) -> None:
    key = plans.op("add", "bigint", t.a, plans.const(1))
    scheme = plans.scheme(plans.handle("FIXED", "HASH"), [t.a], key, bucketToPartition=[0, 1])
    failure = refuse(plans.fragment(t.s, [t.a], scheme))
    expect(failure, "Unexpected expression type: call. Expected variable or constant.", "NOT_SUPPORTED")


def test_groups_frames(plans: SimpleNamespace, t: SimpleNamespace, refuse: Refuse) -> None:
    frame = {"type": "GROUPS", "startType": "UNBOUNDED_PRECEDING", "endType": "CURRENT_ROW"}
    entry = {"functionCall": plans.call("sum", "bigint", t.a), "frame": frame, "ignoreNulls": False}
    specification = {"partitionBy": [], "orderingScheme": plans.ordering(t.a)}
    root = plans.node(".WindowNode", "2", t.s, specification=specification, windowFunctions={"w<bigint>": entry})
    expect(refuse(plans.fragment(root, [t.a])), "Unsupported window type: 2", "NOT_SUPPORTED")


def test_index_joins(plans: SimpleNamespace, t: SimpleNamespace, refuse: Refuse) -> None:
    k = plans.var("k")
    lookup = plans.scan(k, node_id="9")
    index = plans.node(
        ".IndexSourceNode",
        "r",
        indexHandle={"@type": "hive"},
        tableHandle=lookup["table"],
        lookupVariables=[k],
        outputVariables=[k],
        assignments=lookup["assignments"],
    )

    def join(kind: str) -> bytes:
        criteria = [{"left": t.a, "right": k}]
        made = plans.node(".IndexJoinNode", "2", type=kind, probeSource=t.s, indexSource=index, criteria=criteria)
        return bytes(plans.fragment(made, [t.a]))

    expect(refuse(join("FULL")), "Unsupported index lookup join type.", "NOT_SUPPORTED")
    # The node itself converts; it is Velox that knows no look-up into a Hive table.
    assert "doesn't support index lookup" in refuse(join("INNER"))["message"]


def test_null_if(plans: SimpleNamespace, t: SimpleNamespace, refuse: Refuse) -> None:
    root = plans.project(t.s, x=plans.special("NULL_IF", "bigint", t.a, t.a))
    expect(refuse(plans.fragment(root)), "NULL_IF not supported in specialForm", "NOT_SUPPORTED")


@pytest.mark.parametrize("type_text", ["char(5)", "time", "time with time zone", "qdigest(double)", "no_such_type"])
def test_types_that_velox_cannot_read(plans: SimpleNamespace, refuse: Refuse, type_text: str) -> None:
    x = plans.var("x", type_text)
    failure = refuse(plans.fragment(plans.scan(x), [x]))
    expect(failure, f"Failed to parse type [{type_text}]. Type not registered.", "NOT_SUPPORTED")


def test_rules_of_velox_nodes(plans: SimpleNamespace, t: SimpleNamespace, refuse: Refuse) -> None:
    root = plans.node(".LimitNode", "1", t.s, count=0, step="FINAL")
    assert "Limit must specify greater than zero" in refuse(plans.fragment(root, [t.a]))["message"]
    root = plans.node(".TopNNode", "1", t.s, count=0, orderingScheme=plans.ordering(t.a), step="FINAL")
    assert "count" in refuse(plans.fragment(root, [t.a]))["message"]
    other = plans.scan(plans.var("k", "varchar"), node_id="r")
    criteria = [{"left": t.a, "right": plans.var("k", "varchar")}]
    root = plans.node(".JoinNode", "2", type="INNER", left=t.s, right=other, criteria=criteria, outputVariables=[t.a])
    assert "BIGINT" in refuse(plans.fragment(root, [t.a]))["message"]


def domain(values: dict[str, Any], nulls: bool = False) -> dict[str, Any]:
    return {"domainPredicate": {"columnDomains": [{"column": "a", "domain": {"values": values, "nullAllowed": nulls}}]}}


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        (
            domain({"@type": "equatable", "type": "bigint", "whiteList": True, "entries": [1]}),
            "EquatableValueSet (with non-empty entries) to Velox filter",
        ),
        (
            domain({"@type": "allOrNone", "type": "bigint", "all": True}),
            "AllOrNoneValueSet to Velox filter conversion is not supported yet.",
        ),
        (domain({"@type": "sortable", "type": "bigint", "ranges": []}), "Unexpected always-false filter"),
        ({"domainPredicate": {}}, "Unexpected always-false filter"),
    ],
)
def test_domains(
    plans: SimpleNamespace, t: SimpleNamespace, refuse: Refuse, layout: dict[str, Any], message: str
) -> None:
    expect(refuse(plans.fragment(plans.scan(t.a, layout=layout), [t.a])), message, "NOT_SUPPORTED")


def test_always_false_remaining_predicate(plans: SimpleNamespace, t: SimpleNamespace, refuse: Refuse) -> None:
    layout = {"remainingPredicate": plans.const(False, "boolean")}
    failure = refuse(plans.fragment(plans.scan(t.a, layout=layout), [t.a]))
    expect(failure, "Unexpected always-false remaining predicate", "NOT_SUPPORTED")


def test_odd_constant_blocks(plans: SimpleNamespace, t: SimpleNamespace, refuse: Refuse) -> None:
    constant = plans.const(1, "integer") | {"type": "bigint"}
    failure = refuse(plans.fragment(plans.project(t.s, x=constant)))
    expect(failure, "Unexpected Block type: INT_ARRAY", "GENERIC_INTERNAL_ERROR", "VeloxRuntimeError")


# What the compile check adds: without it the same fragments convert, as in Presto's own endpoint.


@pytest.fixture
def only_compiling_finds(refuse: Refuse, convert: Convert) -> Callable[[bytes], str]:
    """The compile check's message for a fragment that converts."""

    def run(body: bytes) -> str:
        assert convert(body, check=False)
        return str(refuse(body)["message"])

    return run


def test_unknown_functions(
    plans: SimpleNamespace, t: SimpleNamespace, only_compiling_finds: Callable[[bytes], str]
) -> None:
    body = plans.fragment(plans.project(t.s, x=plans.call("no_such", "bigint", t.a)))
    assert "Scalar function name not registered: no_such" in only_compiling_finds(body)


def test_wrong_arguments_and_results(
    plans: SimpleNamespace, t: SimpleNamespace, only_compiling_finds: Callable[[bytes], str]
) -> None:
    body = plans.fragment(plans.project(t.s, x=plans.op("add", "bigint", t.a, t.b)))
    assert "Scalar function plus not registered with arguments: (BIGINT, VARCHAR)" in only_compiling_finds(body)
    body = plans.fragment(plans.project(t.s, x=plans.op("add", "varchar", t.a, t.a)))
    assert "Found incompatible return types for 'plus' (BIGINT vs. VARCHAR)" in only_compiling_finds(body)


@pytest.mark.parametrize("keys", [True, False])
@pytest.mark.parametrize("step", ["SINGLE", "PARTIAL", "FINAL"])
def test_aggregates(
    plans: SimpleNamespace, t: SimpleNamespace, only_compiling_finds: Callable[[bytes], str], step: str, keys: bool
) -> None:
    def body(name: str, returns: str, argument: Any) -> bytes:
        entry = {"call": plans.call(name, returns, argument, kind="AGGREGATE"), "distinct": False}
        sets = {"groupingKeys": [t.b] if keys else [], "groupingSetCount": 1, "globalGroupingSets": []}
        root = plans.node(
            ".AggregationNode", "1", t.s, aggregations={f"x<{returns}>": entry}, groupingSets=sets, step=step
        )
        return bytes(plans.fragment(root))

    assert "Aggregate function not registered" in only_compiling_finds(body("no_such", "bigint", t.a))
    assert "Aggregate function signature is not supported" in only_compiling_finds(body("sum", "bigint", t.b))


def test_window_functions(
    plans: SimpleNamespace, t: SimpleNamespace, only_compiling_finds: Callable[[bytes], str]
) -> None:
    frame = {"type": "RANGE", "startType": "UNBOUNDED_PRECEDING", "endType": "CURRENT_ROW"}
    entry = {"functionCall": plans.call("no_such", "bigint"), "frame": frame, "ignoreNulls": False}
    specification = {"partitionBy": [], "orderingScheme": plans.ordering(t.a)}
    root = plans.node(".WindowNode", "2", t.s, specification=specification, windowFunctions={"w<bigint>": entry})
    assert "Window function not registered" in only_compiling_finds(plans.fragment(root, [t.a]))


def test_columns_are_resolved(
    plans: SimpleNamespace, t: SimpleNamespace, only_compiling_finds: Callable[[bytes], str]
) -> None:
    body = plans.fragment(plans.project(t.s, x=plans.var("zz")))
    assert only_compiling_finds(body) == "Field not found: zz. Available fields are: a, b."
    body = plans.fragment(plans.project(t.s, x=plans.var("b")))
    assert only_compiling_finds(body) == "Field b has type VARCHAR, but is read as BIGINT."


def test_lambda_results(plans: SimpleNamespace, only_compiling_finds: Callable[[bytes], str]) -> None:
    arr, x = plans.var("arr", "array(bigint)"), plans.var("x")
    call = plans.call("filter", "array(bigint)", arr, plans.lam({"x": "bigint"}, x))
    assert "filter" in only_compiling_finds(plans.fragment(plans.project(plans.scan(arr), y=call)))


def test_where_it_happened(plans: SimpleNamespace, t: SimpleNamespace, refuse: Refuse) -> None:
    bad = plans.var("zz") | {"sourceLocation": {"line": 3, "column": 14}}
    failure = refuse(plans.fragment(plans.project(t.s, "77", x=bad)))
    assert failure["errorLocation"] == {"lineNumber": 3, "columnNumber": 14}
    assert failure["planNodeId"] == "77"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"{}",
        b"\xff\xfe",
        b'{"id":1}',
        b"[" * 100_000,
        json.dumps({"id": "1", "root": {"@type": ".LimitNode"}}).encode(),
    ],
)
def test_bodies_that_are_no_fragment(refuse: Refuse, body: bytes) -> None:
    failure = refuse(body)
    assert failure["message"]
    assert "Traceback" not in failure["message"]


def test_too_deep_for_any_reader(plans: SimpleNamespace, t: SimpleNamespace, refuse: Refuse) -> None:
    prefix = b'{"@type":".LimitNode","id":"x","count":1,"step":"FINAL","source":'
    body = plans.fragment({"marker": 1}).replace(b'{"marker": 1}', prefix * 20_000 + b"{}" + b"}" * 20_000)
    assert "deep" in refuse(body)["message"].lower() or "recursion" in refuse(body)["message"].lower()


def test_where_the_compiler_stumbled(plans: SimpleNamespace, t: SimpleNamespace, refuse: Refuse) -> None:
    bad = plans.call("no_such", "bigint", t.a) | {"sourceLocation": {"line": 2, "column": 9}}
    failure = refuse(plans.fragment(plans.project(plans.project(t.s, "5", a=t.a), "6", x=bad)))
    assert failure["errorLocation"] == {"lineNumber": 2, "columnNumber": 9}
    assert failure["planNodeId"] == "6"
    entry = {"call": plans.call("sum", "bigint", t.b) | {"sourceLocation": {"line": 4, "column": 1}}}
    sets = {"groupingKeys": [], "groupingSetCount": 1, "globalGroupingSets": []}
    root = plans.node(".AggregationNode", "8", t.s, aggregations={"x<bigint>": entry}, groupingSets=sets, step="SINGLE")
    failure = refuse(plans.fragment(root))
    assert (failure["errorLocation"]["lineNumber"], failure["planNodeId"]) == (4, "8")
