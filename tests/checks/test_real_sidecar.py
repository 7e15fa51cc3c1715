"""The native checker and converter against the real sidecar with the real Velox."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from msgspec.structs import replace

from coordinator.checks.native import NativePlanChecker
from coordinator.checks.native_converter import NativePlanConverter
from coordinator.checks.native_settings import NativeSettings
from coordinator.checks.worker_form import why_not_checked
from coordinator.explain.native_format import native_plans
from shared.errors import ErrorLocation, ProcessionError
from shared.plan.blocks import encode_constant
from shared.plan.expressions import Call, Signature, SourceLocation, StaticFunctionHandle, Variable
from shared.plan.fragment import SimplePlanFragment
from shared.plan.nodes import FilterNode, PlanNode, TableHandle, TableScanNode
from shared.plan.traversal import rewrite_bottom_up, walk
from shared.spi.plan_converter import PlanFormat
from shared.spi.session import Session

pytest.importorskip("pyvelox")
pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def sidecar_uri(anyio_backend: str) -> AsyncIterator[str]:
    """A sidecar process of its own on a free port."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "sidecar", "--port", "0", "--workers", "1",
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        async with asyncio.timeout(60):
            while True:
                line = (await process.stdout.readline()).decode()
                assert line, "the sidecar ended at its start"
                if found := re.search(r"http://[\w.]+:\d+", line):
                    break
        yield found[0]
    finally:
        process.send_signal(signal.SIGTERM)
        await process.communicate()


async def test_real_velox_takes_tpch_and_what_it_refuses_names_the_reason(
    sidecar_uri: str, captured: list[dict[str, Any]], session: Session
) -> None:
    native = NativePlanChecker(NativeSettings(sidecar_uri=sidecar_uri, mode="veto"))
    refused: dict[str, str] = {}
    for entry in captured:
        if entry["mode"] != "native" or not re.fullmatch(r"q\d\d", entry["query"]):
            continue
        try:
            await native.validate_fragment(entry["fragment"], session, print)
        except ProcessionError as error:
            refused[f"{entry['query']}/{entry['fragment'].id}"] = error.wire_message
    await native.aclose()
    assert refused == {}
    assert native.stats().sent > 100


def _filtered_scan(name: str) -> TableScanNode:
    column = Variable(name=name, type="bigint")
    bound = {"type": "bigint", "bound": "ABOVE"}
    positive = {"low": bound | {"valueBlock": encode_constant(0, "bigint")}, "high": bound | {"bound": "BELOW"}}
    domain = {"values": {"@type": "sortable", "type": "bigint", "ranges": [positive]}, "nullAllowed": False}
    table = TableHandle(
        connectorId="hive",
        connectorHandle={"@type": "hive", "schemaName": "s", "tableName": "t"},
        transaction={"@type": "hive", "uuid": "u"},
        connectorTableLayout={
            "@type": "hive",
            "domainPredicate": {"columnDomains": [{"column": name, "domain": domain}]},
        },
    )
    handle = {"@type": "hive", "name": name, "columnType": "REGULAR", "requiredSubfields": []}
    return TableScanNode(id="0", table=table, outputVariables=(column,), assignments={column.key: handle})


async def test_columns_with_odd_names_may_be_filtered(
    sidecar_uri: str, make_fragment: Callable[..., SimplePlanFragment], session: Session
) -> None:
    native = NativePlanChecker(NativeSettings(sidecar_uri=sidecar_uri, mode="veto"))
    refused = {}
    signs = "\"'`;\\%:?*/[]$@|#,>(){}&!~^+=é日-_9"
    for sign in signs:
        try:
            await native.validate_fragment(make_fragment(_filtered_scan(f"a{sign}b")), session, print)
        except ProcessionError as error:
            refused[sign] = error.wire_message
    await native.aclose()
    assert refused == {}
    assert native.stats().sent == len(signs)


async def test_a_function_that_velox_does_not_have_is_located(
    sidecar_uri: str, captured: list[dict[str, Any]], session: Session
) -> None:
    fragment: SimplePlanFragment = next(
        e["fragment"] for e in captured if e["query"] == "q06" and e["fragment"].id == "1"
    )

    spoiled = replace(fragment, root=rewrite_bottom_up(fragment.root, _spoil))
    assert spoiled.root is not fragment.root
    native = NativePlanChecker(NativeSettings(sidecar_uri=sidecar_uri, mode="veto"))
    with pytest.raises(ProcessionError) as caught:
        await native.validate_fragment(spoiled, session, print)
    await native.aclose()
    assert caught.value.message.startswith("Error from native plan checker: ")
    assert "no_such_function" in caught.value.message
    assert caught.value.location == ErrorLocation(4, 7)


