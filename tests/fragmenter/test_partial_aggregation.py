"""Aggregations in two steps: states as a real Presto coordinator types them, rows that must meet kept together."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from coordinator.fragmenter.fragment import fragment
from coordinator.fragmenter.partial_aggregation import _state
from shared.plan import nodes
from shared.plan.fragment import SubPlan
from shared.plan.nodes import Aggregation, AggregationNode, GroupingSets, OffsetNode, OutputNode, PlanNode
from shared.plan.traversal import output_variables, walk
from shared.spi.session import Session
from tests.fragmenter.test_fragment import COUNT, scan, variable

FRAGMENTS = Path(__file__).parents[1] / "data" / "presto_fragments" / "fragments.jsonl.gz"
SESSION = Session(user="t")


def recorded(value: Any) -> Iterator[tuple[str, str, Aggregation]]:
    """Function, type of the state and aggregation of every partial step in a fragment."""
    if isinstance(value, dict):
        if value.get("@type") == ".AggregationNode" and value.get("step") == "PARTIAL":
            for made in value["aggregations"].values():
                signature = made["call"]["functionHandle"].get("signature", {})
                if str(signature.get("name")).startswith("presto.default."):
                    aggregation = msgspec.convert(made, Aggregation)
                    yield signature["name"], made["call"]["returnType"], aggregation
        for inner in value.values():
            yield from recorded(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from recorded(inner)


def test_states_have_the_types_that_a_real_coordinator_gives_them() -> None:
    known: set[str] = set()
    for line in gzip.decompress(FRAGMENTS.read_bytes()).splitlines():
        body = json.loads(line)["body"]
        for name, wanted, aggregation in recorded(json.loads(body) if isinstance(body, str) else body):
            state = _state(aggregation)
            assert state in (None, wanted), name
            if state is not None:
                known.add(name.removeprefix("presto.default."))
    assert {"count", "sum", "avg", "min", "max", "stddev", "bool_and", "arbitrary"} <= known


def aggregated(aggregation: Aggregation, *keys: str) -> OutputNode:
    grouping = tuple(variable(key) for key in keys)
    node = AggregationNode(
        id="1",
        source=scan(0, "a", "b"),
        aggregations={"n<bigint>": aggregation},
        groupingSets=GroupingSets(groupingKeys=grouping, groupingSetCount=1, globalGroupingSets=() if keys else (0,)),
        step="SINGLE",
    )
    outputs = output_variables(node)
    return OutputNode(id="2", source=node, columnNames=tuple(v.name for v in outputs), outputVariables=outputs)


def steps(plan: PlanNode, session: Session = SESSION) -> list[tuple[str, str]]:
    """Fragment and step of each aggregation."""
    return [
        (made.id, node.step)
        for made in fragment(plan, session).fragments()
        for node in walk(made.root)
        if isinstance(node, AggregationNode)
    ]


@pytest.mark.parametrize("keys", [(), ("a",)])
def test_states_cross_the_exchange_instead_of_rows(keys: tuple[str, ...]) -> None:
    found = steps(aggregated(Aggregation(call=COUNT), *keys))
    assert [step for _, step in found] == ["FINAL", "PARTIAL"]
    assert found[0][0] != found[1][0]


def test_distinct_values_must_meet() -> None:
    assert [step for _, step in steps(aggregated(Aggregation(call=COUNT, distinct=True), "a"))] == ["SINGLE"]


def test_it_can_be_switched_off() -> None:
    session = Session(user="t", properties={"push_aggregation_through_exchange": "false"})
    assert [step for _, step in steps(aggregated(Aggregation(call=COUNT), "a"), session)] == ["SINGLE"]


def test_offset_is_a_row_number_and_a_filter() -> None:
    offset = OffsetNode(id="1", source=scan(0, "a"), count=3)
    plan = OutputNode(id="2", source=offset, columnNames=("a",), outputVariables=output_variables(offset))
    subplan: SubPlan = fragment(plan, SESSION)
    kinds = [type(node) for made in subplan.fragments() for node in walk(made.root)]
    assert OffsetNode not in kinds
    assert kinds.index(nodes.FilterNode) < kinds.index(nodes.RowNumberNode)
