"""Where nodes of a query's plan stand in its text: at what Presto's AST says of the part that they are made of."""

from __future__ import annotations

import pytest

from coordinator.connectors.registry import Catalogs
from coordinator.planner.query import plan_query
from coordinator.sql.parser import parse_query
from shared.plan.nodes import PlanNode
from shared.plan.traversal import walk
from shared.spi.session import Session

A, B = "(VALUES 1) a(x)", "(VALUES 2) b(y)"


def placed(text: str, kind: str) -> list[str]:
    """What stands in the text where the nodes of a kind do."""
    root: PlanNode = plan_query(parse_query(text), Session(user="test"), Catalogs([])).root
    places = [node.sourceLocation for node in walk(root) if type(node).__name__ == kind]
    lines = text.split("\n")
    return ["" if place is None else lines[place.line - 1][place.column - 1 :][:10] for place in places]


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        (f"SELECT *\nFROM {A}, {B}", "JoinNode", ["SELECT *"]),
        (f"SELECT *\nFROM {A} CROSS JOIN {B}", "JoinNode", ["(VALUES 1)"]),
        (f"SELECT *\nFROM {A} LEFT JOIN {B} ON x = y", "JoinNode", ["(VALUES 1)"]),
        (f"SELECT *\nFROM {B}, {A} CROSS JOIN UNNEST(ARRAY[x]) u(z)", "UnnestNode", ["UNNEST(ARR"]),
        ("VALUES 1\nUNION ALL VALUES 2 UNION ALL\nVALUES 3", "ExchangeNode", ["UNION ALL"]),
        ("VALUES 1\nUNION ALL VALUES 2 UNION ALL\nVALUES 3", "ValuesNode", ["VALUES 1", "VALUES 2 U", "VALUES 3"]),
        (f"SELECT x FROM {A}\nORDER BY x + 1 LIMIT 2", "TopNNode", ["ORDER BY x"]),
    ],
)
def test_places(text: str, kind: str, expected: list[str]) -> None:
    assert placed(text, kind) == expected


def test_each_reference_to_a_column_has_its_own_place() -> None:
    root = plan_query(parse_query(f"SELECT x + 1,\n x * 2 FROM {A}"), Session(user="test"), Catalogs([])).root
    places = [variable.sourceLocation for variable in root.outputVariables]
    assert [(place.line, place.column) for place in places if place is not None] == [(1, 10), (2, 4)]
