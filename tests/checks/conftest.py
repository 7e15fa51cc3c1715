"""Captured fragments, small plans and a session for the checkers' tests."""

from __future__ import annotations

import gzip
import importlib.util
import json
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shared.plan.expressions import Variable
from shared.plan.fragment import UNGROUPED_EXECUTION, SimplePlanFragment
from shared.plan.nodes import Partitioning, PartitioningHandle, PartitioningScheme, PlanNode
from shared.plan.traversal import output_variables
from shared.spi.session import Session

FRAGMENTS = Path(__file__).parent.parent / "data" / "presto_fragments" / "fragments.jsonl.gz"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def captured() -> list[dict[str, Any]]:
    """Lines of the captured file, each with ``fragment`` decoded from its ``body``."""
    with gzip.open(FRAGMENTS, "rt", encoding="utf-8") as lines:
        entries = [json.loads(line) for line in lines]
    for entry in entries:
        entry["fragment"] = msgspec.convert(entry["body"], SimplePlanFragment)
    return entries


@pytest.fixture
def fragment(captured: list[dict[str, Any]]) -> SimplePlanFragment:
    """A worker fragment with a filter and calls in it."""
    return next(e["fragment"] for e in captured if e["query"] == "q06" and e["fragment"].id == "1")


@pytest.fixture
def session() -> Session:
    return Session(user="tester", query_id="20260101_000000_00000_abcde")


def system_handle(partitioning: str, function: str) -> PartitioningHandle:
    return PartitioningHandle(connectorHandle={"@type": "$remote", "partitioning": partitioning, "function": function})


@pytest.fixture
def make_fragment() -> Callable[..., SimplePlanFragment]:
    def make(root: PlanNode, fragment_id: str = "0", partitioning: str = "SINGLE") -> SimplePlanFragment:
        single = system_handle("SINGLE", "SINGLE")
        outputs: Sequence[Variable] = output_variables(root)
        return SimplePlanFragment(
            id=fragment_id,
            root=root,
            variables=tuple(outputs),
            partitioning=system_handle(partitioning, "SINGLE"),
            tableScanSchedulingOrder=(),
            partitioningScheme=PartitioningScheme(
                partitioning=Partitioning(handle=single, arguments=()), outputLayout=tuple(outputs)
            ),
            stageExecutionDescriptor=UNGROUPED_EXECUTION,
            outputTableWriterFragment=False,
        )

    return make


@pytest.fixture
async def sidecar(anyio_backend: str) -> AsyncIterator[Any]:
    """A ``FakeSidecar`` (see fake_sidecar.py) on a free port."""
    path = Path(__file__).parent / "fake_sidecar.py"
    spec = importlib.util.spec_from_file_location("procession_fake_sidecar", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    async with module.fake_sidecar() as fake:
        yield fake
