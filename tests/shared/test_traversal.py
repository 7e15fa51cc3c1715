"""Traversal over every captured fragment: nothing is lost, nothing is invented."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from shared.plan import traversal
from shared.plan.expressions import Variable
from shared.plan.fragment import SimplePlanFragment
from shared.plan.nodes import EnforceSingleRowNode, ExchangeNode, JoinNode, PlanNode, ValuesNode

FRAGMENTS = Path(__file__).parent.parent / "data" / "presto_fragments" / "fragments.jsonl.gz"
DECODER = msgspec.json.Decoder(SimplePlanFragment)


def _fragments() -> list[tuple[dict[str, Any], SimplePlanFragment]]:
    with gzip.open(FRAGMENTS, "rt", encoding="utf-8") as lines:
        bodies = [json.loads(line)["body"] for line in lines]
    return [(body, msgspec.convert(body, SimplePlanFragment)) for body in bodies]


@pytest.fixture(scope="module")
def fragments() -> list[tuple[dict[str, Any], SimplePlanFragment]]:
    return _fragments()


def _json_ids(value: Any, found: list[str]) -> None:
    """Ids of all nodes in plan JSON, by its tags alone."""
    match value:
        case dict():
            if str(value.get("@type", "")).endswith(("Node", "AssignUniqueId")) and "id" in value:
                found.append(value["id"])
            for inner in value.values():
                _json_ids(inner, found)
        case list():
            for inner in value:
                _json_ids(inner, found)


def test_walk_finds_every_node_of_the_json(fragments: list[tuple[dict[str, Any], SimplePlanFragment]]) -> None:
    for body, fragment in fragments:
        expected: list[str] = []
        _json_ids(body["root"], expected)
        assert sorted(n.id for n in traversal.walk(fragment.root)) == sorted(expected)


def test_every_field_that_holds_a_plan_is_a_source() -> None:
    nodes = set(get_args(PlanNode))
    for node_type in nodes:
        holders = set()
        for field in msgspec.structs.fields(node_type):
            direct = get_args(field.type)
            if nodes & {*direct, *(inner for outer in direct for inner in get_args(outer))}:
                holders.add(field.name)
        assert set(traversal._CHILD_FIELDS[node_type]) == holders, node_type


def test_outputs_feed_what_stands_above(fragments: list[tuple[dict[str, Any], SimplePlanFragment]]) -> None:
    """Exchange inputs, join outputs and output layouts name only variables that the sources produce."""
    for _, fragment in fragments:
        root = {v.key for v in traversal.output_variables(fragment.root)}
        assert {v.key for v in fragment.partitioningScheme.outputLayout} <= root
        for node in traversal.walk(fragment.root):
            below = [{v.key for v in traversal.output_variables(s)} for s in traversal.sources(node)]
            if isinstance(node, ExchangeNode):
                for source, variables in zip(below, node.inputs, strict=True):
                    assert {v.key for v in variables} <= source
            if isinstance(node, JoinNode):
                assert {v.key for v in node.outputVariables} <= below[0] | below[1]


def test_expressions_read_what_the_sources_produce(
    fragments: list[tuple[dict[str, Any], SimplePlanFragment]],
) -> None:
    for _, fragment in fragments:
        for node in traversal.walk(fragment.root):
            if isinstance(node, ExchangeNode):
                continue
            below = {v.key for s in traversal.sources(node) for v in traversal.output_variables(s)}
            for expression in traversal.expressions(node):
                assert {v.key for v in traversal.free_variables(expression)} <= below, (node, expression)


def test_rewriting_nothing_keeps_identity(fragments: list[tuple[dict[str, Any], SimplePlanFragment]]) -> None:
    for _, fragment in fragments:
        assert traversal.rewrite_bottom_up(fragment.root, lambda node: node) is fragment.root


def test_rewriting_reaches_every_node(fragments: list[tuple[dict[str, Any], SimplePlanFragment]]) -> None:
    for _, fragment in fragments[:100]:
        renamed = traversal.rewrite_bottom_up(
            fragment.root, lambda node: msgspec.structs.replace(node, id=node.id + "x")
        )
        assert [n.id for n in traversal.walk(renamed)] == [n.id + "x" for n in traversal.walk(fragment.root)]


def test_wrong_number_of_sources_is_refused() -> None:
    values = ValuesNode(id="1", outputVariables=(), rows=())
    with pytest.raises(ValueError, match="EnforceSingleRowNode has 1 sources, not 0"):
        traversal.with_sources(EnforceSingleRowNode(id="2", source=values), ())


def test_variable_keys() -> None:
    variable = Variable(name="x", type='row("a<b" bigint)')
    assert traversal.variable_of_key(variable.key) == variable
    with pytest.raises(ValueError, match="Not a variable"):
        traversal.variable_of_key("x")


def test_the_outputs_of_every_kind_of_node_are_known() -> None:
    """By one of three ways, and not by two."""
    ways = (traversal._PASSING, traversal._LISTING, frozenset(traversal._OUTPUTS))
    for node_type in get_args(PlanNode):
        assert sum(node_type in way for way in ways) == 1, node_type