def _spoil(node: PlanNode) -> PlanNode:
    return replace(node, predicate=_unknown_function()) if isinstance(node, FilterNode) else node


def _unknown_function() -> Call:
    signature = Signature(
        name="presto.default.no_such_function",
        kind="SCALAR",
        typeVariableConstraints=(),
        longVariableConstraints=(),
        returnType="boolean",
        argumentTypes=(),
        variableArity=False,
    )
    handle = StaticFunctionHandle(signature=signature, builtInFunctionKind="ENGINE")
    return Call(
        displayName="no_such_function",
        functionHandle=handle,
        returnType="boolean",
        arguments=(),
        sourceLocation=SourceLocation(4, 7),
    )


@pytest.mark.parametrize(
    ("plan_format", "start"), [(PlanFormat.TEXT, "-- "), (PlanFormat.JSON, "{"), (PlanFormat.GRAPHVIZ, "digraph")]
)
async def test_plans_in_every_format(
    sidecar_uri: str, captured: list[dict[str, Any]], plan_format: PlanFormat, start: str
) -> None:
    fragment = next(e["fragment"] for e in captured if e["query"] == "q03" and why_not_checked(e["fragment"]) is None)
    converter = NativePlanConverter(NativeSettings(sidecar_uri=sidecar_uri))
    converted = await converter.convert(fragment, plan_format)
    await converter.aclose()
    assert converted.failure is None
    assert converted.text is not None
    assert converted.text.startswith(start)


async def explained(uri: str, fragments: list[SimplePlanFragment], plan_format: PlanFormat) -> str:
    converter = NativePlanConverter(NativeSettings(sidecar_uri=uri))
    plans = [(fragment, await converter.convert(fragment, plan_format)) for fragment in fragments]
    await converter.aclose()
    return native_plans(plans, plan_format)


@pytest.fixture
def mixed(captured: list[dict[str, Any]]) -> list[SimplePlanFragment]:
    """A fragment that converts, one that fails and one that no worker runs, in this order, not that of their ids."""
    good = next(e["fragment"] for e in captured if e["query"] == "q06" and e["fragment"].id == "1")
    bad = replace(good, id="7", root=rewrite_bottom_up(good.root, _spoil))
    apart = next(e["fragment"] for e in captured if e["skipped_by_real_checker"] == "COORDINATOR_ONLY")
    return [replace(good, id="12"), bad, replace(apart, id="0")]


async def test_explain_native_as_text(sidecar_uri: str, mixed: list[SimplePlanFragment]) -> None:
    text = await explained(sidecar_uri, mixed, PlanFormat.TEXT)
    apart, bad, good = text.split("\n\n")
    assert apart == "Fragment 0 [COORDINATOR_ONLY]\n    Not run by workers: COORDINATOR_ONLY"
    assert bad.startswith("Fragment 7 [tpch:orders:15000]\n    FAILED: line 4:7: Error from native plan checker: ")
    heading, *lines = good.rstrip().splitlines()
    assert heading == "Fragment 12 [tpch:orders:15000]"
    scan = next(line for line in lines if "-- TableScan[" in line)
    node = next(n for n in walk(mixed[0].root) if isinstance(n, TableScanNode))
    assert f"-- TableScan[{node.id}]" in scan
    assert scan.endswith(f"   <- TableScan {node.id}")
    assert "   <- Aggregation" in good


async def test_explain_native_as_json(sidecar_uri: str, mixed: list[SimplePlanFragment]) -> None:
    document = json.loads(await explained(sidecar_uri, mixed, PlanFormat.JSON))
    assert list(document) == ["0", "7", "12"]
    assert document["0"] == {"notRun": "COORDINATOR_ONLY"}
    assert "no_such_function" in document["7"]["failure"]
    assert document["12"]["plan"]["name"] == "PartitionedOutputNode"


async def test_explain_native_as_graphviz(sidecar_uri: str, mixed: list[SimplePlanFragment]) -> None:
    text = await explained(sidecar_uri, mixed, PlanFormat.GRAPHVIZ)
    assert re.findall(r'^digraph "(fragment \d+)"', text, re.MULTILINE) == ["fragment 0", "fragment 7", "fragment 12"]
    assert 'color=red, label="Fragment 7\\nFAILED: line 4:7' in text
    assert text.count("digraph") == text.count("\n}") == 3
